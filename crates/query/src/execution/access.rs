//! Translates a query's filter and order into what one partition's index can do for them.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64},
    },
};

use bytes::Bytes;
use index::{Coverage, Kind, key};
use partition::{
    Partition, errors,
    names::{self, Names},
    presence::Seen,
    rows::KeyCounters,
    terms::unindexed_term,
};
use protocol::Error;
use sql::filter::Interval;
use store::{Direction, PageLimit, Snapshot};
use value::Value;

use crate::{
    execution::{
        candidates::{Node, Ranges},
        job::Part,
        ordered::{Order, OrderIndex, walked::Walked},
    },
    expiry::Expiry,
    readable::{PartitionView, Readable},
    scope::Scope,
    served::Served,
    sought::{Sought, Span, Terms, behind, coverage, span},
};

/// What a query asks of each partition: its filter, order and scope.
pub(crate) struct Access<'a> {
    pub(crate) collection: &'a Served,
    pub(crate) scope: &'a Scope,
    pub(crate) sought: &'a Sought,
    pub(crate) order: Option<&'a Order>,
    /// Read instead of the partition's stored rows.
    pub(crate) view: Option<&'a Arc<dyn Snapshot>>,
    /// The page's time, in seconds.
    pub(crate) now: u64,
}

impl Access<'_> {
    /// Prepares one partition's share of a page.
    pub(crate) async fn part(
        &self,
        partition: &Arc<dyn Readable>,
        stored: PartitionView,
    ) -> Result<Part, Error> {
        let PartitionView { snapshot: stored, lsn, counters } = stored;
        let here = partition.here();
        let snapshot = Arc::clone(self.view.unwrap_or(&stored));
        let partition_documents = counters.documents;
        let documents = match self.scope.full_key(self.collection) {
            Some(key) => {
                let rows =
                    snapshot.get_many(&[key.counters()]).await.map_err(errors::from_store)?;
                match rows.into_iter().next().flatten() {
                    Some(row) => KeyCounters::decode(&row).map_err(errors::from_damaged)?.documents,
                    None => 0,
                }
            }
            None => partition_documents,
        };
        let has_unindexed = has_unindexed(here, &*snapshot).await?;
        let mut reader = Reader::new(self.collection, here.map(|it| &it.names));
        let mut known = self.known(&mut reader, has_unindexed);
        if !reader.unknown.is_empty() {
            // Ids of paths never change, so they may come from a newer snapshot than the view.
            reader.found = names::find(&*stored, std::mem::take(&mut reader.unknown)).await?;
            if let Some(here) = here {
                here.names.learn(&reader.found);
            }
            known = self.known(&mut reader, has_unindexed);
        }
        let (node, order) = known;
        Ok(Part {
            slots: self.scope.slots_in(partition.range()),
            partition: Arc::clone(partition),
            point: partition.point(lsn),
            seen: self.view.is_none().then_some(Seen { at_least: lsn, at_most: counters.last_lsn }),
            snapshot,
            node,
            order,
            documents,
            partition_documents,
            has_unindexed,
            expiry: Expiry::new(self.collection, self.now),
            is_read: AtomicBool::default(),
            work: AtomicU64::default(),
        })
    }
}

impl Access<'_> {
    /// What the index knows of the filter, and the index to walk for the order, given the ids that
    /// the reader has.
    fn known(&self, reader: &mut Reader<'_>, has_unindexed: bool) -> (Node, Option<Walked>) {
        let mut node = reader.node(self.sought);
        if has_unindexed {
            node = Node::or(vec![node, unindexed()]);
        }
        let mut narrowing = self.scope.narrowing().peekable();
        if narrowing.peek().is_some() {
            let point = |(at, value): (usize, Value)| {
                let path = &self.collection.definition.partition_key.paths[at];
                reader.point(index::Path::of_keys(path.segments()), &value)
            };
            node = Node::and(std::iter::once(node).chain(narrowing.map(point)).collect());
        }
        let order = self.order.and_then(|order| order.index.as_ref());
        (node, order.and_then(|index| reader.walked(index)))
    }
}

/// Whether the partition has documents that its policy left out of the index.
async fn has_unindexed(here: Option<&Partition>, snapshot: &dyn Snapshot) -> Result<bool, Error> {
    if here.is_some_and(Partition::is_all_indexed) {
        return Ok(false);
    }
    let term = unindexed_term();
    let mut end = term.to_vec();
    end.extend_from_slice(&[u8::MAX; 9]);
    let range = (std::ops::Bound::Included(term), std::ops::Bound::Included(end.into()));
    let limit = PageLimit { entries: 1, bytes: 1024 };
    let page = snapshot.scan(range, Direction::Forward, limit).await;
    let is_found = !page.map_err(errors::from_store)?.entries.is_empty();
    if let (false, Some(partition)) = (is_found, here) {
        partition.note_all_indexed();
    }
    Ok(is_found)
}

