//! Certificates: shown, replaced while the server runs, asked of clients; and TLS that is too old.

use std::{
    fs,
    io::{Read as _, Write as _},
    path::Path,
    time::{Duration, Instant},
};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::{
    client::{Identity, ask, connect, connect_tls, connect_tls_as, get, request},
    process::{Sheaf, failure, run},
};

const HEALTH: &str = "/_sheaf/health";

/// Makes a certificate and its key in a directory, and gives the certificate.
fn make(directory: &Path) -> CertificateDer<'static> {
    let key = KeyPair::generate().unwrap();
    let names = vec!["localhost".to_owned()];
    let certificate = CertificateParams::new(names).unwrap().self_signed(&key).unwrap();
    fs::write(directory.join("cert.pem"), certificate.pem()).unwrap();
    fs::write(directory.join("key.pem"), key.serialize_pem()).unwrap();
    certificate.der().clone()
}

fn shown(sheaf: &Sheaf) -> CertificateDer<'static> {
    let tls = connect_tls(sheaf.address, &[]).unwrap();
    tls.conn.peer_certificates().unwrap()[0].clone()
}

#[test]
fn a_certificate_is_replaced_while_the_server_runs() {
    let scratch = tempfile::tempdir().unwrap();
    let (cert, key) = (scratch.path().join("cert.pem"), scratch.path().join("key.pem"));
    let first = make(scratch.path());
    let sheaf = Sheaf::in_memory(&[
        "--tls-cert",
        cert.to_str().unwrap(),
        "--tls-key",
        key.to_str().unwrap(),
    ]);
    assert_eq!(shown(&sheaf), first);
    let mut open = connect_tls(sheaf.address, &["http/1.1"]).unwrap();
    // Half of a pair, and nonsense: connections go on being accepted.
    fs::write(&key, "nonsense").unwrap();
    sheaf.signal("-HUP");
    assert_eq!(shown(&sheaf), first);
    let second = make(scratch.path());
    sheaf.signal("-HUP");
    let deadline = Instant::now() + Duration::from_secs(20);
    while shown(&sheaf) != second {
        assert!(Instant::now() < deadline, "the certificate stays the same");
        std::thread::sleep(Duration::from_millis(20));
    }
    // What was open before goes on.
    assert_eq!(ask(&mut open, &request("GET", HEALTH, "", "")).unwrap().status, 200);
    // And without a signal.
    let third = make(scratch.path());
    while shown(&sheaf) != third {
        assert!(Instant::now() < deadline, "the certificate stays the same");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// An authority, and a certificate that it gave to a client.
fn authority() -> (String, Identity) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec!["client".to_owned()]).unwrap();
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let certificate = params.signed_by(&key, &issuer).unwrap();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    (issuer.pem(), (certificate.der().clone(), key))
}

#[test]
fn clients_can_be_asked_for_a_certificate() {
    let scratch = tempfile::tempdir().unwrap();
    let ca = scratch.path().join("ca.pem");
    let (pem, client) = authority();
    let (_, stranger) = authority();
    fs::write(&ca, pem).unwrap();
    let with = ["--tls-client-ca", ca.to_str().unwrap()];
    let stderr = failure(2, &[&["serve", "--in-memory", "--port", "0"][..], &with].concat());
    assert!(stderr.contains("`required`"), "{stderr}");
    let sheaf = Sheaf::in_memory(&[&["--tls", "required"][..], &with].concat());
    let health = |identity: Option<Identity>| {
        let mut stream = connect_tls_as(sheaf.address, &["http/1.1"], identity)?;
        // In TLS 1.3 a client is done before the server looks at its certificate.
        ask(&mut stream, &request("GET", HEALTH, "", "")).map(|answer| answer.status)
    };
    assert_eq!(health(Some(client)).unwrap(), 200);
    assert!(health(None).is_err());
    assert!(health(Some(stranger)).is_err());
    assert_eq!(get(sheaf.address, HEALTH).status, 400);
}

/// A handshake message of this version, and nothing that says more of newer ones.
fn hello(version: u8) -> Vec<u8> {
    let mut body = vec![3, version];
    body.extend_from_slice(&[7; 32]);
    // No session, two cipher suites of that time, no compression.
    body.extend_from_slice(&[0, 0, 4, 0xC0, 0x13, 0, 0x2F, 1, 0]);
    let mut message = vec![1, 0, 0, u8::try_from(body.len()).unwrap()];
    message.extend_from_slice(&body);
    let mut record = vec![0x16, 3, 1, 0, u8::try_from(message.len()).unwrap()];
    record.extend_from_slice(&message);
    record
}

#[test]
fn old_versions_are_refused() {
    let sheaf = Sheaf::in_memory(&[]);
    for version in [0, 1, 2] {
        let mut stream = connect(sheaf.address);
        stream.write_all(&hello(version)).unwrap();
        let mut answer = Vec::new();
        // A reset after the alert is as good an end.
        let _ = stream.read_to_end(&mut answer);
        // An alert, fatal.
        assert_eq!((answer[0], answer[5]), (0x15, 2), "{version}: {answer:?}");
    }
    assert!(connect_tls(sheaf.address, &[]).is_ok());
}

#[test]
fn the_certificate_is_shown_with_instructions() {
    let scratch = tempfile::tempdir().unwrap();
    let data = scratch.path().join("data");
    let at = ["--data-dir", data.to_str().unwrap()];
    let stderr = failure(1, &[&["cert"][..], &at].concat());
    assert!(stderr.contains("start the server once"), "{stderr}");
    Sheaf::start(&at).stop();
    let output = run(&[&["cert"][..], &at].concat());
    assert_eq!(output.stdout, fs::read(data.join("tls/cert.pem")).unwrap());
    let stderr = String::from_utf8(output.stderr).unwrap();
    for word in ["sha256", "ssl_config", "NODE_EXTRA_CA_CERTS", "keytool", "azcosmos"] {
        assert!(stderr.contains(word), "{word} in {stderr}");
    }
    let der = scratch.path().join("sheaf.crt");
    let out = ["--output", der.to_str().unwrap(), "--format", "der", "--sdk", "dotnet"];
    let output = run(&[&["cert"][..], &at, &out].concat());
    assert!(output.stdout.is_empty() && output.status.success());
    assert_eq!(fs::read(&der).unwrap()[0], 0x30);
    assert!(!String::from_utf8(output.stderr).unwrap().contains("keytool"));
}
