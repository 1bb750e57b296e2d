//! Rewrites documents for another partition key, a page at a time, so that memory does not grow
//! with the data.

use std::{collections::HashSet, ops::Bound, sync::Arc};

use bytes::Bytes;
use catalog::definition::partition_key::check_length;
use partition::{
    Partition, errors,
    keys::{self, LogicalKey, META_CLEAR, META_COUNTERS, META_HISTORY, META_KEY, META_STATE},
    rows::{Counters, Damaged, Header, KeyCounters, Primary},
    terms::{Indexed, TermChange},
    text,
};
use protocol::{Code, Error, etag::Etag, rid::DocNum};
use query::{expiry::Expiry, scope::document_key, served::Served};
use store::{Batch, Direction, PageLimit, Snapshot};
use value::json;

use crate::documents::{attachments, twins::Holder, unique};

/// Documents that are rewritten before the next ones are read.
const DOCUMENTS: PageLimit = PageLimit { entries: 256, bytes: 1 << 20 };
/// Primary rows that are counted at a time.
const PRIMARIES: PageLimit = PageLimit { entries: 4096, bytes: 1 << 20 };

/// The prefixes of rows that are rewritten, recreated or left behind, apart from index rows. If a
/// partition has any other rows, the rewrite fails rather than lose them.
const KNOWN: [&[u8]; 15] = [
    &[keys::PRIMARY],
    &[keys::DOCUMENT],
    &[keys::FEED],
    &[keys::HISTORY],
    &[keys::NAME],
    &[keys::EXPIRY],
    &[keys::UNIQUE],
    &[keys::ATTACHMENT],
    &[keys::MEDIA],
    &[keys::LOG],
    META_STATE,
    META_COUNTERS,
    META_HISTORY,
    META_KEY,
    META_CLEAR,
];

/// Rewrites an old partition, which takes no writes, into the new ones of a collection.
pub(super) struct Rewrite<'a> {
    after: &'a Served,
    from: &'a dyn Snapshot,
    /// Expired documents stay behind: nobody sees them, and they must not conflict with others.
    expiry: Expiry,
    /// What each new partition holds so far.
    sums: Vec<Counters>,
}

/// A document being moved: its destination and its rows.
struct Moved {
    /// The index of its new partition.
    child: usize,
    number: DocNum,
    id: String,
    primary_key: Bytes,
    /// The rows of its unique keys.
    unique: Vec<Bytes>,
    batch: Batch,
    length: u64,
    index_bytes: u64,
}

impl<'a> Rewrite<'a> {
    /// `now` is the second in which it begins.
    pub(super) fn new(after: &'a Served, from: &'a dyn Snapshot, now: u64) -> Self {
        let expiry = Expiry::new(after, now);
        Self { after, from, expiry, sums: vec![Counters::default(); after.partitions.len()] }
    }

    /// Fills the new partitions, durably. They continue from the old one's counters.
    pub(super) async fn run(mut self, last: Counters) -> Result<(), Error> {
        self.check_rows().await?;
        let mut pages = Pages::new(keys::DOCUMENT, DOCUMENTS);
        while let Some(page) = pages.next(self.from).await? {
            self.page(page).await?;
            tokio::task::yield_now().await;
        }
        let paths = self.after.definition.partition_key.paths.len();
        for (partition, sums) in self.after.partitions.iter().zip(&self.sums) {
            count_keys(partition, paths).await?;
            let next_sequence = partition.next_sequence();
            let Counters { last_lsn, times, .. } = last;
            // The history refers to documents by their old numbers, so it ends here.
            partition.fill(Counters { next_sequence, last_lsn, times, ..*sums }, None).await?;
        }
        Ok(())
    }

    /// Refuses rows that this build does not know.
    async fn check_rows(&self) -> Result<(), Error> {
        let mut start: Bound<Bytes> = Bound::Unbounded;
        loop {
            let limit = PageLimit { entries: 1, bytes: 1 };
            let page = self.from.scan((start, Bound::Unbounded), Direction::Forward, limit).await;
            let page = page.map_err(errors::from_store)?;
            let Some((key, _)) = page.entries.first() else { return Ok(()) };
            start = behind(known_prefix(key).ok_or_else(|| {
                Error::new(Code::Internal, "The partition has rows unknown to this build.")
            })?);
        }
    }

