//! `load flood`: what strangers cost those who have a key.
//!
//! Point reads with a key are measured while unauthenticated requests come at a fixed rate, in turns
//! at a bare HTTP server beside Sheaf, and at Sheaf itself. The first is what a flood costs anybody
//! on this machine; the ratio of the two is what Sheaf adds to it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use http_body_util::Full;
use hyper::Request;
use tokio::{sync::Semaphore, time::interval};

use crate::{
    api::{DATABASE, Layout},
    arguments::Arguments,
    cell::{self, Connection, Operation},
    compare::{Pool, record},
    process::{Kind, Server},
    scratch::Scratch,
    startup::{fill, megabytes},
};

const LAYOUT: Layout = Layout::ManyKeys;
const DOCUMENTS: usize = 20_000;
/// Requests of the flood in a second, unless told otherwise.
const RATE: u64 = 2_000;
const FLOOD_CONNECTIONS: usize = 32;
/// How often a share of a second's requests is released.
const TICK: Duration = Duration::from_millis(5);
/// Rounds of both; the medians are compared.
const ROUNDS: usize = 3;
/// What has to be left.
const RATIO_MIN: f64 = 0.7;

/// Measures and prints; fails if too little is left.
pub(crate) async fn run(arguments: &Arguments) -> Result<()> {
    let rate = arguments.rate.unwrap_or(RATE);
    let scratch = Scratch::new()?;
    let sheaf = Server::start(Kind::SheafDisk, &arguments.sheaf, &scratch.0)?;
    let answers = Scratch::named("answers")?;
    record(&arguments.sheaf, &Arc::new(Pool::new()?), &answers.0).await?;
    let floor = Server::start(Kind::Floor, &arguments.sheaf, &answers.0)?;
    fill(&sheaf, 0..DOCUMENTS, arguments.connections).await?;
    let before = sheaf.resident_bytes()?;
    println!("flood at        reads/s     p50 us     p99 us   flood/s   memory of sheaf");
    let (mut beside, mut at_us, mut most) = (Vec::new(), Vec::new(), before);
    for _ in 0..ROUNDS {
        for (name, target, all) in
            [("the bare server", &floor, &mut beside), ("sheaf", &sheaf, &mut at_us)]
        {
            let flood = Flood::start(target.host.clone(), rate);
            let read = cell::run(
                &sheaf,
                LAYOUT,
                Operation::Read,
                DOCUMENTS,
                arguments.connections,
                arguments.duration,
            );
            let outcome = read.await;
            let sent = flood.stop()?;
            let outcome = outcome?;
            let memory = sheaf.resident_bytes()?;
            most = most.max(memory);
            println!(
                "{name:<15} {:7.0} {:10.0} {:10.0} {sent:9.0} {:11.1} MB",
                outcome.operations_per_second,
                outcome.p50.as_secs_f64() * 1e6,
                outcome.p99.as_secs_f64() * 1e6,
                megabytes(memory),
            );
            all.push(outcome.operations_per_second);
        }
    }
    let ratio = median(&mut at_us) / median(&mut beside);
    println!("kept: {:.0} % of the reads (at least {:.0} %)", ratio * 1e2, RATIO_MIN * 1e2);
    println!("memory: {:.1} MB before, {:.1} MB at most", megabytes(before), megabytes(most));
    if ratio < RATIO_MIN {
        bail!("the flood takes more from those who have a key than it may");
    }
    Ok(())
}

fn median(all: &mut [f64]) -> f64 {
    all.sort_unstable_by(f64::total_cmp);
    all[all.len() / 2]
}

/// Strangers' requests at a fixed rate, sent by a thread of their own.
struct Flood {
    is_over: Arc<AtomicBool>,
    answered: Arc<AtomicU64>,
    since: Instant,
    thread: JoinHandle<Result<()>>,
}

impl Flood {
    fn start(host: String, rate: u64) -> Self {
        let (is_over, answered) = (Arc::new(AtomicBool::new(false)), Arc::default());
        let thread = {
            let (is_over, answered) = (Arc::clone(&is_over), Arc::clone(&answered));
            std::thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
                runtime.block_on(flood(&host, rate, &is_over, &answered))
            })
        };
        Self { is_over, answered, since: Instant::now(), thread }
    }

    /// Ends it; how many requests were answered in a second.
    fn stop(self) -> Result<f64> {
        let elapsed = self.since.elapsed();
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().ok().context("the flood panicked")??;
        Ok(self.answered.load(Ordering::Relaxed) as f64 / elapsed.as_secs_f64())
    }
}

async fn flood(
    host: &str,
    rate: u64,
    is_over: &AtomicBool,
    answered: &Arc<AtomicU64>,
) -> Result<()> {
    let turns = Arc::new(Semaphore::new(0));
    for _ in 0..FLOOD_CONNECTIONS {
        let connection = Connection::open(host).await?;
        tokio::spawn(send(connection, host.to_owned(), Arc::clone(&turns), Arc::clone(answered)));
    }
    let mut ticks = interval(TICK);
    let (begin, mut released) = (Instant::now(), 0);
    while !is_over.load(Ordering::Relaxed) {
        ticks.tick().await;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "small, positive"
        )]
        let due = (begin.elapsed().as_secs_f64() * rate as f64) as u64;
        // What a slow target did not take in a second is not sent later.
        let room = rate.saturating_sub(turns.available_permits() as u64);
        turns.add_permits(usize::try_from((due - released).min(room))?);
        released = due;
    }
    Ok(())
}

/// Asks for a document without a signature, once for every turn.
async fn send(
    mut connection: Connection,
    host: String,
    turns: Arc<Semaphore>,
    answered: Arc<AtomicU64>,
) -> Result<()> {
    let path = format!("/dbs/{DATABASE}/colls/{}/docs/1", LAYOUT.name());
    loop {
        turns.acquire().await?.forget();
        let request = Request::get(&path).header("host", &host);
        // Of the right form, so that it is checked and not only looked at.
        let request = request
            .header(
                "authorization",
                "type%3Dmaster%26ver%3D1.0%26sig%3DAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA%3D",
            )
            .header("x-ms-date", "Thu, 01 Jan 1970 00:00:00 GMT")
            .body(Full::default())?;
        connection.send(request).await?;
        answered.fetch_add(1, Ordering::Relaxed);
    }
}
