//! One connection of a load: sends a request, reads its answer, and looks whether it is right.

use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{
    Request,
    client::conn::http2::{SendRequest, handshake},
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::{net::TcpStream, time::timeout};

use super::{
    framing::{Answer, find, rows_of},
    job::Job,
    stream::Stream,
};

/// No answer takes this long unless something hangs.
const ANSWER_TIMEOUT: Duration = Duration::from_mins(1);
/// Pages of one answer; more are a sign of going round in circles.
const PAGES_MAX: usize = 1000;

/// How requests travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    Plain,
    Tls,
    Http2,
}

impl Transport {
    /// Its word in the tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Tls => "TLS",
            Self::Http2 => "HTTP/2",
        }
    }
}

/// A connection; of HTTP/2 a share in one.
pub(crate) enum Client {
    Bytes { stream: Stream, inbox: Vec<u8>, outbox: Vec<u8> },
    Http2 { sender: SendRequest<Full<Bytes>>, outbox: Vec<u8> },
}

impl Client {
    pub(crate) async fn open(address: &str, transport: Transport, job: &Job) -> Result<Self> {
        let stream = Stream::open(address, transport == Transport::Tls).await?;
        let mut client = Self::Bytes { stream, inbox: Vec::new(), outbox: Vec::new() };
        for message in &job.prelude {
            client.outbox().clone_from(message);
            let answer = client.exchange(job).await?;
            ensure!(answer.status == 200, "the server refuses: {}", client.text(&answer));
            client.forget(&answer);
        }
        Ok(client)
    }

    /// Connections of HTTP/2, to be shared by many streams.
    pub(crate) async fn open_http2(address: &str) -> Result<SendRequest<Full<Bytes>>> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(sender)
    }

    pub(crate) fn share(sender: &SendRequest<Full<Bytes>>) -> Self {
        Self::Http2 { sender: sender.clone(), outbox: Vec::new() }
    }

    /// Does the operation with this number: one request, or one for each page.
    pub(crate) async fn operate(&mut self, job: &Job, number: usize, checks: bool) -> Result<()> {
        let mut continuation: Option<Vec<u8>> = None;
        let (mut is_right, mut rows) = (!checks || job.says.is_none(), 0);
        for _ in 0..PAGES_MAX {
            let outbox = self.outbox();
            outbox.clear();
            (job.make)(number, continuation.as_deref(), outbox);
            let answer = timeout(ANSWER_TIMEOUT, self.exchange(job)).await??;
            if !job.statuses.contains(&answer.status) {
                bail!("answer {}: {}", answer.status, self.text(&answer));
            }
            if let (false, Some(says)) = (is_right, job.says) {
                is_right = find(self.body(&answer), says.as_bytes()).is_some();
            }
            if checks && job.rows.is_some() {
                rows += answer.rows + rows_of(self.body(&answer));
            }
            continuation = answer.continuation.clone().filter(|_| job.has_pages);
            if continuation.is_none() {
                let says = job.says.unwrap_or_default();
                ensure!(is_right, "the answer is not `{says}`: {}", self.text(&answer));
                let wanted = job.rows.filter(|_| checks).unwrap_or(rows);
                ensure!(rows == wanted, "{rows} rows, not {wanted}: {}", self.text(&answer));
                self.forget(&answer);
                return Ok(());
            }
            self.forget(&answer);
        }
        bail!("an answer of more than {PAGES_MAX} pages")
    }

    /// Sends what is in the outbox and waits for the answer, which stays in the inbox.
    async fn exchange(&mut self, job: &Job) -> Result<Answer> {
        match self {
            Self::Bytes { stream, inbox, outbox } => {
                stream.send(outbox).await?;
                loop {
                    if stream.receive(inbox).await? == 0 {
                        bail!("the server closed the connection");
                    }
                    if let Some(answer) = job.framing.answer(inbox)? {
                        return Ok(answer);
                    }
                }
            }
            Self::Http2 { sender, outbox } => {
                sender.ready().await?;
                let response = sender.send_request(request_of(outbox)?).await?;
                let status = response.status().as_u16();
                let end = response.into_body().collect().await?.to_bytes().len();
                Ok(Answer { status, end, body: 0..0, rows: 0, continuation: None })
            }
        }
    }

    fn outbox(&mut self) -> &mut Vec<u8> {
        match self {
            Self::Bytes { outbox, .. } | Self::Http2 { outbox, .. } => outbox,
        }
    }

    pub(crate) fn body(&self, answer: &Answer) -> &[u8] {
        match self {
            Self::Bytes { inbox, .. } => &inbox[answer.body.clone()],
            Self::Http2 { .. } => &[],
        }
    }

    fn text(&self, answer: &Answer) -> String {
        let body = self.body(answer);
        String::from_utf8_lossy(&body[..body.len().min(160)]).replace(['\0', '\n'], " ")
    }

    fn forget(&mut self, answer: &Answer) {
        if let Self::Bytes { inbox, .. } = self {
            inbox.drain(..answer.end);
        }
    }
}

/// The same request for hyper, from its bytes in HTTP/1.1.
fn request_of(bytes: &[u8]) -> Result<Request<Full<Bytes>>> {
    let start = find(bytes, b"\r\n\r\n").context("a request without an end")?;
    let head = std::str::from_utf8(&bytes[..start])?;
    let mut lines = head.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (method, path) = (words.next().context("no method")?, words.next().context("no path")?);
    let mut headers = Vec::new();
    let mut host = "";
    for (name, value) in lines.filter_map(|line| line.split_once(": ")) {
        match name {
            "host" => host = value,
            "content-length" => {}
            _ => headers.push((name, value)),
        }
    }
    let mut request = Request::builder().method(method).uri(format!("http://{host}{path}"));
    for (name, value) in headers {
        request = request.header(name, value);
    }
    Ok(request.body(Full::new(Bytes::copy_from_slice(&bytes[start..])))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_come_apart() {
        let bytes =
            b"POST /dbs HTTP/1.1\r\nhost: h:1\r\nx-ms-date: a b\r\ncontent-length: 2\r\n\r\n{}";
        let request = request_of(bytes).unwrap();
        assert_eq!(request.uri(), "http://h:1/dbs");
        assert_eq!(request.headers()["x-ms-date"], "a b");
        assert_eq!(request.headers().len(), 1);
    }
}
