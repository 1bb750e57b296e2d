//! `load startup`: how long until a server is ready, and what it holds in memory.

use std::{
    ops::Range,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::Result;

use crate::{
    api::{Api, Layout},
    arguments::Arguments,
    cell::Connection,
    process::{Kind, Server},
    scratch::Scratch,
};

pub(crate) const LAYOUT: Layout = Layout::ManyKeys;
/// Documents to load unless told otherwise.
const DOCUMENTS: usize = 100_000;
/// Starts of which the median is printed; a single one says little on a busy machine.
const STARTS: usize = 5;
/// Background work has settled after this long, and memory is what it stays.
const SETTLE: Duration = Duration::from_secs(2);

/// Measures and prints.
pub(crate) async fn run(arguments: &Arguments) -> Result<()> {
    let sheaf = &arguments.sheaf;
    let empty = median(STARTS, || {
        let scratch = Scratch::new()?;
        Ok(Server::start(Kind::SheafDisk, sheaf, &scratch.0)?.started_in)
    })?;
    println!("empty directory to ready      {:8.1} ms", empty.as_secs_f64() * 1e3);

    let scratch = Scratch::new()?;
    let server = Server::start(Kind::SheafDisk, sheaf, &scratch.0)?;
    tokio::time::sleep(SETTLE).await;
    println!("memory, idle after that       {:8.1} MB", megabytes(server.resident_bytes()?));

    let documents = arguments.documents.unwrap_or(DOCUMENTS);
    let begin = Instant::now();
    fill(&server, 0..documents, arguments.connections).await?;
    let rate = documents as f64 / begin.elapsed().as_secs_f64();
    println!("load of {documents:7} documents     {rate:8.0} documents/s");
    println!("memory, right after           {:8.1} MB", megabytes(server.resident_bytes()?));
    tokio::time::sleep(SETTLE).await;
    println!("memory, idle after that       {:8.1} MB", megabytes(server.resident_bytes()?));
    println!("clean stop                    {:8.1} ms", server.stop()?.as_secs_f64() * 1e3);
    println!("size on disk                  {:8.1} MB", megabytes(size_of(&scratch.0)?));

    let full = median(STARTS, || {
        let server = Server::start(Kind::SheafDisk, sheaf, &scratch.0)?;
        let started_in = server.started_in;
        server.stop()?;
        Ok(started_in)
    })?;
    println!("full directory to ready       {:8.1} ms", full.as_secs_f64() * 1e3);
    let server = Server::start(Kind::SheafDisk, sheaf, &scratch.0)?;
    tokio::time::sleep(SETTLE).await;
    println!("memory, idle after that       {:8.1} MB", megabytes(server.resident_bytes()?));
    Ok(())
}

fn median(times: usize, mut measure: impl FnMut() -> Result<Duration>) -> Result<Duration> {
    let mut all = (0..times).map(|_| measure()).collect::<Result<Vec<_>>>()?;
    all.sort_unstable();
    Ok(all[times / 2])
}

/// Creates these documents over several connections; with the first of all, their collection.
pub(crate) async fn fill(
    server: &Server,
    documents: Range<usize>,
    connections: usize,
) -> Result<()> {
    let api = Api::new(&server.host);
    if documents.start == 0 {
        let mut first = Connection::open(&server.host).await?;
        first.expect(api.create_database()?, 201).await?;
        first.expect(api.create_collection(LAYOUT)?, 201).await?;
    }
    let template = Arc::new(api.create_template(LAYOUT)?);
    let next = Arc::new(AtomicUsize::new(documents.start));
    let mut workers = Vec::with_capacity(connections);
    for _ in 0..connections {
        let mut connection = Connection::open(&server.host).await?;
        let (next, template) = (Arc::clone(&next), Arc::clone(&template));
        workers.push(tokio::spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= documents.end {
                    return anyhow::Ok(());
                }
                let mut request = (*template).clone();
                Api::set_document(&mut request, LAYOUT, number)?;
                connection.expect(request, 201).await?;
            }
        }));
    }
    for worker in workers {
        worker.await??;
    }
    Ok(())
}

/// Bytes that the files below a directory take on disk; holes take none.
pub(crate) fn size_of(directory: &Path) -> Result<u64> {
    use std::os::unix::fs::MetadataExt as _;

    let mut total = 0;
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        total += if metadata.is_dir() { size_of(&entry.path())? } else { metadata.blocks() * 512 };
    }
    Ok(total)
}

pub(crate) fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
