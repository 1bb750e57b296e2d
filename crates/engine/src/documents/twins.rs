//! Documents that shared the values of a unique key before it was enforced.
//!
//! One of them holds the values; each of the others waits and has its own row after the holder's.
//! When the holder is removed, the next one holds the values: while any of them exists, no other
//! document can get them.

use std::ops::Bound;

use bytes::Bytes;
use partition::{Partition, errors, keys::u64_at, rows::Damaged, transaction::Overlay};
use protocol::{Error, rid::DocNum};
use store::{Direction, PageLimit};

/// Rows of waiting documents that are read at a time.
const PAGE: PageLimit = PageLimit { entries: 128, bytes: 1 << 16 };

/// Follows the number of a holder that other documents wait for.
const SHARED: u8 = 1;

/// The document that holds the values of a unique key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Holder {
    pub(crate) number: DocNum,
    /// Whether others may wait for them.
    pub(crate) is_shared: bool,
}

impl Holder {
    pub(crate) fn alone(number: DocNum) -> Self {
        Self { number, is_shared: false }
    }

    pub(crate) fn encode(self) -> Bytes {
        let mut row = self.number.to_be_bytes().to_vec();
        if self.is_shared {
            row.push(SHARED);
        }
        row.into()
    }

    pub(crate) fn decode(row: &[u8]) -> Result<Self, Damaged> {
        let number = u64_at(row, 0).ok_or(Damaged("U"))?;
        match &row[8..] {
            [] => Ok(Self { number, is_shared: false }),
            [SHARED] => Ok(Self { number, is_shared: true }),
            _ => Err(Damaged("U")),
        }
    }
}

/// The row of a document that waits for the values of another row.
pub(crate) fn twin(key: &Bytes, number: DocNum) -> Bytes {
    [key, &number.to_be_bytes()[..]].concat().into()
}

/// The first document that waits for some values, except those that no longer wait. Only for a
/// writer that holds the lock of the key.
pub(super) async fn next(
    partition: &std::sync::Arc<Partition>,
    key: &Bytes,
    is_gone: impl Fn(DocNum) -> bool,
) -> Result<Option<DocNum>, Error> {
    // Anything queued for the key before must be visible to the scan.
    partition.drain_patiently().await?;
    let (snapshot, _) = partition.read()?;
    let end = Bound::Included(twin(key, DocNum::MAX));
    let mut start = Bound::Excluded(key.clone());
    loop {
        let page = snapshot.scan((start, end.clone()), Direction::Forward, PAGE).await;
        let page = page.map_err(errors::from_store)?;
        let waiting = page.entries.iter().filter_map(|(row, _)| u64_at(row, key.len()));
        if let Some(number) = waiting.into_iter().find(|number| !is_gone(*number)) {
            return Ok(Some(number));
        }
        match page.entries.last() {
            Some((last, _)) if page.has_more => start = Bound::Excluded(last.clone()),
            _ => return Ok(None),
        }
    }
}

/// Adds the row changes for a document that is being re-indexed: it holds the values if nobody does
/// or `is_free`, which says that the holder has expired. Otherwise it waits.
pub(crate) fn bring_up(
    key: &Bytes,
    number: DocNum,
    held: Option<Holder>,
    is_free: bool,
    rows: &mut Overlay,
) {
    let shared = |number| Holder { number, is_shared: true }.encode();
    match held {
        None => rows.push((key.clone(), Some(Holder::alone(number).encode()))),
        Some(holder) if holder.number == number => {}
        Some(holder) => {
            let (first, second) =
                if is_free { (number, holder.number) } else { (holder.number, number) };
            rows.push((key.clone(), Some(shared(first))));
            rows.push((twin(key, first), None));
            rows.push((twin(key, second), Some(Bytes::new())));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_read_back() {
        for holder in [Holder::alone(7), Holder { number: u64::MAX, is_shared: true }] {
            assert_eq!(Holder::decode(&holder.encode()), Ok(holder));
        }
        for damaged in [&b""[..], b"1234567", b"12345678\x02", b"12345678\x01\x01"] {
            assert_eq!(Holder::decode(damaged), Err(Damaged("U")));
        }
    }
}
