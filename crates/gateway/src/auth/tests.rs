use hyper::{HeaderMap, header::HeaderValue};

use super::*;
use crate::settings::PUBLISHED_KEY;

const DATE: &str = "Tue, 01 Jan 2030 00:00:00 GMT";

/// Verb, type, link and signature, for [`PUBLISHED_KEY`] and [`DATE`], computed by independent
/// code.
const VECTORS: [(&str, &str, &str, &str); 11] = [
    ("GET", "", "", "pTYhS4ox9QI3Bc8GVhbE/l3B/UQLk86E2gdybMBk1rU="),
    ("GET", "dbs", "", "1cCm4N43xTlahC4HaAse8g2E+n267PXGLAMRmEfg1GU="),
    ("POST", "dbs", "", "LNm/VsKZuCjcmT+6DGINeQ4at7RHRVzrcMT3AjDqKpQ="),
    ("GET", "dbs", "dbs/db1", "5Z0ngMCC8TCTECmc9BtnlAfGlmGGTieZ7Dn3BptAT2g="),
    ("POST", "colls", "dbs/db1", "rqWm5j3kNFvIYrrGQzKYoeRBm14h3z408pwOK6w348w="),
    ("POST", "docs", "dbs/db1/colls/c1", "HDqg1N6vRfo9Irgv3a6/6oKb3AR7JPeeFrrmewqH7uU="),
    ("GET", "docs", "dbs/db1/colls/c1/docs/Item 1", "1pLMf6K8NuzxYQhDvwa3R/KKRfQb+IwE4B/48Zc4R4A="),
    ("GET", "pkranges", "dbs/db1/colls/c1", "cAeK7iQQ+PYzd+TxpoUUXGGDT1GGQAslGP8NjRtvf+M="),
    ("GET", "pkranges", "aaaaaaaaaae=", "xhGgRiWr4kWh186wEXrHHdLv0eb4YVjNyGIGucqZN0c="),
    ("POST", "offers", "", "V3jfy2IOn4F18OFkSo79oiBwjl8iH7vIj7hi4rbiInI="),
    ("PUT", "offers", "abcd", "N3J6OCwnH74t35/Hy/Cr1W/RMDkxVZtFhvRP8pi2xMw="),
];

fn keys() -> Keys {
    let read_only = Key::parse("cmVhZCBvbmx5").expect("a key");
    Keys { read_write: vec![key()], read_only: vec![read_only] }
}

fn key() -> Key {
    Key::parse(PUBLISHED_KEY).expect("the published key")
}

fn now() -> SystemTime {
    httpdate::parse_http_date(DATE).expect("a date")
}

fn signed<'a>(kind: &'a str, link: &'a str) -> Signed<'a> {
    Signed { types: vec![kind.into()], links: vec![link.into()] }
}

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    pairs
        .iter()
        .map(|(name, value)| {
            let name = hyper::header::HeaderName::from_static(name);
            (name, HeaderValue::from_str(value).expect("a header value"))
        })
        .collect()
}

