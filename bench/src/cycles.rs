//! `load cycles`: collections that are created, written to and deleted again and again, as test runs of
//! applications do. Nothing may be left of them.

use std::{
    fs::File,
    io::Write as _,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use hyper::Method;

use crate::{
    api::{Api, DATABASE, Layout, VERSION},
    arguments::Arguments,
    cell::Connection,
    process::{Kind, Server},
    scratch::Scratch,
    startup::{megabytes, size_of},
};

/// Cycles unless told otherwise.
const CYCLES: usize = 5_000;
/// After so many a signature is made anew, and a line is printed.
const ROUND: usize = 500;
/// One partition, as most collections have.
const LAYOUT: Layout = Layout::OneKey;

/// What must hold: bytes more than before, time to start after a kill, and the median of creates.
const GROWTH_BYTES_MAX: u64 = 50_000_000;
const START_MAX: Duration = Duration::from_secs(1);
const CREATE_MAX: Duration = Duration::from_millis(20);

/// Measures, prints, and fails if a bound does not hold.
pub(crate) async fn run(arguments: &Arguments) -> Result<()> {
    let cycles = arguments.cycles.unwrap_or(CYCLES);
    let scratch = Scratch::new()?;
    let server = Server::start(Kind::SheafDisk, &arguments.sheaf, &scratch.0)?;
    let mut connection = Connection::open(&server.host).await?;
    connection.expect(Api::new(&server.host).create_database()?, 201).await?;
    let before = size_of(&scratch.0)?;
    println!("one sync of a file            {:8.2} ms", millis(sync_time(&scratch.0)?));
    println!(
        "cycles   more on disk     memory  threads   create (median, worst)   delete (median)"
    );
    let (mut creates, mut deletes) = (Vec::new(), Vec::new());
    let mut done = 0;
    while done < cycles {
        let round = ROUND.min(cycles - done);
        let api = Api::new(&server.host);
        creates.clear();
        deletes.clear();
        for number in done..done + round {
            let (create, delete) = cycle(&api, &mut connection, number).await?;
            creates.push(create);
            deletes.push(delete);
        }
        done += round;
        creates.sort_unstable();
        deletes.sort_unstable();
        println!(
            "{done:6} {:11.1} MB {:7.1} MB {:8} {:11.1} ms {:7.1} ms {:14.1} ms",
            megabytes(size_of(&scratch.0)?.saturating_sub(before)),
            megabytes(server.resident_bytes()?),
            server.threads()?,
            millis(creates[round / 2]),
            millis(creates[round - 1]),
            millis(deletes[round / 2]),
        );
    }
    let growth = size_of(&scratch.0)?.saturating_sub(before);
    let create = creates.get(creates.len() / 2).copied().unwrap_or_default();
    drop((connection, server));
    let started_in = Server::start(Kind::SheafDisk, &arguments.sheaf, &scratch.0)?.started_in;
    println!("start after a kill            {:8.1} ms", millis(started_in));
    ensure!(growth <= GROWTH_BYTES_MAX, "{growth} bytes more on disk: {GROWTH_BYTES_MAX} allowed");
    ensure!(started_in <= START_MAX, "{started_in:?} to start: {START_MAX:?} allowed");
    ensure!(create <= CREATE_MAX, "{create:?} to create a collection: {CREATE_MAX:?} allowed");
    Ok(())
}

/// Creates a collection, writes a document, deletes the collection. Gives the time of the first and of
/// the last.
async fn cycle(
    api: &Api,
    connection: &mut Connection,
    number: usize,
) -> Result<(Duration, Duration)> {
    let began = Instant::now();
    connection.expect(api.create_collection(LAYOUT)?, 201).await?;
    let create = began.elapsed();
    let mut document = api.create_template(LAYOUT)?;
    Api::set_document(&mut document, LAYOUT, number)?;
    connection.expect(document, 201).await?;
    let link = format!("dbs/{DATABASE}/colls/{}", LAYOUT.name());
    let path = format!("/{link}");
    let delete = api.prepare(Method::DELETE, "colls", &link, &path, VERSION, String::new())?;
    let began = Instant::now();
    connection.expect(delete, 204).await?;
    Ok((create, began.elapsed()))
}

/// How long the disk takes to make a few bytes durable: the median of a hundred.
fn sync_time(directory: &Path) -> Result<Duration> {
    let path = directory.join("sync-time");
    let mut file = File::create(&path)?;
    let mut times = Vec::new();
    for _ in 0..100 {
        file.write_all(&[b'x'; 512])?;
        let began = Instant::now();
        file.sync_data()?;
        times.push(began.elapsed());
    }
    std::fs::remove_file(&path)?;
    times.sort_unstable();
    Ok(times[times.len() / 2])
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
