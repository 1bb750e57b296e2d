//! Schemas: the columns of a row, their kinds and their places.
//!
//! A row starts with a bit for each column that may be absent. Then come the fixed columns, even
//! absent ones; then the variable columns that are present; then any sparse columns, in any order.
//! A sparse column is identified by its position in the schema, counted from one, so the list of
//! columns must be complete and in order even if no client sends half of them.

use super::VERSION;

/// The columns of a schema: fixed before variable before sparse.
pub(super) struct Layout<const N: usize> {
    pub(super) schema: i32,
    pub(super) columns: [Column; N],
}

pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) storage: Storage,
}

/// The kinds of values that batches use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Bool,
    Int32,
    UInt32,
    Float64,
    Utf8,
    Binary,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Storage {
    /// The column is always present.
    Required,
    /// The bytes of the column are always there; a bit says whether they count.
    Fixed,
    /// A bit says whether the column is present.
    Variable,
    /// The column names its own position and kind.
    Sparse,
}

impl Storage {
    pub(super) fn has_bit(self) -> bool {
        matches!(self, Self::Fixed | Self::Variable)
    }
}

impl<const N: usize> Layout<N> {
    const fn new(schema: i32, columns: [Column; N]) -> Self {
        Self { schema, columns }
    }

    /// The five bytes that every row of this schema begins with.
    pub(super) fn head(&self) -> [u8; 5] {
        let [a, b, c, d] = self.schema.to_le_bytes();
        [VERSION, a, b, c, d]
    }

    /// The number of columns with a presence bit.
    pub(super) fn bits(&self) -> usize {
        self.columns.iter().filter(|column| column.storage.has_bit()).count()
    }
}

const fn column(name: &'static str, kind: Kind, storage: Storage) -> Column {
    Column { name, kind, storage }
}

/// The header of a segment. The length includes the header itself. Other columns (comments,
/// schemas) are ignored.
pub(super) static SEGMENT: Layout<1> =
    Layout::new(2_147_473_648, [column("length", Kind::Int32, Storage::Fixed)]);

/// The header of a record: length and checksum of the row that follows.
pub(super) static RECORD: Layout<2> = Layout::new(
    2_147_473_649,
    [
        column("length", Kind::Int32, Storage::Required),
        column("crc32", Kind::UInt32, Storage::Required),
    ],
);

pub(super) static OPERATION: Layout<12> = Layout::new(
    2_145_473_648,
    [
        column("operationType", Kind::Int32, Storage::Fixed),
        column("resourceType", Kind::Int32, Storage::Fixed),
        column("partitionKey", Kind::Utf8, Storage::Variable),
        column("effectivePartitionKey", Kind::Binary, Storage::Variable),
        column("id", Kind::Utf8, Storage::Variable),
        column("binaryId", Kind::Binary, Storage::Variable),
        column("resourceBody", Kind::Binary, Storage::Variable),
        column("indexingDirective", Kind::Utf8, Storage::Sparse),
        column("ifMatch", Kind::Utf8, Storage::Sparse),
        column("ifNoneMatch", Kind::Utf8, Storage::Sparse),
        column("timeToLiveInSeconds", Kind::Int32, Storage::Sparse),
        column("minimalReturnPreference", Kind::Bool, Storage::Sparse),
    ],
);

pub(super) static RESULT: Layout<6> = Layout::new(
    2_145_473_649,
    [
        column("statusCode", Kind::Int32, Storage::Fixed),
        column("subStatusCode", Kind::Int32, Storage::Fixed),
        column("eTag", Kind::Utf8, Storage::Variable),
        column("resourceBody", Kind::Binary, Storage::Variable),
        column("retryAfterMilliseconds", Kind::UInt32, Storage::Sparse),
        column("requestCharge", Kind::Float64, Storage::Sparse),
    ],
);

#[cfg(test)]
mod tests {
    use super::*;

    fn check<const N: usize>(layout: &Layout<N>) {
        let order = |column: &Column| match column.storage {
            Storage::Required | Storage::Fixed => 0,
            Storage::Variable => 1,
            Storage::Sparse => 2,
        };
        assert!(layout.columns.iter().map(order).is_sorted(), "{}", layout.schema);
        assert!(layout.bits() <= 8, "one byte of bits is all that rows are read with");
        for Column { name, kind, storage } in &layout.columns {
            let is_counted = matches!(kind, Kind::Utf8 | Kind::Binary);
            let fits = match storage {
                Storage::Required | Storage::Fixed => matches!(kind, Kind::Int32 | Kind::UInt32),
                Storage::Variable => is_counted,
                Storage::Sparse => true,
            };
            assert!(fits, "{name}");
        }
    }

    #[test]
    fn what_rows_are_read_by_holds() {
        check(&SEGMENT);
        check(&RECORD);
        check(&OPERATION);
        check(&RESULT);
    }

    #[test]
    fn heads() {
        assert_eq!(SEGMENT.head(), [0x81, 0xf0, 0xd8, 0xff, 0x7f]);
        assert_eq!(RECORD.head(), [0x81, 0xf1, 0xd8, 0xff, 0x7f]);
        assert_eq!(OPERATION.head(), [0x81, 0x70, 0x54, 0xe1, 0x7f]);
        assert_eq!(RESULT.head(), [0x81, 0x71, 0x54, 0xe1, 0x7f]);
    }
}
