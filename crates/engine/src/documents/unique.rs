//! Unique keys: combinations of values that no two documents of a logical key may share.
//!
//! Each combination is a row of its own under the logical key, and the row names the document that
//! has it. Writers of one logical key take turns, so such a row is reliable. A missing value counts
//! as null; numbers are compared as doubles, and other values as they are.

use std::collections::BTreeMap;

use bytes::Bytes;
use catalog::definition::Definition;
use partition::{
    errors,
    keys::{self, LogicalKey},
    rows::{Damaged, Header},
    transaction::Overlay,
};
use protocol::{Code, Error, rid::DocNum};
use query::expiry::is_expired;
use value::{Value, hash::murmur3_128, json, key};

use crate::documents::{
    Place, RowReader,
    stage::Stage,
    staged::Staged,
    twins::{self, Holder},
};

/// Most expired documents that can lose values to one transaction.
const EXPIRED_MAX: usize = 64;

/// Values of up to so many bytes are stored in the row's key as they are; longer ones are hashed.
const PLAIN_BYTES_MAX: usize = 200;
const PLAIN: u8 = 0;
const HASHED: u8 = 1;

/// Two hashes of 128 bits do not collide by accident.
const SEEDS: [(u64, u64); 2] = [(0, 0), (0x9e37_79b9_7f4a_7c15, 0xc2b2_ae3d_27d4_eb4f)];

/// The keys of the rows that a document needs.
pub(crate) fn rows(definition: &Definition, key: &LogicalKey, document: &Value) -> Vec<Bytes> {
    let row = |(number, paths): (usize, &Vec<value::path::Path>)| {
        let mut values = Vec::new();
        for path in paths {
            match document.at(path) {
                Value::Undefined => key::encode(&Value::Null, &mut values),
                value => key::encode(value, &mut values),
            }
        }
        // There are at most ten unique keys.
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

impl Stage<'_> {
    /// Refuses values that another document of the key has. An expired document loses them.
    pub(super) async fn claim(&mut self, number: DocNum, wanted: &[Bytes]) -> Result<(), Error> {
        for key in wanted {
            let mut expired = 0;
            while let Some(holder) = self.holder(key).await?.filter(|holder| *holder != number) {
                let row = RowReader::Staged(self).get(keys::document(holder)).await?;
                let Some(row) = row else { break };
                let (header, text) = Header::decode(&row).map_err(errors::from_damaged)?;
                let is_gone = is_expired(&header, &text, self.place.collection, self.now);
                // If there are more than fit a transaction, the sweep has to remove some first.
                if !is_gone || expired == EXPIRED_MAX {
                    return Err(violation());
                }
                expired += 1;
                let document =
                    json::parse(&text).map_err(|_| errors::from_damaged(Damaged("D")))?;
                // Looking it up by its id removes it.
                self.newest(document.get("id").as_str().unwrap_or_default()).await?;
            }
        }
        Ok(())
    }

    /// The document that has these values after the changes so far.
    async fn holder(&self, key: &Bytes) -> Result<Option<DocNum>, Error> {
        let has = |change: &&Staged| change.unique().contains(key);
        if let Some(change) = self.changes.iter().find(has) {
            return Ok(Some(change.number));
        }
        let place = self.place;
        let Some(row) = RowReader::Newest(place).get(key.clone()).await? else {
            return Ok(None);
        };
        let Holder { number, is_shared } = Holder::decode(&row).map_err(errors::from_damaged)?;
        let is_changed = |number| self.changes.iter().any(|change| change.number == number);
        // If it was changed, it no longer has them: it would have been found above.
        match (is_changed(number), is_shared) {
            (false, _) => Ok(Some(number)),
            (true, false) => Ok(None),
            (true, true) => twins::next(place.partition, key, is_changed).await,
        }
    }
}

/// What some documents do with the values of one row.
#[derive(Default)]
struct Moves {
    given_up: Vec<DocNum>,
    /// The document that takes or keeps them.
    taken: Option<DocNum>,
    is_kept: bool,
}

/// The row changes that these document changes need.
pub(super) async fn changes(place: &Place<'_>, changes: &[Staged]) -> Result<Overlay, Error> {
    let definition = &place.collection.definition;
    if definition.unique_keys.is_empty() {
        return Ok(Overlay::new());
    }
    let mut moves: BTreeMap<Bytes, Moves> = BTreeMap::new();
    for change in changes {
        if let Some(old) = &change.old {
            for key in rows(definition, &place.key, &old.parse()?) {
                let is_kept = change.unique().contains(&key);
                let moves = moves.entry(key).or_default();
                if is_kept {
                    moves.is_kept = true;
                } else {
                    moves.given_up.push(change.number);
                }
            }
        }
        for key in change.unique() {
            moves.entry(key.clone()).or_default().taken = Some(change.number);
        }
    }
    // If values are only added, nobody had them: claiming them has checked that.
    let is_known = |moves: &Moves| moves.is_kept || !moves.given_up.is_empty();
    let known = moves.iter().filter(|(_, moves)| is_known(moves));
    let wanted: Vec<Bytes> = known.map(|(key, _)| key.clone()).collect();
    let mut found = place.newest(&wanted).await?.into_iter();
    let mut overlay = Overlay::new();
    for (key, moves) in moves {
        let row = if is_known(&moves) { found.next().flatten() } else { None };
        let holder = row.map(|row| Holder::decode(&row)).transpose();
        moves.rows(place, key, holder.map_err(errors::from_damaged)?, &mut overlay).await?;
    }
    Ok(overlay)
}

impl Moves {
    async fn rows(
        self,
        place: &Place<'_>,
        key: Bytes,
        holder: Option<Holder>,
        overlay: &mut Overlay,
    ) -> Result<(), Error> {
        let Self { given_up, taken, .. } = self;
        let is_shared = holder.is_some_and(|holder| holder.is_shared);
        let mut holds = taken;
        if is_shared {
            let waiting = given_up.iter().chain(&taken);
            overlay.extend(waiting.map(|number| (twins::twin(&key, *number), None)));
            if taken.is_none() && holder.is_some_and(|it| given_up.contains(&it.number)) {
                let is_gone = |number| given_up.contains(&number);
                holds = twins::next(place.partition, &key, is_gone).await?;
                overlay.extend(holds.map(|number| (twins::twin(&key, number), None)));
            }
        }
        match (holds, holder) {
            (Some(number), _) => overlay.push((key, Some(Holder { number, is_shared }.encode()))),
            (None, Some(holder)) if given_up.contains(&holder.number) => overlay.push((key, None)),
            // Documents older than the unique rows may share values, and the row is of another one.
            (None, _) => {}
        }
        Ok(())
    }
}

/// The error for a violation, in the service's words.
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
