//! Small resources of one kind under one owner: found by number, which is the order of creation, and
//! by name. Each is a row of the catalog of its own, so a change writes only what it changes.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

/// A resource that lives in a [`Children`].
pub(crate) trait Child {
    /// Its number among its owner's resources of this kind.
    fn number(&self) -> u64;

    /// Its name, which no other of them has.
    fn id(&self) -> &str;
}

/// The resources of one kind under one owner.
#[derive(Debug)]
pub(crate) struct Children<T> {
    members: BTreeMap<u64, Arc<T>>,
    /// The number of each, by name.
    names: HashMap<String, u64>,
    /// The number that the next one gets. Numbers are not given twice, even after a deletion: a link
    /// must not come to mean another resource.
    next: u64,
}

impl<T> Clone for Children<T> {
    fn clone(&self) -> Self {
        Self { members: self.members.clone(), names: self.names.clone(), next: self.next }
    }
}

impl<T> Default for Children<T> {
    fn default() -> Self {
        Self { members: BTreeMap::new(), names: HashMap::new(), next: 1 }
    }
}

impl<T: Child> Children<T> {
    pub(crate) fn named(&self, name: &str) -> Option<&Arc<T>> {
        self.members.get(self.names.get(name)?)
    }

    pub(crate) fn numbered(&self, number: u64) -> Option<&Arc<T>> {
        self.members.get(&number)
    }

    /// In the order of creation.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<T>> {
        self.members.values()
    }

    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    /// The number that the next one gets.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// As it was stored. Never below a number that is taken.
    pub(crate) fn set_next(&mut self, next: u64) {
        self.next = self.next.max(next);
    }

    /// Puts one in its place, new or changed, perhaps under another name.
    pub(crate) fn insert(&mut self, child: Arc<T>) {
        let number = child.number();
        if let Some(old) = self.members.get(&number) {
            self.names.remove(old.id());
        }
        self.names.insert(child.id().to_owned(), number);
        self.set_next(number + 1);
        self.members.insert(number, child);
    }

    pub(crate) fn remove(&mut self, child: &T) {
        self.names.remove(child.id());
        self.members.remove(&child.number());
    }

    /// A number for a new one. No other is named like its rid: a link by rid must not lead to a
    /// resource of that name.
    pub(crate) fn take_number(&mut self, rid: impl Fn(u64) -> String) -> u64 {
        loop {
            let number = self.next;
            self.next += 1;
            if !self.names.contains_key(&rid(number)) {
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
        assert_eq!(children.len(), 0);
        assert_eq!(children.take_number(|number| number.to_string()), number + 1);
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
        assert_eq!((children.len(), children.next()), (1, 2));
    }
}
