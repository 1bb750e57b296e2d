//! What Sheaf takes when it does nothing, how soon it is there, and how large its data are.

use std::{sync::Arc, time::Duration};

use anyhow::{Context as _, Result};
use hyper::{Method, header::HeaderValue};

use super::{
    client::{Client, Transport},
    competitor::{Competitor, Who},
    figures::median,
    load,
    options::Options,
    pool::Pool,
    postgres,
    rest::{LOADED, Rest},
    results::Results,
    workload::Workload,
};
use crate::{
    api::{Api, DATABASE, DOCUMENT_BYTES, VERSION},
    cell::Connection,
    idle,
    process::{Kind, Server},
    query::data::Data,
    scratch::Scratch,
    startup::size_of,
};

/// The section's word on the command line.
pub(crate) const NAME: &str = "resources";
/// Background work has settled after this long.
const SETTLE: Duration = Duration::from_secs(2);
/// How long connections are left alone before they count as idle: the server lets them rest after two
/// seconds, and the allocator gives memory back a little later.
const IDLE: Duration = Duration::from_secs(10);
const STARTS: usize = 5;
/// Documents that are written before each kill.
const BEFORE_KILL: usize = 5_000;

/// How large the data are right after the load.
pub(crate) async fn sizes(servers: &[Competitor], data: Data, results: &mut Results) -> Result<()> {
    let loaded = (data.documents * DOCUMENT_BYTES) as f64;
    for server in servers {
        let name = server.who.name();
        if server.load_cpu_us > 0.0 {
            let what = format!("{name}: CPU of a document");
            results.add("load", what, server.load_cpu_us, "µs");
        }
        if let (true, Some(scratch)) = (server.who == Who::SheafDisk, &server.scratch) {
            let (documents, all) = usage(&server.address).await?;
            let index = (all - documents) / documents;
            results.add("size", "sheaf-disk: index bytes for each document byte", index, "");
            let disk = size_of(&scratch.0)? as f64 / loaded;
            results.add("size", "sheaf-disk: disk for each byte loaded", disk, "");
        }
        if server.who == Who::Postgres {
            let (all, index) = postgres::sizes(&server.address)?;
            results.add("size", "postgres: GIN bytes for each byte loaded", index / loaded, "");
            results.add("size", "postgres: disk for each byte loaded", all / loaded, "");
        }
    }
    Ok(())
}

/// Kilobytes of documents, and of the collection with its index.
async fn usage(host: &str) -> Result<(f64, f64)> {
    let (api, link) = (Api::new(host), format!("dbs/{DATABASE}/colls/{LOADED}"));
    let path = format!("/{link}");
    let mut request = api.prepare(Method::GET, "colls", &link, &path, VERSION, String::new())?;
    let yes = HeaderValue::from_static("True");
    request.headers_mut().insert("x-ms-documentdb-populatequotainfo", yes);
    let answer = Connection::open(host).await?.exchange(request).await?;
    let usage = answer.headers().get("x-ms-resource-usage").context("no usage")?.to_str()?;
    let figure = |name: &str| -> Result<f64> {
        let member = usage.split(';').find_map(|m| m.strip_prefix(name)?.strip_prefix('='));
        Ok(member.with_context(|| format!("no {name} in `{usage}`"))?.parse()?)
    };
    Ok((figure("documentsSize")?, figure("collectionSize")?))
}

/// Starts with data: after clean stops, and after kills that follow writes.
pub(crate) async fn restarts(
    options: &Options,
    server: Competitor,
    pool: &Arc<Pool>,
    data: Data,
    results: &mut Results,
) -> Result<()> {
    let next = server.next(Workload::Create);
    let (server, scratch) = server.into_server().context("Sheaf has data")?;
    let stopped = server.stop()?.as_secs_f64() * 1e3;
    results.add(NAME, "sheaf-disk: clean stop", stopped, "ms");
    let start = || Server::start(Kind::SheafDisk, &options.sheaf, &scratch.0);
    let rounds = if options.is_quick { 2 } else { STARTS };
    let mut clean = Vec::new();
    for _ in 0..rounds {
        let server = start()?;
        clean.push(server.started_in.as_secs_f64() * 1e3);
        server.stop()?;
    }
    add_median(results, "sheaf-disk: start with data after a clean stop", clean, "ms");
    let server = start()?;
    tokio::time::sleep(SETTLE).await;
    let memory = server.resident_bytes()? as f64 / f64::from(1 << 20);
    results.add(NAME, "sheaf-disk: memory with data, idle after a start", memory, "MiB");
    let mut after_kill = Vec::new();
    let mut running = server;
    for _ in 0..rounds.min(3) {
        let job = Rest::new(&running.host, pool, data)?.job(Workload::Create);
        let mut clients = Vec::new();
        for _ in 0..16 {
            let mut client = Client::open(&running.host, Transport::Plain, &job).await?;
            let (job, next) = (job.clone(), Arc::clone(&next));
            clients.push(tokio::spawn(async move {
                for _ in 0..BEFORE_KILL / 16 {
                    let number = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    client.operate(&job, number, false).await?;
                }
                anyhow::Ok(())
            }));
        }
        for client in clients {
            client.await??;
        }
        // A drop is a kill.
        drop(running);
        running = start()?;
        after_kill.push(running.started_in.as_secs_f64() * 1e3);
    }
    add_median(results, "sheaf-disk: start with data after a kill", after_kill, "ms");
    Ok(())
}

