//! The floor: hyper set up as the server's own listener is, answering what Sheaf answered once.
//!
//! No server that is built of these parts, with this allocator and these build flags, can be cheaper.
//! A directory has the answers: files named after methods, with the bytes of whole answers. It may
//! also have the certificate and the key for TLS, which is told from plain HTTP by the first byte.

use std::{collections::HashMap, convert::Infallible, path::Path, sync::Arc, time::Duration};

use anyhow::{Context as _, Result};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{
    HeaderMap, Method, Request, Response, StatusCode,
    body::Incoming,
    header::{CONTENT_LENGTH, DATE, HeaderName, HeaderValue},
    service::service_fn,
};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto::Builder,
};
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
};
use tokio_rustls::TlsAcceptor;

/// The methods that are answered.
pub(crate) const METHODS: [Method; 2] = [Method::GET, Method::POST];
/// The first byte of a connection of TLS.
const HANDSHAKE: u8 = 0x16;

/// An answer that only has to be cloned.
struct Prepared {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

/// What connections share.
struct Floor {
    answers: HashMap<Method, Prepared>,
    hyper: Builder<TokioExecutor>,
    tls: Option<TlsAcceptor>,
}

/// Serves until killed, with a thread per core as the real server has.
pub(crate) fn serve(directory: Option<&Path>) -> Result<()> {
    let directory = directory.context("`floor` needs the directory with the answers")?;
    let floor = Floor { answers: answers(directory)?, hyper: builder(), tls: tls(directory)? };
    let threads = std::thread::available_parallelism().map_or(2, |cores| cores.get().max(2));
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(threads).enable_all().build()?;
    runtime.block_on(accept(Arc::new(floor)))
}

/// As crates/server/src/http/connection.rs sets it up.
fn builder() -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).max_buf_size(64 * 1024).header_read_timeout(None);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(64 * 1024)
        .max_concurrent_streams(128)
        .keep_alive_interval(Duration::from_secs(30))
        .keep_alive_timeout(Duration::from_secs(20));
    builder
}

fn answers(directory: &Path) -> Result<HashMap<Method, Prepared>> {
    let read = |method: Method| {
        let bytes = std::fs::read(directory.join(method.as_str()))?;
        anyhow::Ok((method, prepared(&bytes)?))
    };
    METHODS.into_iter().map(read).collect()
}

/// An answer from its bytes, without the two headers that hyper writes by itself.
fn prepared(bytes: &[u8]) -> Result<Prepared> {
    let end =
        bytes.windows(4).position(|bytes| bytes == b"\r\n\r\n").context("no end of a head")?;
    let mut lines = std::str::from_utf8(&bytes[..end])?.split("\r\n");
    let status = lines.next().and_then(|line| line.get(9..12)).context("no status")?.parse()?;
    let mut headers = HeaderMap::new();
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        let name: HeaderName = name.parse()?;
        if name != CONTENT_LENGTH && name != DATE {
            headers.append(name, HeaderValue::from_str(value.trim())?);
        }
    }
    Ok(Prepared { status, headers, body: Bytes::copy_from_slice(&bytes[end + 4..]) })
}

fn tls(directory: &Path) -> Result<Option<TlsAcceptor>> {
    let directory = directory.join("tls");
    if !directory.is_dir() {
        return Ok(None);
    }
    let (mut chain, mut key) = (Vec::new(), None);
    for entry in std::fs::read_dir(&directory)? {
        let path = entry?.path();
        if let Ok(found) = PrivateKeyDer::from_pem_file(&path) {
            key = Some(found);
        } else {
            chain.extend(CertificateDer::pem_file_iter(&path)?.collect::<Result<Vec<_>, _>>()?);
        }
    }
    let key = key.context("no key for TLS")?;
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions()?.with_no_client_auth();
    let mut config = builder.with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Some(TlsAcceptor::from(Arc::new(config))))
}

async fn accept(floor: Arc<Floor>) -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("ready endpoint=http://{}/", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(open(stream, Arc::clone(&floor)));
    }
}

async fn open(stream: TcpStream, floor: Arc<Floor>) -> Result<()> {
    let mut first = [0];
    stream.peek(&mut first).await?;
    match &floor.tls {
        Some(tls) if first == [HANDSHAKE] => {
            let stream = tls.accept(stream).await?;
            drive(stream, floor).await;
        }
        _ => drive(stream, floor).await,
    }
    Ok(())
}

async fn drive(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, floor: Arc<Floor>) {
    let service = service_fn(|request| answer(request, Arc::clone(&floor)));
    // A client that has gone is no failure.
    floor.hyper.serve_connection(TokioIo::new(stream), service).await.ok();
}

async fn answer(
    request: Request<Incoming>,
    floor: Arc<Floor>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let prepared = floor.answers.get(request.method());
    request.into_body().collect().await.ok();
    let mut response = Response::new(Full::default());
    let Some(prepared) = prepared else {
        *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
        return Ok(response);
    };
    *response.status_mut() = prepared.status;
    response.headers_mut().clone_from(&prepared.headers);
    *response.body_mut() = Full::new(prepared.body.clone());
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_taken_apart() {
        let bytes =
            b"HTTP/1.1 201 Created\r\netag: \"1\"\r\ndate: now\r\ncontent-length: 2\r\n\r\n{}";
        let prepared = prepared(bytes).unwrap();
        assert_eq!((prepared.status.as_u16(), &prepared.body[..]), (201, &b"{}"[..]));
        assert_eq!(prepared.headers.len(), 1);
        assert_eq!(prepared.headers["etag"], "\"1\"");
    }
}
