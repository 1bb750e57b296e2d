//! One connection to a server, over which the pages of a query are asked for.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::{Request, Response, body::Incoming};
use tokio::time::sleep;

use crate::{
    clock::MachineClock,
    query::asked::Asked,
    remote::{self, Connection, Server},
};

/// A query that cannot be cut into pages may take the server longer than a page does.
const ANSWER_TIME: Duration = Duration::from_mins(10);
/// Most rows of one page.
const PAGE_ROWS: u64 = 1000;
/// How often a request that was refused for its cost is sent again.
const RETRIES: u32 = 30;
const RETRY_TIME: Duration = Duration::from_millis(100);
const RETRY_TIME_MAX: Duration = Duration::from_secs(10);

/// What came back for one page, answered or refused.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) status: u16,
    pub(super) body: Bytes,
    pub(super) continuation: Option<String>,
    pub(super) charge: f64,
}

/// Asks one server.
pub(super) struct Client {
    connection: Connection,
}

impl Client {
    pub(super) async fn connect(server: &Server) -> anyhow::Result<Self> {
        Ok(Self { connection: Connection::open(server).await? })
    }

    /// Asks for a page of at most so many rows, again and again if the server is too busy.
    pub(super) async fn page(
        &mut self,
        asked: &Asked,
        rows: u64,
        continuation: Option<&str>,
    ) -> anyhow::Result<Page> {
        let mut tries = 0;
        loop {
            let request = self.request(asked, rows, continuation)?;
            let response = self.connection.send(request, ANSWER_TIME).await?;
            let wait = retry_after(&response);
            let page = read(response).await?;
            if page.status != 429 || tries >= RETRIES {
                return Ok(page);
            }
            sleep(wait).await;
            tries += 1;
        }
    }

    fn request(
        &self,
        asked: &Asked,
        rows: u64,
        continuation: Option<&str>,
    ) -> anyhow::Result<Request<Full<Bytes>>> {
        let now = gateway::Clock::now(&MachineClock);
        let signed = gateway::signed(&asked.key, "POST", "docs", &asked.link, now);
        let mut request = Request::post(&asked.path)
            .header("host", &self.connection.authority)
            .header("authorization", signed.authorization)
            .header("x-ms-date", signed.date)
            .header("x-ms-version", "2020-07-15")
            .header("content-type", "application/query+json")
            .header("x-ms-documentdb-isquery", "True")
            .header("x-ms-max-item-count", rows.min(PAGE_ROWS).to_string());
        request = match &asked.partition_key {
            Some(key) => request.header("x-ms-documentdb-partitionkey", key),
            None => request.header("x-ms-documentdb-query-enablecrosspartition", "True"),
        };
        if let Some(continuation) = continuation {
            request = request.header("x-ms-continuation", continuation);
        }
        if asked.explain {
            request = request.header("x-sheaf-explain", "True");
        }
        Ok(request.body(Full::new(Bytes::from(asked.body.clone())))?)
    }
}

async fn read(response: Response<Incoming>) -> anyhow::Result<Page> {
    let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
    let continuation = header("x-ms-continuation").map(str::to_owned);
    let charge = header("x-ms-request-charge").and_then(|text| text.parse().ok());
    let charge = charge.filter(|charge: &f64| charge.is_finite()).unwrap_or(0.0);
    let status = response.status().as_u16();
    let body = remote::body(response, ANSWER_TIME).await?;
    Ok(Page { status, body, continuation, charge })
}

fn retry_after(response: &Response<Incoming>) -> Duration {
    let header = response.headers().get("x-ms-retry-after-ms");
    let millis = header.and_then(|value| value.to_str().ok()?.parse().ok());
    millis.map_or(RETRY_TIME, Duration::from_millis).min(RETRY_TIME_MAX)
}