/// Everything about servers without data.
pub(crate) async fn run(options: &Options, results: &mut Results) -> Result<()> {
    let mut empty = Vec::new();
    for round in 0..if options.is_quick { 2 } else { STARTS } {
        let scratch = Scratch::named("empty")?;
        let server = Server::start(Kind::SheafDisk, &options.sheaf, &scratch.0)?;
        empty.push(server.started_in.as_secs_f64() * 1e3);
        if round == 0 {
            tokio::time::sleep(SETTLE).await;
            let memory = server.resident_bytes()? as f64 / f64::from(1 << 20);
            results.add(NAME, "sheaf-disk: memory, empty and idle", memory, "MiB");
        }
        server.stop()?;
    }
    add_median(results, "sheaf-disk: start, empty", empty, "ms");
    if let Err(error) = connections(options, results).await {
        results.note(format!("idle connections: not measured: {error:#}"));
    }
    let (many, seconds) = if options.is_quick { (50, 3) } else { (1000, 20) };
    for (count, name) in [(0, "no collection"), (many, "many collections")] {
        let duration = Duration::from_secs(seconds);
        let share = idle::share(Kind::SheafDisk, count, "", &options.sheaf, duration).await?;
        results.add(NAME, format!("sheaf-disk: idle CPU, {name}"), share * 100.0, "% of a core");
    }
    results.add(NAME, "sheaf-disk: many collections are", many as f64, "");
    Ok(())
}

/// Memory of idle connections, each of which has had one answer.
async fn connections(options: &Options, results: &mut Results) -> Result<()> {
    let count: usize = if options.is_quick { 500 } else { 10_000 };
    let maximum = count.to_string();
    let scratch = Scratch::named("connections")?;
    let more = ["--max-connections", &maximum[..]];
    let server = Server::start_with(Kind::SheafDisk, &options.sheaf, &scratch.0, &more)?;
    super::setup::rest_collections(&server.host, false, super::setup::PARTITIONS).await?;
    let data = Data::new(1000)?;
    let pool = Arc::new(Pool::new()?);
    let target = load::Target {
        address: server.host.clone(),
        transport: Transport::Plain,
        process: server.id(),
    };
    let load = || Ok(Rest::new(&server.host, &pool, data)?.load_job());
    load::run_all(&target, load, data.documents, 16, SETTLE).await?;
    let before = server.resident_bytes()? as f64;
    let job = Rest::new(&server.host, &pool, data)?.job(Workload::PointRead);
    let mut clients = Vec::with_capacity(count);
    // One of them is the driver's own, which is open still.
    for number in 0..count - 20 {
        let mut client = Client::open(&server.host, Transport::Plain, &job).await?;
        client.operate(&job, number, false).await?;
        clients.push(client);
    }
    tokio::time::sleep(IDLE).await;
    let after = server.resident_bytes()? as f64;
    let (mib, each) = (f64::from(1 << 20), clients.len() as f64);
    results.add(NAME, "sheaf-disk: idle connections", each, "");
    results.add(NAME, "sheaf-disk: memory with them", after / mib, "MiB");
    results.add(NAME, "sheaf-disk: memory of each", (after - before) / each / 1024.0, "KiB");
    Ok(())
}

fn add_median(results: &mut Results, name: &str, values: Vec<f64>, unit: &'static str) {
    if let Some(value) = median(values) {
        results.add(NAME, name, value, unit);
    }
}
