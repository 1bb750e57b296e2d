//! What documents are kept with beside their terms: the row of their expiry.

use bytes::Bytes;
use store::Snapshot;

use crate::{
    OpenError,
    catalog::Collection,
    keys::{self, u64_at},
    rows::Header,
};

/// Checks that some documents have their rows; the problems, one line each. Documents that are still
/// to be brought to the collection's definition may lack them.
pub(super) async fn check(
    collection: &Collection,
    snapshot: &dyn Snapshot,
    documents: &[(Bytes, Bytes)],
) -> Result<Vec<String>, OpenError> {
    let mut wanted = Vec::new();
    for (row_key, row) in documents {
        let (Some(number), Ok((header, _))) = (u64_at(row_key, 1), Header::decode(row)) else {
            continue;
        };
        if header.index_generation != collection.index_generation {
            continue;
        }
        if let Some(expiry) = header.expiry(collection.definition.default_ttl) {
            wanted.push((number, keys::expiry(expiry, number)));
        }
    }
    let keys: Vec<Bytes> = wanted.iter().map(|(_, key)| key.clone()).collect();
    let rows = snapshot.get_many(&keys).await?;
    let missing = wanted.iter().zip(rows).filter(|(_, row)| row.is_none());
    let problem =
        |((number, _), _): (&(u64, Bytes), _)| format!("document {number:015x}: no expiry row");
    Ok(missing.map(problem).collect())
}
