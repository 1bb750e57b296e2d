//! Partition keys of requests: a document's key, and the documents that a feed covers.

use std::{ops, sync::Arc};

use bytes::Bytes;
use catalog::{
    Collection,
    area::{Area, Edge},
    definition::partition_key::check_length,
    range::Range,
};
use partition::keys::{LogicalKey, PRIMARY, SLOT_COUNT, slot_rows};
use protocol::{Code, Error, Options, PartitionPoint};
use value::{
    Value,
    json::{self, Wanted},
    partition_key::{Component, Epk, Hashing, PartitionKey},
};

use crate::{readable::Readable, served::Served, together};

/// The service's words when a key does not fit the collection or the document.
const MISMATCH: &str = "Partition key provided either doesn't correspond to definition in the \
                        collection or doesn't match partition key field values specified in the \
                        document.";

/// The service's words when a document's key does not match the header.
const OTHER_THAN_HEADER: &str =
    "PartitionKey extracted from document doesn't match the one specified in the header";

/// Most bytes of an edge inside a slot: those of a hierarchical key of three levels.
pub const EDGE_BYTES_MAX: usize = 48;

/// A scope is small if its slots are at most this fraction of a partition's.
const FEW_SLOTS: usize = 64;

/// The partition key from a document's content.
pub fn document_key(collection: &Collection, document: &Value) -> PartitionKey {
    let paths = &collection.definition.partition_key.paths;
    PartitionKey(paths.iter().map(|path| Component::of(document.at(path))).collect())
}

/// The members of a document that its partition key is made of.
pub(crate) fn key_members(collection: &Collection) -> Wanted {
    let mut members = Wanted::Some(Vec::new());
    add_key_members(collection, &mut members);
    members
}

fn add_key_members(collection: &Collection, members: &mut Wanted) {
    for path in &collection.definition.partition_key.paths {
        match path.segments().first() {
            Some(name) => members.add(name),
            None => *members = Wanted::All,
        }
    }
}

/// The key of a document to write: the body has it, and the header must match.
pub fn key_in_body(
    collection: &Collection,
    document: &Value,
    options: &Options,
) -> Result<PartitionKey, Error> {
    let key = document_key(collection, document);
    check_length(&key)?;
    match &options.partition_key {
        Some(named) if full_key(collection, named)? != key => {
            Err(Error::new(Code::PartitionKeyMismatch, OTHER_THAN_HEADER))
        }
        _ => Ok(key),
    }
}

/// Refuses a document whose key is not the transaction's.
pub fn check_key(
    collection: &Collection,
    document: &Value,
    key: &PartitionKey,
    options: &Options,
) -> Result<(), Error> {
    if key_in_body(collection, document, options)? == *key {
        return Ok(());
    }
    Err(Error::new(Code::PartitionKeyMismatch, OTHER_THAN_HEADER))
}

/// The key of a document to read or delete: the header must name it in full.
pub fn header_key(collection: &Collection, options: &Options) -> Result<PartitionKey, Error> {
    named_key(collection, options.partition_key.as_ref())
}

/// The key of a document to read or delete, from the value of the header.
pub fn named_key(
    collection: &Collection,
    named: Option<&PartitionKey>,
) -> Result<PartitionKey, Error> {
    match named {
        Some(named) => full_key(collection, named),
        // Clients older than partition keys send none.
        None if collection.definition.partition_key.is_system => {
            Ok(PartitionKey(vec![Component::Undefined]))
        }
        None => Err(Error::bad_request("PartitionKey value must be supplied for this operation.")),
    }
}

/// Completes a named key: the empty key of a collection without a partition key means "undefined".
fn full_key(collection: &Collection, named: &PartitionKey) -> Result<PartitionKey, Error> {
    let definition = &collection.definition.partition_key;
    if named.0.is_empty() && definition.is_system {
        return Ok(PartitionKey(vec![Component::Undefined]));
    }
    if named.0.len() != definition.paths.len() {
        return Err(Error::new(Code::PartitionKeyMismatch, MISMATCH));
    }
    check_length(named)?;
    Ok(named.clone())
}

/// The area that a query was requested for, and whether it covers only some of the documents in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The piece of the hash space.
    pub area: Area,
    /// Whether the area alone does not determine which documents are covered.
    pub is_part: bool,
}

