//! Signed requests to a running server, for the commands that use the API itself.
//!
//! `credential` has the key that signs requests, `place` is the target of a request, `refusal`
//! prints a server's errors, `missing` finds out what a 404 is about.

pub(crate) mod credential;
mod missing;
pub(crate) mod place;
pub(crate) mod refusal;

use std::time::{Duration, SystemTime};

use anyhow::anyhow;
use bytes::Bytes;
use http_body_util::Full;
use hyper::{Method, Request, Response, body::Incoming};
use tokio::time::sleep;
use value::{Value, json};

use self::{credential::Credential, place::Place};
use crate::{
    args::AccountArgs,
    failure::Failure,
    remote::{self, Connection, Server},
};

/// How often to repeat a request that was refused with 429.
const RETRIES: u32 = 30;
const RETRY_TIME: Duration = Duration::from_millis(100);
const RETRY_TIME_MAX: Duration = Duration::from_secs(10);

/// How long the server may take for a request that it answers at once.
const PATIENCE: Duration = Duration::from_mins(1);

/// Maximum number of pages of a feed, so that a server cannot keep a command running forever.
const PAGES_MAX: usize = 100_000;

/// One request: its target, what to sign, and what to send.
#[derive(Clone, Debug)]
pub(crate) struct Call<'a> {
    pub(crate) method: Method,
    /// The path, escaped.
    pub(crate) path: &'a str,
    /// The resource type for the signature.
    pub(crate) kind: &'a str,
    /// The link for the signature, not escaped.
    pub(crate) link: &'a str,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: &'a [u8],
    /// How long the server may take.
    pub(crate) patience: Duration,
}

impl<'a> Call<'a> {
    /// A request without a body or headers of its own.
    pub(crate) fn new(method: Method, path: &'a str, kind: &'a str, link: &'a str) -> Self {
        Self { method, path, kind, link, headers: Vec::new(), body: &[], patience: PATIENCE }
    }

    /// A GET request.
    pub(crate) fn get(path: &'a str, kind: &'a str, link: &'a str) -> Self {
        Self::new(Method::GET, path, kind, link)
    }
}

/// The server's response, successful or not.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Bytes,
    pub(crate) continuation: Option<String>,
    pub(crate) charge: f64,
}

impl Answer {
    /// Parses the body of a response as JSON.
    pub(crate) fn json(&self) -> Result<Value, Failure> {
        json::parse(&self.body).map_err(|_| no_sheaf())
    }
}

/// The error for a response that no server of this API sends.
pub(crate) fn no_sheaf() -> Failure {
    Failure::server(anyhow!("cannot understand the server's answer; is it Sheaf?"))
}

/// The server, and the key to sign with.
#[derive(Debug)]
pub(crate) struct Account {
    pub(crate) server: Server,
    pub(crate) credential: Credential,
}

impl Account {
    /// The account that a command line names.
    pub(crate) fn new(args: &AccountArgs) -> Result<Self, Failure> {
        let credential = Credential::new(&args.key, args.server.directory())?;
        Ok(Self { server: Server::new(&args.server)?, credential })
    }
}

/// A client of one server with one key.
pub(crate) struct Client<'a> {
    connection: Connection,
    credential: &'a Credential,
}

impl<'a> Client<'a> {
    pub(crate) async fn connect(account: &'a Account) -> Result<Self, Failure> {
        let connection = Connection::open(&account.server).await.map_err(Failure::server)?;
        Ok(Self { connection, credential: &account.credential })
    }

    /// Sends a request, and repeats it while the server is too busy.
    pub(crate) async fn call(&mut self, call: &Call<'_>) -> Result<Answer, Failure> {
        self.send(call).await.map_err(Failure::server)
    }

