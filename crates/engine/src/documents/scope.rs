//! Partition keys of requests: what a document's key is, and which documents a feed covers.

use std::{ops::Range, sync::Arc};

use protocol::{Code, Error, Options, PartitionPoint, limits::PARTITION_KEY_BYTES_MAX};
use value::{
    Value, json,
    partition_key::{Component, Epk, Hashing, PartitionKey, slot_boundary, slot_of_epk},
};

use crate::{
    catalog::Collection,
    keys::{LogicalKey, SLOT_COUNT},
    partition::Partition,
    query::token::Origin,
};

/// The service's words when a key does not fit the collection or the document.
const MISMATCH: &str = "Partition key provided either doesn't correspond to definition in the \
                        collection or doesn't match partition key field values specified in the \
                        document.";

/// The partition key that a document's content gives it.
pub(crate) fn document_key(collection: &Collection, document: &Value) -> PartitionKey {
    let paths = &collection.definition.partition_key.paths;
    PartitionKey(paths.iter().map(|path| Component::of(document.at(path))).collect())
}

/// The key of a document to be written: the body decides, the header must agree.
pub(crate) fn key_in_body(
    collection: &Collection,
    document: &Value,
    options: &Options,
) -> Result<PartitionKey, Error> {
    let key = document_key(collection, document);
    check_length(&key)?;
    let Some(named) = &options.partition_key else { return Ok(key) };
    let is_multi = collection.definition.partition_key.hashing == Hashing::MultiHash;
    if agrees(&full_key(collection, named)?, &key, is_multi) {
        return Ok(key);
    }
    Err(Error::new(
        Code::PartitionKeyMismatch,
        "PartitionKey extracted from document doesn't match the one specified in the header",
    ))
}

/// Python sends null for a missing part of a hierarchical key; the document knows better.
fn agrees(named: &PartitionKey, actual: &PartitionKey, is_multi: bool) -> bool {
    named == actual
        || is_multi
            && named.0.iter().zip(&actual.0).all(|(named, actual)| {
                named == actual || (named, actual) == (&Component::Null, &Component::Undefined)
            })
}

/// The key of a document to be read or deleted: the header must name it in full.
pub(crate) fn header_key(
    collection: &Collection,
    options: &Options,
) -> Result<PartitionKey, Error> {
    match &options.partition_key {
        Some(named) => full_key(collection, named),
        // Clients from before partition keys send none.
        None if collection.definition.partition_key.is_system => {
            Ok(PartitionKey(vec![Component::Undefined]))
        }
        None => Err(Error::bad_request("PartitionKey value must be supplied for this operation.")),
    }
}

/// A named key as a full one: the empty key of a collection without keys means "undefined".
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

/// Refuses a key that is too long for any document.
pub(crate) fn check_length(key: &PartitionKey) -> Result<(), Error> {
    let is_long = |component: &Component| matches!(component, Component::String(text) if text.len() > PARTITION_KEY_BYTES_MAX);
    if key.0.iter().any(is_long) {
        return Err(Error::bad_request(format!(
            "The partition key value is longer than {PARTITION_KEY_BYTES_MAX} bytes."
        )));
    }
    Ok(())
}

/// Which documents a feed covers. Slots narrow the scan; the exact key or range is checked on each
/// document, since two keys may share a slot.
#[derive(Clone)]
pub(crate) struct Scope {
    slots: Range<u32>,
    exact: Exact,
    /// The slots that matter, where it is a few among many.
    only: Option<Vec<u32>>,
}

#[derive(Clone)]
enum Exact {
    Slots,
    /// The leading components must be these.
    Key(PartitionKey),
    /// The effective key must lie in this half-open range.
    Epk(Epk, Epk),
}

impl Scope {
    pub(crate) fn of(collection: &Collection, options: &Options) -> Result<Self, Error> {
        let all = 0..SLOT_COUNT;
        if let Some(named) = &options.partition_key {
            return Self::of_key(collection, named);
        }
        let slots = match &options.range_id {
            Some(range_id) => match collection.partition_of_range(range_id) {
                Ok(partition) => partition.slots.clone(),
                Err(gone) => {
                    let past = collection.past_range(range_id);
                    past.filter(|_| options.keeps_old_ranges).ok_or(gone)?
                }
            },
            None => all,
        };
        match &options.epk_range {
            Some((min, max)) => Self::of_epk(collection, slots, min, max),
            None => Ok(Self { slots, exact: Exact::Slots, only: None }),
        }
    }

    /// Everything in the partitions that hold these keys. Which documents have them is for the
    /// query's filter to say.
    pub(crate) fn around_keys(collection: &Collection, keys: &[PartitionKey]) -> Self {
        let only = keys.iter().map(|key| collection.slot(key)).collect();
        Self { slots: 0..SLOT_COUNT, exact: Exact::Slots, only: Some(only) }
    }

    /// What an answer says of the partitions that it read. Under the id of a past range it speaks of
    /// that one: a session token of ranges that the caller does not know would make it begin anew.
    pub(crate) fn points(
        collection: &Collection,
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
        let children = collection.partitions.iter().filter(|it| it.parents.contains(&range_id));
        let lsn = children.map(|partition| partition.lsn()).min();
        lsn.map(|lsn| PartitionPoint { range_id, lsn }).into_iter().collect()
    }

    /// What the later pages of a query must know of it.
    pub(crate) fn origin(&self) -> Origin {
        Origin { slots: self.slots.clone(), is_part: !self.is_whole_slots() }
    }