/// The documents that a feed covers. Slots narrow the scan; where other keys may share a slot, the
/// exact key or area is checked on each document.
#[derive(Clone)]
pub struct Scope {
    area: Area,
    exact: Exact,
    /// The areas to visit, if they are a few among many.
    only: Option<Vec<Area>>,
    /// Partitions that end before this slot are not read.
    first: u32,
}

#[derive(Clone)]
enum Exact {
    /// All rows in its slots of the partitions that it visits.
    Slots,
    /// The key must begin with these components.
    Key(PartitionKey),
    /// The effective key must be in the area: a partition has others in the same slot.
    Area,
}

impl Scope {
    /// The scope of a request's key, range or effective keys.
    pub fn of(collection: &Collection, options: &Options) -> Result<Self, Error> {
        if let Some(named) = &options.partition_key {
            return Self::of_key(collection, named);
        }
        let area = match &options.range_id {
            Some(range_id) => match collection.range_by_id(range_id) {
                Ok(at) => collection.ranges[at].area.clone(),
                Err(gone) => {
                    let past = collection.past_range(range_id);
                    past.filter(|_| options.keeps_old_ranges).ok_or(gone)?
                }
            },
            None => Area::of_slots(0..SLOT_COUNT),
        };
        match &options.epk_range {
            Some((min, max)) => {
                let within = epk_area(collection, min, max)?;
                Ok(Self::of_area(collection, area.common(&within)))
            }
            None => Ok(Self::of_area(collection, area)),
        }
    }

    /// Everything in the partitions that hold these keys. The query's filter selects the documents.
    pub fn around_keys(collection: &Collection, keys: &[PartitionKey]) -> Self {
        let only = keys.iter().map(|key| key_area(collection, collection.slot(key), key)).collect();
        let area = Area::of_slots(0..SLOT_COUNT);
        Self { area, exact: Exact::Slots, only: Some(only), first: 0 }
    }

    /// Everything in an area of the hash space.
    fn of_area(collection: &Collection, area: Area) -> Self {
        let slots = Area::of_slots(area.slots());
        let sticks_out = |range: &Arc<Range>| {
            range.area.overlaps(&area) && !area.covers(&range.area.common(&slots))
        };
        let is_cut = area != slots && collection.ranges.iter().any(sticks_out);
        let exact = if is_cut { Exact::Area } else { Exact::Slots };
        Self { area, exact, only: None, first: 0 }
    }

    /// The session points of the partitions that an answer has read. If the request names a past
    /// range, the points are for that one: a session token with ranges that the client does not
    /// know would make the client start over.
    pub async fn points(
        collection: &Served,
        options: &Options,
        read: Vec<PartitionPoint>,
    ) -> Result<Vec<PartitionPoint>, Error> {
        let is_kept = options.partition_key.is_none() && options.keeps_old_ranges;
        let id = options.range_id.as_ref().filter(|_| is_kept);
        let Some(range_id) = id.and_then(|id| id.trim().parse().ok()) else { return Ok(read) };
        if !collection.past.iter().any(|(past, _)| *past == range_id) {
            return Ok(read);
        }
        // The token will be compared with every descendant, whether it has slots of that range or
        // not. Without any descendant, there is no token.
        let children =
            collection.readable.iter().filter(|it| it.range().parents.contains(&range_id));
        let views = together::all(children.map(|partition| partition.view())).await?;
        let lsn = views.into_iter().map(|view| view.lsn).min();
        Ok(lsn.map(|lsn| PartitionPoint { range_id, lsn }).into_iter().collect())
    }

    /// The origin to store in the query's tokens.
    pub fn origin(&self, collection: &Collection) -> Origin {
        let area = self.exact_area(collection);
        let is_long = |edge: &Edge| {
            edge.inside.as_ref().is_some_and(|epk| epk.as_bytes().len() > EDGE_BYTES_MAX)
        };
        if is_long(&area.start) || is_long(&area.end) {
            return Origin { area: Area::of_slots(area.slots()), is_part: true };
        }
        Origin { area, is_part: false }
    }

