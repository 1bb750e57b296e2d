//! Who comes in, and what the account says of itself.

use gateway::{Arrival, Authority, Endpoint, Forwarded, Names};
use protocol::Principal;
use value::Value;

use crate::support::{Call, DATE, Harness, READ_ONLY_KEY, SECONDARY_KEY};

#[tokio::test]
async fn every_key_comes_in() {
    let harness = Harness::new();
    for (call, expected) in [
        (Call::get("/dbs"), Principal::of_key()),
        (Call::get("/dbs").key(SECONDARY_KEY), Principal::of_key()),
        (Call::get("/dbs").key(READ_ONLY_KEY), Principal::of_read_only_key()),
    ] {
        assert_eq!(harness.send(call).await.status, 200);
        assert_eq!(harness.one_call().0, expected);
    }
}

#[tokio::test]
async fn others_do_not() {
    let harness = Harness::new();
    let stale = "Tue, 01 Jan 2030 00:15:01 GMT";
    for (call, status) in [
        (Call::get("/dbs").unsigned(), 401),
        (Call::get("/dbs").key("d3Jvbmc="), 401),
        (Call::get("/dbs").signing("dbs", "dbs/x"), 401),
        (Call::get("/dbs").signing("colls", ""), 401),
        (Call::get("/dbs").without("x-ms-date"), 401),
        (Call::get("/dbs").header("x-ms-date", "yesterday"), 401),
        (Call::get("/dbs").unsigned().header("authorization", "Basic eDp5"), 401),
        (Call::get("/dbs").unsigned().header("authorization", "type=aad&ver=1.0&sig=a.b"), 401),
        (Call::get("/dbs").unsigned().header("authorization", "type=resource&ver=1&sig=a;b;"), 401),
        (Call::get("/dbs").header("x-ms-date", stale), 403),
        (Call::get("/dbs").header("x-ms-date", stale).key("d3Jvbmc="), 401),
    ] {
        let reply = harness.send(call).await;
        assert_eq!(reply.status, status, "{}", reply.text());
        reply.error();
        assert_eq!(reply.header("x-ms-request-charge"), Some("0"));
        assert_eq!(reply.header("x-ms-substatus"), None);
    }
    assert!(harness.calls().is_empty());
    assert!(harness.records().iter().all(|(operation, ..)| *operation == "refused"));
}

#[tokio::test]
async fn a_refusal_names_what_was_signed() {
    let reply = Harness::new().send(Call::post("/dbs/d/colls").key("d3Jvbmc=")).await;
    let date = DATE.to_lowercase();
    let expected = format!("payload to sign: 'post\ncolls\ndbs/d\n{date}\n\n'\r\nActivityId: ");
    assert!(reply.error().contains(&expected), "{}", reply.text());
    assert!(reply.text().contains(r"'post\ncolls\ndbs/d\n"), "escaped in JSON");
}

#[tokio::test]
async fn both_forms_of_a_name_may_be_signed() {
    let harness = Harness::new();
    for link in ["dbs/a b", "dbs/a%20b"] {
        let call = Call::get("/dbs/a%20b/").signing("dbs", link);
        assert_eq!(harness.send(call).await.status, 200, "{link}");
    }
}

fn account() -> Call {
    Call::get("/").signing("", "")
}

#[tokio::test]
async fn the_account_names_the_address_it_was_reached_at() {
    let harness = Harness::new();
    for key in [SECONDARY_KEY, READ_ONLY_KEY] {
        assert_eq!(harness.send(account().key(key)).await.status, 200);
    }
    let call = account().key(SECONDARY_KEY).header("host", "db.example:8081");
    let reply = harness.send(call).await;
    let body = reply.json();
    assert_eq!(body.get("id").as_str(), Some("sheaf"));
    for list in ["writableLocations", "readableLocations"] {
        let locations = body.get(list).as_array().expect("locations");
        assert_eq!(locations[0].get("name").as_str(), Some("South Central US"));
        let endpoint = locations[0].get("databaseAccountEndpoint").as_str();
        assert_eq!(endpoint, Some("http://db.example:8081/"));
    }
    let policy = body.get("userConsistencyPolicy").get("defaultConsistencyLevel");
    assert_eq!(policy.as_str(), Some("Session"));
    let engine = body.get("queryEngineConfiguration").as_str().expect("a string");
    assert!(matches!(value::json::parse(engine.as_bytes()), Ok(Value::Object(_))));
    assert_eq!(reply.header("x-ms-max-media-storage-usage-mb"), Some("2048"));
    assert_eq!(reply.header("x-ms-request-charge"), Some("0"));
    assert_eq!(harness.records().last(), Some(&("read_account", 200, 0.0)));
    assert!(harness.calls().is_empty());
}