    /// What a query goes on with whose first page was asked of `origin`, if partitions were split or
    /// merged since; `None` if another range answers for this one.
    ///
    /// Rows go on in each range that they are in now, as far as they were asked for. What is added
    /// up over the whole of `origin` cannot be taken apart: the range that has its first slot
    /// answers for all of it.
    pub(crate) fn continued(&self, origin: &Origin, is_whole: bool) -> Result<Option<Self>, Error> {
        let Origin { slots, is_part } = origin;
        if self.slots == *slots {
            return Ok(Some(self.clone()));
        }
        if !is_whole {
            let slots = self.slots.start.max(slots.start)..self.slots.end.min(slots.end);
            return Ok((!slots.is_empty()).then(|| Self { slots, ..self.clone() }));
        }
        if *is_part {
            return Err(Error::bad_request(
                "Invalid Continuation Token: partitions were split or merged since, and this \
                 query over a part of one cannot go on. Ask it again.",
            ));
        }
        let is_first = self.slots.contains(&slots.start);
        Ok(is_first.then(|| Self { slots: slots.clone(), exact: Exact::Slots, only: None }))
    }

    /// Whether it covers all documents of its slots.
    pub(crate) fn is_whole_slots(&self) -> bool {
        matches!(self.exact, Exact::Slots)
    }

    /// The one logical key that it covers, if it does.
    pub(crate) fn full_key(&self, collection: &Collection) -> Option<LogicalKey> {
        let Exact::Key(key) = &self.exact else { return None };
        let is_full = key.0.len() == collection.definition.partition_key.paths.len();
        is_full.then(|| LogicalKey::new(self.slots.start, key))
    }

    fn of_key(collection: &Collection, named: &PartitionKey) -> Result<Self, Error> {
        let definition = &collection.definition.partition_key;
        if named.0.is_empty() {
            return Ok(Self { slots: 0..SLOT_COUNT, exact: Exact::Slots, only: None });
        }
        let is_prefix =
            definition.hashing == Hashing::MultiHash && named.0.len() < definition.paths.len();
        if named.0.len() != definition.paths.len() && !is_prefix {
            return Err(Error::new(Code::PartitionKeyMismatch, MISMATCH));
        }
        let slot = collection.slot(named);
        Ok(Self { slots: slot..slot + 1, exact: Exact::Key(named.clone()), only: None })
    }

    fn of_epk(
        collection: &Collection,
        within: Range<u32>,
        min: &Epk,
        max: &Epk,
    ) -> Result<Self, Error> {
        let hashing = collection.definition.partition_key.hashing;
        let slot = |epk| {
            slot_of_epk(epk, hashing)
                .ok_or_else(|| Error::bad_request("The effective partition key range is invalid."))
        };
        if min > max {
            return Err(Error::bad_request("The effective partition key range is inverted."));
        }
        let hashing = collection.definition.partition_key.hashing;
        let start = slot(min)?;
        let (end, ends_with_slot) = if *max >= Epk::max() {
            (SLOT_COUNT, true)
        } else {
            let end = slot(max)?;
            // The slot of the upper bound may hold keys below it, unless it begins there.
            if *max == slot_boundary(end, hashing) { (end, true) } else { (end + 1, false) }
        };
        let slots = start.max(within.start)..end.min(within.end);
        let is_whole = ends_with_slot && *min <= slot_boundary(start, hashing);
        let exact = if is_whole { Exact::Slots } else { Exact::Epk(min.clone(), max.clone()) };
        Ok(Self { slots, exact, only: None })
    }

    /// The parts of the key behind the first, with the number of their path: documents that share
    /// the first part share a slot, and only these tell them apart. Absent parts are left out.
    pub(crate) fn narrowing(&self) -> impl Iterator<Item = (usize, Value)> {
        let parts = match &self.exact {
            Exact::Key(key) => key.0.as_slice(),
            Exact::Slots | Exact::Epk(..) => &[],
        };
        let parts = parts.iter().enumerate().skip(1).map(|(at, part)| (at, part.to_value()));
        parts.filter(|(_, value)| !value.is_undefined())
    }

    /// The partitions to visit, in the order of their slots.
    pub(crate) fn partitions<'a>(
        &'a self,
        collection: &'a Collection,
    ) -> impl Iterator<Item = &'a Arc<Partition>> + Clone {
        collection.partitions.iter().filter(|partition| {
            let has_slot = |only: &Vec<u32>| only.iter().any(|slot| partition.slots.contains(slot));
            partition.slots.start < self.slots.end
                && self.slots.start < partition.slots.end
                && self.only.as_ref().is_none_or(has_slot)
        })
    }

    /// The part of a partition that is covered.
    pub(crate) fn slots_in(&self, partition: &Partition) -> Range<u32> {
        self.slots.start.max(partition.slots.start)..self.slots.end.min(partition.slots.end)
    }

    /// The same, for a document as text; it is parsed only if it must be.
    pub(crate) fn admits_text(&self, collection: &Collection, document: &[u8]) -> bool {
        self.is_whole_slots()
            || json::parse(document).is_ok_and(|document| self.admits(collection, &document))
    }

    /// Whether a document in the covered slots is covered itself.
    pub(crate) fn admits(&self, collection: &Collection, document: &Value) -> bool {
        let key = || document_key(collection, document);
        match &self.exact {
            Exact::Slots => true,
            Exact::Key(named) => key().0.starts_with(&named.0),
            Exact::Epk(min, max) => {
                let epk = key().effective(collection.definition.partition_key.hashing);
                *min <= epk && epk < *max
            }
        }
    }
}
