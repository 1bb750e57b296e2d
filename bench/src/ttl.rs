//! `load ttl`: what it costs to remove documents whose time is over.
//!
//! All documents are given what is left until the same second as their time to live. From then on
//! nobody asks the server for anything but its figures, until nothing is stored any more.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use bytes::Bytes;
use http_body_util::Full;
use hyper::Method;

use crate::{
    api::{Api, DATABASE, Layout, document},
    arguments::Arguments,
    cell::{Connection, metrics},
    process::{Kind, Server},
    scratch::Scratch,
};

const LAYOUT: Layout = Layout::ManyKeys;
/// Documents to load unless told otherwise.
const DOCUMENTS: usize = 50_000;
/// Documents that even a slow machine creates in a second.
const RATE_MIN: usize = 1500;
/// How often the server is asked how far it is.
const STEP: Duration = Duration::from_millis(100);

/// Measures and prints.
pub(crate) async fn run(arguments: &Arguments) -> Result<()> {
    let documents = arguments.documents.unwrap_or(DOCUMENTS);
    let scratch = Scratch::new()?;
    let server = Server::start(Kind::SheafDisk, &arguments.sheaf, &scratch.0)?;
    let begin = Instant::now();
    let life = Duration::from_secs(10 + (documents / RATE_MIN) as u64);
    let before = server.cpu()?;
    fill(&server, documents, arguments.connections, begin + life).await?;
    let create = server.cpu()?.saturating_sub(before).as_secs_f64() * 1e6 / documents as f64;
    let loaded = begin.elapsed();
    ensure!(loaded + Duration::from_secs(2) < life, "too slow: ask for fewer `--documents`");
    println!("create with a time to live    {create:8.1} us CPU a document");

    tokio::time::sleep(life.saturating_sub(begin.elapsed())).await;
    let (cpu, due) = (server.cpu()?, Instant::now());
    while stored(&server).await? > 0.0 {
        tokio::time::sleep(STEP).await;
    }
    let (cpu, took) = (server.cpu()?.saturating_sub(cpu), due.elapsed());
    let each = cpu.as_secs_f64() * 1e6 / documents as f64;
    println!("sweep                         {each:8.1} us CPU a document");
    println!(
        "sweep                         {:8.0} documents/s, {:.1} s for all",
        documents as f64 / took.as_secs_f64(),
        took.as_secs_f64()
    );
    server.stop()?;
    Ok(())
}

/// Documents in all partitions, whether or not anyone can see them.
async fn stored(server: &Server) -> Result<f64> {
    metrics(server).await?.sum("sheaf_partition_documents{")
}

/// Creates documents 0 to `documents` over several connections; all expire at the same time.
async fn fill(server: &Server, documents: usize, connections: usize, end: Instant) -> Result<()> {
    let api = Api::new(&server.host);
    let mut first = Connection::open(&server.host).await?;
    first.expect(api.create_database()?, 201).await?;
    first.expect(api.create_collection(LAYOUT)?, 201).await?;
    let link = format!("dbs/{DATABASE}/colls/{}", LAYOUT.name());
    let body = format!(
        r#"{{"id":"{}","partitionKey":{{"paths":["/pk"],"kind":"Hash","version":2}},"defaultTtl":-1}}"#,
        LAYOUT.name()
    );
    let path = format!("/{link}");
    let replace = api.prepare(Method::PUT, "colls", &link, &path, crate::api::VERSION, body)?;
    first.expect(replace, 200).await?;
    let template = Arc::new(api.create_template(LAYOUT)?);
    let next = Arc::new(AtomicUsize::new(0));
    let mut workers = Vec::with_capacity(connections);
    for _ in 0..connections {
        let mut connection = Connection::open(&server.host).await?;
        let (next, template) = (Arc::clone(&next), Arc::clone(&template));
        workers.push(tokio::spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= documents {
                    return anyhow::Ok(());
                }
                let left = end.saturating_duration_since(Instant::now()).as_secs().max(1);
                let mut request = (*template).clone();
                Api::set_document(&mut request, LAYOUT, number)?;
                let text = document(LAYOUT, number).replacen('{', &format!("{{\"ttl\":{left},"), 1);
                *request.body_mut() = Full::new(Bytes::from(text));
                connection.expect(request, 201).await?;
            }
        }));
    }
    for worker in workers {
        worker.await??;
    }
    Ok(())
}
