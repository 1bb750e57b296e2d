//! Whether the disk has room.
//!
//! A journal that cannot be written stops all writes until a restart. So before the disk is full,
//! while a reserve is left, whatever makes the data grow is refused. Reads go on. So do deletions, which are the way
//! out, until only a quarter of the reserve is left: they take some bytes of journal, too. Once there is
//! room again, everything goes on by itself.
//!
//! Whoever set up the database looks at the disk now and then, and says here what is free. A request costs
//! one look at an atomic number.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use protocol::{Code, Error, Operation};

/// Most bytes beyond a bound that must be free before more is let in again.
const SPARE_BYTES_MAX: u64 = 16 << 20;

/// How much room the disk has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskLevel {
    /// More than the reserve.
    Ample,
    /// Less than the reserve: nothing may grow.
    Low,
    /// Less than a quarter of the reserve: nothing may be written.
    Out,
}

/// What a request does to the room that is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It takes nothing.
    None,
    /// It gives room back, in time.
    Shrinks,
    /// It takes some.
    Grows,
}

/// What is known of the disk.
#[derive(Debug, Default)]
pub struct Disk {
    level: AtomicU8,
    free_bytes: AtomicU64,
}

impl Disk {
    /// Notes that so many bytes are free, of which so many are kept back. Gives the level now, if it is
    /// another than before.
    ///
    /// A level that was left is come back to only with some room to spare, or it would change all the time.
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

    /// The level that was noted last.
    pub fn level(&self) -> DiskLevel {
        match self.level.load(Ordering::Relaxed) {
            0 => DiskLevel::Ample,
            1 => DiskLevel::Low,
            _ => DiskLevel::Out,
        }
    }

    /// The bytes that were free when it was noted last; zero before that.
    pub fn free_bytes(&self) -> u64 {
        self.free_bytes.load(Ordering::Relaxed)
    }

    /// Refuses what there is no room for.
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

/// Refuses an operation that there is no room for.
pub fn check(disk: &Disk, operation: &Operation) -> Result<(), Error> {
    if disk.level() == DiskLevel::Ample {
        return Ok(());
    }
    disk.admit(effect(operation))
}

/// What an operation does. Batches and procedures do what their parts do, which is asked where a
/// document is written.
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

    /// However large the reserve is, a few megabytes beyond it bring the writes back.
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
