//! Groups of partitions, which change owner together.

use std::collections::BTreeMap;

use value::{Object, Value};

use crate::{
    range::LOCAL_GROUP,
    rows::{DAMAGED, Damaged, parse, text},
    to_bytes,
};

/// The owner of every group of an embedded database.
const LOCAL_OWNER: &str = "local";

/// A group's owner and epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Increases with each new owner. The owner opens key spaces under it.
    pub epoch: u64,
    /// The name of the process that owns it.
    pub owner: String,
}

/// All groups by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Groups(BTreeMap<String, Group>);

impl Default for Groups {
    /// An embedded database has one group, whose owner never changes. Data older than groups has no
    /// row for it.
    fn default() -> Self {
        let local = Group { epoch: 0, owner: LOCAL_OWNER.to_owned() };
        Self(BTreeMap::from([(LOCAL_GROUP.to_owned(), local)]))
    }
}

impl Groups {
    /// The group that a range belongs to.
    pub fn get(&self, name: &str) -> Option<&Group> {
        self.0.get(name)
    }

    /// Inserts or replaces a group.
    pub(crate) fn insert(&mut self, name: String, group: Group) {
        self.0.insert(name, group);
    }

    /// All groups with their names, in name order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&String, &Group)> {
        self.0.iter()
    }
}

impl Group {
    /// Encodes the group's row, without its name, which is in the key.
    pub(crate) fn encode(&self) -> bytes::Bytes {
        let mut row = Object::new();
        row.insert("epoch", self.epoch.to_string());
        row.insert("owner", self.owner.as_str());
        to_bytes(row)
    }

    /// Decodes the row of a group.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Damaged> {
        let row: Value = parse(bytes)?;
        let epoch = text(&row, "epoch")?.parse().map_err(|_| DAMAGED)?;
        Ok(Self { epoch, owner: text(&row, "owner")? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_as_they_were_written() {
        let group = Group { epoch: u64::MAX, owner: "node \"7\"".to_owned() };
        assert!(Group::decode(&group.encode()).is_ok_and(|again| again == group));
        for damaged in ["", "{}", r#"{"epoch":1,"owner":"a"}"#, r#"{"epoch":"x","owner":"a"}"#] {
            assert!(Group::decode(damaged.as_bytes()).is_err(), "{damaged}");
        }
    }
}
