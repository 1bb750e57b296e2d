//! Unique keys: combinations of values that no two documents of a logical key may share.
//!
//! Each combination that a document has is a row of its own, under the logical key, which says whose
//! it is. Writers of one logical key take turns, so what one finds is what is there. A missing value
//! counts as null; numbers are compared as doubles, all else as it is.

use std::collections::HashSet;

use bytes::Bytes;
use protocol::{Code, Error, rid::DocNum};
use value::{Value, hash::murmur3_128, json, key};

use crate::{
    definition::Definition,
    documents::{Place, RowReader, stage::Stage, staged::Staged},
    errors,
    expiry::is_expired,
    keys::{self, LogicalKey, u64_at},
    partition::transaction::Overlay,
    rows::{Damaged, Header},
};

/// Values of so many bytes stand in the row as they are; longer ones are hashed.
const PLAIN_BYTES_MAX: usize = 200;
const PLAIN: u8 = 0;
const HASHED: u8 = 1;

/// Two hashes of 128 bits: nobody meets them by accident.
const SEEDS: [(u64, u64); 2] = [(0, 0), (0x9e37_79b9_7f4a_7c15, 0xc2b2_ae3d_27d4_eb4f)];

/// The keys of the rows that a document calls for.
pub(crate) fn rows(definition: &Definition, key: &LogicalKey, document: &Value) -> Vec<Bytes> {
    let row = |(number, paths): (usize, &Vec<value::path::Path>)| {
        let mut values = Vec::new();
        for path in paths {
            match document.at(path) {
                Value::Undefined => key::encode(&Value::Null, &mut values),
                value => key::encode(value, &mut values),
            }
        }
        // There are at most ten.
        let number = u8::try_from(number).unwrap_or(u8::MAX);
        key.unique(number, &shortened(values))
    };
    definition.unique_keys.iter().enumerate().map(row).collect()
}

fn shortened(values: Vec<u8>) -> Vec<u8> {
    if values.len() <= PLAIN_BYTES_MAX {
        return [&[PLAIN], &values[..]].concat();
    }
    let mut out = vec![HASHED];
    for seed in SEEDS {
        let (low, high) = murmur3_128(&values, seed);
        out.extend_from_slice(&low.to_be_bytes());
        out.extend_from_slice(&high.to_be_bytes());
    }
    out
}

/// What such a row holds.
pub(crate) fn holder_row(number: DocNum) -> Bytes {
    number.to_be_bytes().to_vec().into()
}

/// The document that a row names.
pub(crate) fn decode_holder(row: &[u8]) -> Result<DocNum, Damaged> {
    u64_at(row, 0).filter(|_| row.len() == 8).ok_or(Damaged("U"))
}

impl Stage<'_> {
    /// Refuses values that another document of the key has. One that has expired gives them up.
    pub(super) async fn claim(&mut self, number: DocNum, wanted: &[Bytes]) -> Result<(), Error> {
        for key in wanted {
            let Some(holder) = self.holder(key).await?.filter(|holder| *holder != number) else {
                continue;
            };
            let row = RowReader::Staged(self).get(keys::document(holder)).await?;
            let Some(row) = row else { continue };
            let (header, text) = Header::decode(&row).map_err(errors::from_damaged)?;
            if !is_expired(&header, &text, self.place.collection, self.now) {
                return Err(violation());
            }
            let document = json::parse(&text).map_err(|_| errors::from_damaged(Damaged("D")))?;
            // Looking for it by its id takes it away.
            self.newest(document.get("id").as_str().unwrap_or_default()).await?;
        }
        Ok(())
    }

    /// The document that has these values, as the changes so far have left it.
    async fn holder(&self, key: &Bytes) -> Result<Option<DocNum>, Error> {
        let has = |change: &&Staged| change.unique().contains(key);
        if let Some(change) = self.changes.iter().find(has) {
            return Ok(Some(change.number));
        }
        let Some(row) = RowReader::Newest(self.place.partition).get(key.clone()).await? else {
            return Ok(None);
        };
        let holder = decode_holder(&row).map_err(errors::from_damaged)?;
        let is_changed = self.changes.iter().any(|change| change.number == holder);
        // One that was changed has given them up: it would have been found.
        Ok(Some(holder).filter(|_| !is_changed))
    }
}

