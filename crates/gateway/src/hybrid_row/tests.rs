//! Tests rows and streams against bytes written by hand from the grammar, and against bytes that
//! .NET and the service really sent, recorded in the tests of the Java SDK.

use proptest::prelude::*;

use super::*;

/// Builds a stream of these rows.
fn stream(rows: &[&[u8]]) -> Vec<u8> {
    let mut writer = StreamWriter::with_capacity(0);
    for row in rows {
        writer.push(|out| out.extend_from_slice(row));
    }
    writer.finish()
}

fn operation(row: &OperationRow<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    row.write(&mut out);
    out
}

fn result(row: &ResultRow<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    row.write(&mut out);
    out
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let pair = |pair: &[u8]| {
        let text = str::from_utf8(pair).expect("digits");
        u8::from_str_radix(text, 16).expect("digits")
    };
    digits.chunks(2).map(pair).collect()
}

/// An operation with every column.
fn full() -> OperationRow<'static> {
    OperationRow {
        operation_type: Some(OperationRow::UPSERT),
        resource_type: Some(OperationRow::DOCUMENT),
        partition_key: Some(r#"["a"]"#),
        effective_partition_key: Some(&[0x0f, 0xff]),
        id: Some("é"),
        binary_id: Some(&[]),
        resource_body: Some(b"{}"),
        indexing_directive: Some("Exclude"),
        if_match: Some("\"e\""),
        if_none_match: Some("*"),
        time_to_live_seconds: Some(-1),
        minimal_return_preference: Some(true),
    }
}

#[rustfmt::skip]
const FULL: &[u8] = &[
    0x81,                                   // version 1
    0x70, 0x54, 0xe1, 0x7f,                 // schema 2145473648
    0b0111_1111,                            // all seven fixed and variable columns are there
    20, 0, 0, 0,                            // operationType: upsert
    2, 0, 0, 0,                             // resourceType: document
    5, b'[', b'"', b'a', b'"', b']',        // partitionKey
    2, 0x0f, 0xff,                          // effectivePartitionKey
    2, 0xc3, 0xa9,                          // id, of one letter in two bytes
    0,                                      // binaryId, empty
    2, b'{', b'}',                          // resourceBody
    20, 8, 7, b'E', b'x', b'c', b'l', b'u', b'd', b'e', // text, column 8: indexingDirective
    20, 9, 3, b'"', b'e', b'"',             // text, column 9: ifMatch
    20, 10, 1, b'*',                        // text, column 10: ifNoneMatch
    7, 11, 0xff, 0xff, 0xff, 0xff,          // 32 bits with sign, column 11: timeToLiveInSeconds
    3, 12,                                  // true, column 12: minimalReturnPreference
];

#[test]
fn an_operation_byte_for_byte() {
    assert_eq!(operation(&full()), FULL);
    assert_eq!(OperationRow::read(FULL), Ok(full()));
}

#[test]
fn an_operation_with_little_in_it() {
    #[rustfmt::skip]
    let bytes = [
        0x81, 0x70, 0x54, 0xe1, 0x7f,
        0b0001_0011,                        // operationType, resourceType, id
        4, 0, 0, 0,                         // delete
        2, 0, 0, 0,
        1, b'x',                            // id
    ];
    let row = OperationRow {
        operation_type: Some(OperationRow::DELETE),
        resource_type: Some(OperationRow::DOCUMENT),
        id: Some("x"),
        ..OperationRow::default()
    };
    assert_eq!(operation(&row), bytes);
    assert_eq!(OperationRow::read(&bytes), Ok(row));
    // Absent fixed columns keep their place; its content means nothing.
    let nothing = hex("81 7054e17f 00 01020304 05060708");
    assert_eq!(OperationRow::read(&nothing), Ok(OperationRow::default()));
    assert_eq!(operation(&OperationRow::default()), hex("81 7054e17f 00 00000000 00000000"));
}

#[test]
fn sparse_columns_come_in_any_order() {
    let head = "81 7054e17f 03 05000000 02000000";
    let row = hex(&format!("{head} 0c00 0220"));
    assert_eq!(OperationRow::read(&row), Err(Error::Unknown), "column 0 has no name");
    // False, a null, then text.
    let row = hex(&format!("{head} 020c 010b 1409 0161"));
    let read = OperationRow::read(&row).expect("row");
    assert_eq!(read.minimal_return_preference, Some(false));
    assert_eq!((read.time_to_live_seconds, read.if_match), (None, Some("a")));
}

