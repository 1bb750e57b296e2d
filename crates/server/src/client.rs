//! One connection to a running server, for the commands that talk to one.
//!
//! `server` says which one and how it is trusted, `tls` is what that takes, `refusal` why a server
//! said no.

pub(crate) mod refusal;
pub(crate) mod server;
mod tls;

use std::time::Duration;

use anyhow::{Context as _, anyhow};
use bytes::Bytes;
use gateway::Key;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::{Method, Request, Response, body::Incoming, client::conn::http1::SendRequest};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::{sleep, timeout},
};

use crate::{client::server::Server, clock::MachineClock};

const CONNECT_TIME: Duration = Duration::from_secs(10);
/// Far more than a page has; what is longer is no answer of ours.
const BODY_BYTES_MAX: usize = 64 << 20;
/// How often a request that was refused for its cost is sent again.
const RETRIES: u32 = 30;
const RETRY_TIME: Duration = Duration::from_millis(100);
const RETRY_TIME_MAX: Duration = Duration::from_secs(10);

/// One request: what it is about, what is signed, what is sent.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub(crate) method: Method,
    /// The path, escaped.
    pub(crate) path: &'a str,
    /// The resource type that is signed.
    pub(crate) kind: &'a str,
    /// The link that is signed, not escaped.
    pub(crate) link: &'a str,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: &'a [u8],
    /// How long the server may take.
    pub(crate) patience: Duration,
}

/// What came back, answered or refused.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Bytes,
    pub(crate) continuation: Option<String>,
    pub(crate) charge: f64,
}

/// A connection to a server.
pub(crate) struct Client {
    sender: SendRequest<Full<Bytes>>,
    authority: String,
    key: Key,
}

impl Client {
    pub(crate) async fn connect(server: &Server) -> anyhow::Result<Self> {
        let Server { host, port, trust, key } = server;
        let bracketed = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        let authority = format!("{bracketed}:{port}");
        let connecting = async {
            let stream = TcpStream::connect((host.as_str(), *port)).await?;
            stream.set_nodelay(true)?;
            match tls::connector(trust)? {
                None => handshake(stream).await,
                Some(connector) => {
                    let name = ServerName::try_from(host.clone())?;
                    let stream = connector.connect(name, stream).await.context(
                        "no secure connection; --insecure trusts the server whoever it is",
                    )?;
                    handshake(stream).await
                }
            }
        };
        let sender = match timeout(CONNECT_TIME, connecting).await {
            Ok(connected) => connected,
            Err(_) => Err(anyhow!("no answer within {CONNECT_TIME:?}")),
        };
        let sender = sender.with_context(|| format!("cannot reach a server at {authority}"))?;
        Ok(Self { sender, authority, key: key.clone() })
    }

    /// Sends a request, again and again if the server is too busy.
    pub(crate) async fn call(&mut self, call: &Call<'_>) -> anyhow::Result<Answer> {
        let patience = call.patience;
        let mut tries = 0;
        loop {
            let request = self.request(call)?;
            let sent = async {
                self.sender.ready().await?;
                anyhow::Ok(self.sender.send_request(request).await?)
            };
            let response = match timeout(patience, sent).await {
                Ok(response) => response.context("the server closed the connection")?,
                Err(_) => return Err(anyhow!("no answer within {patience:?}")),
            };
            let wait = retry_after(&response);
            let answer = match timeout(patience, read(response)).await {
                Ok(answer) => answer?,
                Err(_) => return Err(anyhow!("the answer did not end within {patience:?}")),
            };
            if answer.status != 429 || tries >= RETRIES {
                return Ok(answer);
            }
            sleep(wait).await;
            tries += 1;
        }
    }

    fn request(&self, call: &Call<'_>) -> anyhow::Result<Request<Full<Bytes>>> {
        let now = gateway::Clock::now(&MachineClock);
        let signed = gateway::signed(&self.key, call.method.as_str(), call.kind, call.link, now);
        let mut request = Request::builder()
            .method(call.method.clone())
            .uri(call.path)
            .header("host", &self.authority)
            .header("authorization", signed.authorization)
            .header("x-ms-date", signed.date)
            .header("x-ms-version", "2020-07-15");
        for (name, value) in &call.headers {
            request = request.header(*name, value);
        }
        Ok(request.body(Full::new(Bytes::copy_from_slice(call.body)))?)
    }
}

async fn handshake<S>(stream: S) -> anyhow::Result<SendRequest<Full<Bytes>>>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    // Its errors reach whoever waits for an answer.
    tokio::spawn(connection);
    Ok(sender)
}

async fn read(response: Response<Incoming>) -> anyhow::Result<Answer> {
    let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
    let continuation = header("x-ms-continuation").map(str::to_owned);
    let charge = header("x-ms-request-charge").and_then(|text| text.parse().ok());
    let charge = charge.filter(|charge: &f64| charge.is_finite()).unwrap_or(0.0);
    let status = response.status().as_u16();
    let body = Limited::new(response.into_body(), BODY_BYTES_MAX).collect().await;
    let body = body.map_err(|error| anyhow!("the answer broke off: {error}"))?;
    Ok(Answer { status, body: body.to_bytes(), continuation, charge })
}

fn retry_after(response: &Response<Incoming>) -> Duration {
    let header = response.headers().get("x-ms-retry-after-ms");
    let millis = header.and_then(|value| value.to_str().ok()?.parse().ok());
    millis.map_or(RETRY_TIME, Duration::from_millis).min(RETRY_TIME_MAX)
}
