use super::*;

#[test]
fn charges_have_at_most_two_decimals() {
    for (units, expected) in [
        (0.0, "0"),
        (1.0, "1"),
        (10.0, "10"),
        (5.714, "5.71"),
        (2.5, "2.5"),
        (-1.0, "0"),
        (f64::NAN, "0"),
        (f64::INFINITY, "0"),
    ] {
        assert_eq!(charge(units), expected);
    }
}

#[test]
fn feeds_have_their_envelope() {
    let items = [Bytes::from_static(br#"{"id":"a"}"#), Bytes::from_static(b"1")];
    assert_eq!(
        feed("obLD1IAAAAE=", FeedKind::Documents, &items, None),
        r#"{"_rid":"obLD1IAAAAE=","Documents":[{"id":"a"},1],"_count":2}"#
    );
    for (kind, expected) in [
        (FeedKind::Databases, r#"{"_rid":"","Databases":[],"_count":0}"#),
        (FeedKind::Collections, r#"{"_rid":"","DocumentCollections":[],"_count":0}"#),
        (FeedKind::PartitionKeyRanges, r#"{"_rid":"","PartitionKeyRanges":[],"_count":0}"#),
        (FeedKind::Offers, r#"{"_rid":"","Offers":[],"_count":0}"#),
        (
            FeedKind::Scripts(ScriptKind::StoredProcedure),
            r#"{"_rid":"","StoredProcedures":[],"_count":0}"#,
        ),
        (FeedKind::Scripts(ScriptKind::Trigger), r#"{"_rid":"","Triggers":[],"_count":0}"#),
        (
            FeedKind::Scripts(ScriptKind::Function),
            r#"{"_rid":"","UserDefinedFunctions":[],"_count":0}"#,
        ),
    ] {
        assert_eq!(feed("", kind, &[], None), expected);
    }
}

#[test]
fn what_scripts_logged_is_encoded_and_bounded() {
    assert_eq!(script_log("a b+c\né%"), "a%20b%2Bc%0A%C3%A9%25");
    let long = script_log(&"é".repeat(10_000));
    assert!(long.len() <= SCRIPT_LOG_BYTES_MAX && long.len() > SCRIPT_LOG_BYTES_MAX - 6);
    assert!(long.ends_with("%C3%A9"), "cut inside a character");
}

#[test]
fn session_tokens_follow_the_callers_version() {
    let points = [PartitionPoint { range_id: 0, lsn: 4 }, PartitionPoint { range_id: 2, lsn: 9 }];
    let mut old = HeaderMap::new();
    old.insert("x-ms-version", HeaderValue::from_static("2017-11-15"));
    let old = Version::read(&old).expect("a version");
    for (version, expected) in [(Version::CURRENT, "2:-1#9"), (old, "2:9")] {
        let mut headers = HeaderMap::new();
        put_partition(&mut headers, &points, version);
        assert_eq!(headers["x-ms-session-token"], expected, "the last one's, never a list");
        assert_eq!(headers["lsn"], "9");
        assert_eq!(headers["x-ms-documentdb-partitionkeyrangeid"], "2");
    }
    let mut headers = HeaderMap::new();
    put_partition(&mut headers, &[], Version::CURRENT);
    assert!(headers.is_empty(), "left out, not empty");
}

#[test]
fn names_in_headers_are_encoded_like_urls() {
    let encoded = utf8_percent_encode("dbs/ä b/colls/c(1)+%", PATH).to_string();
    assert_eq!(encoded, "dbs/%C3%A4%20b/colls/c(1)%2B%25");
}
