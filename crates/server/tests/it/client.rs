//! A small HTTP client on plain and TLS sockets, which can also misbehave.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    sync::Arc,
    time::{Duration, SystemTime},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme, StreamOwned,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime},
};
use sha2::Sha256;

/// The key that the emulator's documentation publishes.
pub(crate) const PUBLISHED_KEY: &str =
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";

/// What a server answered.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

/// Connects without TLS.
pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream
}

/// Asks on a connection of its own.
pub(crate) fn get(address: SocketAddr, path: &str) -> Response {
    ask(&mut connect(address), &request("GET", path, "", "")).unwrap()
}

/// The text of a request. `headers` ends with a line break, if it is not empty.
pub(crate) fn request(method: &str, path: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
    )
}

/// Sends a request and reads the answer, leaving the connection open.
pub(crate) fn ask<S: Read + Write>(stream: &mut S, request: &str) -> std::io::Result<Response> {
    stream.write_all(request.as_bytes())?;
    stream.flush()?;
    answer(stream, request.starts_with("HEAD"))
}

/// Reads one answer.
pub(crate) fn answer<S: Read>(stream: &mut S, is_head: bool) -> std::io::Result<Response> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap().to_lowercase();
    let length = head
        .split("content-length: ")
        .nth(1)
        .map_or(0, |rest| rest.split("\r\n").next().unwrap().parse().unwrap());
    let mut body = vec![0; if is_head { 0 } else { length }];
    stream.read_exact(&mut body)?;
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Ok(Response { status, head, body: String::from_utf8(body).unwrap() })
}

/// The headers that prove who asks.
pub(crate) fn signed(key: &str, method: &str, kind: &str, link: &str) -> String {
    let date = httpdate::fmt_http_date(now());
    let payload = format!("{}\n{kind}\n{link}\n{}\n\n", method.to_lowercase(), date.to_lowercase());
    let mut mac = Hmac::<Sha256>::new_from_slice(&STANDARD.decode(key).unwrap()).unwrap();
    mac.update(payload.as_bytes());
    let signature = STANDARD.encode(mac.finalize().into_bytes());
    let token = format!("type=master&ver=1.0&sig={signature}");
    let token =
        token.replace('=', "%3D").replace('&', "%26").replace('+', "%2B").replace('/', "%2F");
    format!("authorization: {token}\r\nx-ms-date: {date}\r\nx-ms-version: 2018-12-31\r\n")
}

#[expect(clippy::disallowed_methods, reason = "a client signs with the time of day")]
fn now() -> SystemTime {
    SystemTime::now()
}

/// A connection under TLS.
pub(crate) type TlsClient = StreamOwned<ClientConnection, TcpStream>;

/// Connects with TLS, offering these protocols, whatever the certificate.
pub(crate) fn connect_tls(address: SocketAddr, protocols: &[&str]) -> std::io::Result<TlsClient> {
    connect_tls_as(address, protocols, None)
}

/// A certificate of a client, and its key.
pub(crate) type Identity = (CertificateDer<'static>, PrivateKeyDer<'static>);

/// Connects with TLS as a client that shows this certificate.
pub(crate) fn connect_tls_as(
    address: SocketAddr,
    protocols: &[&str],
    identity: Option<Identity>,
) -> std::io::Result<TlsClient> {
    let provider = Arc::new(ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Trusting));
    let mut config = match identity {
        None => config.with_no_client_auth(),
        Some((certificate, key)) => config.with_client_auth_cert(vec![certificate], key).unwrap(),
    };
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    let name = ServerName::try_from("localhost").unwrap();
    let mut connection = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut stream = connect(address);
    connection.complete_io(&mut stream)?;
    Ok(StreamOwned::new(connection, stream))
}

/// Trusts every certificate: these tests ask what the server sends, not whose it is.
#[derive(Debug)]
struct Trusting;

impl ServerCertVerifier for Trusting {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        ring::default_provider().signature_verification_algorithms.supported_schemes()
    }
}

/// Sends `GET path` in HTTP/2 and gives the status, if it is 200. HPACK's static table has an
/// entry for it; that is as much of HTTP/2 as this client knows.
pub(crate) fn http2_is_ok<S: Read + Write>(stream: &mut S, path: &str) -> bool {
    http2_ask(stream, path, &[]);
    loop {
        let mut header = [0; 9];
        stream.read_exact(&mut header).unwrap();
        let length = u32::from_be_bytes([0, header[0], header[1], header[2]]);
        let mut payload = vec![0; length as usize];
        stream.read_exact(&mut payload).unwrap();
        if header[3] == HEADERS {
            return payload.first() == Some(&0x88);
        }
    }
}

pub(crate) const HEADERS: u8 = 1;
pub(crate) const SETTINGS: u8 = 4;

/// Begins an HTTP/2 connection with these settings, and sends `GET path`.
pub(crate) fn http2_ask<S: Write>(stream: &mut S, path: &str, settings: &[u8]) {
    const END_STREAM_AND_HEADERS: u8 = 0x5;
    // :method GET and :scheme http from the table, then :path and :authority spelled out.
    let mut head = vec![0x82, 0x86, 0x04, u8::try_from(path.len()).unwrap()];
    head.extend_from_slice(path.as_bytes());
    head.extend_from_slice(b"\x01\x09localhost");
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap();
    stream.write_all(&frame(SETTINGS, 0, 0, settings)).unwrap();
    stream.write_all(&frame(HEADERS, END_STREAM_AND_HEADERS, 1, &head)).unwrap();
    stream.flush().unwrap();
}

/// A frame of HTTP/2.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = vec![length[1], length[2], length[3], kind, flags];
    frame.extend_from_slice(&stream.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}