    /// The area that it covers, by whichever means the request named it.
    fn exact_area(&self, collection: &Collection) -> Area {
        match &self.exact {
            Exact::Key(key) => {
                let hashing = collection.definition.partition_key.hashing;
                let (from, to) = key.effective_range(hashing);
                let edge = |epk| Edge::of_epk(&epk, hashing).unwrap_or_default();
                Area { start: edge(from), end: edge(to) }
            }
            Exact::Slots | Exact::Area => self.area.clone(),
        }
    }

    /// The scope with which a query continues whose first page was for `origin`, if partitions were
    /// split or merged since, or if the request names another scope; `None` if another range
    /// answers for this one.
    ///
    /// Rows continue in each range where they are now, limited to the original area. An aggregate
    /// over the whole of `origin` cannot be divided: the range at the beginning of `origin` answers
    /// for all of it.
    pub fn continued(
        &self,
        collection: &Collection,
        origin: &Origin,
        is_whole: bool,
    ) -> Result<Option<Self>, Error> {
        let Origin { area, is_part } = origin;
        let own = self.exact_area(collection);
        if own == *area || *is_part && own.slots() == area.slots() {
            return Ok(Some(self.clone()));
        }
        if !is_whole {
            let common = own.common(area);
            if !common.is_empty() {
                return Ok(Some(self.narrowed(collection, common)));
            }
            return match self.exact {
                Exact::Key(_) => Err(Error::bad_request(
                    "Invalid Continuation Token: it belongs to another partition key.",
                )),
                Exact::Slots | Exact::Area => Ok(None),
            };
        }
        // Never read more than the request allows, whatever the token says.
        if *is_part || matches!(self.exact, Exact::Key(_)) || self.only.is_some() {
            return Err(Error::bad_request(
                "Invalid Continuation Token: partitions were split or merged since, and this query \
                 over part of a partition cannot continue. Start it again.",
            ));
        }
        let is_first = self.area.contains(&area.start);
        Ok(is_first.then(|| Self::of_area(collection, area.clone())))
    }

    /// This scope without the partitions before a slot, which a page does not need.
    #[must_use]
    pub fn beginning_with(self, first: u32) -> Self {
        Self { first, ..self }
    }

    /// A part of what it covers.
    fn narrowed(&self, collection: &Collection, area: Area) -> Self {
        if area == self.exact_area(collection) {
            return self.clone();
        }
        Self { only: self.only.clone(), ..Self::of_area(collection, area) }
    }

    /// Whether it covers all documents in its slots of the partitions that it visits.
    pub fn is_whole_slots(&self) -> bool {
        matches!(self.exact, Exact::Slots)
    }

    /// The one logical key that it covers, if it covers only one.
    pub fn full_key(&self, collection: &Collection) -> Option<LogicalKey> {
        let Exact::Key(key) = &self.exact else { return None };
        let is_full = key.0.len() == collection.definition.partition_key.paths.len();
        is_full.then(|| LogicalKey::new(self.area.start.slot, key))
    }

    fn of_key(collection: &Collection, named: &PartitionKey) -> Result<Self, Error> {
        let definition = &collection.definition.partition_key;
        if named.0.is_empty() {
            if definition.is_system {
                return Ok(Self::of_area(collection, Area::of_slots(0..SLOT_COUNT)));
            }
            // `PartitionKey.None`: the documents that have no value in any part of the key.
            let absent = PartitionKey(vec![Component::Undefined; definition.paths.len()]);
            return Self::of_key(collection, &absent);
        }
        let is_prefix =
            definition.hashing == Hashing::MultiHash && named.0.len() < definition.paths.len();
        if named.0.len() != definition.paths.len() && !is_prefix {
            return Err(Error::new(Code::PartitionKeyMismatch, MISMATCH));
        }
        let slot = collection.slot(named);
        let area = Area::of_slots(slot..slot + 1);
        // Later pages need not know the area inside the slot: the key determines it.
        let place = key_area(collection, slot, named);
        let only = (place != area).then(|| vec![place]);
        Ok(Self { area, exact: Exact::Key(named.clone()), only, first: 0 })
    }

    /// The parts of the key after the first, each with the index of its path: documents that share
    /// the first part share a slot, and only the other parts tell them apart. Absent parts are left
    /// out.
    pub fn narrowing(&self) -> impl Iterator<Item = (usize, Value)> {
        let parts = match &self.exact {
            Exact::Key(key) => key.0.as_slice(),
            Exact::Slots | Exact::Area => &[],
        };
        let parts = parts.iter().enumerate().skip(1).map(|(at, part)| (at, part.to_value()));
        parts.filter(|(_, value)| !value.is_undefined())
    }

