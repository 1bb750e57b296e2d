//! Partition keys of requests: what a document's key is, and which documents a feed covers.

use std::{ops::Range, sync::Arc};

use bytes::Bytes;
use protocol::{Code, Error, Options, PartitionPoint};
use value::{
    Value, json,
    partition_key::{Component, Epk, Hashing, PartitionKey},
};

use crate::{
    area::{Area, Edge},
    keys::{LogicalKey, PRIMARY, SLOT_COUNT, check_length, slot_rows},
    partition::Partition,
    served::Served,
};

/// The service's words when a key does not fit the collection or the document.
const MISMATCH: &str = "Partition key provided either doesn't correspond to definition in the \
                        collection or doesn't match partition key field values specified in the \
                        document.";

/// The same when the header is what it does not fit.
const OTHER_THAN_HEADER: &str =
    "PartitionKey extracted from document doesn't match the one specified in the header";

/// Most bytes of an edge inside a slot: those of a hierarchical key of three levels.
pub(crate) const EDGE_BYTES_MAX: usize = 48;

/// A scope is small if its slots are this part of a partition's.
const FEW_SLOTS: usize = 64;

/// The partition key that a document's content gives it.
pub(crate) fn document_key(collection: &Served, document: &Value) -> PartitionKey {
    let paths = &collection.definition.partition_key.paths;
    PartitionKey(paths.iter().map(|path| Component::of(document.at(path))).collect())
}