/// The documents that are not in the index.
fn unindexed() -> Node {
    let term = unindexed_term();
    let (prefix, value) = term.split_at(key::PREFIX_BYTES);
    let span = Span { low: value.to_vec(), high: vec![value[0] + 1], is_point: true };
    let path = index::Path::default();
    let terms = Terms { path, spans: vec![span], check: None, is_unique: true };
    let mut bytes = [0; key::PREFIX_BYTES];
    bytes.copy_from_slice(prefix);
    Node::Ranges(Ranges { prefix: bytes, terms: terms.into(), is_exact: false })
}

/// Translates paths into the keys of one partition's index.
struct Reader<'a> {
    collection: &'a Served,
    /// The ids that the partition has cached.
    names: Option<&'a Names>,
    /// The ids of paths that were not cached and had to be read.
    found: HashMap<index::Path, u64>,
    /// The paths in neither of them. Their ids must be read, and the translation repeated.
    unknown: Vec<index::Path>,
}

impl<'a> Reader<'a> {
    fn new(collection: &'a Served, names: Option<&'a Names>) -> Self {
        let (found, unknown) = (HashMap::new(), Vec::new());
        Self { collection, names, found, unknown }
    }

    /// The id of a path; `None` if no document of the partition has it, or if it is still unknown.
    fn id(&mut self, path: &index::Path) -> Option<u64> {
        let remembered = self.names.and_then(|names| names.remembered(path));
        let id = remembered.or_else(|| self.found.get(path).copied());
        if id.is_none() {
            self.unknown.push(path.clone());
        }
        id
    }

    fn node(&mut self, sought: &Sought) -> Node {
        match sought {
            Sought::Everything => Node::Everything,
            Sought::Nothing => Node::Nothing,
            Sought::And(all) => Node::and(self.nodes(all)),
            Sought::Or(all) => Node::or(self.nodes(all)),
            Sought::Terms { kind, terms, is_exact } => match self.id(&terms.path) {
                Some(id) => {
                    let (prefix, terms) = (key::prefix(*kind, id), Arc::clone(terms));
                    Node::Ranges(Ranges { prefix, terms, is_exact: *is_exact })
                }
                None => Node::Nothing,
            },
        }
    }

    fn nodes(&mut self, all: &[Sought]) -> Vec<Node> {
        all.iter().map(|sought| self.node(sought)).collect()
    }

    /// The documents with this value.
    fn point(&mut self, path: index::Path, value: &Value) -> Node {
        if coverage(self.collection, &path) == Coverage::NotIndexed {
            return Node::Everything;
        }
        let Some(id) = self.id(&path) else {
            return Node::Nothing;
        };
        let mut low = Vec::new();
        value::key::encode(value, &mut low);
        let high = behind(low.clone());
        let mut is_exact = true;
        let span = span(&Interval { low, high }, &mut is_exact);
        let terms = Terms { path, spans: vec![span], check: None, is_unique: true };
        let prefix = key::prefix(Kind::Path, id);
        Node::Ranges(Ranges { prefix, terms: terms.into(), is_exact })
    }

    /// The prefixes of an index to walk; `None` if the partition has no entries of it.
    fn walked(&mut self, index: &OrderIndex) -> Option<Walked> {
        let paths = match index {
            OrderIndex::Path { path, .. } => std::slice::from_ref(path),
            OrderIndex::Composite { members, .. } => members.as_slice(),
        };
        let mut members = Vec::with_capacity(paths.len());
        for path in paths {
            let id = self.id(path);
            // A member without its own index gets a prefix that no filter has.
            let prefix = id.map_or([0; key::PREFIX_BYTES], |id| key::prefix(Kind::Path, id));
            members.push(Bytes::copy_from_slice(&prefix));
        }
        let prefix = match index {
            OrderIndex::Path { .. } if members[0][0] == 0 => return None,
            OrderIndex::Path { .. } => members[0].clone(),
            OrderIndex::Composite { id, .. } => {
                Bytes::copy_from_slice(&key::prefix(Kind::Composite, *id))
            }
        };
        Some(Walked { prefix, members })
    }
}