/// How the rows change with some documents.
pub(super) async fn changes(place: &Place<'_>, changes: &[Staged]) -> Result<Overlay, Error> {
    let definition = &place.collection.definition;
    if definition.unique_keys.is_empty() {
        return Ok(Overlay::new());
    }
    let added: HashSet<&Bytes> = changes.iter().flat_map(Staged::unique).collect();
    let mut removed = Vec::new();
    for change in changes {
        let Some(old) = &change.old else { continue };
        let given_up = rows(definition, &place.key, &old.parse()?);
        let given_up = given_up.into_iter().filter(|key| !added.contains(key));
        removed.extend(given_up.map(|key| (key, change.number)));
    }
    let wanted: Vec<Bytes> = removed.iter().map(|(key, _)| key.clone()).collect();
    let found = place.partition.newest(&wanted).await?;
    let mut overlay = Overlay::new();
    for ((key, number), row) in removed.into_iter().zip(found) {
        // Documents from before there were rows may share values: the row is of one of them.
        if row.is_some_and(|row| decode_holder(&row) == Ok(number)) {
            overlay.push((key, None));
        }
    }
    for change in changes {
        let row = holder_row(change.number);
        overlay.extend(change.unique().iter().map(|key| (key.clone(), Some(row.clone()))));
    }
    Ok(overlay)
}

/// The service's words.
fn violation() -> Error {
    Error::new(Code::Conflict, "Unique index constraint violation.")
}

#[cfg(test)]
mod tests {
    use value::partition_key::{Component, PartitionKey};

    use super::*;

    fn keys_of(document: &str) -> Vec<Bytes> {
        let policy = r#"{"id":"c","partitionKey":{"paths":["/pk"]},
            "uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/a/b","/c"]},{"paths":["/d"]}]}}"#;
        let policy = json::parse(policy.as_bytes()).expect("JSON");
        let definition = Definition::create(&policy, false).expect("a definition");
        let key = PartitionKey(vec![Component::String("k".to_owned())]);
        let document = json::parse(document.as_bytes()).expect("JSON");
        rows(&definition, &LogicalKey::new(5, &key), &document)
    }

    #[test]
    fn equal_values_have_equal_rows() {
        let plain = keys_of(r#"{"a":{"b":1},"c":"x"}"#);
        for same in [r#"{"c":"x","a":{"b":1.0},"d":null}"#, r#"{"c":"\u0078","a":{"b":1e0,"z":9}}"#]
        {
            assert_eq!(keys_of(same), plain, "{same}");
        }
        for other in [
            r#"{"a":{"b":"1"},"c":"x","d":1}"#,
            r#"{"a":{"b":true},"c":"x","d":false}"#,
            r#"{"a":[{"b":1}],"c":"x","d":[]}"#,
            r#"{"a":{"b":1},"c":"X","d":{}}"#,
            r#"{"a":{"b":"x"},"c":1,"d":""}"#,
        ] {
            let other_keys = keys_of(other);
            assert!(plain.iter().zip(&other_keys).all(|(a, b)| a != b), "{other}");
        }
    }

    #[test]
    fn long_values_are_hashed() {
        let long = |last: char| format!(r#"{{"d":"{}{last}"}}"#, "x".repeat(10_000));
        assert_ne!(keys_of(&long('a')), keys_of(&long('b')));
        assert_eq!(keys_of(&long('a')), keys_of(&long('a')));
        assert!(keys_of(&long('a'))[1].len() < 100);
    }
}
