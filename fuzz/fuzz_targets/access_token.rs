//! Any access token: no panic, and nobody is let in.

#![no_main]

use std::{
    sync::LazyLock,
    time::{Duration, SystemTime},
};

use gateway::{Issuer, Issuers, KeySet};
use libfuzzer_sys::fuzz_target;
use protocol::Role;

/// Keys that nobody signs with: the generator of P-256, and a number too small for RSA.
const KEYS: &str = r#"{"keys":[
  {"kty":"EC","crv":"P-256","kid":"e","x":"axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY","y":"T-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU"},
  {"kty":"RSA","kid":"r","n":"AQAB","e":"AQAB"}]}"#;

static ISSUERS: LazyLock<Issuers> = LazyLock::new(|| {
    Issuers::new(vec![Issuer {
        name: "i".to_owned(),
        audiences: vec!["a".to_owned()],
        keys: KeySet::parse(KEYS.as_bytes()).expect("keys"),
        roles: [("r".to_owned(), Role::Reader)].into(),
    }])
});

fuzz_target!(|input: &str| {
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1000);
    assert!(ISSUERS.verify(input, now).is_err());
    let _ = KeySet::parse(input.as_bytes());
    // The parts of a token as JSON, since chance finds no base64 of it.
    if let Some((head, claims)) = input.split_once('\n') {
        let encode = |text: &str| {
            use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
            URL_SAFE_NO_PAD.encode(text)
        };
        let token = format!("{}.{}.AAAA", encode(head), encode(claims));
        assert!(ISSUERS.verify(&token, now).is_err());
    }
});
