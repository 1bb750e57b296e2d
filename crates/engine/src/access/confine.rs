//! Confines a request to one partition key, or to the keys that begin with it.
//!
//! A request that names a partition key must name an allowed one. A request without one is narrowed
//! if it concerns one document or one execution. Feeds, queries and the change feed without a key
//! concern all documents of the collection or of a range, so they are refused, unless the range can
//! hold only documents of the key.

use protocol::{
    Error, Operation, Options, Request,
    request::{AttachmentPath, CollectionPath},
};
use query::{
    scope::Scope,
    served::{Served, View},
};
use value::partition_key::{Component, Hashing, PartitionKey};

use crate::access::{same::stored, too_little};

/// Confines a request to `key`. `path` is the permission's collection; `reads_many` says that the
/// operation concerns documents of all keys unless the request names one.
pub(crate) fn confine(
    view: &View,
    path: Option<&CollectionPath>,
    key: &PartitionKey,
    reads_many: bool,
    Request { operation, options }: &mut Request,
) -> Result<(), Error> {
    let collection = path.and_then(|path| view.collection(path).ok());
    let is_multi = collection.is_some_and(|collection| {
        collection.definition.partition_key.hashing == Hashing::MultiHash
    });
    if let Operation::ExecuteBatch { operations, .. } = operation {
        let mut named = operations.iter().filter_map(|operation| operation.key.as_ref());
        if !named.all(|named| begins_with(named, key, is_multi)) {
            return Err(too_little());
        }
    }
    match &options.partition_key {
        Some(named) if begins_with(named, key, is_multi) => return Ok(()),
        Some(_) => return Err(too_little()),
        None => {}
    }
    if let Some(collection) = collection.filter(|_| reads_many) {
        check_range(collection, key, options)?;
    }
    // The operations of a bulk name their own keys and the range that these are in.
    if !matches!(operation, Operation::ExecuteBatch { .. }) {
        options.range_id = None;
        options.epk_range = None;
    }
    options.partition_key = Some(key.clone());
    Ok(())
}

/// Refuses media of another key's document.
pub(crate) async fn check_media(
    view: &View,
    AttachmentPath { document, .. }: &AttachmentPath,
    key: &PartitionKey,
) -> Result<(), Error> {
    let Ok(collection) = view.collection(&document.collection) else { return Ok(()) };
    let is_multi = collection.definition.partition_key.hashing == Hashing::MultiHash;
    let stored = stored(collection, &document.document).await?;
    let is_granted = stored.is_some_and(|stored| begins_with(&stored.key, key, is_multi));
    if is_granted { Ok(()) } else { Err(too_little()) }
}

/// Refuses every range of effective keys that can hold other keys. Python and other SDKs read the
/// documents under a prefix of a hierarchical key by such a range.
fn check_range(collection: &Served, key: &PartitionKey, options: &Options) -> Result<(), Error> {
    if options.epk_range.is_none() {
        return Err(too_little());
    }
    let only = Options { partition_key: Some(key.clone()), ..Options::default() };
    let granted = Scope::of(collection, &only)?.place();
    let asked = Scope::of(collection, options)?.place();
    // The answer has all documents of the key, so its parts must not be requested one by one.
    let holders = collection.ranges.iter().filter(|it| it.area.overlaps(&granted)).count();
    let is_all = holders == 1 || asked.covers(&granted);
    if granted.covers(&asked) && !asked.is_empty() && is_all { Ok(()) } else { Err(too_little()) }
}

/// Whether a key is the granted one or, if it is hierarchical, begins with it. In hierarchical keys
/// an absent part counts as null, since some SDKs cannot tell the two apart.
fn begins_with(named: &PartitionKey, granted: &PartitionKey, is_multi: bool) -> bool {
    let is_one = |part: &Component| matches!(part, Component::Null | Component::Undefined);
    let same = |(one, other): (&Component, &Component)| {
        one == other || is_multi && is_one(one) && is_one(other)
    };
    let is_long_enough =
        if is_multi { named.0.len() >= granted.0.len() } else { named.0.len() == granted.0.len() };
    is_long_enough && named.0.iter().zip(&granted.0).all(same)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_are_granted() {
        let key = |text| PartitionKey::parse_header(text).expect(text);
        for (named, granted, is_multi, expected) in [
            (r#"["a"]"#, r#"["a"]"#, false, true),
            (r#"["b"]"#, r#"["a"]"#, false, false),
            ("[]", r#"["a"]"#, false, false),
            ("[1]", r#"["1"]"#, false, false),
            ("[null]", "[{}]", false, false),
            (r#"["a",1]"#, r#"["a"]"#, true, true),
            (r#"["a",1]"#, r#"["a"]"#, false, false),
            (r#"["a"]"#, r#"["a",1]"#, true, false),
            (r#"["a",null]"#, r#"["a",{}]"#, true, true),
            (r#"["b",1]"#, r#"["a"]"#, true, false),
        ] {
            let is_granted = begins_with(&key(named), &key(granted), is_multi);
            assert_eq!(is_granted, expected, "{named} of {granted}");
        }
    }
}
