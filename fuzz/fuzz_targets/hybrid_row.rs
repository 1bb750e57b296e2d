//! Batches in the binary form of .NET: any stream, any rows in a stream, and rows of any values.
//! No panic, no 5xx, and what can be read is read again the same.

#![no_main]

use fuzz::{COLLECTION, send_signed};
use libfuzzer_sys::fuzz_target;
use gateway::hybrid_row::{OperationRow, ResultRow, StreamWriter, records};

fuzz_target!(|input: &[u8]| {
    let Some((pick, input)) = input.split_first() else { return };
    let body = match pick % 3 {
        0 => input.to_vec(),
        // Chance never finds a checksum: rows of any bytes under a good one.
        1 => stream(input.split(|byte| *byte == 0xfe)),
        _ => {
            let rows: Vec<_> = input.split(|byte| *byte == 0xfe).map(row).collect();
            stream(rows.iter().map(Vec::as_slice))
        }
    };
    for row in records(&body).unwrap_or_default() {
        if let Ok(read) = OperationRow::read(row) {
            let mut again = Vec::new();
            read.write(&mut again);
            assert_eq!(OperationRow::read(&again), Ok(read));
        }
        if let Ok(read) = ResultRow::read(row) {
            // Charges that are no number are not equal to themselves.
            let mut again = Vec::new();
            read.write(&mut again);
            assert!(ResultRow::read(&again).is_ok());
        }
    }
    let path = format!("{COLLECTION}/docs");
    let mut headers: Vec<(&str, &[u8])> = vec![("x-ms-cosmos-is-batch-request", b"true")];
    if pick / 3 % 2 == 0 {
        headers.push(("x-ms-cosmos-batch-atomic", b"true"));
        headers.push(("x-ms-documentdb-partitionkey", b"[\"a\"]"));
    } else {
        headers.push(("x-ms-documentdb-partitionkeyrangeid", b"0"));
    }
    send_signed("POST", &path, &headers, &body);
});

fn stream<'a>(rows: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut writer = StreamWriter::with_capacity(0);
    for row in rows {
        writer.push(|out| out.extend_from_slice(row));
    }
    writer.finish()
}

/// An operation whose columns are slices of the input.
fn row(input: &[u8]) -> Vec<u8> {
    let mut parts = input.split(|byte| *byte == 0xfd);
    let mut next = || parts.next().filter(|part| !part.is_empty());
    let text =
        |part: Option<&'_ [u8]>| part.and_then(|part| str::from_utf8(part).ok()).map(str::to_owned);
    let head = next().unwrap_or_default();
    let body = next();
    let (key, id) = (text(next()), text(next()));
    let (directive, equal, other) = (text(next()), text(next()), text(next()));
    let kinds = [0, 1, 2, 4, 5, 20];
    let kind = head.first().and_then(|byte| kinds.get(usize::from(*byte % 8)));
    let mut out = Vec::new();
    OperationRow {
        operation_type: kind.copied(),
        resource_type: Some(OperationRow::DOCUMENT),
        partition_key: key.as_deref(),
        id: id.as_deref(),
        resource_body: body,
        indexing_directive: directive.as_deref(),
        if_match: equal.as_deref(),
        if_none_match: other.as_deref(),
        minimal_return_preference: head.get(1).map(|byte| byte % 2 == 0),
        ..OperationRow::default()
    }
    .write(&mut out);
    out
}
