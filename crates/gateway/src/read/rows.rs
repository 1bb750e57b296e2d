//! Parses the operations of a batch from the binary format that .NET sends.

use bytes::Bytes;
use protocol::{Error, limits::BATCH_BYTES_MAX, request::BatchOperation};
use value::binary::{self, ErrorKind};

use super::{
    batch::{Members, check_count, directive, key_of_text, refused},
    too_large,
};
use crate::hybrid_row::{self, OperationRow};

/// Parses the operations of a batch from its rows.
pub(super) fn operations(stream: &Bytes) -> Result<Vec<BatchOperation>, Error> {
    let rows = hybrid_row::records(stream).map_err(|error| {
        Error::bad_request(format!("The batch is not a HybridRow stream of operations: {error}."))
    })?;
    check_count(rows.len())?;
    let mut translated = 0;
    let read = |(index, row)| {
        let row = OperationRow::read(row).map_err(|error| refused(index, &format!("{error}.")))?;
        let body = row.resource_body.map(|body| stream.slice_ref(body));
        let body = body.map(|body| text(index, body, &mut translated)).transpose()?;
        let operation = members(&row, body).and_then(Members::into_operation);
        operation.map_err(|reason| refused(index, &reason))
    };
    rows.into_iter().enumerate().map(read).collect()
}

/// Converts a document to text. Clients that write binary JSON do so in batches, too. Their
/// converted text has the same size limit as the text of other batches.
fn text(index: usize, body: Bytes, translated: &mut usize) -> Result<Bytes, Error> {
    if !binary::is_binary(&body) {
        return Ok(body);
    }
    let text = binary::to_text(&body).map_err(|error| match error.kind {
        ErrorKind::TooLong => too_large(),
        _ => refused(index, &format!("resourceBody: {error}.")),
    })?;
    *translated += text.len();
    if *translated > BATCH_BYTES_MAX { Err(too_large()) } else { Ok(Bytes::from(text)) }
}

fn members(row: &OperationRow<'_>, body: Option<Bytes>) -> Result<Members, String> {
    match row.resource_type {
        Some(OperationRow::DOCUMENT) => {}
        Some(other) => return Err(format!("the resourceType {other} is not that of documents.")),
        None => return Err("resourceType is missing.".to_owned()),
    }
    // Both members are for callers inside the service. Ignoring them would change the operation; an
    // effective partition key only repeats the partition key, so it may be ignored.
    if row.binary_id.is_some() {
        return Err("binaryId is not supported.".to_owned());
    }
    if row.time_to_live_seconds.is_some() {
        return Err("timeToLiveInSeconds is not supported.".to_owned());
    }
    Ok(Members {
        kind: row.operation_type.map(name).transpose()?,
        id: row.id.map(str::to_owned),
        body,
        key: row.partition_key.map(key_of_text).transpose()?,
        if_match: row.if_match.map(str::to_owned),
        if_none_match: row.if_none_match.map(str::to_owned),
        directive: row.indexing_directive.map(directive).transpose()?,
        is_minimal: row.minimal_return_preference.unwrap_or(false),
    })
}

