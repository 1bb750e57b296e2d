//! One HTTP connection, from its first request to its last.
//!
//! HTTP/1.1 is told from HTTP/2 by the preface that begins an HTTP/2 connection. Under TLS the client
//! sends the preface when ALPN chose HTTP/2, without TLS when the client prefers it.
//!
//! An HTTP/1.1 connection on which nothing is asked for rests: see [`watch`](super::watch).

use std::{convert::Infallible, net::SocketAddr, pin::Pin, sync::Arc, time::Duration};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{
    Request, Response, StatusCode,
    body::{Body as _, Incoming},
    header::{CONNECTION, CONTENT_TYPE, HeaderValue, RETRY_AFTER},
    server::conn::{
        http1::{self, Parts},
        http2,
    },
    service::service_fn,
};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use net::{BodyBudget, Closed, Peer, Refusal, Timeouts, Wire};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    sync::watch,
    time::Instant,
};

use super::{
    Handler, Origin, RequestBody, Standing,
    activity::{Activity, Awake, RequestGuard},
    answer::AnswerBody,
    begun::{Begun, begin},
    body::Left,
    refusal::refuse,
    transport::Transport,
    watch::{End, Watch},
};

/// A request's head, and the buffer that any one read fills, stay below this. SDKs send up to some
/// 10 KB of session tokens and continuations.
const HEAD_BYTES_MAX: u32 = 64 * 1024;
/// Concurrent requests on one HTTP/2 connection.
const STREAMS_MAX: u32 = 128;
/// How often the server pings an HTTP/2 client, and how quickly the client has to answer.
const PING_INTERVAL: Duration = Duration::from_secs(30);
const PING_TIMEOUT: Duration = Duration::from_secs(20);
/// How long a client with too many concurrent requests should wait.
const BUSY_WAIT: Duration = Duration::from_millis(100);

/// HTTP in front of a handler. One serves all connections.
pub(crate) struct Http<H> {
    handler: H,
    timeouts: Timeouts,
    budget: BodyBudget,
    awake: Awake,
    http1: http1::Builder,
    http2: http2::Builder<TokioExecutor>,
}

impl<H: Handler> Http<H> {
    /// Serves `handler` within these bounds.
    pub(crate) fn new(handler: H, timeouts: Timeouts, budget: BodyBudget) -> Self {
        let awake = Awake::default();
        Self { handler, timeouts, budget, awake, http1: http1(), http2: http2() }
    }
}

impl<H: Handler> Wire for Http<H> {
    async fn serve<S>(self: Arc<Self>, stream: S, peer: Peer, stop: watch::Receiver<bool>)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        drive(stream, Origin::of(peer), self, stop).await;
    }

    async fn refuse(stream: TcpStream, refusal: Refusal) {
        refuse(stream, refusal).await;
    }

    fn closed(&self, peer: SocketAddr, why: Closed) {
        self.handler.closed(peer, why);
    }
}

/// How hyper is to read HTTP/1.1.
fn http1() -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .max_buf_size(HEAD_BYTES_MAX as usize)
        // The watchdog has a better timeout.
        .header_read_timeout(None);
    builder
}

/// How hyper is to read HTTP/2.
fn http2() -> http2::Builder<TokioExecutor> {
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .max_header_list_size(HEAD_BYTES_MAX)
        .max_concurrent_streams(STREAMS_MAX)
        .keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_TIMEOUT);
    builder
}

/// Serves the requests of an open connection.
async fn drive<H: Handler, S>(
    stream: S,
    origin: Origin,
    shared: Arc<Http<H>>,
    stop: watch::Receiver<bool>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let activity = Arc::new(Activity::new(Instant::now()));
    let limits = (shared.timeouts, shared.awake.clone());
    let mut watch = Watch::new(&activity, limits, stop, origin.address());
    let mut transport = Transport::new(stream, Arc::clone(&activity));
    let Some((is_http2, mut begun)) = watch.unless_over(begin(&mut transport)).await else {
        return;
    };
    let service = service_fn(|request: Request<Incoming>| {
        let guard = activity.request(request.version());
        answer(request, guard, origin.clone(), Arc::clone(&shared))
    });
    if is_http2 {
        let io = TokioIo::new(Begun::new(begun, transport));
        // In a box, like the other one: otherwise a connection that rests would keep the room for them.
        let mut connection = Box::pin(shared.http2.serve_connection(io, service));
        watch.oversee(connection.as_mut()).await;
        return;
    }
    loop {
        let io = TokioIo::new(Begun::new(begun, transport));
        let mut connection = Box::new(shared.http1.serve_connection(io, &service));
        if watch.oversee(Pin::new(&mut *connection)).await == End::Over {
            return;
        }
        let Parts { io, read_buf, .. } = connection.into_parts();
        transport = io.into_inner().into_inner();
        begun = if read_buf.is_empty() {
            // An empty one keeps hyper's buffer, too.
            drop(read_buf);
            let Some(first) = watch.rest(&mut transport).await else { return };
            first
        } else {
            // The beginning of a request that came with the one before.
            activity.read(Instant::now());
            read_buf
        };
    }
}

/// Answers one request. It counts as running until the answer is written.
async fn answer<H: Handler>(
    request: Request<Incoming>,
    guard: RequestGuard,
    origin: Origin,
    shared: Arc<Http<H>>,
) -> Result<Response<AnswerBody>, Infallible> {
    let version = request.version();
    let (client, now) = (Arc::clone(&origin.peer.client), Instant::now());
    let (stall, budget) = (shared.timeouts.stall, shared.budget.clone());
    let body_bytes_max = budget.body_bytes_max();
    let left = Arc::new(Left::default());
    let turn = client.request();
    let away = client.away_for(now);
    let (Some(_turn), None) = (turn, away) else {
        shared.handler.refused(&origin, request.method(), request.uri().path());
        guard.leave_unread();
        left.unread.put(request.into_body());
        left.unread.drain_meanwhile(false, body_bytes_max, stall);
        let (head, body) = too_many(away).into_parts();
        return Ok(Response::from_parts(head, AnswerBody::new(guard, version, now, body)));
    };
    let has_body = !request.body().is_end_stream();
    let request = request.map(|incoming| RequestBody::new(incoming, stall, budget, &left));
    let (response, standing) = shared.handler.handle(&origin, request).await;
    let (head, body) = response.into_parts();
    if head.status == StatusCode::PAYLOAD_TOO_LARGE {
        left.unread.drain(body_bytes_max, stall).await;
    } else {
        left.unread.drain_meanwhile(standing == Some(Standing::Proven), body_bytes_max, stall);
    }
    if has_body && !left.is_read() {
        guard.leave_unread();
    }
    // The request is answered: its own body is not kept any longer.
    drop(left);
    match standing {
        Some(Standing::Proven) => {
            client.prove(now);
            guard.prove();
        }
        Some(Standing::Stranger) => client.fail(now),
        None => {}
    }
    let bytes = whole(body).await;
    Ok(Response::from_parts(head, AnswerBody::new(guard, version, now, bytes)))
}

/// The bytes of a body that is one piece.
async fn whole(mut body: Full<Bytes>) -> Bytes {
    let Some(Ok(frame)) = body.frame().await else { return Bytes::new() };
    frame.into_data().unwrap_or_default()
}

/// The answer to a client that has too many concurrent requests, or that is turned away for this
/// long. SDKs wait as long as the answer says.
fn too_many(away: Option<Duration>) -> Response<Bytes> {
    let (wait, message) = match away {
        None => (BUSY_WAIT, "too many concurrent requests from this address"),
        Some(time) => (time, "too many unauthenticated requests from this address"),
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