    async fn send(&mut self, call: &Call<'_>) -> anyhow::Result<Answer> {
        let mut tries = 0;
        loop {
            let request = self.request(call)?;
            let response = self.connection.send(request, call.patience).await?;
            let wait = retry_after(&response);
            let answer = read(response, call.patience).await?;
            if answer.status != 429 || tries >= RETRIES {
                return Ok(answer);
            }
            sleep(wait).await;
            tries += 1;
        }
    }

    /// Sends a request, and returns an error about `what` unless the status is 2xx.
    pub(crate) async fn answered(
        &mut self,
        what: &str,
        place: &Place,
        call: &Call<'_>,
    ) -> Result<Answer, Failure> {
        let answer = self.call(call).await?;
        if (200..300).contains(&answer.status) {
            return Ok(answer);
        }
        Err(self.refusal(what, place, &answer, "").await)
    }

    /// All resources of a feed, page by page; `name` is the member of a page that contains them.
    pub(crate) async fn feed(
        &mut self,
        what: &str,
        place: &Place,
        mut call: Call<'_>,
        name: &str,
    ) -> Result<Vec<Value>, Failure> {
        let mut all = Vec::new();
        let headers = call.headers.clone();
        for _ in 0..PAGES_MAX {
            let answer = self.answered(what, place, &call).await?;
            let mut page = answer.json()?;
            match page.as_object_mut().and_then(|page| page.remove(name)) {
                Some(Value::Array(rows)) => all.extend(rows),
                _ => return Err(no_sheaf()),
            }
            let Some(continuation) = answer.continuation else { return Ok(all) };
            call.headers.clone_from(&headers);
            call.headers.push(("x-ms-continuation", continuation));
        }
        Err(Failure::server(anyhow!("the server's list has no end")))
    }

    /// The error for a refused `what`, with advice: the database or collection that is missing, or
    /// where the wrong key came from.
    pub(crate) async fn refusal(
        &mut self,
        what: &str,
        place: &Place,
        answer: &Answer,
        query: &str,
    ) -> Failure {
        let mut text = refusal::text(what, answer.status, &answer.body, query);
        match answer.status {
            401 => {
                text.push('\n');
                text.push_str(&self.credential.advice());
            }
            404 => {
                if let Some(missing) = self.missing(place).await {
                    let head = refusal::head(what, answer.status, &answer.body);
                    text = format!("{head}\n  {missing}");
                }
            }
            _ => {}
        }
        Failure::server(anyhow!(text))
    }

    fn request(&self, call: &Call<'_>) -> anyhow::Result<Request<Full<Bytes>>> {
        let key = &self.credential.key;
        let signed = gateway::signed(key, call.method.as_str(), call.kind, call.link, now());
        let mut request = Request::builder()
            .method(call.method.clone())
            .uri(call.path)
            .header("host", &self.connection.authority)
            .header("authorization", signed.authorization)
            .header("x-ms-date", signed.date)
            .header("x-ms-version", "2020-07-15");
        for (name, value) in &call.headers {
            request = request.header(*name, value);
        }
        Ok(request.body(Full::new(Bytes::copy_from_slice(call.body)))?)
    }
}

#[expect(clippy::disallowed_methods, reason = "a client signs with the time of day")]
fn now() -> SystemTime {
    SystemTime::now()
}

async fn read(response: Response<Incoming>, patience: Duration) -> anyhow::Result<Answer> {
    let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
    let continuation = header("x-ms-continuation").map(str::to_owned);
    let charge = header("x-ms-request-charge").and_then(|text| text.parse().ok());
    let charge = charge.filter(|charge: &f64| charge.is_finite()).unwrap_or(0.0);
    let status = response.status().as_u16();
    let body = remote::body(response, patience).await?;
    Ok(Answer { status, body, continuation, charge })
}

fn retry_after(response: &Response<Incoming>) -> Duration {
    let header = response.headers().get("x-ms-retry-after-ms");
    let millis = header.and_then(|value| value.to_str().ok()?.parse().ok());
    millis.map_or(RETRY_TIME, Duration::from_millis).min(RETRY_TIME_MAX)
}