/// The JSON name of an operation type.
fn name(operation_type: i32) -> Result<String, String> {
    let name = match operation_type {
        OperationRow::CREATE => "Create",
        OperationRow::PATCH => "Patch",
        OperationRow::READ => "Read",
        OperationRow::DELETE => "Delete",
        OperationRow::REPLACE => "Replace",
        OperationRow::UPSERT => "Upsert",
        other => return Err(format!("the operationType {other} is unknown.")),
    };
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests {
    use protocol::Code;

    use super::*;
    use crate::{hybrid_row::StreamWriter, read};

    fn stream(rows: &[OperationRow<'_>]) -> Bytes {
        let mut writer = StreamWriter::with_capacity(0);
        for row in rows {
            writer.push(|out| row.write(out));
        }
        writer.finish().into()
    }

    fn row(operation_type: i32) -> OperationRow<'static> {
        OperationRow {
            operation_type: Some(operation_type),
            resource_type: Some(OperationRow::DOCUMENT),
            ..OperationRow::default()
        }
    }

    fn message(row: OperationRow<'_>) -> String {
        let error = read::batch(&stream(&[row])).expect_err("refused");
        assert_eq!(error.code, Code::BadRequest);
        error.message
    }

    #[test]
    fn the_same_operations_as_in_json() {
        let key = Some(r#"["k"]"#);
        let (id, body) = (Some("a"), Some(&br#"{"id":"a"}"#[..]));
        let rows = [
            OperationRow { resource_body: body, ..row(OperationRow::CREATE) },
            OperationRow {
                resource_body: body,
                partition_key: key,
                effective_partition_key: Some(&[1, 2]),
                if_match: Some("\"e\""),
                ..row(OperationRow::UPSERT)
            },
            OperationRow { id, if_none_match: Some("e"), ..row(OperationRow::READ) },
            OperationRow {
                id,
                resource_body: body,
                indexing_directive: Some("Exclude"),
                minimal_return_preference: Some(true),
                ..row(OperationRow::REPLACE)
            },
            OperationRow { id, ..row(OperationRow::DELETE) },
            OperationRow { id, resource_body: Some(b"[]"), ..row(OperationRow::PATCH) },
        ];
        let json = br#"[
            {"operationType":"Create","resourceBody":{"id":"a"}},
            {"operationType":"Upsert","resourceBody":{"id":"a"},"partitionKey":"[\"k\"]","ifMatch":"\"e\""},
            {"operationType":"Read","id":"a","ifNoneMatch":"e"},
            {"operationType":"Replace","id":"a","resourceBody":{"id":"a"},"indexingDirective":"Exclude","minimalReturnPreference":true},
            {"operationType":"Delete","id":"a"},
            {"operationType":"Patch","id":"a","resourceBody":[]}
        ]"#;
        let stream = stream(&rows);
        let read = read::batch(&stream).expect("operations");
        assert_eq!(Ok(read), read::batch(&Bytes::from_static(json)).map_err(|error| error.message));
    }

    #[test]
    fn documents_in_binary_json() {
        // An object with two members: id "Item 1", pk "a".
        let binary = [&b"\x80\xed\x0f\x02"[..], b"\x82id\x86Item 1\x82pk\x81a"].concat();
        let create = OperationRow { resource_body: Some(&binary), ..row(OperationRow::CREATE) };
        let stream = stream(&[create]);
        let read = read::batch(&stream).expect("operations");
        let json = br#"[{"operationType":"Create","resourceBody":{"id":"Item 1","pk":"a"}}]"#;
        assert_eq!(Ok(read), read::batch(&Bytes::from_static(json)).map_err(|error| error.message));
        let broken = OperationRow {
            resource_body: Some(&binary[..binary.len() - 1]),
            ..row(OperationRow::CREATE)
        };
        assert!(message(broken).contains("Operation 0 of the batch: resourceBody"));
    }

    #[test]
    fn what_is_no_operation_is_refused() {
        let id = Some("a");
        for (row, part) in [
            (OperationRow { operation_type: None, ..row(0) }, "operationType is missing"),
            (OperationRow { id, ..row(3) }, "the operationType 3 is unknown"),
            (OperationRow { id, ..row(-1) }, "the operationType -1 is unknown"),
            (OperationRow { resource_type: None, ..row(0) }, "resourceType is missing"),
            (OperationRow { resource_type: Some(1), ..row(0) }, "the resourceType 1 is not"),
            (row(OperationRow::CREATE), "Create needs a resourceBody"),
            (row(OperationRow::READ), "Read needs an id"),
            (OperationRow { id: Some(""), ..row(OperationRow::READ) }, "Read needs an id"),
            (OperationRow { id, ..row(OperationRow::REPLACE) }, "needs a resourceBody"),
            (OperationRow { id, partition_key: Some("k"), ..row(2) }, "partitionKey"),
            (OperationRow { id, indexing_directive: Some("x"), ..row(2) }, "indexingDirective"),
            (OperationRow { id, binary_id: Some(b"x"), ..row(2) }, "binaryId is not supported"),
            (
                OperationRow { id, time_to_live_seconds: Some(9), ..row(2) },
                "timeToLiveInSeconds is not supported",
            ),
        ] {
            let message = message(row);
            assert!(message.starts_with("Operation 0 of the batch: "), "{message}");
            assert!(message.contains(part), "{part}: {message}");
        }
    }

    #[test]
    fn what_is_no_stream_is_refused() {
        let refused =
            |body: &[u8]| read::batch(&Bytes::copy_from_slice(body)).expect_err("refused");
        let delete = OperationRow { id: Some("a"), ..row(OperationRow::DELETE) };
        let one = |count: usize| stream(&vec![delete.clone(); count]);
        assert!(refused(&one(0)).message.contains("no operations"));
        assert!(refused(&one(101)).message.contains("more operations"));
        assert_eq!(read::batch(&one(100)).map(|read| read.len()).ok(), Some(100));
        let mut damaged = one(1).to_vec();
        let last = damaged.len() - 1;
        damaged[last] ^= 1;
        assert!(refused(&damaged).message.contains("checksum"));
        assert!(refused(&one(1)[..last]).message.contains("end too early"));
        let mut result = StreamWriter::with_capacity(0);
        result.push(|out| hybrid_row::ResultRow::default().write(out));
        assert!(refused(&result.finish()).message.contains("Operation 0 of the batch: a row has"));
        let mut long = one(1).to_vec();
        long.resize(BATCH_BYTES_MAX + 1, 0);
        assert_eq!(refused(&long).code, Code::TooLarge);
    }

    /// A document that is short only because it refers to itself counts with the length of its
    /// text.
    #[test]
    fn documents_that_are_long_as_text() {
        // An array with a two-byte length: a text of 1000 letters at offset 4, and 600 references
        // to it.
        let content = [&[0xc1, 0xe8, 0x03][..], &[b'x'; 1000], &[0xc3, 0x04].repeat(600)].concat();
        let length = u16::try_from(content.len()).expect("length").to_le_bytes();
        let body = [&[0x80, 0xe3], &length[..], &content].concat();
        let create = OperationRow { resource_body: Some(&body), ..row(OperationRow::CREATE) };
        assert_eq!(
            read::batch(&stream(&vec![create.clone(); 3])).map(|read| read.len()).ok(),
            Some(3)
        );
        let error = read::batch(&stream(&vec![create; 4])).expect_err("long");
        assert_eq!(error.code, Code::TooLarge);
    }
}
