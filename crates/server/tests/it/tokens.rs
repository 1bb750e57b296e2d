//! Access tokens in the place of keys.

use std::fs;

use crate::{
    client::{ask, connect, request},
    process::{Sheaf, failure},
};

fn status(sheaf: &Sheaf, method: &str, body: &str) -> u16 {
    let headers =
        "authorization: type=aad&ver=1.0&sig=any.token.at-all\r\nx-ms-version: 2018-12-31\r\n";
    ask(&mut connect(sheaf.address), &request(method, "/dbs", headers, body)).unwrap().status
}

#[test]
fn any_token_is_trusted_only_where_nobody_else_connects() {
    let sheaf = Sheaf::in_memory(&[]);
    assert_eq!(status(&sheaf, "GET", ""), 401);
    let sheaf = Sheaf::in_memory(&["--trust-any-token"]);
    assert_eq!(status(&sheaf, "GET", ""), 200);
    assert_eq!(status(&sheaf, "POST", r#"{"id":"shop"}"#), 201);
    // A page that has its own name stand for this machine is somebody else.
    let headers = "authorization: type=aad&ver=1.0&sig=a.b.c\r\nx-ms-version: 2018-12-31\r\n";
    let rebound = request("GET", "/dbs", headers, "").replace("localhost", "evil.example");
    assert_eq!(ask(&mut connect(sheaf.address), &rebound).unwrap().status, 401);
    let open = ["serve", "--in-memory", "--port", "0", "--host", "0.0.0.0", "--trust-any-token"];
    let stderr = failure(2, &[&open[..], &["--allow-published-key"]].concat());
    assert!(stderr.contains("trust-any-token"), "{stderr}");
}

#[test]
fn issuers_are_read_from_a_file() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("issuers.toml");
    let named = ["--token-issuers", path.to_str().unwrap()];
    let start = [&["serve", "--in-memory", "--port", "0"][..], &named].concat();
    let stderr = failure(1, &start);
    assert!(stderr.contains("issuers.toml"), "{stderr}");
    let keys = r#"{"keys":[{"kty":"RSA","kid":"1","n":"AQAB","e":"AQAB"}]}"#;
    fs::write(scratch.path().join("keys.json"), keys).unwrap();
    let text = "[[issuer]]\nissuer = \"https://issuer.example\"\naudiences = [\"sheaf\"]\n\
                jwks = \"keys.json\"\nroles = { \"Data.Read\" = \"reader\" }\n";
    fs::write(&path, text).unwrap();
    let sheaf = Sheaf::in_memory(&named);
    assert_eq!(status(&sheaf, "GET", ""), 401);
    let stderr = failure(2, &[&start[..], &["--trust-any-token"]].concat());
    assert!(stderr.contains("give only one of them"), "{stderr}");
}
