//! Pages of feeds whose items are in memory, and their continuations.

use bytes::Bytes;
use protocol::{
    Body, Error, Meta, Options, Outcome, Response,
    continuation::{self, Feed},
    limits::{PAGE_BYTES_MAX, PAGE_ITEMS_DEFAULT},
    response::FeedKind,
};

/// A page of a feed.
#[derive(Debug, Default)]
pub struct Page {
    /// The items, as JSON.
    pub items: Vec<Bytes>,
    /// Where the next page begins; `None` if this is the last.
    pub continuation: Option<String>,
}

impl Page {
    /// The page of a feed whose items are in memory, ordered by number.
    pub fn take<T>(
        feed: Feed,
        owner: &[u8],
        options: &Options,
        items: impl Iterator<Item = (u64, T)>,
        print: impl Fn(T) -> Bytes,
    ) -> Result<Self, Error> {
        let after = position(feed, owner, options)?;
        let limit = page_items(options);
        let mut page = Self::default();
        let mut last = 0;
        let mut bytes = 0;
        for (number, item) in items.filter(|(number, _)| after.is_none_or(|after| *number > after))
        {
            if page.items.len() == limit || bytes > PAGE_BYTES_MAX {
                page.continuation = Some(continuation::encode(feed, owner, last));
                break;
            }
            let item = print(item);
            bytes += item.len();
            page.items.push(item);
            last = number;
        }
        Ok(page)
    }

    /// The size of its items.
    pub fn bytes(&self) -> usize {
        self.items.iter().map(Bytes::len).sum()
    }

    /// The page as the answer to a request.
    pub fn answer(self, owner_rid: String, kind: FeedKind, meta: Meta) -> Response {
        Response {
            outcome: Outcome::Ok,
            body: Body::Feed { owner_rid, kind, items: self.items },
            etag: None,
            continuation: self.continuation,
            meta,
        }
    }
}

/// Where the client's last page ended; `None` for the first one.
pub fn position(feed: Feed, owner: &[u8], options: &Options) -> Result<Option<u64>, Error> {
    let Some(token) = &options.continuation else { return Ok(None) };
    continuation::decode(feed, owner, token).map(Some).ok_or_else(invalid_token)
}

/// The most items of a page: the client's choice, or else the service's default.
pub fn page_items(options: &Options) -> usize {
    options.max_item_count.unwrap_or(PAGE_ITEMS_DEFAULT) as usize
}

/// The error for a token that does not belong to this feed.
pub fn invalid_token() -> Error {
    Error::bad_request("Invalid Continuation Token: it is damaged or belongs to another feed.")
}
