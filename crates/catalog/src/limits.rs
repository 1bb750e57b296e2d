//! Storage limits, for several eras of the service. `docs/configuration.md` lists them too.

const KB: u64 = 1 << 10;
const MB: u64 = 1 << 20;
const GB: u64 = 1 << 30;

/// The era whose limits apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Limits {
    /// The current service.
    #[default]
    Current,
    /// The service of 2016.
    Y2016,
    /// The service of 2017.
    Y2017,
}

impl Limits {
    /// The most throughput anything may have, unless the operator configures otherwise.
    #[must_use]
    pub fn throughput_max(self) -> u32 {
        match self {
            Self::Current | Self::Y2017 => 1_000_000,
            Self::Y2016 => 250_000,
        }
    }
}

/// The most bytes in each kind of container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// All documents with the same partition key value.
    pub logical_partition: u64,
    /// A physical partition before it splits.
    pub partition: u64,
    /// A collection without a partition key. It always has a single partition, so it may not grow
    /// beyond [`Sizes::partition`] either.
    pub single_partition: u64,
    /// Any collection; `None` for no limit.
    pub collection: Option<u64>,
}

impl Sizes {
    /// The service's limits in this era.
    pub fn of(limits: Limits) -> Self {
        let (logical_partition, partition) = match limits {
            Limits::Current => (20 * GB, 50 * GB),
            Limits::Y2016 | Limits::Y2017 => (10 * GB, 10 * GB),
        };
        let collection = (limits == Limits::Y2016).then_some(250 * GB);
        Self { logical_partition, partition, single_partition: 10 * GB, collection }
    }

    /// The most bytes in a collection, including its index; `None` for no limit.
    pub fn of_collection(&self, has_partition_key: bool) -> Option<u64> {
        if has_partition_key {
            return self.collection;
        }
        Some(self.single_partition.min(self.partition).min(self.collection.unwrap_or(u64::MAX)))
    }
}

/// A readable size, in the largest unit that divides it.
pub fn size(bytes: u64) -> String {
    for (unit, name) in [(GB, "GB"), (MB, "MB"), (KB, "KB")] {
        if bytes >= unit && bytes.is_multiple_of(unit) {
            return format!("{} {name}", bytes / unit);
        }
    }
    format!("{bytes} bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_era_has_its_sizes() {
        let current = Sizes::of(Limits::Current);
        assert_eq!((current.logical_partition, current.partition), (20 * GB, 50 * GB));
        assert_eq!(current.of_collection(true), None);
        assert_eq!(current.of_collection(false), Some(10 * GB));
        let old = Sizes::of(Limits::Y2016);
        assert_eq!((old.logical_partition, old.partition), (10 * GB, 10 * GB));
        assert_eq!(old.of_collection(true), Some(250 * GB));
        assert_eq!(Sizes::of(Limits::Y2017).of_collection(true), None);
        let small = Sizes { partition: MB, ..current };
        assert_eq!(small.of_collection(false), Some(MB));
    }

    #[test]
    fn sizes_are_readable() {
        assert_eq!(size(20 * GB), "20 GB");
        assert_eq!(size(1536 * MB), "1536 MB");
        assert_eq!(size(3 * KB), "3 KB");
        assert_eq!(size(1025), "1025 bytes");
        assert_eq!(size(0), "0 bytes");
    }
}
