//! Plans of queries that were asked lately: clients ask the same texts again and again, and each
//! page of a query is a request of its own.
//!
//! Two things are remembered: what a text means, which depends on nothing else; and the plan of a
//! text with its parameters over one version of a collection. Every change of a collection makes
//! another [`Collection`], so a plan is found only for the definition that it was made for. What
//! depends on the time of a request is not remembered. A plan is what would have been made anew, so
//! only the time that an answer takes depends on whether there was one.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak},
};

use catalog::Collection;
use foldhash::fast::RandomState;
use protocol::{Error, query::QuerySource};
use sql::{Query, filter::Filter, plan::KeyRange, program::Program};
use value::{Value, json};

use crate::sought::Sought;

/// Most entries of a generation, and most bytes of them, roughly. There are two generations.
const ENTRIES_MAX: usize = 128;
const BYTES_MAX: usize = 4 << 20;

/// What takes more is not remembered.
const ENTRY_BYTES_MAX: usize = BYTES_MAX / 8;

/// How many bytes a tree takes for each byte of its text, and a plan with all that is made of it.
const TREE_BYTES: usize = 64;
const PLAN_BYTES: usize = 128;

/// A constant may be in the program, at both ends of an interval of the filter and of the terms that
/// it becomes, and in a key.
const CONSTANT_COPIES: usize = 6;

/// The bytes of a computed property in a plan.
const COMPUTED_BYTES: usize = 8 << 10;

/// What is made of a query's text and parameters.
pub(crate) struct Plan {
    pub(crate) query: Arc<Query>,
    pub(crate) program: Program,
    /// Without the texts of predicates.
    pub(crate) filter: Filter,
    /// What the filter asks of the index of any partition, once somebody has asked.
    pub(crate) sought: OnceLock<Sought>,
    /// The error for a call of a function that the collection does not have.
    pub(crate) unknown_function: Option<Error>,
    /// Identifies this query over this collection: its tokens are bound to it.
    pub(crate) identity: Vec<u8>,
    /// The partition keys that the filter allows, once somebody has asked.
    pub(crate) key_ranges: OnceLock<Vec<KeyRange>>,
    /// The time of the request that it was made for, in milliseconds since 1970.
    pub(crate) now_millis: i64,
}

/// What is remembered of queries.
#[derive(Default)]
pub(crate) struct Plans {
    trees: Recent<Arc<Query>>,
    plans: Recent<Planned>,
}

/// A plan, and the collection that it is for.
#[derive(Clone)]
struct Planned {
    /// Its address is not given to another while this is held.
    collection: Weak<Collection>,
    plan: Arc<Plan>,
}

/// Identifies a query with its parameters.
pub(crate) struct Key(Vec<u8>);

impl Key {
    /// The key of a query over a collection.
    pub(crate) fn new(source: &QuerySource, collection: &Arc<Collection>) -> Self {
        let mut bytes = bytes_of(source);
        bytes.extend_from_slice(&Arc::as_ptr(collection).addr().to_be_bytes());
        Self(bytes)
    }
}

/// Bytes that are equal only where text and parameters are.
fn bytes_of(source: &QuerySource) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(source.bytes + 64);
    let text = |text: &str, bytes: &mut Vec<u8>| {
        bytes.extend_from_slice(&text.len().to_be_bytes());
        bytes.extend_from_slice(text.as_bytes());
    };
    text(&source.text, &mut bytes);
    for (name, value) in &source.parameters {
        text(name, &mut bytes);
        // Values that are equal may print differently, and so may what is made of them.
        match value {
            Value::Undefined => bytes.push(0),
            value => json::write(value, &mut bytes),
        }
    }
    bytes
}

impl Plans {
    /// The tree of a text, if it is remembered.
    pub(crate) fn tree(&self, text: &str) -> Option<Arc<Query>> {
        self.trees.get(text.as_bytes())
    }

    /// Remembers the tree of a text.
    pub(crate) fn keep_tree(&self, text: &str, query: &Arc<Query>) {
        self.trees.put(text.as_bytes(), Arc::clone(query), TREE_BYTES * text.len());
    }

    /// The plan of a query over a collection, if it is remembered.
    pub(crate) fn plan(&self, key: &Key, collection: &Arc<Collection>) -> Option<Arc<Plan>> {
        let planned = self.plans.get(&key.0)?;
        std::ptr::eq(planned.collection.as_ptr(), Arc::as_ptr(collection)).then_some(planned.plan)
    }

