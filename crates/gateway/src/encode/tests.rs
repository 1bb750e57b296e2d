use protocol::meta::{Owner, Quota};

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
        (0.05, "0.05"),
        (1_234.005, "1234.01"),
        (12e9, "12000000000"),
        (0.004, "0"),
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

#[test]
fn a_document_has_the_head_that_other_answers_get_piece_by_piece() {
    let owner = Owner { name_path: "dbs/ä b/colls/c".to_owned(), rid: "obLD1IAAAAE=".to_owned() };
    let meta = Meta {
        charge: 10.5,
        partitions: vec![PartitionPoint { range_id: 3, lsn: 42 }],
        item_lsn: Some(41),
        owner: Some(owner.into()),
        quota_lists: Some(Quota::default().lists().into()),
        retry_after_ms: Some(7),
        ..Meta::default()
    };
    let answer = |body| Response {
        outcome: Outcome::Ok,
        body,
        etag: Some("e-1".to_owned()),
        continuation: None,
        meta: meta.clone(),
    };
    for (body, is_write) in [
        (Body::Resource(Bytes::from_static(b"{}")), false),
        (Body::Resource(Bytes::from_static(b"{}")), true),
        (Body::Empty, true),
    ] {
        let asked = Asked {
            activity_id: 5,
            version: Version::CURRENT,
            agent: "",
            path: "/",
            is_https: true,
            is_head: false,
            is_plan: false,
            form: Form::default(),
            is_write,
            client_request_id: None,
            elapsed: Duration::from_micros(1_002_003),
        };
        let result = Ok(Answer::Service(answer(body.clone())));
        let mut expected = other_head(&asked, &result);
        let fast = document_head(&asked, &result).expect("it is a document");
        if !matches!(body, Body::Empty) {
            put(&mut expected, "content-type", "application/json");
        }
        let sorted = |headers: &HeaderMap| {
            let mut all: Vec<_> =
                headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
            all.sort_by(|one, other| one.0.as_str().cmp(other.0.as_str()));
            all
        };
        assert_eq!(sorted(&fast), sorted(&expected));
        let response = response(&asked, result);
        assert_eq!(response.headers()["x-ms-request-duration-ms"], "1002.003");
        assert_eq!(response.headers()["x-ms-request-charge"], "10.5");
    }
}
