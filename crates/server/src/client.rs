//! Signed requests to a running server, for the commands that speak the API itself. `refusal` says
//! why a server said no.

pub(crate) mod refusal;

use std::{path::Path, time::Duration};

use bytes::Bytes;
use gateway::Key;
use http_body_util::Full;
use hyper::{Method, Request, Response, body::Incoming};
use tokio::time::sleep;

use crate::{
    cli::AccountArgs,
    clock::MachineClock,
    failure::Failure,
    keys::Source,
    remote::{self, Connection, Server},
};

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

/// Asks one server, by one key.
pub(crate) struct Client<'a> {
    connection: Connection,
    key: &'a Key,
}

impl<'a> Client<'a> {
    pub(crate) async fn connect(server: &Server, key: &'a Key) -> anyhow::Result<Self> {
        Ok(Self { connection: Connection::open(server).await?, key })
    }

    /// Sends a request, again and again if the server is too busy.
    pub(crate) async fn call(&mut self, call: &Call<'_>) -> anyhow::Result<Answer> {
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

    fn request(&self, call: &Call<'_>) -> anyhow::Result<Request<Full<Bytes>>> {
        let now = gateway::Clock::now(&MachineClock);
        let signed = gateway::signed(self.key, call.method.as_str(), call.kind, call.link, now);
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

/// The key that a command line names.
pub(crate) fn key(args: &AccountArgs) -> Result<Key, Failure> {
    let parsed =
        |text: &str| Key::parse(text).map_err(|error| Failure::usage(format!("--key: {error}")));
    if let Some(text) = &args.key {
        return parsed(text);
    }
    let directory = args.server.data_dir.as_deref().unwrap_or_else(|| Path::new("sheaf-data"));
    let keys = Source::new(args.key_file.as_deref(), Some(directory)).load()?.keys;
    let mut all = keys.read_write.into_iter().chain(keys.read_only);
    all.next().ok_or_else(|| Failure::usage("the key file holds no key"))
}