#[test]
fn a_result_byte_for_byte() {
    #[rustfmt::skip]
    let bytes = [
        0x81,
        0x71, 0x54, 0xe1, 0x7f,             // schema 2145473649
        0b0000_1111,                        // all four fixed and variable columns
        0xad, 0x01, 0, 0,                   // statusCode 429
        0x80, 0x0c, 0, 0,                   // subStatusCode 3200
        3, b'"', b'e', b'"',                // eTag
        2, b'{', b'}',                      // resourceBody
        11, 5, 0xe8, 0x03, 0, 0,            // 32 bits without sign, column 5: 1000 milliseconds
        16, 6, 0, 0, 0, 0, 0, 0, 0x25, 0x40, // 64-bit float, column 6: a charge of 10.5
    ];
    let row = ResultRow {
        status_code: Some(429),
        sub_status_code: Some(3200),
        etag: Some("\"e\""),
        resource_body: Some(b"{}"),
        retry_after_ms: Some(1000),
        request_charge: Some(10.5),
    };
    assert_eq!(result(&row), bytes);
    assert_eq!(ResultRow::read(&bytes), Ok(row));
}

#[test]
fn a_stream_byte_for_byte() {
    #[rustfmt::skip]
    let expected = [
        0x81, 0xf0, 0xd8, 0xff, 0x7f,       // a segment: schema 2147473648
        0x01,                               // its length is there
        10, 0, 0, 0,                        // and counts itself and the head
        0x81, 0xf1, 0xd8, 0xff, 0x7f,       // a record: schema 2147473649, whose columns need no bits
        9, 0, 0, 0,                         // length of the row
        0x26, 0x39, 0xf4, 0xcb,             // CRC-32 of the nine digits: 0xcbf43926
        b'1', b'2', b'3', b'4', b'5', b'6', b'7', b'8', b'9',
        0x81, 0xf1, 0xd8, 0xff, 0x7f,
        1, 0, 0, 0,
        0x43, 0xbe, 0xb7, 0xe8,             // CRC-32 of "a"
        b'a',
    ];
    assert_eq!(stream(&[b"123456789", b"a"]), expected);
    assert_eq!(records(&expected), Ok(vec![&b"123456789"[..], b"a"]));
    assert_eq!(records(&expected[..10]), Ok(vec![]));
    assert_eq!(stream(&[]), expected[..10]);
}

/// The bytes that .NET wrote for a create with a binary JSON document.
#[test]
fn a_recorded_create() {
    let body = hex("80ea472c95687962726964726f772d676f6c64656e2d6974656d8573686172649a687962\
                    726964726f772d676f6c64656e2d706172746974696f6e3c86676f6c64656e8374746cc92c01");
    let recorded = hex("81f0d8ff7f010a00000081f1d8ff7f590000009d24a5cc\
                        817054e17f4300000000020000004a80ea472c95687962726964726f772d676f6c64656e2d\
                        6974656d8573686172649a687962726964726f772d676f6c64656e2d706172746974696f6e\
                        3c86676f6c64656e8374746cc92c01");
    let row = OperationRow {
        operation_type: Some(OperationRow::CREATE),
        resource_type: Some(OperationRow::DOCUMENT),
        resource_body: Some(&body),
        ..OperationRow::default()
    };
    let rows = records(&recorded).expect("records");
    assert_eq!(rows.len(), 1);
    assert_eq!(OperationRow::read(rows[0]), Ok(row.clone()));
    assert_eq!(stream(&[&operation(&row)]), recorded);
}

/// The bytes that .NET wrote for a conditional read.
#[test]
fn a_recorded_read() {
    let recorded = hex("817054e17f1302000000020000001d687962726964726f772d6f7074696f6e732d676f6c\
                        64656e2d6974656d140a09726561642d65746167");
    let row = OperationRow {
        operation_type: Some(OperationRow::READ),
        resource_type: Some(OperationRow::DOCUMENT),
        id: Some("hybridrow-options-golden-item"),
        if_none_match: Some("read-etag"),
        ..OperationRow::default()
    };
    assert_eq!(operation(&row), recorded);
    assert_eq!(OperationRow::read(&recorded), Ok(row));
}