/// The key of a document to be written: the body decides, the header must agree.
pub(crate) fn key_in_body(
    collection: &Served,
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

/// Refuses a document of another key than that of the transaction.
pub(crate) fn check_key(
    collection: &Served,
    document: &Value,
    key: &PartitionKey,
    options: &Options,
) -> Result<(), Error> {
    if key_in_body(collection, document, options)? == *key {
        return Ok(());
    }
    Err(Error::new(Code::PartitionKeyMismatch, OTHER_THAN_HEADER))
}

/// The key of a document to be read or deleted: the header must name it in full.
pub(crate) fn header_key(collection: &Served, options: &Options) -> Result<PartitionKey, Error> {
    named_key(collection, options.partition_key.as_ref())
}

/// The same, of what the header says.
pub(crate) fn named_key(
    collection: &Served,
    named: Option<&PartitionKey>,
) -> Result<PartitionKey, Error> {
    match named {
        Some(named) => full_key(collection, named),
        // Clients from before partition keys send none.
        None if collection.definition.partition_key.is_system => {
            Ok(PartitionKey(vec![Component::Undefined]))
        }
        None => Err(Error::bad_request("PartitionKey value must be supplied for this operation.")),
    }
}

/// A named key as a full one: the empty key of a collection without keys means "undefined".
fn full_key(collection: &Served, named: &PartitionKey) -> Result<PartitionKey, Error> {
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

/// What a query was asked of: a piece of the hash space, and whether it is only a part of what is
/// in there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) area: Area,
    pub(crate) is_part: bool,
}

/// Which documents a feed covers. Slots narrow the scan; the exact key or place is checked on each
/// document where others may share its slot.
#[derive(Clone)]
pub(crate) struct Scope {
    area: Area,
    exact: Exact,
    /// The places that matter, where they are a few among many.
    only: Option<Vec<Area>>,
    /// Nothing is read of partitions that end before this slot.
    first: u32,
}

#[derive(Clone)]
enum Exact {
    /// Whatever the partitions that it visits have in its slots.
    Slots,
    /// The leading components must be these.
    Key(PartitionKey),
    /// The effective key must lie in the area: a partition has others in the same slot.
    Area,
}

impl Scope {
    pub(crate) fn of(collection: &Served, options: &Options) -> Result<Self, Error> {
        if let Some(named) = &options.partition_key {
            return Self::of_key(collection, named);
        }
        let area = match &options.range_id {
            Some(range_id) => match collection.partition_of_range(range_id) {
                Ok(partition) => partition.range.area.clone(),
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

    /// Everything in the partitions that hold these keys. Which documents have them is for the
    /// query's filter to say.
    pub(crate) fn around_keys(collection: &Served, keys: &[PartitionKey]) -> Self {
        let only = keys.iter().map(|key| key_area(collection, collection.slot(key), key)).collect();
        let area = Area::of_slots(0..SLOT_COUNT);
        Self { area, exact: Exact::Slots, only: Some(only), first: 0 }
    }

    /// Everything in a piece of the hash space.
    fn of_area(collection: &Served, area: Area) -> Self {
        let slots = Area::of_slots(area.slots());
        let sticks_out = |partition: &Arc<Partition>| {
            partition.range.area.overlaps(&area)
                && !area.covers(&partition.range.area.common(&slots))
        };
        let is_cut = area != slots && collection.partitions.iter().any(sticks_out);
        let exact = if is_cut { Exact::Area } else { Exact::Slots };
        Self { area, exact, only: None, first: 0 }
    }

    /// What an answer says of the partitions that it read. Under the id of a past range it speaks of
    /// that one: a session token of ranges that the caller does not know would make it begin anew.
    pub(crate) fn points(
        collection: &Served,
        options: &Options,
        read: Vec<PartitionPoint>,
    ) -> Vec<PartitionPoint> {
        let is_kept = options.partition_key.is_none() && options.keeps_old_ranges;
        let id = options.range_id.as_ref().filter(|_| is_kept);
        let Some(range_id) = id.and_then(|id| id.trim().parse().ok()) else { return read };
        if !collection.past.iter().any(|(past, _)| *past == range_id) {
            return read;
        }
        // The token is held against every descendant, whether it has slots of that range or not.
        // If none remembers it, there is no token.
        let children =
            collection.partitions.iter().filter(|it| it.range.parents.contains(&range_id));
        let lsn = children.map(|partition| partition.lsn()).min();
        lsn.map(|lsn| PartitionPoint { range_id, lsn }).into_iter().collect()
    }

    /// What the later pages of a query must know of it.
    pub(crate) fn origin(&self, collection: &Served) -> Origin {
        let area = self.exact_area(collection);
        let is_long = |edge: &Edge| {
            edge.inside.as_ref().is_some_and(|epk| epk.as_bytes().len() > EDGE_BYTES_MAX)
        };
        if is_long(&area.start) || is_long(&area.end) {
            return Origin { area: Area::of_slots(area.slots()), is_part: true };
        }
        Origin { area, is_part: false }
    }

    /// What it covers, in whatever way that was named.
    fn exact_area(&self, collection: &Served) -> Area {
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

    /// What a query goes on with whose last page was asked of `origin`, if partitions were split or
    /// merged since, or if it names something else; `None` if another range answers for this one.
    ///
    /// Rows go on in each range that they are in now, as far as they were asked for. What is added
    /// up over the whole of `origin` cannot be taken apart: the range that has its beginning
    /// answers for all of it.
    pub(crate) fn continued(
        &self,
        collection: &Served,
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
        // Never more than was asked for, whatever the token says.
        if *is_part || matches!(self.exact, Exact::Key(_)) || self.only.is_some() {
            return Err(Error::bad_request(
                "Invalid Continuation Token: partitions were split or merged since, and this \
                 query over a part of one cannot go on. Ask it again.",
            ));
        }
        let is_first = self.area.contains(&area.start);
        Ok(is_first.then(|| Self::of_area(collection, area.clone())))
    }

    /// This scope without the partitions before a slot, which a page has nothing to do with.
    pub(crate) fn beginning_with(self, first: u32) -> Self {
        Self { first, ..self }
    }

    /// A part of what it covers.
    fn narrowed(&self, collection: &Served, area: Area) -> Self {
        if area == self.exact_area(collection) {
            return self.clone();
        }
        Self { only: self.only.clone(), ..Self::of_area(collection, area) }
    }

    /// Whether it covers all documents in its slots of the partitions that it visits.
    pub(crate) fn is_whole_slots(&self) -> bool {
        matches!(self.exact, Exact::Slots)
    }

    /// The one logical key that it covers, if it does.
    pub(crate) fn full_key(&self, collection: &Served) -> Option<LogicalKey> {
        let Exact::Key(key) = &self.exact else { return None };
        let is_full = key.0.len() == collection.definition.partition_key.paths.len();
        is_full.then(|| LogicalKey::new(self.area.start.slot, key))
    }

    fn of_key(collection: &Served, named: &PartitionKey) -> Result<Self, Error> {
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
        // Who shares the slot is no concern of later pages: the key says it all.
        let place = key_area(collection, slot, named);
        let only = (place != area).then(|| vec![place]);
        Ok(Self { area, exact: Exact::Key(named.clone()), only, first: 0 })
    }

    /// The parts of the key behind the first, with the number of their path: documents that share
    /// the first part share a slot, and only these tell them apart. Absent parts are left out.
    pub(crate) fn narrowing(&self) -> impl Iterator<Item = (usize, Value)> {
        let parts = match &self.exact {
            Exact::Key(key) => key.0.as_slice(),
            Exact::Slots | Exact::Area => &[],
        };
        let parts = parts.iter().enumerate().skip(1).map(|(at, part)| (at, part.to_value()));
        parts.filter(|(_, value)| !value.is_undefined())
    }

    /// The partitions to visit, in the order of the hash space.
    pub(crate) fn partitions<'a>(
        &'a self,
        collection: &'a Served,
    ) -> impl Iterator<Item = &'a Arc<Partition>> + Clone {
        collection.partitions.iter().filter(|partition| {
            let has_place =
                |only: &Vec<Area>| only.iter().any(|it| it.overlaps(&partition.range.area));
            partition.range.slots.end > self.first
                && partition.range.area.overlaps(&self.area)
                && self.only.as_ref().is_none_or(has_place)
        })
    }

    /// The slots of a partition that it reads.
    pub(crate) fn slots_in(&self, partition: &Partition) -> Range<u32> {
        let slots = self.area.slots();
        slots.start.max(partition.range.slots.start)..slots.end.min(partition.range.slots.end)
    }

    /// The piece of the hash space that it is about.
    pub(crate) fn place(&self) -> Area {
        match self.only.as_deref() {
            Some([place]) => place.clone(),
            _ => self.area.clone(),
        }
    }

    /// Where the primary rows lie of the documents that it covers, if they are a small part of a
    /// partition's.
    pub(crate) fn primaries_in(&self, partition: &Partition) -> Option<Range<Bytes>> {
        let slots = self.slots_in(partition);
        if let Exact::Key(key) = &self.exact {
            let start = LogicalKey::new(self.area.start.slot, key);
            let prefix = [&[PRIMARY], start.as_bytes()].concat();
            // What follows a part of a key is a part of it, or the id: no such begins so high.
            let end = [&prefix[..], &[u8::MAX]].concat();
            return Some(prefix.into()..end.into());
        }
        let is_few = slots.len() <= partition.range.slots.len() / FEW_SLOTS;
        is_few.then(|| slot_rows(&[PRIMARY], slots))
    }

    /// The same, for a document as text; it is parsed only if it must be.
    pub(crate) fn admits_text(&self, collection: &Served, document: &[u8]) -> bool {
        self.is_whole_slots()
            || json::parse(document).is_ok_and(|document| self.admits(collection, &document))
    }

    /// Whether a document in the covered slots is covered itself.
    pub(crate) fn admits(&self, collection: &Served, document: &Value) -> bool {
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

/// The piece of the hash space between two effective keys.
fn epk_area(collection: &Served, min: &Epk, max: &Epk) -> Result<Area, Error> {
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

/// Where the keys of this slot lie that begin with this one: its slot, as long as that is in one
/// partition.
fn key_area(collection: &Served, slot: u32, key: &PartitionKey) -> Area {
    if !collection.ranges[collection.range_of(slot, key)].area.is_cut_inside(slot) {
        return Area::of_slots(slot..slot + 1);
    }
    let (from, to) = key.effective_range(collection.definition.partition_key.hashing);
    Area { start: Edge { slot, inside: Some(from) }, end: Edge { slot, inside: Some(to) } }
}
