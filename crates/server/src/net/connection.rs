//! One connection, from its first byte to its last.
//!
//! The first byte tells a TLS handshake (0x16, no letter) from a plain request, so one port serves
//! both. HTTP/1.1 and HTTP/2 are told apart by hyper, by the preface that begins an HTTP/2
//! connection: under TLS the client sends it when ALPN chose so, without TLS on its own account.

use std::{
    convert::Infallible, future::poll_fn, io, net::SocketAddr, pin::pin, sync::Arc, time::Duration,
};

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::{
    Request, Response, StatusCode,
    body::Incoming,
    header::{CONNECTION, CONTENT_TYPE, HeaderValue, RETRY_AFTER},
    service::service_fn,
};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto::Builder,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    sync::watch,
    time::{Instant, timeout},
};

use super::{
    BodyBudget, Client, Handler, Origin, RequestBody, Standing, Timeouts, Tls,
    activity::{Activity, Cause, RequestGuard, Watchdog},
    answer::AnswerBody,
    body::Left,
    refusal::{Refusal, refuse},
    stopped,
    transport::Transport,
};

/// The content type of a TLS record that begins a handshake.
pub(super) const TLS_HANDSHAKE: u8 = 0x16;

/// A request's head, and the buffer that any one read fills, stay below this. SDKs send up to some
/// 10 KB of session tokens and continuations.
const HEAD_BYTES_MAX: u32 = 64 * 1024;
/// Requests that one HTTP/2 connection has under way.
const STREAMS_MAX: u32 = 128;
/// How often an HTTP/2 client has to prove that it is still there, and how quickly.
const PING_INTERVAL: Duration = Duration::from_secs(30);
const PING_TIMEOUT: Duration = Duration::from_secs(20);
/// How long an idle connection gets to say goodbye.
const FAREWELL: Duration = Duration::from_secs(1);

/// How long a client waits that has too many requests under way.
const BUSY_WAIT: Duration = Duration::from_millis(100);

/// What all connections share.
pub(super) struct Shared<H> {
    pub(super) handler: H,
    pub(super) tls: Tls,
    pub(super) timeouts: Timeouts,
    pub(super) budget: BodyBudget,
    pub(super) http: Builder<TokioExecutor>,
}

/// How hyper is to read requests.
pub(super) fn http() -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .max_buf_size(HEAD_BYTES_MAX as usize)
        // The watchdog has a better one.
        .header_read_timeout(None);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(HEAD_BYTES_MAX)
        .max_concurrent_streams(STREAMS_MAX)
        .keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_TIMEOUT);
    builder
}

/// Serves a connection to its end. When `stop` turns true, requests under way are finished.
pub(super) async fn serve<H: Handler>(
    stream: TcpStream,
    peer: SocketAddr,
    client: Arc<Client>,
    shared: Arc<Shared<H>>,
    mut stop: watch::Receiver<bool>,
) {
    // Answers are small and complete: waiting to fill a packet only delays them.
    let _ = stream.set_nodelay(true);
    let opening = tokio::select! {
        opening = Box::pin(open(stream, &shared)) => opening,
        () = stopped(&mut stop) => return,
    };
    match opening {
        Ok(Opened::Plain(stream)) => {
            let origin = Origin { scheme: "http", peer, client };
            drive(stream, origin, shared, stop).await;
        }
        Ok(Opened::Tls(stream)) => {
            let origin = Origin { scheme: "https", peer, client };
            drive(stream, origin, shared, stop).await;
        }
        Ok(Opened::Refused(stream, refusal)) => refuse(stream, refusal).await,
        Err(error) => tracing::debug!(%peer, %error, "connection ended before a request"),
    }
}

/// A connection that can carry requests, or cannot.
enum Opened {
    Plain(TcpStream),
    Tls(Box<tokio_rustls::server::TlsStream<TcpStream>>),
    Refused(TcpStream, Refusal),
}

/// Waits for the first byte and does what it asks for.
async fn open<H>(stream: TcpStream, shared: &Shared<H>) -> io::Result<Opened> {
    let patience = shared.timeouts.header;
    let mut first = [0];
    if timeout(patience, stream.peek(&mut first)).await?? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    match (first[0] == TLS_HANDSHAKE, &shared.tls) {
        (true, Tls::Optional(acceptor) | Tls::Required(acceptor)) => {
            let stream = timeout(patience, acceptor.current().accept(stream)).await??;
            Ok(Opened::Tls(Box::new(stream)))
        }
        (true, Tls::Off) => Err(io::Error::other("TLS is off")),
        (false, Tls::Required(_)) => Ok(Opened::Refused(stream, Refusal::TlsRequired)),
        (false, Tls::Optional(_) | Tls::Off) => Ok(Opened::Plain(stream)),
    }
}

