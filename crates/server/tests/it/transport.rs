//! One port: plain and TLS, HTTP/1.1 and HTTP/2.

use std::io::Read as _;

use crate::{
    client::{ask, connect, connect_tls, get, http2_is_ok, request},
    process::Sheaf,
};

const HEALTH: &str = "/_sheaf/health";

#[test]
fn one_port_speaks_everything() {
    let sheaf = Sheaf::in_memory(&[]);
    assert!(sheaf.endpoint.starts_with("http://127.0.0.1:"));
    assert_eq!(get(sheaf.address, HEALTH).status, 200);
    assert!(http2_is_ok(&mut connect(sheaf.address), HEALTH));

    let mut tls = connect_tls(sheaf.address, &["http/1.1"]).unwrap();
    let answer = ask(&mut tls, &request("GET", HEALTH, "", "")).unwrap();
    assert_eq!((answer.status, answer.body.as_str()), (200, r#"{"status":"ok"}"#));

    let mut tls = connect_tls(sheaf.address, &["h2", "http/1.1"]).unwrap();
    assert_eq!(tls.conn.alpn_protocol(), Some(&b"h2"[..]));
    assert!(http2_is_ok(&mut tls, HEALTH));
}

#[test]
fn a_connection_serves_many_requests() {
    let sheaf = Sheaf::in_memory(&[]);
    let mut stream = connect(sheaf.address);
    for _ in 0..3 {
        assert_eq!(ask(&mut stream, &request("GET", HEALTH, "", "")).unwrap().status, 200);
    }
    assert_eq!(ask(&mut stream, &request("GET", "/dbs", "", "")).unwrap().status, 401);
}

#[test]
fn required_tls_turns_plain_clients_away_with_a_reason() {
    let sheaf = Sheaf::in_memory(&["--tls", "required"]);
    assert!(sheaf.endpoint.starts_with("https://"));
    let mut stream = connect(sheaf.address);
    let answer = ask(&mut stream, &request("GET", HEALTH, "", "")).unwrap();
    assert_eq!(answer.status, 400);
    assert!(answer.body.contains("https://"), "{}", answer.body);
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    let mut tls = connect_tls(sheaf.address, &[]).unwrap();
    assert_eq!(ask(&mut tls, &request("GET", HEALTH, "", "")).unwrap().status, 200);
}

#[test]
fn tls_that_is_off_is_not_answered() {
    let sheaf = Sheaf::in_memory(&["--tls", "off"]);
    assert!(connect_tls(sheaf.address, &[]).is_err());
    assert_eq!(get(sheaf.address, HEALTH).status, 200);
}

#[test]
fn a_generated_certificate_is_kept() {
    let scratch = tempfile::tempdir().unwrap();
    let data = scratch.path().join("data");
    let start = || {
        let sheaf = Sheaf::start(&["--data-dir", data.to_str().unwrap()]);
        let tls = connect_tls(sheaf.address, &[]).unwrap();
        let certificate = tls.conn.peer_certificates().unwrap()[0].to_vec();
        drop(tls);
        sheaf.stop();
        certificate
    };
    assert_eq!(start(), start());

    let (cert, key) = (data.join("tls/cert.pem"), data.join("tls/key.pem"));
    let files = ["--tls-cert", cert.to_str().unwrap(), "--tls-key", key.to_str().unwrap()];
    let given = Sheaf::in_memory(&files);
    assert!(connect_tls(given.address, &[]).is_ok());
}
