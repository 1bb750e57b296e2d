//! Small resources of one kind with the same owner, indexed by number (creation order) and by name.
//! Each has its own row in the catalog, so a change writes only what it changes.
//!
//! A change builds a new value next to the old one. Both maps are split into pieces that the two
//! values share, so adding one user does not copy all the users of a database.

use std::{
    collections::{BTreeMap, HashMap},
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::Arc,
};

/// How many numbers a piece covers.
const PIECE: u64 = 256;

/// A resource in a [`Children`].
pub trait Child {
    /// Its number among its owner's resources of this kind.
    fn number(&self) -> u64;

    /// Its name, unique among them.
    fn id(&self) -> &str;
}

/// The resources of one kind with the same owner.
#[derive(Debug)]
pub struct Children<T> {
    /// By number, in pieces of [`PIECE`] numbers.
    members: BTreeMap<u64, Arc<BTreeMap<u64, Arc<T>>>>,
    /// The number of each by name, in pieces by the first byte of the name's hash.
    names: BTreeMap<u8, Arc<HashMap<String, u64>>>,
    len: usize,
    /// The number of the next resource. Numbers are never reused, even after a deletion, so that a
    /// link never comes to mean another resource.
    next: u64,
}

impl<T> Clone for Children<T> {
    fn clone(&self) -> Self {
        let Self { members, names, len, next } = self;
        Self { members: members.clone(), names: names.clone(), len: *len, next: *next }
    }
}

impl<T> Default for Children<T> {
    fn default() -> Self {
        Self { members: BTreeMap::new(), names: BTreeMap::new(), len: 0, next: 1 }
    }
}

/// The piece that contains a name.
fn piece_of(name: &str) -> u8 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish().to_be_bytes()[0]
}

impl<T: Child> Children<T> {
    /// Finds the child with exactly this name; does not look at rids.
    pub fn named(&self, name: &str) -> Option<&Arc<T>> {
        self.numbered(self.number_of(name)?)
    }

    fn number_of(&self, name: &str) -> Option<u64> {
        self.names.get(&piece_of(name))?.get(name).copied()
    }

    /// The child with this number; tokens refer to users and permissions by it.
    pub fn numbered(&self, number: u64) -> Option<&Arc<T>> {
        self.members.get(&(number / PIECE))?.get(&number)
    }

    /// A mutable child. Its number and name must not change.
    pub(crate) fn numbered_mut(&mut self, number: u64) -> Option<&mut T>
    where
        T: Clone,
    {
        let piece = self.members.get_mut(&(number / PIECE))?;
        Arc::make_mut(piece).get_mut(&number).map(Arc::make_mut)
    }

    /// All children in creation order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<T>> {
        self.members.values().flat_map(|piece| piece.values())
    }

    /// How many there are; compared with limits.
    pub fn count(&self) -> usize {
        self.len
    }

    /// The number of the next resource.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Restores the stored next number, but never goes below a number in use.
    pub(crate) fn set_next(&mut self, next: u64) {
        self.next = self.next.max(next);
    }

    /// Inserts a new child, or replaces one, perhaps under a new name.
    pub fn insert(&mut self, child: Arc<T>) {
        let number = child.number();
        if let Some(old) = self.numbered(number).cloned() {
            self.forget_name(old.id());
        } else {
            self.len += 1;
        }
        let names = self.names.entry(piece_of(child.id())).or_default();
        Arc::make_mut(names).insert(child.id().to_owned(), number);
        self.set_next(number + 1);
        Arc::make_mut(self.members.entry(number / PIECE).or_default()).insert(number, child);
    }

    /// Removes a child. Its number is not reused.
    pub fn remove(&mut self, child: &T) {
        self.forget_name(child.id());
        let piece = child.number() / PIECE;
        let Some(members) = self.members.get_mut(&piece) else { return };
        let members = Arc::make_mut(members);
        if members.remove(&child.number()).is_some() {
            self.len -= 1;
        }
        if members.is_empty() {
            self.members.remove(&piece);
        }
    }

    fn forget_name(&mut self, name: &str) {
        if let Some(names) = self.names.get_mut(&piece_of(name)) {
            Arc::make_mut(names).remove(name);
        }
    }

    /// Allocates a number. Skips numbers whose rid is another child's name, because a link by rid
    /// must not lead to that child.
    pub(crate) fn take_number(&mut self, rid: impl Fn(u64) -> String) -> u64 {
        loop {
            let number = self.next;
            self.next += 1;
            if self.number_of(&rid(number)).is_none() {
                return number;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Named(u64, &'static str);

    impl Child for Named {
        fn number(&self) -> u64 {
            self.0
        }

        fn id(&self) -> &str {
            self.1
        }
    }

    #[test]
    fn numbers_are_given_once() {
        let mut children = Children::default();
        let number = children.take_number(|number| number.to_string());
        let child = Arc::new(Named(number, "a"));
        children.insert(Arc::clone(&child));
        children.remove(&child);
        assert_eq!(children.count(), 0);
        assert_eq!(children.take_number(|number| number.to_string()), number + 1);
    }

    #[test]
    fn many_are_found_and_listed_in_the_order_of_their_numbers() {
        let mut children = Children::default();
        let names: Vec<&'static str> =
            (1..=2000).map(|number: u64| &*number.to_string().leak()).collect();
        for (number, name) in (1..2001u32).zip(&names).rev() {
            children.insert(Arc::new(Named(number.into(), name)));
        }
        let before = children.clone();
        for number in (1..=2000).filter(|number| number % 3 == 0) {
            let child = Arc::clone(children.numbered(number).expect("a child"));
            children.remove(&child);
        }
        let numbers: Vec<u64> = children.iter().map(|child| child.0).collect();
        let left: Vec<u64> = (1..=2000).filter(|number| number % 3 != 0).collect();
        assert_eq!((numbers, children.count()), (left, 1334));
        assert!(children.named("3").is_none() && children.named("4").is_some());
        assert_eq!((before.count(), before.iter().count(), children.next()), (2000, 2000, 2001));
    }

    #[test]
    fn a_number_whose_rid_is_a_name_is_passed_over() {
        let mut children = Children::default();
        children.insert(Arc::new(Named(1, "2")));
        assert_eq!(children.take_number(|number| number.to_string()), 3);
    }

    #[test]
    fn a_new_name_replaces_the_old_one() {
        let mut children = Children::default();
        children.insert(Arc::new(Named(1, "a")));
        children.insert(Arc::new(Named(1, "b")));
        assert!(children.named("a").is_none());
        assert_eq!(children.named("b").map(|child| child.0), Some(1));
        assert_eq!((children.count(), children.next()), (1, 2));
    }
}
