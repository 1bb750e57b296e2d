//! Whether the disk has room.
//!
//! A journal that cannot be written stops all writes until a restart. So, before the disk is full,
//! the server refuses every operation that grows the data, keeping a reserve free. Reads continue.
//! Deletions, which free space but still write some journal, continue until only a quarter of the
//! reserve is left. Once there is room again, everything resumes by itself.
//!
//! The process that set up the database polls the disk from time to time and reports the free bytes
//! here. A request costs one load of an atomic.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use protocol::{Code, Error, Operation};

/// The most bytes beyond a bound that must be free before the level improves again.
const SPARE_BYTES_MAX: u64 = 16 << 20;

/// How full the disk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskLevel {
    /// More than the reserve is free.
    Ample,
    /// Less than the reserve is free: the data may not grow.
    Low,
    /// Less than a quarter of the reserve is free: nothing may be written.
    Out,
}

/// How a request affects free space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Uses none.
    None,
    /// Frees space, eventually.
    Shrinks,
    /// Uses some.
    Grows,
}

/// The latest known state of the disk.
#[derive(Debug, Default)]
pub struct Disk {
    level: AtomicU8,
    free_bytes: AtomicU64,
}

impl Disk {
    /// Records the free bytes, and the size of the reserve. Returns the new level if it changed.
    ///
    /// To return to a better level takes some spare room, so the level does not flap.
    pub fn note(&self, free_bytes: u64, reserve_bytes: u64) -> Option<DiskLevel> {
        self.free_bytes.store(free_bytes, Ordering::Relaxed);
        let before = self.level();
        let spare = (reserve_bytes / 16).min(SPARE_BYTES_MAX);
        let bound = |bound: u64, is_below: bool| if is_below { bound + spare } else { bound };
        let now = if free_bytes < bound(reserve_bytes / 4, before == DiskLevel::Out) {
            DiskLevel::Out
        } else if free_bytes < bound(reserve_bytes, before != DiskLevel::Ample) {
            DiskLevel::Low
        } else {
            DiskLevel::Ample
        };
        self.level.store(now as u8, Ordering::Relaxed);
        (now != before).then_some(now)
    }

    /// The last recorded level.
    pub fn level(&self) -> DiskLevel {
        match self.level.load(Ordering::Relaxed) {
            0 => DiskLevel::Ample,
            1 => DiskLevel::Low,
            _ => DiskLevel::Out,
        }
    }

    /// The free bytes last recorded; zero before the first report.
    pub fn free_bytes(&self) -> u64 {
        self.free_bytes.load(Ordering::Relaxed)
    }

    /// Fails if there is no room for this effect.
    pub fn admit(&self, effect: Effect) -> Result<(), Error> {
        match (self.level(), effect) {
            (DiskLevel::Ample, _) | (_, Effect::None) | (DiskLevel::Low, Effect::Shrinks) => Ok(()),
            (DiskLevel::Low, Effect::Grows) => Err(Error::new(
                Code::StorageFull,
                "The server's disk is almost full. Reads and deletes continue; requests that need \
                 more space are refused until there is some.",
            )),
            (DiskLevel::Out, _) => Err(Error::new(
                Code::StorageFull,
                "The server's disk is full. Reads continue; writes need free space first.",
            )),
        }
    }
}

/// Fails if there is no room for this operation.
pub fn check(disk: &Disk, operation: &Operation) -> Result<(), Error> {
    if disk.level() == DiskLevel::Ample {
        return Ok(());
    }
    disk.admit(effect(operation))
}

