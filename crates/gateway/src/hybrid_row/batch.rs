//! The rows of a batch: operations and their results.

use super::{
    Error,
    layout::{OPERATION, RESULT},
    row::{self, Cell, Cells},
};

/// An operation, as far as its row gives it. The reader decides which missing or wrong values to
/// refuse.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperationRow<'a> {
    /// The operation to run: one of the constants of this type.
    pub operation_type: Option<i32>,
    /// The type of the resource: [`OperationRow::DOCUMENT`].
    pub resource_type: Option<i32>,
    /// The partition key, in the format of the header of a single operation.
    pub partition_key: Option<&'a str>,
    /// The hash of the partition key, as the service computes it.
    pub effective_partition_key: Option<&'a [u8]>,
    /// The id of the document.
    pub id: Option<&'a str>,
    /// The id of the document, for callers whose ids are not text.
    pub binary_id: Option<&'a [u8]>,
    /// The new document, or the patch.
    pub resource_body: Option<&'a [u8]>,
    /// Whether to index the document, overriding the collection's default.
    pub indexing_directive: Option<&'a str>,
    /// Run the operation only if the stored etag is this one.
    pub if_match: Option<&'a str>,
    /// Run the operation only if the stored etag is not this one.
    pub if_none_match: Option<&'a str>,
    /// The document's time to live.
    pub time_to_live_seconds: Option<i32>,
    /// Whether to leave the document out of the result.
    pub minimal_return_preference: Option<bool>,
}

#[expect(missing_docs, reason = "the numbers of .NET's enumerations, by their names")]
impl OperationRow<'_> {
    pub const CREATE: i32 = 0;
    pub const PATCH: i32 = 1;
    pub const READ: i32 = 2;
    pub const DELETE: i32 = 4;
    pub const REPLACE: i32 = 5;
    pub const UPSERT: i32 = 20;

    pub const DOCUMENT: i32 = 2;
}

impl<'a> OperationRow<'a> {
    /// Parses a row.
    pub fn read(row: &'a [u8]) -> Result<Self, Error> {
        let cells = row::read(&OPERATION, row)?;
        let [kind, resource, key, effective, id, binary, body, index, equal, other, life, minimal] =
            cells;
        Ok(Self {
            operation_type: kind.and_then(Cell::int32),
            resource_type: resource.and_then(Cell::int32),
            partition_key: key.and_then(Cell::utf8),
            effective_partition_key: effective.and_then(Cell::binary),
            id: id.and_then(Cell::utf8),
            binary_id: binary.and_then(Cell::binary),
            resource_body: body.and_then(Cell::binary),
            indexing_directive: index.and_then(Cell::utf8),
            if_match: equal.and_then(Cell::utf8),
            if_none_match: other.and_then(Cell::utf8),
            time_to_live_seconds: life.and_then(Cell::int32),
            minimal_return_preference: minimal.and_then(Cell::boolean),
        })
    }

    /// Appends the operation to `out` as a row.
    pub fn write(&self, out: &mut Vec<u8>) {
        let cells: Cells<'_, 12> = [
            self.operation_type.map(Cell::Int32),
            self.resource_type.map(Cell::Int32),
            self.partition_key.map(Cell::Utf8),
            self.effective_partition_key.map(Cell::Binary),
            self.id.map(Cell::Utf8),
            self.binary_id.map(Cell::Binary),
            self.resource_body.map(Cell::Binary),
            self.indexing_directive.map(Cell::Utf8),
            self.if_match.map(Cell::Utf8),
            self.if_none_match.map(Cell::Utf8),
            self.time_to_live_seconds.map(Cell::Int32),
            self.minimal_return_preference.map(Cell::Bool),
        ];
        row::write(&OPERATION, &cells, out);
    }
}

/// The result of an operation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResultRow<'a> {
    /// The status that the operation alone would have.
    pub status_code: Option<i32>,
    /// The substatus; zero if there is none.
    pub sub_status_code: Option<i32>,
    /// The etag with its quotes.
    pub etag: Option<&'a str>,
    /// The document.
    pub resource_body: Option<&'a [u8]>,
    /// The time to wait before a retry.
    pub retry_after_ms: Option<u32>,
    /// The charge in request units.
    pub request_charge: Option<f64>,
}

impl<'a> ResultRow<'a> {
    /// Parses a row.
    pub fn read(row: &'a [u8]) -> Result<Self, Error> {
        let [status, sub, etag, body, wait, charge] = row::read(&RESULT, row)?;
        Ok(Self {
            status_code: status.and_then(Cell::int32),
            sub_status_code: sub.and_then(Cell::int32),
            etag: etag.and_then(Cell::utf8),
            resource_body: body.and_then(Cell::binary),
            retry_after_ms: wait.and_then(Cell::uint32),
            request_charge: charge.and_then(Cell::float64),
        })
    }

    /// Appends the result to `out` as a row.
    pub fn write(&self, out: &mut Vec<u8>) {
        let cells: Cells<'_, 6> = [
            self.status_code.map(Cell::Int32),
            self.sub_status_code.map(Cell::Int32),
            self.etag.map(Cell::Utf8),
            self.resource_body.map(Cell::Binary),
            self.retry_after_ms.map(Cell::UInt32),
            self.request_charge.map(Cell::Float64),
        ];
        row::write(&RESULT, &cells, out);
    }
}
