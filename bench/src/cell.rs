//! One measurement: many connections doing one operation against one server for a while.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};
use http_body_util::{BodyExt as _, Full};
use hyper::{
    Response,
    client::conn::http1::{SendRequest, handshake},
};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpStream, time::timeout};

use crate::{
    api::{Api, Layout, Prepared},
    process::Server,
};

/// Not counted, so that connections, caches and compilers are warm.
const WARM_UP: Duration = Duration::from_millis(700);
/// A point read is signed ahead for at most so many different documents.
const READ_SET: usize = 20_000;
/// No answer takes this long unless something hangs.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// What the connections do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    /// Creates documents, numbered from zero.
    Create,
    /// Reads documents by id, spread over those that exist.
    Read,
}

impl Operation {
    fn expected_status(self) -> u16 {
        match self {
            Self::Create => 201,
            Self::Read => 200,
        }
    }
}

/// What was measured.
pub(crate) struct Outcome {
    pub(crate) operations_per_second: f64,
    pub(crate) p50: Duration,
    pub(crate) p99: Duration,
}

/// An open connection.
pub(crate) struct Connection(SendRequest<Full<bytes::Bytes>>);

impl Connection {
    /// Connects to `127.0.0.1:PORT`.
    pub(crate) async fn open(host: &str) -> Result<Self> {
        let stream = TcpStream::connect(host).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(Self(sender))
    }

    /// Sends a request and reads all of the answer; returns status and body.
    pub(crate) async fn send(&mut self, request: Prepared) -> Result<(u16, bytes::Bytes)> {
        let response = self.exchange(request).await?;
        Ok((response.status().as_u16(), response.into_body()))
    }

    /// The same, with the headers of the answer.
    pub(crate) async fn exchange(&mut self, request: Prepared) -> Result<Response<bytes::Bytes>> {
        self.0.ready().await?;
        let response = timeout(ANSWER_TIMEOUT, self.0.send_request(request)).await??;
        let (head, body) = response.into_parts();
        Ok(Response::from_parts(head, body.collect().await?.to_bytes()))
    }

    /// Sends a request that has to succeed.
    pub(crate) async fn expect(&mut self, request: Prepared, expected: u16) -> Result<()> {
        let uri = request.uri().clone();
        let (status, body) = self.send(request).await?;
        if status != expected {
            bail!("{uri} answers {status}: {}", String::from_utf8_lossy(&body));
        }
        Ok(())
    }
}

/// What the connections of a cell share.
struct Plan {
    layout: Layout,
    operation: Operation,
    template: Prepared,
    reads: Vec<Prepared>,
    next: AtomicUsize,
    measure_from: Instant,
    measure_to: Instant,
}

impl Plan {
    /// The next request, whoever sends it.
    fn next_request(&self) -> Result<Prepared> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        if self.operation == Operation::Create {
            let mut request = self.template.clone();
            Api::set_document(&mut request, self.layout, number)?;
            return Ok(request);
        }
        // A stride that shares no factor with the set's size spreads neighbours apart.
        Ok(self.reads[number.wrapping_mul(7_919) % self.reads.len()].clone())
    }
}

/// Runs one cell. `documents` exist already, numbered from zero.
pub(crate) async fn run(
    server: &Server,
    layout: Layout,
    operation: Operation,
    documents: usize,
    connections: usize,
    duration: Duration,
) -> Result<Outcome> {
    let api = Api::new(&server.host);
    let readable = documents.clamp(1, READ_SET);
    let measure_from = Instant::now() + WARM_UP;
    let mut plan = Plan {
        layout,
        operation,
        template: api.create_template(layout)?,
        reads: (0..readable).map(|number| api.read(layout, number)).collect::<Result<_>>()?,
        next: AtomicUsize::new(if operation == Operation::Create { documents } else { 0 }),
        measure_from,
        measure_to: measure_from + duration,
    };
    // Signing took its time; the clock starts now.
    plan.measure_from = Instant::now() + WARM_UP;
    plan.measure_to = plan.measure_from + duration;
    let plan = Arc::new(plan);

    let mut workers = Vec::with_capacity(connections);
    for _ in 0..connections {
        let connection = Connection::open(&server.host).await?;
        workers.push(tokio::spawn(work(connection, Arc::clone(&plan))));
    }
    tokio::time::sleep_until(plan.measure_from.into()).await;
    let begin = Instant::now();
    tokio::time::sleep_until(plan.measure_to.into()).await;
    let elapsed = begin.elapsed();

    let mut latencies = Vec::new();
    for worker in workers {
        latencies.append(&mut worker.await??);
    }
    latencies.sort_unstable();
    let count = latencies.len();
    let percentile = |percent: usize| latencies.get(count * percent / 100).copied();
    Ok(Outcome {
        operations_per_second: count as f64 / elapsed.as_secs_f64(),
        p50: percentile(50).context("no operation ended in time")?,
        p99: percentile(99).context("no operation ended in time")?,
    })
}

/// Sends until the time is over; returns the latencies that count.
async fn work(mut connection: Connection, plan: Arc<Plan>) -> Result<Vec<Duration>> {
    let mut latencies = Vec::new();
    loop {
        let request = plan.next_request()?;
        let begin = Instant::now();
        connection.expect(request, plan.operation.expected_status()).await?;
        let end = Instant::now();
        if end >= plan.measure_to {
            return Ok(latencies);
        }
        if end >= plan.measure_from {
            latencies.push(end - begin);
        }
    }
}

/// The figures that a server gives of itself.
pub(crate) struct Metrics(String);

/// Asks for them.
pub(crate) async fn metrics(server: &Server) -> Result<Metrics> {
    let request = hyper::Request::get("/_sheaf/metrics").header("host", &server.host);
    let request = request.body(Full::default())?;
    let (status, body) = Connection::open(&server.host).await?.send(request).await?;
    ensure!(status == 200, "the metrics page answers {status}");
    Ok(Metrics(String::from_utf8_lossy(&body).into_owned()))
}

impl Metrics {
    /// A figure without labels, by the start of its name.
    pub(crate) fn value(&self, name: &str) -> Result<f64> {
        let line = self.0.lines().find(|line| line.starts_with(name));
        let line = line.with_context(|| format!("the server has no metric `{name}`"))?;
        Ok(line.rsplit(' ').next().unwrap_or_default().parse()?)
    }
}

impl Metrics {
    /// The sum of a figure over all its labels, by the start of its lines.
    pub(crate) fn sum(&self, start: &str) -> Result<f64> {
        let lines = self.0.lines().filter(|line| line.starts_with(start));
        let values =
            lines.map(|line| Ok(line.rsplit(' ').next().unwrap_or_default().parse::<f64>()?));
        values.sum::<Result<f64>>()
    }
}
