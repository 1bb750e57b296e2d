//! Any text as a resource id, an etag, a session token or a continuation: no panic, and what is
//! read is written again as it was.

#![no_main]

use libfuzzer_sys::fuzz_target;
use protocol::{
    continuation::{self, Feed},
    etag,
    rid::{ChildRid, CollectionRid, DatabaseRid},
    session::SessionTokens,
};

fuzz_target!(|text: &str| {
    if let Some(rid) = DatabaseRid::parse(text) {
        assert_eq!(DatabaseRid::parse(&rid.to_string()), Some(rid));
    }
    if let Some(rid) = CollectionRid::parse(text) {
        assert_eq!(CollectionRid::parse(&rid.to_string()), Some(rid));
        assert_eq!(CollectionRid::from_bytes(&rid.bytes()), Some(rid));
    }
    if let Some(rid) = ChildRid::parse(text) {
        assert_eq!(ChildRid::parse(&rid.to_string()), Some(rid));
    }
    if let Some(tag) = etag::Etag::parse(text) {
        assert_eq!(etag::Etag::parse(&tag.to_string()), Some(tag));
    }
    assert!(etag::strip_quotes(text).len() <= text.len());
    if let Some(token) = SessionTokens::parse(text) {
        token.lsn_of("0", &["1".to_owned()]);
    }
    if let Some(position) = continuation::decode(Feed::Documents, b"owner", text) {
        let again = continuation::encode(Feed::Documents, b"owner", position);
        assert_eq!(continuation::decode(Feed::Documents, b"owner", &again), Some(position));
    }
});
