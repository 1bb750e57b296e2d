//! Objects: members in insertion order, found by key in about constant time however many there are.
//! Small objects are searched linearly, which is faster than hashing; large ones have a hash table.

use std::hash::{BuildHasher, RandomState};

use crate::Value;

/// Up to this many members a linear search is faster than hashing the key.
const LINEAR_MAX: usize = 32;

/// A JSON object. Keys are unique; members keep the order in which they were first inserted.
#[derive(Clone, Debug, Default)]
pub struct Object {
    members: Vec<(String, Value)>,
    /// Present only above [`LINEAR_MAX`] members, and then complete.
    table: Option<Box<Table>>,
}

impl Object {
    /// An object without members.
    pub fn new() -> Self {
        Self::default()
    }

    /// An object without members, with room for so many.
    pub(crate) fn with_capacity(members: usize) -> Self {
        Self { members: Vec::with_capacity(members), table: None }
    }

    /// The member called `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.position(key).map(|position| &self.members[position].1)
    }

    /// The member called `key`, mutable.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.position(key).map(|position| &mut self.members[position].1)
    }

    /// Whether there is a member called `key`.
    pub fn contains_key(&self, key: &str) -> bool {
        self.position(key).is_some()
    }

    /// Sets the member called `key`: in place when there is one, at the end otherwise. Returns the
    /// value it replaced.
    pub fn insert(&mut self, key: impl Into<String>, value: impl Into<Value>) -> Option<Value> {
        let (key, value) = (key.into(), value.into());
        if let Some(position) = self.position(&key) {
            return Some(std::mem::replace(&mut self.members[position].1, value));
        }
        self.push_unique(key, value);
        None
    }

    /// Removes the member called `key`; the others keep their order.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        let position = self.position(key)?;
        let (_, value) = self.members.remove(position);
        // Every later member has moved, and removal is linear anyway: rebuild the table on next
        // use.
        self.table = None;
        self.grow_table();
        Some(value)
    }

    /// The members in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Value)> {
        self.members.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// The number of members.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Appends a member whose key the caller knows to be absent.
    pub(crate) fn push_unique(&mut self, key: String, value: Value) {
        self.members.push((key, value));
        if self.table.is_some() || self.members.len() > LINEAR_MAX {
            self.grow_table();
        }
    }

    fn position(&self, key: &str) -> Option<usize> {
        match &self.table {
            Some(table) => table.find(key, &self.members),
            None => self.members.iter().position(|(other, _)| other == key),
        }
    }

    /// Adds the last member to the table, rebuilding it if it is missing or getting full.
    fn grow_table(&mut self) {
        let count = self.members.len();
        if count <= LINEAR_MAX {
            return;
        }
        match &mut self.table {
            // At most half full, to keep probe runs short.
            Some(table) if count * 2 <= table.slots.len() => table.enter(count - 1, &self.members),
            _ => self.table = Some(Box::new(Table::build(&self.members))),
        }
    }
}

impl FromIterator<(String, Value)> for Object {
    fn from_iter<I: IntoIterator<Item = (String, Value)>>(members: I) -> Self {
        let mut object = Object::new();
        for (key, value) in members {
            object.insert(key, value);
        }
        object
    }
}

impl IntoIterator for Object {
    type Item = (String, Value);
    type IntoIter = std::vec::IntoIter<(String, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.members.into_iter()
    }
}

/// An open-addressing table of member positions. Unlike a map it does not duplicate keys. The hash
/// is seeded at random so that clients cannot send keys that all collide; the slot order is never
/// visible.
#[derive(Clone, Debug)]
struct Table {
    hasher: RandomState,
    /// A member's position + 1, or 0 if free. The length is a power of two.
    slots: Vec<u32>,
}

impl Table {
    fn build(members: &[(String, Value)]) -> Self {
        let size = (members.len() * 4).next_power_of_two();
        let mut table = Table { hasher: RandomState::new(), slots: vec![0; size] };
        for position in 0..members.len() {
            table.enter(position, members);
        }
        table
    }

    fn enter(&mut self, position: usize, members: &[(String, Value)]) {
        let mask = self.slots.len() - 1;
        let mut slot = self.start(&members[position].0);
        while self.slots[slot] != 0 {
            slot = (slot + 1) & mask;
        }
        self.slots[slot] =
            u32::try_from(position + 1).expect("four billion members do not fit in memory");
    }

    fn find(&self, key: &str, members: &[(String, Value)]) -> Option<usize> {
        let mask = self.slots.len() - 1;
        let mut slot = self.start(key);
        loop {
            match self.slots[slot] {
                0 => return None,
                entry if members[entry as usize - 1].0 == key => return Some(entry as usize - 1),
                _ => slot = (slot + 1) & mask,
            }
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "any bits of the hash will do")]
    fn start(&self, key: &str) -> usize {
        self.hasher.hash_one(key) as usize & (self.slots.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(count: i64) -> Object {
        (0..count).map(|n| (format!("k{n}"), Value::from(n))).collect()
    }

    #[test]
    fn insertion_order_is_kept_and_replacement_happens_in_place() {
        for count in [3, 32, 33, 100, 1000] {
            let mut object = numbered(count);
            assert_eq!(object.insert("k1", "new"), Some(Value::from(1)));
            let keys: Vec<_> = object.iter().map(|(key, _)| key.to_owned()).collect();
            assert_eq!(keys, (0..count).map(|n| format!("k{n}")).collect::<Vec<_>>());
            assert_eq!(object.get("k1"), Some(&"new".into()));
            assert_eq!(object.get("absent"), None);
        }
    }

    #[test]
    fn removal_keeps_the_others_reachable() {
        for count in [3, 33, 34, 100] {
            let mut object = numbered(count);
            assert_eq!(object.remove("k1"), Some(Value::from(1)));
            assert_eq!(object.remove("k1"), None);
            assert_eq!(object.len(), usize::try_from(count).unwrap() - 1);
            for n in (0..count).filter(|n| *n != 1) {
                assert_eq!(object.get(&format!("k{n}")), Some(&Value::from(n)));
            }
        }
    }

    #[test]
    fn a_hundred_thousand_members_are_no_trouble() {
        let object = numbered(100_000);
        assert_eq!(object.get("k99999"), Some(&Value::from(99_999)));
    }
}
