//! What is measured.

/// One kind of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Workload {
    PointRead,
    Create,
    /// All of one partition key: all writers meet at one lock.
    CreateOneKey,
    Replace,
    /// 95 point reads for 5 upserts.
    UpsertMix,
    Patch,
    /// The ten documents with a value.
    Equality,
    /// The ten of one partition key with a value.
    EqualityInKey,
    /// The first ten of a range of 1,000, in its order.
    RangeTop,
    /// The first ten of all, in the order of a property.
    OrderTop,
    /// How many of all have a value that 1,000 have.
    Count,
    /// A sum over the 1,000 documents with a value.
    Sum,
    /// The same documents, counted by another property.
    GroupBy,
    /// Two properties of the 100 documents of a range, from all partitions.
    CrossPartition,
    /// A page of 100 changes.
    ChangeFeed,
    /// A stored procedure that creates ten documents.
    Procedure,
    /// Ten creates in one transaction.
    Batch,
    /// A hundred creates in one request, independent of each other.
    Bulk,
}

/// Documents that one procedure or batch creates.
pub(crate) const SEVERAL: usize = 10;
/// Documents of one bulk request.
pub(crate) const MANY: usize = 100;

impl Workload {
    /// All of them: those that read first, so that they find what was loaded.
    pub(crate) const ALL: [Self; 18] = [
        Self::PointRead,
        Self::Equality,
        Self::EqualityInKey,
        Self::RangeTop,
        Self::OrderTop,
        Self::Count,
        Self::Sum,
        Self::GroupBy,
        Self::CrossPartition,
        Self::ChangeFeed,
        Self::Create,
        Self::CreateOneKey,
        Self::Batch,
        Self::Procedure,
        Self::Bulk,
        Self::UpsertMix,
        Self::Replace,
        Self::Patch,
    ];

    /// Its word in the tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::PointRead => "point-read",
            Self::Create => "create",
            Self::CreateOneKey => "create-one-key",
            Self::Replace => "replace",
            Self::UpsertMix => "upsert-mix",
            Self::Patch => "patch",
            Self::Equality => "equality",
            Self::EqualityInKey => "equality-in-key",
            Self::RangeTop => "range-top",
            Self::OrderTop => "order-top",
            Self::Count => "count",
            Self::Sum => "sum",
            Self::GroupBy => "group-by",
            Self::CrossPartition => "cross-partition",
            Self::ChangeFeed => "change-feed",
            Self::Procedure => "procedure",
            Self::Batch => "batch",
            Self::Bulk => "bulk",
        }
    }

    pub(crate) fn is_write(self) -> bool {
        matches!(
            self,
            Self::Create
                | Self::CreateOneKey
                | Self::Replace
                | Self::UpsertMix
                | Self::Patch
                | Self::Procedure
                | Self::Batch
                | Self::Bulk
        )
    }

    /// Rows of an answer, where all servers agree on them.
    pub(crate) fn rows(self) -> Option<usize> {
        match self {
            Self::Equality | Self::EqualityInKey | Self::RangeTop | Self::OrderTop => Some(10),
            Self::Count | Self::Sum => Some(1),
            Self::CrossPartition | Self::ChangeFeed => Some(100),
            _ => None,
        }
    }

    /// Documents that one operation creates in the collection that grows.
    pub(crate) fn creates(self) -> usize {
        match self {
            Self::Create | Self::CreateOneKey => 1,
            Self::Procedure | Self::Batch => SEVERAL,
            Self::Bulk => MANY,
            _ => 0,
        }
    }
}

/// A number that looks random, for each number another one: where operation `number` goes.
pub(crate) fn scatter(number: usize, below: usize) -> usize {
    let mut state =
        (number as u64).wrapping_add(0x9E37_79B9_7F4A_7C15).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    state = (state ^ (state >> 30)).wrapping_mul(0x94D0_49BB_1331_11EB);
    state ^= state >> 31;
    usize::try_from(state % below.max(1) as u64).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn reads_go_everywhere() {
        let seen: HashSet<usize> = (0..10_000).map(|number| scatter(number, 1000)).collect();
        assert!(seen.len() > 990, "{}", seen.len());
    }

    #[test]
    fn names_differ() {
        let names: HashSet<&str> = Workload::ALL.map(Workload::name).into();
        assert_eq!(names.len(), Workload::ALL.len());
    }
}
