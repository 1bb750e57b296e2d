//! Sheaf's side: a collection of four partitions, filled through the API, and queries to it.

use std::{
    path::Path,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use http_body_util::Full;
use hyper::{Method, header::HeaderValue};

use super::{
    cost::{Cost, Samples},
    data::Data,
    text::Query,
};
use crate::{
    api::{Api, DATABASE, Prepared, VERSION},
    cell::{Connection, metrics},
    process::{Kind, Server},
};

const COLLECTION: &str = "orders";
/// Throughput that makes four partitions.
const THROUGHPUT: &str = "40000";
/// Documents that are created before requests are signed anew: a signature ages.
const CHUNK: usize = 20_000;
/// How long the server must have been quiet to count as done with what it does by itself.
const QUIET: Duration = Duration::from_secs(2);
/// CPU time within [`QUIET`] that still is quiet.
const QUIET_CPU: Duration = Duration::from_millis(40);
/// Compaction of what was loaded takes no longer.
const SETTLE_TIMEOUT: Duration = Duration::from_mins(10);

/// Lets `sheaf compact` rewrite the data of a stopped server, so that what a query reads does not
/// depend on how far background compactions came. Gives the bytes before and after.
pub(crate) fn compact(binary: &Path, directory: &Path) -> Result<(f64, f64)> {
    let output = Command::new(binary).args(["compact", "--data-dir"]).arg(directory).output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`sheaf compact` ended with {}: {complaint}", output.status);
    let mut figures = said.split_whitespace().filter_map(|word| word.parse().ok());
    let mut next = || figures.next().with_context(|| format!("`sheaf compact` said `{said}`"));
    Ok((next()?, next()?))
}

/// A server that holds the collection.
pub(crate) struct Sheaf {
    pub(crate) server: Server,
}

impl Sheaf {
    /// Starts in a directory that may hold the collection already.
    pub(crate) fn start(binary: &Path, directory: &Path) -> Result<Self> {
        Ok(Self { server: Server::start(Kind::SheafDisk, binary, directory)? })
    }

    /// Creates the collection; `indexing` is its policy, or nothing for the default.
    pub(crate) async fn create(&self, indexing: &str) -> Result<()> {
        let api = Api::new(&self.server.host);
        let mut connection = Connection::open(&self.server.host).await?;
        connection.expect(api.create_database()?, 201).await?;
        let key = r#""partitionKey":{"paths":["/customer"],"kind":"Hash","version":2}"#;
        let body = format!(r#"{{"id":"{COLLECTION}",{key}{indexing}}}"#);
        let (link, path) = (format!("dbs/{DATABASE}"), format!("/dbs/{DATABASE}/colls"));
        let mut request = api.prepare(Method::POST, "colls", &link, &path, VERSION, body)?;
        let throughput = HeaderValue::from_static(THROUGHPUT);
        request.headers_mut().insert("x-ms-offer-throughput", throughput);
        connection.expect(request, 201).await
    }

    /// Creates all documents, over many connections.
    pub(crate) async fn fill(&self, data: Data, connections: usize) -> Result<()> {
        let next = Arc::new(AtomicUsize::new(0));
        for end in (CHUNK..data.documents + CHUNK).step_by(CHUNK) {
            let end = end.min(data.documents);
            let template = Arc::new(template(&Api::new(&self.server.host))?);
            let mut workers = Vec::with_capacity(connections);
            for _ in 0..connections {
                let connection = Connection::open(&self.server.host).await?;
                let (next, template) = (Arc::clone(&next), Arc::clone(&template));
                workers.push(tokio::spawn(create_up_to(connection, data, end, next, template)));
            }
            for worker in workers {
                worker.await??;
            }
            next.store(end, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Waits until the server has nothing left to do: what was written is compacted.
    pub(crate) async fn settle(&self) -> Result<()> {
        let begin = Instant::now();
        let mut before = self.server.cpu()?;
        while begin.elapsed() < SETTLE_TIMEOUT {
            tokio::time::sleep(QUIET).await;
            let now = self.server.cpu()?;
            if now.saturating_sub(before) <= QUIET_CPU {
                return Ok(());
            }
            before = now;
        }
        anyhow::bail!("the server was not quiet within {SETTLE_TIMEOUT:?}")
    }

    /// Kilobytes of documents, and of the collection with its index.
    pub(crate) async fn usage(&self) -> Result<(f64, f64)> {
        let api = Api::new(&self.server.host);
        let link = format!("dbs/{DATABASE}/colls/{COLLECTION}");
        let path = format!("/{link}");
        let mut request =
            api.prepare(Method::GET, "colls", &link, &path, VERSION, String::new())?;
        let yes = HeaderValue::from_static("True");
        request.headers_mut().insert("x-ms-documentdb-populatequotainfo", yes);
        let answer = Connection::open(&self.server.host).await?.exchange(request).await?;
        let usage = answer.headers().get("x-ms-resource-usage").context("no usage")?.to_str()?;
        let figure = |name: &str| -> Result<f64> {
            let member = usage.split(';').find_map(|m| m.strip_prefix(name)?.strip_prefix('='));
            Ok(member.with_context(|| format!("no {name} in `{usage}`"))?.parse()?)
        };
        Ok((figure("documentsSize")?, figure("collectionSize")?))
    }

    /// Asks one query after the other for a while.
    pub(crate) async fn measure(
        &self,
        query: Query,
        data: Data,
        warm_up: Duration,
        duration: Duration,
    ) -> Result<Cost> {
        let template = query_template(&Api::new(&self.server.host))?;
        let mut connection = Connection::open(&self.server.host).await?;
        let mut turn = 0;
        let begin = Instant::now();
        while turn == 0 || begin.elapsed() < warm_up {
            ask(&mut connection, &template, query, data, turn).await?;
            turn += 1;
        }
        let (store_begin, cpu_begin) = (metrics(&self.server).await?, self.server.cpu()?);
        let mut samples = Samples::new(duration);
        while samples.wants_more() {
            let started = Instant::now();
            ask(&mut connection, &template, query, data, turn).await?;
            samples.add(started.elapsed());
            turn += 1;
        }
        let (cpu_end, store_end) = (self.server.cpu()?, metrics(&self.server).await?);
        let per_query = |name: &str| -> Result<Option<f64>> {
            let read = store_end.value(name)? - store_begin.value(name)?;
            Ok(Some(read / samples.count() as f64))
        };
        Ok(Cost {
            keys: per_query("sheaf_store_keys_read")?,
            blocks: per_query("sheaf_store_blocks_read")?,
            loads: per_query("sheaf_store_blocks_loaded")?,
            ..samples.cost(cpu_end.saturating_sub(cpu_begin))
        })
    }
}

async fn create_up_to(
    mut connection: Connection,
    data: Data,
    end: usize,
    next: Arc<AtomicUsize>,
    template: Arc<Prepared>,
) -> Result<()> {
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= end {
            return Ok(());
        }
        let mut request = (*template).clone();
        *request.body_mut() = Full::new(Bytes::from(data.document(number)));
        let key = HeaderValue::try_from(format!(r#"["{}"]"#, data.customer_of(number)))?;
        request.headers_mut().insert("x-ms-documentdb-partitionkey", key);
        connection.expect(request, 201).await?;
    }
}

/// A request to the documents, to be cloned and given a body.
fn template(api: &Api) -> Result<Prepared> {
    let link = format!("dbs/{DATABASE}/colls/{COLLECTION}");
    let path = format!("/{link}/docs");
    api.prepare(Method::POST, "docs", &link, &path, VERSION, String::new())
}

/// The same for queries, of a caller that wants the whole answer from the server.
fn query_template(api: &Api) -> Result<Prepared> {
    let mut request = template(api)?;
    for (name, value) in [
        ("content-type", "application/query+json"),
        ("x-ms-documentdb-isquery", "True"),
        ("x-ms-documentdb-query-enablecrosspartition", "True"),
    ] {
        request.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    Ok(request)
}

/// Asks one query, all its pages, and looks whether the answer is right.
async fn ask(
    connection: &mut Connection,
    template: &Prepared,
    query: Query,
    data: Data,
    turn: usize,
) -> Result<()> {
    let body = Bytes::from(query.body(data, turn));
    let (mut rows, mut continuation) = (0, None);
    loop {
        let mut request = template.clone();
        *request.body_mut() = Full::new(body.clone());
        if let Some(token) = continuation.take() {
            request.headers_mut().insert("x-ms-continuation", token);
        }
        let answer = connection.exchange(request).await?;
        let text = || String::from_utf8_lossy(answer.body()).into_owned();
        ensure!(answer.status() == 200, "{} answers {}: {}", query.name(), answer.status(), text());
        let count = answer.headers().get("x-ms-item-count").context("no x-ms-item-count")?;
        rows += count.to_str()?.parse::<usize>()?;
        if let Some(expected) = query.answer().filter(|_| rows == 1) {
            let says = format!("[{expected}]");
            ensure!(text().contains(&says), "{} answers {}", query.name(), text());
        }
        continuation = answer.headers().get("x-ms-continuation").cloned();
        if continuation.is_none() {
            ensure!(rows == query.rows(), "{} has {rows} rows, at turn {turn}", query.name());
            return Ok(());
        }
    }
}