/// Serves the requests of an open connection.
async fn drive<H: Handler, S>(
    stream: S,
    origin: Origin,
    shared: Arc<Shared<H>>,
    mut stop: watch::Receiver<bool>,
) where
    S: AsyncRead + AsyncWrite + Unpin + 'static,
{
    let activity = Arc::new(Activity::new(Instant::now()));
    let mut watchdog = Watchdog::new(Arc::clone(&activity), shared.timeouts);
    let transport = TokioIo::new(Transport::new(stream, Arc::clone(&activity)));
    let service = service_fn(|request: Request<Incoming>| {
        let guard = activity.request(request.version());
        answer(request, guard, origin.clone(), Arc::clone(&shared))
    });
    let mut connection = pin!(shared.http.serve_connection(transport, service));
    let mut is_stopping = false;
    loop {
        tokio::select! {
            biased;
            outcome = connection.as_mut() => {
                if let Err(error) = outcome {
                    tracing::debug!(peer = %origin.peer, %error, "connection failed");
                }
                return;
            }
            cause = poll_fn(|context| watchdog.poll_expired(context)) => {
                tracing::debug!(peer = %origin.peer, ?cause, "connection ended by timeout");
                if cause == Cause::Idle {
                    connection.as_mut().graceful_shutdown();
                    let _ = timeout(FAREWELL, connection).await;
                }
                return;
            }
            () = stopped(&mut stop), if !is_stopping => {
                is_stopping = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}

/// Answers one request, which stays under way until the answer is written.
async fn answer<H: Handler>(
    request: Request<Incoming>,
    guard: RequestGuard,
    origin: Origin,
    shared: Arc<Shared<H>>,
) -> Result<Response<AnswerBody>, Infallible> {
    let version = request.version();
    let (client, now) = (Arc::clone(&origin.client), Instant::now());
    let turn = client.request();
    let away = client.away_for(now);
    let (Some(_turn), None) = (turn, away) else {
        shared.handler.refused(&origin, request.method(), request.uri().path());
        let (head, body) = too_many(away).into_parts();
        return Ok(Response::from_parts(head, AnswerBody::new(guard, version, body)));
    };
    let (stall, budget) = (shared.timeouts.stall, shared.budget.clone());
    let body_bytes_max = budget.body_bytes_max();
    let left = Arc::new(Left::default());
    let request = request.map(|incoming| RequestBody::new(incoming, stall, budget, &left));
    let (mut head, body) = shared.handler.handle(origin, request).await.into_parts();
    if head.status == StatusCode::PAYLOAD_TOO_LARGE {
        left.unread.drain(body_bytes_max, stall).await;
    }
    // The request is answered: its own body is not kept any longer.
    drop(left);
    match head.extensions.remove() {
        Some(Standing::Proven) => {
            client.prove(now);
            guard.prove();
        }
        Some(Standing::Stranger) => client.fail(now),
        None => {}
    }
    let bytes = body.collect().await?.to_bytes();
    Ok(Response::from_parts(head, AnswerBody::new(guard, version, bytes)))
}

/// The answer to a client that has too many requests under way, or that is turned away for this
/// long. SDKs wait for as long as it says.
fn too_many(away: Option<Duration>) -> Response<Bytes> {
    let (wait, message) = match away {
        None => (BUSY_WAIT, "your address has too many requests under way"),
        Some(time) => (time, "too many requests from your address proved nothing"),
    };
    let body = format!(r#"{{"code":"TooManyRequests","message":"{message}"}}"#);
    let mut response = Response::new(Bytes::from(body));
    *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert("x-ms-substatus", HeaderValue::from_static("3200"));
    headers.insert("x-ms-request-charge", HeaderValue::from_static("0"));
    let millis = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
    headers.insert("x-ms-retry-after-ms", HeaderValue::from(millis));
    headers.insert(RETRY_AFTER, HeaderValue::from(wait.as_secs().max(1)));
    if away.is_some() {
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}