#[tokio::test]
async fn hosts_are_checked() {
    let harness = Harness::new();
    for host in ["a\"b", "a/b", "a b", "user@host", "", "é", &"a".repeat(300)] {
        let reply = harness.send(account().header("host", host)).await;
        assert_eq!(reply.status, 400, "{host}");
        assert!(reply.error().contains("Host header"));
    }
    assert_eq!(harness.send(account().without("host")).await.status, 400);
    // An HTTP/2 request has an authority instead.
    let call = Call::get("https://[::1]:8081/").signing("", "").without("host");
    let empty = http_body_util::Full::default();
    let reply = harness.send_with(call, "https", empty).await;
    assert!(reply.text().contains(r#""databaseAccountEndpoint":"https://[::1]:8081/""#));
    assert!(reply.header("strict-transport-security").is_some());
}

/// A web page may have its own name stand for the server, and everybody has the published key.
#[tokio::test]
async fn the_published_key_is_good_under_names_of_the_server_only() {
    let harness = Harness::new();
    let status = async |call: Call| harness.send(call).await.status;
    for host in ["localhost:8081", "127.0.0.1", "10.0.0.7:80", "[::1]:8081", "sheaf:8081"] {
        assert_eq!(status(account().header("host", host)).await, 200, "{host}");
    }
    // The account document holds no data.
    assert_eq!(status(account().header("host", "evil.example:8081")).await, 200);
    for call in [Call::get("/dbs"), Call::post("/dbs"), Call::get("/dbs/d/colls")] {
        let call = call.header("host", "evil.example:8081");
        let reply = harness.send(call.clone()).await;
        assert_eq!(reply.status, 403);
        assert!(reply.error().contains("`evil.example:8081`"), "{}", reply.text());
        assert_eq!(status(call.key(SECONDARY_KEY)).await, 200);
    }
}

#[tokio::test]
async fn the_account_names_what_the_operator_or_a_trusted_proxy_says() {
    let endpoint = |text: &str| Endpoint::parse(text).expect("an endpoint");
    let names = Names { advertised: Some(endpoint("https://db.example")), ..Names::default() };
    let harness = Harness::named(names);
    for host in ["db.example", "localhost:8081"] {
        let reply = harness.send(account().header("host", host)).await;
        assert!(reply.text().contains(r#""databaseAccountEndpoint":"https://db.example/""#));
    }
    let harness = Harness::new();
    let told = async |call: Call, host: &str| {
        let host = Authority::parse(host);
        let forwarded = Forwarded { scheme: Some("https"), host };
        let mut request = call.request(http_body_util::Full::<bytes::Bytes>::default());
        request.extensions_mut().insert(forwarded);
        let (asked, body) = request.into_parts();
        let arrival = Arrival { scheme: "http", peer: None };
        let (reply, _) = harness.gateway.handle(arrival, &asked, body).await;
        let body = http_body_util::BodyExt::collect(reply.into_body()).await.expect("a body");
        String::from_utf8(body.to_bytes().to_vec()).expect("text")
    };
    for host in ["10.0.0.7:8443", "db.example"] {
        let expected = format!(r#""databaseAccountEndpoint":"https://{host}/""#);
        let account = told(account(), host).await;
        assert!(account.contains(&expected), "{account}");
    }
    assert!(
        told(Call::get("/dbs"), "evil.example").await.contains("is not accepted under the name")
    );
}

#[tokio::test]
async fn keys_change_from_one_request_to_the_next() {
    let harness = Harness::new();
    let key = |text| gateway::Key::parse(text).expect("a key");
    let status = async |text| harness.send(Call::get("/dbs").key(text)).await.status;
    assert_eq!((status(gateway::PUBLISHED_KEY).await, status(SECONDARY_KEY).await), (200, 200));
    let keys = gateway::Keys { read_write: vec![key(SECONDARY_KEY)], read_only: vec![] };
    harness.gateway.set_keys(keys);
    assert_eq!((status(gateway::PUBLISHED_KEY).await, status(SECONDARY_KEY).await), (401, 200));
    assert_eq!(status(READ_ONLY_KEY).await, 401);
    harness.gateway.set_keys(gateway::Keys::default());
    assert_eq!(status(SECONDARY_KEY).await, 401);
}

/// Tokens that independent code made, good at the time of the gateway.
fn vector(name: &str) -> String {
    let vectors = value::json::parse(include_bytes!("../../testdata/access_tokens.json"));
    let vectors = vectors.expect("the vectors");
    match vectors.get(name) {
        Value::String(token) => token.clone(),
        other => value::json::print(other),
    }
}

fn with_issuer(harness: &Harness, roles: &[(&str, protocol::Role)]) {
    let keys = gateway::KeySet::parse(vector("jwks").as_bytes()).expect("keys");
    harness.gateway.set_issuers(gateway::Issuers::new(vec![gateway::Issuer {
        name: "https://issuer.example/v2.0".to_owned(),
        audiences: vec!["https://sheaf.example".to_owned()],
        keys,
        roles: roles.iter().map(|(name, role)| ((*name).to_owned(), *role)).collect(),
    }]));
}

fn bearing(call: Call, token: &str) -> Call {
    call.unsigned().header("authorization", format!("type=aad&ver=1.0&sig={token}"))
}

#[tokio::test]
async fn access_tokens_do_what_their_role_may() {
    use protocol::Role::{Contributor, Owner, Reader};
    let harness = Harness::new();
    let token = vector("es256");
    let document =
        || Call::post("/dbs/d/colls/c/docs").header("x-ms-documentdb-partitionkey", "[1]");
    let read = || Call::get("/dbs/d/colls/c/docs/1").header("x-ms-documentdb-partitionkey", "[1]");
    for (role, read_status, write_status, control_status) in [
        (Some(Reader), 200, (403, Some("5302")), (403, Some("5300"))),
        (Some(Contributor), 200, (200, None), (403, Some("5300"))),
        (Some(Owner), 200, (200, None), (200, None)),
        (None, 403, (403, Some("5302")), (403, Some("5302"))),
    ] {
        let roles: Vec<_> = role.map(|role| ("Data.Read", role)).into_iter().collect();
        with_issuer(&harness, &roles);
        assert_eq!(harness.send(bearing(read(), &token)).await.status, read_status, "{role:?}");
        for (call, (status, sub)) in [
            (document(), write_status),
            (Call::post("/dbs/d/colls/c/docs/1/attachments"), write_status),
            (Call::new("DELETE", "/dbs/d/colls/c/docs/1/attachments/a"), write_status),
            (Call::new("PUT", "/media/bWVkaWE="), write_status),
            (Call::post("/dbs/d/colls/c/operations/partitionkeydelete"), write_status),
            (Call::post("/dbs/d/colls/c/sprocs"), control_status),
            (Call::post("/dbs/d/users"), control_status),
            (Call::post("/dbs"), control_status),
            (Call::new("DELETE", "/dbs/d"), control_status),
        ] {
            let reply = harness.send(bearing(call, &token)).await;
            assert_eq!((reply.status, reply.header("x-ms-substatus")), (status, sub), "{role:?}");
        }
    }
    // Percent-encoded, as most SDKs send it.
    with_issuer(&harness, &[("Data.Read", Reader)]);
    let encoded = format!("type%3daad%26ver%3d1.0%26sig%3d{token}");
    let call = read().unsigned().header("authorization", encoded);
    assert_eq!(harness.send(call).await.status, 200);
    let account = bearing(account(), &token);
    assert_eq!(harness.send(account).await.status, 200);
    for bad in ["none", "other_iss", "other_aud", "no_exp"] {
        let reply = harness.send(bearing(read(), &vector(bad))).await;
        assert_eq!(reply.status, 401, "{bad}");
        assert!(reply.error().contains("authorization token is not valid"));
    }
    harness.gateway.set_issuers(gateway::Issuers::default());
    assert_eq!(harness.send(bearing(read(), &token)).await.status, 401);
}