    /// Rewrites some documents, and writes each partition's rows at once.
    async fn page(&mut self, page: Vec<(Bytes, Bytes)>) -> Result<(), Error> {
        let mut documents = Vec::with_capacity(page.len());
        for (key, row) in page {
            let number = keys::u64_at(&key, 1).ok_or_else(damaged)?;
            let (header, text) = Header::decode(&row).map_err(errors::from_damaged)?;
            if !self.expiry.is_over(&header, &text) {
                documents.push((number, header, text));
            }
        }
        // A feed entry says how its document was created, which the document itself does not.
        let wanted: Vec<Bytes> =
            documents.iter().map(|(number, header, _)| keys::feed(header.lsn, *number)).collect();
        let entries = self.from.get_many(&wanted).await.map_err(errors::from_store)?;
        let mut moved = Vec::with_capacity(documents.len());
        for ((number, header, text), entry) in documents.into_iter().zip(entries) {
            let entry = entry.ok_or_else(|| errors::from_damaged(Damaged("F")))?;
            let document = self.document(header, &text, entry).await?;
            let to = &self.after.partitions[document.child];
            attachments::copy(self.from, number, to, document.number).await?;
            moved.push(document);
        }
        self.check_twins(&moved).await?;
        let mut batches = vec![Batch::default(); self.sums.len()];
        for Moved { child, batch, length, index_bytes, .. } in moved {
            batches[child].changes.extend(batch.changes);
            let sums = &mut self.sums[child];
            sums.documents += 1;
            sums.bytes += length;
            sums.index_bytes += index_bytes;
        }
        for (partition, batch) in self.after.partitions.iter().zip(batches) {
            if !batch.changes.is_empty() {
                partition.follow(batch).await?;
            }
        }
        Ok(())
    }

    /// The rows of one document under its own key. Version, time and feed position stay; rows that
    /// contain its number change.
    async fn document(
        &self,
        header: Header,
        text: &Bytes,
        feed_entry: Bytes,
    ) -> Result<Moved, Error> {
        let after = self.after;
        let document = json::parse_document(text).map_err(|_| damaged())?;
        let json::Document { mut value, members, is_compact, .. } = document;
        let id = value.get("id").as_str().ok_or_else(damaged)?.to_owned();
        let etag = value.get("_etag").as_str().and_then(Etag::parse).ok_or_else(damaged)?;
        let key = document_key(after, &value);
        check_length(&key).map_err(|error| unfit(&id, &error.message))?;
        let slot = after.slot(&key);
        let key = LogicalKey::new(slot, &key);
        let child = after.partitions.partition_point(|partition| partition.range.slots.end <= slot);
        let partition: &Arc<Partition> = &after.partitions[child];
        // The old sequence will not do: after splits and merges it is unique within its slot only.
        let number = partition.allocate(slot)?;
        let header = Header { index_generation: after.index_generation, ..header };
        let system = text::System::new(after.rid.document(number), etag, header.ts);
        let source = text::Source { text, members: &members, is_compact };
        let row = text::compose(&header, source, &system);
        system.insert_into(&mut value);
        let policy = &after.definition.indexing;
        let indexed = Indexed { document: &value, policy, directive: header.directive };
        let terms = TermChange::between(partition, number, None, Some(indexed)).await?;
        let length = row.len() - Header::LENGTH;
        let primary = Primary {
            docnum: number,
            etag,
            lsn: header.lsn,
            length: u32::try_from(length).map_err(|_| damaged())?,
        };
        let primary_key = key.primary(&id);
        let index_bytes = terms.bytes().0;
        let mut batch = Batch::default();
        batch.put(primary_key.clone(), primary.encode());
        batch.put(keys::document(number), row);
        batch.put(keys::feed(header.lsn, number), feed_entry);
        if let Some(expiry) = header.expiry(after.definition.default_ttl) {
            batch.put(keys::expiry(expiry, number), Bytes::new());
        }
        let unique = unique::rows(&after.definition, &key, &value);
        for row in &unique {
            batch.put(row.clone(), Holder::alone(number).encode());
        }
        terms.write_to(&mut batch);
        let length = length as u64;
        Ok(Moved { child, number, id, primary_key, unique, batch, length, index_bytes })
    }

