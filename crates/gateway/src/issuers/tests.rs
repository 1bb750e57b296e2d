use super::*;

/// Tokens and their keys, made by independent code.
fn vectors() -> Value {
    json::parse(include_bytes!("../../testdata/access_tokens.json")).expect("the vectors")
}

fn issuers() -> Issuers {
    let keys = KeySet::parse(json::print(vectors().get("jwks")).as_bytes()).expect("keys");
    let roles = [
        ("Data.Read", Role::Reader),
        ("Data.Write", Role::Contributor),
        ("11111111-2222-3333-4444-555555555555", Role::Reader),
    ];
    Issuers::new(vec![Issuer {
        name: "https://issuer.example/v2.0".to_owned(),
        audiences: vec!["https://sheaf.example".to_owned()],
        keys,
        roles: roles.map(|(name, role)| (name.to_owned(), role)).into(),
    }])
}

fn token(name: &str) -> String {
    vectors().get(name).as_str().expect(name).to_owned()
}

/// A time in seconds since 1970.
fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(seconds)
}

/// A time between those that the tokens name.
const NOW: u64 = 1_893_455_000;

fn verify(token: &str) -> Result<Role, Code> {
    issuers().verify(token, at(NOW)).map_err(|error| error.code)
}

#[test]
fn tokens_of_a_trusted_issuer_are_good() {
    for name in ["rs256", "ps256", "es256", "no_kid", "aud_list", "by_oid"] {
        assert_eq!(verify(&token(name)), Ok(Role::Reader), "{name}");
    }
    assert_eq!(verify(&token("writer")), Ok(Role::Contributor));
}

#[test]
fn others_are_not() {
    for name in ["none", "crit", "other_iss", "other_aud", "no_exp"] {
        assert_eq!(verify(&token(name)), Err(Code::Unauthorized), "{name}");
    }
    assert_eq!(verify(&token("nobody")), Err(Code::ActionNotGranted));
    let good = token("es256");
    for bad in
        ["", ".", "..", "a.b.c", &good[..good.len() - 3], &format!("{good}."), &"x".repeat(99_999)]
    {
        assert_eq!(verify(bad), Err(Code::Unauthorized), "{bad}");
    }
    // The claims of one token with the signature of another.
    let (claims, _) = good.rsplit_once('.').expect("three parts");
    let other = token("writer");
    let (_, signature) = other.rsplit_once('.').expect("three parts");
    assert_eq!(verify(&format!("{claims}.{signature}")), Err(Code::Unauthorized));
    let nobody = Issuers::default().verify(&good, at(NOW)).map_err(|error| error.code);
    assert_eq!(nobody, Err(Code::Unauthorized));
}

#[test]
fn the_key_decides_about_the_algorithm() {
    // A token that claims RSA with an invalid signature, and names a key of another kind.
    let [head, claims] =
        [r#"{"alg":"RS256","kid":"ec-1"}"#, r#"{"iss":"https://issuer.example/v2.0"}"#]
            .map(|text| URL_SAFE_NO_PAD.encode(text));
    assert_eq!(verify(&format!("{head}.{claims}.AAAA")), Err(Code::Unauthorized));
}

#[test]
fn times_count_even_for_tokens_that_are_known() {
    let (issuers, token) = (issuers(), token("es256"));
    let at = |seconds| issuers.verify(&token, at(seconds)).is_ok();
    assert!(!at(1_893_450_000 - 301) && at(1_893_450_000 - 300) && at(NOW));
    assert!(at(1_893_460_000 + 299) && !at(1_893_460_000 + 300));
    assert_eq!(issuers.known().len(), 1);
}

#[test]
fn every_token_can_be_trusted_on_a_machine_for_development() {
    let any = Issuers::trusting_any();
    assert_eq!(any.verify("whatever", at(0)).ok(), Some(Role::Owner));
    assert!(any.verify("", at(0)).is_err());
}

#[test]
fn sets_without_a_key_are_refused() {
    for bad in ["", "{}", r#"{"keys":[]}"#, r#"{"keys":[{"kty":"oct","k":"AA"}]}"#] {
        assert!(KeySet::parse(bad.as_bytes()).is_err(), "{bad}");
    }
}

#[test]
fn a_beginning_that_is_no_time_is_refused() {
    let issuer = &issuers().trusted[0];
    let good = |nbf: &str| {
        let claims = format!(r#"{{"aud":"https://sheaf.example","exp":{}{nbf}}}"#, NOW + 1);
        issuer.check_claims(&json::parse(claims.as_bytes()).expect("JSON"), NOW).is_ok()
    };
    assert!(good("") && good(r#","nbf":0"#) && good(r#","nbf":1.5"#));
    for bad in [r#""1""#, "null", "-1", "1e300", "true", "[]"] {
        assert!(!good(&format!(r#","nbf":{bad}"#)), "{bad}");
    }
}

#[test]
fn a_token_that_names_no_key_is_tried_with_a_few() {
    let jwks = vectors();
    let keys = jwks.get("jwks").get("keys").as_array().expect("keys").to_vec();
    let right = keys.iter().find(|key| key.get("kid").as_str() == Some("rsa-1")).expect("a key");
    // First a key of another kind, which costs nothing, then one of the same kind.
    let other = r#"{"kty":"EC","crv":"P-384","x":"","y":""}"#;
    let wrong = r#"{"kty":"RSA","kid":"old","n":"AQAB","e":"AQAB"}"#;
    let verify = |wrongs: usize, name: &str| {
        let mut set = vec![other; 8];
        set.extend(vec![wrong; wrongs]);
        let right = json::print(right);
        set.push(&right);
        let keys = KeySet::parse(format!(r#"{{"keys":[{}]}}"#, set.join(",")).as_bytes());
        let mut issuers = issuers();
        issuers.trusted[0].keys = keys.expect("keys");
        issuers.verify(&token(name), at(NOW)).is_ok()
    };
    assert!(verify(3, "no_kid") && !verify(4, "no_kid"));
    assert!(verify(40, "rs256"), "it names its key");
}