    /// The partitions to visit, in the order of the hash space.
    pub fn partitions<'a>(
        &'a self,
        collection: &'a Served,
    ) -> impl Iterator<Item = &'a Arc<dyn Readable>> + Clone {
        collection.readable.iter().filter(|partition| self.visits(partition.range()))
    }

    /// Whether it covers anything in a range.
    pub fn visits(&self, range: &Range) -> bool {
        let has_place = |only: &Vec<Area>| only.iter().any(|it| it.overlaps(&range.area));
        range.slots.end > self.first
            && range.area.overlaps(&self.area)
            && self.only.as_ref().is_none_or(has_place)
    }

    /// The slots of a range that it reads.
    pub fn slots_in(&self, range: &Range) -> ops::Range<u32> {
        let slots = self.area.slots();
        slots.start.max(range.slots.start)..slots.end.min(range.slots.end)
    }

    /// The area of the hash space that it covers.
    pub fn place(&self) -> Area {
        match self.only.as_deref() {
            Some([place]) => place.clone(),
            _ => self.area.clone(),
        }
    }

    /// The key range of the primary rows that it covers, if they are a small part of a range's.
    pub fn primaries_in(&self, range: &Range) -> Option<ops::Range<Bytes>> {
        let slots = self.slots_in(range);
        if let Exact::Key(key) = &self.exact {
            let start = LogicalKey::new(self.area.start.slot, key);
            let prefix = [&[PRIMARY], start.as_bytes()].concat();
            // The prefix is followed by another part of the key or by the id; neither begins with
            // this byte.
            let end = [&prefix[..], &[u8::MAX]].concat();
            return Some(prefix.into()..end.into());
        }
        let is_few = slots.len() <= range.slots.len() / FEW_SLOTS;
        is_few.then(|| slot_rows(&[PRIMARY], slots))
    }

    /// Whether a document, given as text, is covered. Parses it only if necessary.
    pub fn admits_text(&self, collection: &Collection, document: &[u8]) -> bool {
        if self.is_whole_slots() {
            return true;
        }
        let document = json::parse_wanted(document, &key_members(collection));
        document.is_ok_and(|document| self.admits(collection, &document))
    }

    /// The wanted members of a document, and those by which [`admits`](Self::admits) decides.
    pub(crate) fn needs(&self, collection: &Collection, wanted: &Wanted) -> Wanted {
        let mut needs = wanted.clone();
        if !self.is_whole_slots() {
            add_key_members(collection, &mut needs);
        }
        needs
    }

    /// Whether a document in the covered slots is covered itself.
    pub fn admits(&self, collection: &Collection, document: &Value) -> bool {
        match &self.exact {
            Exact::Slots => true,
            Exact::Key(named) => document_key(collection, document).0.starts_with(&named.0),
            Exact::Area => {
                let key = document_key(collection, document);
                let hashing = collection.definition.partition_key.hashing;
                self.area.has_key(collection.slot(&key), || key.effective(hashing))
            }
        }
    }
}

/// The area of the hash space between two effective keys.
fn epk_area(collection: &Collection, min: &Epk, max: &Epk) -> Result<Area, Error> {
    if min > max {
        return Err(Error::bad_request("The effective partition key range is inverted."));
    }
    let hashing = collection.definition.partition_key.hashing;
    let edge = |epk| {
        Edge::of_epk(epk, hashing)
            .ok_or_else(|| Error::bad_request("The effective partition key range is invalid."))
    };
    Ok(Area { start: edge(min)?, end: edge(max)? })
}

/// The area of the keys in this slot that begin with this key: the slot itself, unless the edge of
/// a partition is inside it.
fn key_area(collection: &Collection, slot: u32, key: &PartitionKey) -> Area {
    if !collection.ranges[collection.range_of(slot, key)].area.is_cut_inside(slot) {
        return Area::of_slots(slot..slot + 1);
    }
    let (from, to) = key.effective_range(collection.definition.partition_key.hashing);
    Area { start: Edge { slot, inside: Some(from) }, end: Edge { slot, inside: Some(to) } }
}