/// Verifies a `GET dbs` with these headers.
fn verify_get(pairs: &[(&'static str, &str)], now: SystemTime) -> Result<Principal, Error> {
    verify_headers(&Method::GET, &signed("dbs", ""), &headers(pairs), now)
}

fn verify_headers(
    method: &Method,
    signed: &Signed<'_>,
    headers: &HeaderMap,
    now: SystemTime,
) -> Result<Principal, Error> {
    match token(headers)? {
        Token::Signature(signature) => {
            verify(method, signed, headers, signature.as_ref(), &keys(), now)
                .map(|(principal, _)| principal)
        }
        Token::Resource(_) | Token::Access(_) => Err(malformed()),
    }
}

fn by(key: &Key, payload: &str) -> String {
    format!("type=master&ver=1.0&sig={}", STANDARD.encode(sign(key, payload)))
}

#[test]
fn the_published_vectors_verify() {
    for (verb, kind, link, signature) in VECTORS {
        let method = Method::from_bytes(verb.as_bytes()).expect("a verb");
        let plain = format!("type=master&ver=1.0&sig={signature}");
        let upper = plain.replace('=', "%3D").replace('&', "%26").replace('+', "%2B");
        let lower = plain.replace('=', "%3d").replace('&', "%26").replace('/', "%2f");
        for authorization in [plain, upper, lower] {
            let headers = headers(&[("authorization", &authorization), ("x-ms-date", DATE)]);
            let principal = verify_headers(&method, &signed(kind, link), &headers, now());
            let principal = principal.unwrap_or_else(|error| panic!("{verb} {kind}: {error}"));
            assert_eq!(principal, Principal::of_key());
            // The same signature must not fit any other request.
            let other = verify_headers(&method, &signed(kind, "other"), &headers, now());
            assert_eq!(other.expect_err("another link").code, Code::Unauthorized);
        }
    }
}

#[test]
fn every_key_counts_and_tells_what_it_may() {
    let payload = format!("get\ndbs\n\n{}\n\n", DATE.to_lowercase());
    let keys = keys();
    for (key, expected) in [
        (&keys.read_write[0], Principal::of_key()),
        (&keys.read_only[0], Principal::of_read_only_key()),
    ] {
        let token = by(key, &payload);
        let principal = verify_get(&[("authorization", &token), ("x-ms-date", DATE)], now());
        assert_eq!(principal.ok(), Some(expected));
    }
}

#[test]
fn either_date_may_be_signed_but_one_must() {
    let date = DATE.to_lowercase();
    let with = |payload: &str, pairs: &[(&'static str, &str)]| {
        let token = by(&key(), payload);
        let mut all = vec![("authorization", token.as_str())];
        all.extend_from_slice(pairs);
        verify_get(&all, now()).map_err(|error| error.code)
    };
    let ok = Ok(Principal::of_key());
    let both = [("x-ms-date", DATE), ("date", DATE)];
    assert_eq!(with(&format!("get\ndbs\n\n{date}\n\n"), &both), ok);
    assert_eq!(with(&format!("get\ndbs\n\n{date}\n{date}\n"), &both), ok);
    assert_eq!(with(&format!("get\ndbs\n\n\n{date}\n"), &[("date", DATE)]), ok);
    // The Rust SDK sends the date in lower case.
    assert_eq!(with(&format!("get\ndbs\n\n{date}\n\n"), &[("x-ms-date", &date)]), ok);
    let refused = Err(Code::Unauthorized);
    assert_eq!(with("get\ndbs\n\n\n\n", &[]), refused, "no date");
    assert_eq!(with("get\ndbs\n\n\n\n", &[("date", DATE)]), refused, "an unsigned date");
    assert_eq!(with("get\ndbs\n\nsoon\n\n", &[("x-ms-date", "soon")]), refused, "no real date");
}

#[test]
fn dates_are_good_for_a_quarter_of_an_hour() {
    let token = by(&key(), &format!("get\ndbs\n\n{}\n\n", DATE.to_lowercase()));
    let at = |now| verify_get(&[("authorization", &token), ("x-ms-date", DATE)], now);
    let quarter = Duration::from_mins(15);
    for good in [now(), now() + quarter, now() - quarter] {
        assert!(at(good).is_ok());
    }
    let second = Duration::from_secs(1);
    for bad in [now() + quarter + second, now() - quarter - second, SystemTime::UNIX_EPOCH] {
        assert_eq!(at(bad).expect_err("too far").code, Code::Forbidden);
    }
}

#[test]
fn what_does_not_verify_says_what_was_expected() {
    let wrong = by(&Key::parse("d3Jvbmc=").expect("a key"), "anything");
    let error = verify_get(&[("authorization", &wrong), ("x-ms-date", DATE)], now())
        .expect_err("the wrong key");
    let payload = "payload to sign: 'get\ndbs\n\ntue, 01 jan 2030 00:00:00 gmt\n\n'";
    assert!(error.message.ends_with(payload), "{}", error.message);
    for bad in [
        "",
        "x",
        "type=master",
        "type=master&ver=1.0",
        "type=master&ver=1.0&sig=",
        "type=master&ver=1.0&sig=!",
        "type=master&ver=1.0&sig=aaaa",
        "ver=1.0&type=master&sig=aaaa",
        "type%3Dmaster%26ver%3D1.0%26sig%3D%FF",
        "type=resource&ver=1&sig=aaaa;bbbb;",
        "type=aad&ver=1.0&sig=aa.bb.cc",
    ] {
        let result = verify_get(&[("authorization", bad), ("x-ms-date", DATE)], now());
        assert_eq!(result.expect_err(bad).code, Code::Unauthorized, "{bad}");
    }
    let missing = verify_get(&[("x-ms-date", DATE)], now()).expect_err("no token");
    assert!(missing.message.contains("authorization is missing"));
}

#[test]
fn the_usual_form_of_a_token_means_what_any_form_means() {
    let signature = VECTORS[1].3;
    let read = |text: &str| token(&headers(&[("authorization", text)])).ok();
    let expected = read(&format!("type=MASTER&ver=1.0&sig={signature}"));
    assert!(matches!(expected, Some(Token::Signature(Some(_)))));
    let escaped = signature.replace('=', "%3D").replace('+', "%2B").replace('/', "%2F");
    for start in USUAL {
        assert_eq!(read(&format!("{start}{signature}")), expected);
        assert_eq!(read(&format!(" {start}{escaped} ")), expected);
        assert_eq!(read(&format!("{start}{escaped}%20")), expected);
        // Of another length.
        assert_eq!(read(&format!("{start}aaaa")), Some(Token::Signature(None)));
        let long = STANDARD.encode([7; 99]);
        assert_eq!(read(&format!("{start}{long}")), Some(Token::Signature(None)));
        for bad in ["!", "a", "aaaa&", "%", "%FF", "aaaa%26a=b"] {
            assert_eq!(read(&format!("{start}{bad}")), None, "{bad}");
        }
    }
}

/// A proxy in front of the server may have checked the other of the two.
#[test]
fn what_must_be_there_once_is_not_there_twice() {
    let signature = VECTORS[1].3;
    let token = format!("type=master&ver=1.0&sig={signature}");
    let good = [("authorization", token.as_str()), ("x-ms-date", DATE)];
    verify_get(&good, now()).expect("good");
    for more in [
        ("authorization", token.as_str()),
        ("authorization", "type=master&ver=1.0&sig="),
        ("x-ms-date", DATE),
        ("x-ms-date", "Tue, 01 Jan 2020 00:00:00 GMT"),
    ] {
        let refused = verify_get(&[good[0], good[1], more], now()).expect_err("twice");
        assert_eq!(refused.code, Code::Unauthorized, "{more:?}");
    }
    let dates = [good[0], good[1], ("date", DATE), ("date", DATE)];
    assert_eq!(verify_get(&dates, now()).expect_err("twice").code, Code::Unauthorized);
}

#[test]
fn dates_name_their_zone_in_every_way_that_clients_do() {
    for text in [
        "Tue, 01 Jan 2030 00:00:00 GMT",
        "tue, 01 jan 2030 00:00:00 gmt",
        "Tue, 01 Jan 2030 00:00:00 UTC",
        "tue, 01 jan 2030 00:00:00 utc",
        "Tue, 01 Jan 2030 00:00:00 +0000",
    ] {
        assert_eq!(parse_date(text), Some(now()), "{text}");
    }
    for text in ["Tue, 01 Jan 2030 00:00:00 +0100", "Tue, 01 Jan 2030 00:00:00", "UTC", " UTC", ""]
    {
        assert_eq!(parse_date(text), None, "{text}");
    }
}