/// What an operation does to free space. Batches and procedures count as `None`: their parts are
/// checked where each document is written.
#[expect(clippy::too_many_lines, reason = "a table")]
fn effect(operation: &Operation) -> Effect {
    use Operation as O;
    match operation {
        O::ReadAccount
        | O::ReadDatabase(_)
        | O::ListDatabases
        | O::ReadCollection(_)
        | O::ListCollections(_)
        | O::ListPartitionKeyRanges { .. }
        | O::ReadPartitionKeyRange { .. }
        | O::ReadDocument(_)
        | O::ListDocuments(_)
        | O::ReadEncryptionKey(_)
        | O::ListEncryptionKeys(_)
        | O::ReadUser(_)
        | O::ListUsers(_)
        | O::ReadPermission(_)
        | O::ListPermissions(_)
        | O::ReadAttachment(_)
        | O::ListAttachments(_)
        | O::ReadMedia(_)
        | O::ListConflicts(_)
        | O::ReadConflict { .. }
        | O::ReadChanges { .. }
        | O::ReadScript(_)
        | O::ListScripts { .. }
        | O::Query { .. }
        | O::PlanQuery { .. }
        | O::ReadOffer(_)
        | O::ListOffers
        | O::ExecuteBatch { .. }
        | O::ExecuteProcedure { .. } => Effect::None,
        O::DeleteDatabase(_)
        | O::DeleteCollection(_)
        | O::DeleteDocument(_)
        | O::DeleteByPartitionKey(_)
        | O::DeleteUser(_)
        | O::DeletePermission(_)
        | O::DeleteAttachment(_)
        | O::DeleteConflict { .. }
        | O::DeleteScript(_) => Effect::Shrinks,
        O::CreateDatabase { .. }
        | O::CreateCollection { .. }
        | O::ReplaceCollection { .. }
        | O::SplitPartition { .. }
        | O::MergePartitions { .. }
        | O::GivePartitionKey { .. }
        | O::CreateDocument { .. }
        | O::ReplaceDocument { .. }
        | O::PatchDocument { .. }
        | O::CreateEncryptionKey { .. }
        | O::ReplaceEncryptionKey { .. }
        | O::CreateUser { .. }
        | O::ReplaceUser { .. }
        | O::CreatePermission { .. }
        | O::ReplacePermission { .. }
        | O::CreateAttachment { .. }
        | O::ReplaceAttachment { .. }
        | O::ReplaceMedia { .. }
        | O::CreateScript { .. }
        | O::ReplaceScript { .. }
        | O::ReplaceOffer { .. } => Effect::Grows,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESERVE: u64 = 1600;

    #[test]
    fn levels_follow_what_is_free() {
        let disk = Disk::default();
        assert_eq!(disk.level(), DiskLevel::Ample);
        for (free, expected) in [
            (1600, None),
            (1599, Some(DiskLevel::Low)),
            (1600, None),
            (1699, None),
            (1700, Some(DiskLevel::Ample)),
            (399, Some(DiskLevel::Out)),
            (400, None),
            (499, None),
            (500, Some(DiskLevel::Low)),
            (400, None),
            (u64::MAX, Some(DiskLevel::Ample)),
        ] {
            assert_eq!(disk.note(free, RESERVE), expected, "{free} bytes free");
            assert_eq!(disk.free_bytes(), free);
        }
    }

    /// However large the reserve is, a few megabytes beyond it re-enable writes.
    #[test]
    fn a_large_reserve_is_left_as_soon_as_a_small_one() {
        let disk = Disk::default();
        disk.note((1 << 40) - 1, 1 << 40);
        assert_eq!(disk.note((1 << 40) + SPARE_BYTES_MAX, 1 << 40), Some(DiskLevel::Ample));
    }

    #[test]
    fn who_may_go_on() {
        let disk = Disk::default();
        let allowed = |disk: &Disk| {
            [Effect::None, Effect::Shrinks, Effect::Grows].map(|effect| disk.admit(effect).is_ok())
        };
        assert_eq!(allowed(&disk), [true, true, true]);
        disk.note(1000, RESERVE);
        assert_eq!(allowed(&disk), [true, true, false]);
        disk.note(100, RESERVE);
        assert_eq!(allowed(&disk), [true, false, false]);
        assert_eq!(disk.admit(Effect::Grows).expect_err("full").code, Code::StorageFull);
    }
}
