//! The short answer to a connection that is not served at all.

use std::time::Duration;

use net::Refusal;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

/// How long a refused client may take to send its request, and then to read the answer.
const PATIENCE: Duration = Duration::from_secs(1);
/// How much is read of what a refused client goes on to send, in buffers.
const DRAINED_READS_MAX: usize = 16;
/// What one read takes, which is a request without a body.
const BUFFER_BYTES: usize = 4096;

/// How many buffers are read of what follows the request. A client outside the allowed networks may lose
/// the answer.
fn reads_max(refusal: Refusal) -> usize {
    match refusal {
        Refusal::Network => 0,
        Refusal::Busy | Refusal::TlsRequired | Refusal::ClientBusy => DRAINED_READS_MAX,
    }
}

fn response(refusal: Refusal) -> String {
    let (status, code, message) = match refusal {
        Refusal::Busy => (
            "503 Service Unavailable",
            "ServiceUnavailable",
            "all connections are in use; close unused ones or raise max-connections",
        ),
        Refusal::TlsRequired => (
            "400 Bad Request",
            "BadRequest",
            "this server answers TLS only; use an https:// endpoint",
        ),
        Refusal::Network => (
            "403 Forbidden",
            "Forbidden",
            "the setting allow-networks does not include your address",
        ),
        Refusal::ClientBusy => (
            "503 Service Unavailable",
            "ServiceUnavailable",
            "too many connections from your address; close unused ones or raise \
             max-connections-per-client",
        ),
    };
    let body = format!(r#"{{"code":"{code}","message":"{message}"}}"#);
    format!(
        "HTTP/1.1 {status}\r\nx-ms-request-charge: 0\r\ncontent-type: application/json\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// Answers a plain connection, whatever it asks, and closes it.
pub(super) async fn refuse(mut stream: TcpStream, refusal: Refusal) {
    let mut buffer = [0; BUFFER_BYTES];
    // The request is read first, and what follows it last: closing a socket with unread bytes
    // resets it, and the client would lose the answer.
    let answer = async {
        let _ = stream.read(&mut buffer).await?;
        stream.write_all(response(refusal).as_bytes()).await?;
        stream.shutdown().await
    };
    if !matches!(timeout(PATIENCE, answer).await, Ok(Ok(()))) {
        return;
    }
    let drain = async {
        for _ in 0..reads_max(refusal) {
            if !matches!(stream.read(&mut buffer).await, Ok(1..)) {
                break;
            }
        }
    };
    let _ = timeout(PATIENCE, drain).await;
}