/// The bytes that the service answered.
#[test]
fn a_recorded_result() {
    let recorded = hex(
        "81f0d8ff7f010a00000081f1d8ff7f3f000000d5437d92817154e17f07c800000000000000\
                        262230303030613034312d303030302d303830302d303030302d366135373631623130303030\
                        2210065555555555552540",
    );
    let row = ResultRow {
        status_code: Some(200),
        sub_status_code: Some(0),
        etag: Some("\"0000a041-0000-0800-0000-6a5761b10000\""),
        request_charge: Some(10.666_666_666_666_666),
        ..ResultRow::default()
    };
    let rows = records(&recorded).expect("records");
    assert_eq!(rows.iter().map(|row| ResultRow::read(row)).collect::<Vec<_>>(), [Ok(row.clone())]);
    assert_eq!(stream(&[&result(&row)]), recorded);
}

#[test]
fn segments() {
    let record = hex("81f1d8ff7f 01000000 43beb7e8 61");
    let plain = hex("81f0d8ff7f 01 0a000000");
    // With a comment: text, column 2.
    let talking = hex("81f0d8ff7f 01 0f000000 1402 02 6869");
    let many = [&talking[..], &record, &plain, &plain, &record].concat();
    assert_eq!(records(&many), Ok(vec![&b"a"[..], b"a"]));
    for (bytes, error) in [
        ("", Error::Ended),
        ("7b", Error::Version(0x7b)),
        ("81f0d8ff7f 01 0a0000", Error::Ended),
        (
            "81f1d8ff7f 01000000 43beb7e8 61",
            Error::Schema { found: 2_147_473_649, expected: 2_147_473_648 },
        ),
        ("81f0d8ff7f 00 0a000000", Error::Length),
        ("81f0d8ff7f 02 0a000000", Error::Presence),
        ("81f0d8ff7f 01 09000000", Error::Length),
        ("81f0d8ff7f 01 00000000", Error::Length),
        ("81f0d8ff7f 01 ffffffff", Error::Length),
        ("81f0d8ff7f 01 0b000000", Error::Ended),
        ("81f0d8ff7f 01 ffffff7f", Error::Ended),
    ] {
        assert_eq!(records(&hex(bytes)), Err(error), "{bytes}");
    }
}

#[test]
fn damaged_records() {
    let segment = "81f0d8ff7f 01 0a000000";
    for (bytes, error) in [
        ("81", Error::Ended),
        ("00", Error::Version(0)),
        ("81f1d8ff7f 01000000 43beb7e8", Error::Ended),
        ("81f1d8ff7f ffffff7f 43beb7e8 61", Error::Ended),
        ("81f1d8ff7f ffffffff 43beb7e8 61", Error::Length),
        ("81f1d8ff7f 01000000 43beb7e8 62", Error::Checksum),
        ("81f1d8ff7f 01000000 43beb7e9 61", Error::Checksum),
        ("81f1d8ff7f 01000000 43beb7e8 61 00", Error::Version(0)),
        (
            "817054e17f 00 00000000 00000000",
            Error::Schema { found: 2_145_473_648, expected: 2_147_473_649 },
        ),
    ] {
        assert_eq!(records(&hex(&format!("{segment} {bytes}"))), Err(error), "{bytes}");
    }
}