    /// Refuses two documents with the same id or the same values of a unique key under one key. A
    /// collection without a partition key can have them if a client writes the service's own
    /// `_partitionKey`, which tells them apart.
    async fn check_twins(&self, moved: &[Moved]) -> Result<(), Error> {
        let mut seen = HashSet::new();
        for (child, partition) in self.after.partitions.iter().enumerate() {
            let (snapshot, _) = partition.read()?;
            for document in moved.iter().filter(|it| it.child == child) {
                let mut wanted = vec![document.primary_key.clone()];
                wanted.extend_from_slice(&document.unique);
                let rows = snapshot.get_many(&wanted).await.map_err(errors::from_store)?;
                for (key, row) in wanted.into_iter().zip(rows) {
                    let is_id = key == document.primary_key;
                    if row.is_none() && seen.insert((child, key)) {
                        continue;
                    }
                    let why = if is_id {
                        "Another document has the same id and would have the same partition key."
                    } else {
                        "Another document has the same values of a unique key and would have the \
                         same partition key."
                    };
                    return Err(unfit(&document.id, why));
                }
            }
        }
        Ok(())
    }
}

/// Writes the counters of each logical key, whose primary rows are adjacent.
async fn count_keys(partition: &Partition, paths: usize) -> Result<(), Error> {
    let (snapshot, _) = partition.read()?;
    let mut pages = Pages::new(keys::PRIMARY, PRIMARIES);
    let mut current: Option<(Bytes, KeyCounters)> = None;
    let put = |batch: &mut Batch, (key, sums): (Bytes, KeyCounters)| {
        batch.put([META_KEY, &key].concat(), sums.encode());
    };
    while let Some(page) = pages.next(&*snapshot).await? {
        let mut batch = Batch::default();
        for (key, row) in page {
            let logical = keys::logical_part(&key, paths);
            let logical = key.slice_ref(logical.ok_or_else(|| errors::from_damaged(Damaged("P")))?);
            let length = Primary::decode(&row).map_err(errors::from_damaged)?.length;
            if current.as_ref().is_none_or(|(same, _)| *same != logical) {
                let next = (logical, KeyCounters::default());
                if let Some(done) = current.replace(next) {
                    put(&mut batch, done);
                }
            }
            if let Some((_, sums)) = &mut current {
                sums.documents += 1;
                sums.bytes += u64::from(length);
            }
        }
        partition.follow(batch).await?;
    }
    let mut batch = Batch::default();
    if let Some(done) = current {
        put(&mut batch, done);
    }
    partition.follow(batch).await
}

fn damaged() -> Error {
    errors::from_damaged(Damaged("D"))
}

/// The error for a document that prevents the collection from getting the key.
fn unfit(id: &str, why: &str) -> Error {
    Error::bad_request(format!(
        "The document with the id '{id}' does not fit the partition key, and nothing was changed. \
         {why}"
    ))
}

/// The known prefix of a row's key, if this build knows such rows.
fn known_prefix(key: &[u8]) -> Option<&[u8]> {
    if index::Kind::of(key).is_some() {
        return key.get(..1);
    }
    KNOWN.iter().find(|prefix| key.starts_with(prefix)).copied()
}

/// Where the keys after all those with a prefix begin. Prefixes are letters, so there is a next
/// one.
fn behind(prefix: &[u8]) -> Bound<Bytes> {
    let mut next = prefix.to_vec();
    if let Some(last) = next.last_mut() {
        *last += 1;
    }
    Bound::Included(next.into())
}

/// The rows under a prefix, a page at a time.
struct Pages {
    start: Option<Bound<Bytes>>,
    end: Bound<Bytes>,
    limit: PageLimit,
}

impl Pages {
    fn new(letter: u8, limit: PageLimit) -> Self {
        let start = Some(Bound::Included(Bytes::from(vec![letter])));
        let end = Bound::Excluded(Bytes::from(vec![letter + 1]));
        Self { start, end, limit }
    }

    /// The next page; `None` after the last one.
    async fn next(&mut self, from: &dyn Snapshot) -> Result<Option<Vec<(Bytes, Bytes)>>, Error> {
        let Some(start) = self.start.take() else { return Ok(None) };
        let page = from.scan((start, self.end.clone()), Direction::Forward, self.limit).await;
        let page = page.map_err(errors::from_store)?;
        if page.has_more {
            self.start = page.entries.last().map(|(key, _)| Bound::Excluded(key.clone()));
        }
        Ok(Some(page.entries))
    }
}
