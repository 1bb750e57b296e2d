//! What would be left of a key space if the process died, for test stores that simulate crashes.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use bytes::Bytes;

use super::lock;
use crate::{Batch, Change, Durability};

/// The disk below all journals of a store.
#[derive(Default)]
pub(crate) struct Disk {
    is_paused: AtomicBool,
}

impl Disk {
    /// Whether durability is paused.
    pub(super) fn is_paused(&self) -> bool {
        self.is_paused.load(Ordering::SeqCst)
    }

    pub(super) fn set_paused(&self, is_paused: bool) {
        self.is_paused.store(is_paused, Ordering::SeqCst);
    }
}

/// The journal of one key space.
#[derive(Default)]
pub(super) struct Journal {
    written: Mutex<Written>,
}

#[derive(Default)]
struct Written {
    /// The entries on disk.
    durable: BTreeMap<Bytes, Bytes>,
    /// Changes not yet on disk, in order.
    buffered: Vec<Change>,
}

impl Journal {
    /// Appends a batch. A durable one makes everything before it durable too.
    pub(super) fn write(&self, batch: &Batch, durability: Durability) {
        let mut written = lock(&self.written);
        written.buffered.extend(batch.changes.iter().cloned());
        if durability == Durability::Buffered {
            return;
        }
        for Change { key, value } in std::mem::take(&mut written.buffered) {
            match value {
                Some(value) => written.durable.insert(key, value),
                None => written.durable.remove(&key),
            };
        }
    }

    /// Everything on disk, as one batch.
    pub(super) fn durable(&self) -> Batch {
        let mut batch = Batch::default();
        for (key, value) in &lock(&self.written).durable {
            batch.put(key.clone(), value.clone());
        }
        batch
    }
}