#[test]
fn damaged_rows() {
    let head = "81 7054e17f";
    for (bytes, error) in [
        ("80 7054e17f", Error::Version(0x80)),
        (
            "81 7154e17f 00 00000000 00000000",
            Error::Schema { found: 2_145_473_649, expected: 2_145_473_648 },
        ),
        ("", Error::Ended),
        ("81 7054", Error::Ended),
        (&format!("{head} 80 00000000 00000000"), Error::Presence),
        (&format!("{head} 03 00000000 0000"), Error::Ended),
        (&format!("{head} 07 00000000 02000000 0561"), Error::Ended),
        (&format!("{head} 07 00000000 02000000 01ff"), Error::Utf8("partitionKey")),
        (&format!("{head} 07 00000000 02000000 ffffffffff01"), Error::Number),
        (&format!("{head} 00 00000000 00000000 14"), Error::Ended),
        (&format!("{head} 00 00000000 00000000 1409"), Error::Ended),
        (&format!("{head} 00 00000000 00000000 1409 0561"), Error::Ended),
        (&format!("{head} 00 00000000 00000000 1409 01c3"), Error::Utf8("ifMatch")),
        // A spelled-out path, and the end of a scope that never began.
        (&format!("{head} 00 00000000 00000000 140e6101"), Error::Unknown),
        (&format!("{head} 00 00000000 00000000 46"), Error::Ended),
        (&format!("{head} 00 00000000 00000000 0709 01000000"), Error::Kind("ifMatch")),
        (&format!("{head} 00 00000000 00000000 140c 0161"), Error::Kind("minimalReturnPreference")),
        (&format!("{head} 00 00000000 00000000 1405 0161"), Error::Kind("id")),
        (&format!("{head} 00 00000000 00000000 1e09"), Error::Kind("ifMatch")),
        (&format!("{head} 00 00000000 00000000 1409 0161 1409 0162"), Error::Twice("ifMatch")),
    ] {
        assert_eq!(OperationRow::read(&hex(bytes)), Err(error), "{bytes}");
    }
    assert!(ResultRow::read(&hex("81 7154e17f 10 00000000 00000000")).is_err());
}

/// A stream must be refused wherever it is cut, except between records.
#[test]
fn cut_streams() {
    let whole = stream(&[FULL, FULL]);
    for end in 0..whole.len() {
        let is_whole = end == 10 || end == 10 + 13 + FULL.len();
        assert_eq!(records(&whole[..end]).is_ok(), is_whole, "{end}");
    }
    for end in 0..FULL.len() {
        // A shorter row must have the same values as the whole one.
        if let Ok(row) = OperationRow::read(&FULL[..end]) {
            assert_eq!(operation(&row), FULL[..end]);
        }
    }
}

prop_compose! {
    fn any_operation()(
        numbers in any::<(Option<i32>, Option<i32>, Option<i32>, Option<bool>)>(),
        texts in any::<[Option<String>; 5]>(),
        bytes in any::<[Option<Vec<u8>>; 3]>(),
    ) -> Vec<u8> {
        let [key, id, directive, equal, other] = &texts;
        let [effective, binary, body] = &bytes;
        operation(&OperationRow {
            operation_type: numbers.0,
            resource_type: numbers.1,
            partition_key: key.as_deref(),
            effective_partition_key: effective.as_deref(),
            id: id.as_deref(),
            binary_id: binary.as_deref(),
            resource_body: body.as_deref(),
            indexing_directive: directive.as_deref(),
            if_match: equal.as_deref(),
            if_none_match: other.as_deref(),
            time_to_live_seconds: numbers.2,
            minimal_return_preference: numbers.3,
        })
    }
}

proptest! {
    #[test]
    fn operations_round_trip(row in any_operation()) {
        let read = OperationRow::read(&row);
        prop_assert_eq!(read.map(|read| operation(&read)), Ok(row.clone()));
        let both = stream(&[&row, &row]);
        prop_assert_eq!(records(&both), Ok(vec![&row[..], &row[..]]));
    }

    #[test]
    fn any_bytes(bytes in any::<Vec<u8>>()) {
        let _ = records(&bytes);
        let _ = OperationRow::read(&bytes);
        let _ = ResultRow::read(&bytes);
    }

    /// Bytes with a valid head get further.
    #[test]
    fn any_bytes_behind_a_head(row in any_operation(), tail in any::<Vec<u8>>(), at in any::<usize>()) {
        let mut damaged = row.clone();
        damaged.truncate(at % (row.len() + 1));
        damaged.extend_from_slice(&tail);
        if let Ok(read) = OperationRow::read(&damaged) {
            let again = operation(&read);
            prop_assert_eq!(OperationRow::read(&again), Ok(read));
        }
        let mut whole = stream(&[&row]);
        whole.truncate(at % (whole.len() + 1));
        whole.extend_from_slice(&tail);
        let _ = records(&whole);
    }

    #[test]
    fn a_changed_byte_is_noticed(row in any_operation(), at in any::<usize>(), by in 1..=u8::MAX) {
        let mut whole = stream(&[&row]);
        let at = 10 + at % (whole.len() - 10);
        whole[at] ^= by;
        prop_assert!(records(&whole).is_err(), "{at}");
    }
}