    /// Remembers the plan of a query over a collection, if it does not depend on the time.
    pub(crate) fn keep_plan(
        &self,
        key: &Key,
        source: &QuerySource,
        collection: &Arc<Collection>,
        plan: &Arc<Plan>,
    ) {
        if !plan.program.shape().is_deterministic {
            return;
        }
        let constants = CONSTANT_COPIES * plan.program.constant_bytes();
        let computed = COMPUTED_BYTES * collection.definition.computed.len();
        let bytes = PLAN_BYTES * source.bytes + constants + computed;
        let planned = Planned { collection: Arc::downgrade(collection), plan: Arc::clone(plan) };
        self.plans.put(&key.0, planned, bytes);
    }
}

/// Values that were used lately, in two generations: when the young one is full it becomes the old
/// one, and what was in the old one and has not been used since is forgotten.
struct Recent<V>(Mutex<Generations<V>>);

struct Generations<V> {
    young: Generation<V>,
    young_bytes: usize,
    old: Generation<V>,
}

/// Values by their keys, with their bytes.
type Generation<V> = HashMap<Box<[u8]>, (V, usize), RandomState>;

impl<V> Default for Recent<V> {
    fn default() -> Self {
        let (young, old) = (HashMap::default(), HashMap::default());
        Self(Mutex::new(Generations { young, young_bytes: 0, old }))
    }
}

impl<V: Clone> Recent<V> {
    fn get(&self, key: &[u8]) -> Option<V> {
        let mut generations = self.generations();
        if let Some((value, _)) = generations.young.get(key) {
            return Some(value.clone());
        }
        let (key, (value, bytes)) = generations.old.remove_entry(key)?;
        let found = value.clone();
        let forgotten = generations.add(key, value, bytes);
        drop(generations);
        drop(forgotten);
        Some(found)
    }

    fn put(&self, key: &[u8], value: V, bytes: usize) {
        let bytes = bytes + key.len();
        if bytes > ENTRY_BYTES_MAX {
            return;
        }
        let forgotten = self.generations().add(key.into(), value, bytes);
        // To drop them takes a while.
        drop(forgotten);
    }

    fn generations(&self) -> MutexGuard<'_, Generations<V>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<V> Generations<V> {
    /// Adds a value to the young ones. Returns what is forgotten for it.
    fn add(&mut self, key: Box<[u8]>, value: V, bytes: usize) -> Option<Generation<V>> {
        let is_full =
            self.young.len() >= ENTRIES_MAX || self.young_bytes.saturating_add(bytes) > BYTES_MAX;
        let forgotten = is_full.then(|| {
            self.young_bytes = 0;
            std::mem::replace(&mut self.old, std::mem::take(&mut self.young))
        });
        self.young_bytes += bytes;
        if let Some((_, before)) = self.young.insert(key, (value, bytes)) {
            self.young_bytes -= before;
        }
        forgotten
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: usize) -> [u8; 8] {
        number.to_be_bytes()
    }

    #[test]
    fn what_is_used_stays() {
        let recent = Recent::default();
        for number in 0..10 * ENTRIES_MAX {
            recent.put(&key(number), number, 10);
            assert_eq!(recent.get(&key(0)), Some(0));
        }
        assert_eq!(recent.get(&key(1)), None);
        let generations = recent.generations();
        assert!(generations.young.len() + generations.old.len() <= 2 * ENTRIES_MAX);
    }

    #[test]
    fn bytes_are_bounded() {
        let recent = Recent::default();
        recent.put(&key(0), 0, ENTRY_BYTES_MAX);
        assert_eq!(recent.get(&key(0)), None, "too large");
        for number in 0..100 {
            recent.put(&key(number), number, ENTRY_BYTES_MAX - 8);
            // The same one again takes no more.
            recent.put(&key(number), number, ENTRY_BYTES_MAX - 8);
            let generations = recent.generations();
            let all = generations.young.values().chain(generations.old.values());
            let bytes: usize = all.map(|(_, bytes)| bytes).sum();
            assert!(bytes <= 2 * BYTES_MAX && generations.young_bytes <= BYTES_MAX);
        }
        assert_eq!(recent.get(&key(99)), Some(99));
    }

    #[test]
    fn parameters_tell_keys_apart() {
        let keys: Vec<Vec<u8>> = [
            vec![("@a", Value::from(1))],
            vec![("@a", Value::from("1"))],
            vec![("@a", Value::Undefined)],
            vec![("@a", Value::Null)],
            vec![("@a", Value::from(0.0))],
            vec![("@a", Value::from(-0.0))],
            vec![("@a", Value::from(1)), ("@b", Value::from(1))],
            vec![("@b", Value::from(1)), ("@a", Value::from(1))],
            vec![],
        ]
        .into_iter()
        .map(|parameters| {
            let mut source = QuerySource::new("SELECT * FROM c");
            source.parameters =
                parameters.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
            bytes_of(&source)
        })
        .collect();
        for (at, key) in keys.iter().enumerate() {
            assert_eq!(keys.iter().position(|other| other == key), Some(at));
        }
    }
}
