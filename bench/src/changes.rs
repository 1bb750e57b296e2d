//! `load changes`: how fast the change feed is read, and what that costs the server.

use std::time::Instant;

use anyhow::{Result, bail};
use http_body_util::Full;
use hyper::{Method, header::HeaderValue};

use crate::{
    api::{Api, DATABASE, VERSION},
    arguments::Arguments,
    cell::Connection,
    process::{Kind, Server},
    scratch::Scratch,
    startup::{LAYOUT, fill, megabytes},
};

/// Documents to load unless told otherwise.
const DOCUMENTS: usize = 100_000;

/// What is read, with which headers.
const CASES: [(&str, &[(&str, &str)]); 5] = [
    ("latest, pages of 100", &[("A-IM", "Incremental Feed"), ("x-ms-max-item-count", "100")]),
    ("latest, pages of 1000", &[("A-IM", "Incremental Feed"), ("x-ms-max-item-count", "1000")]),
    (
        "one range, pages of 100",
        &[
            ("A-IM", "Incremental Feed"),
            ("x-ms-max-item-count", "100"),
            ("x-ms-documentdb-partitionkeyrangeid", "0"),
        ],
    ),
    (
        "one key of a thousand",
        &[("A-IM", "Incremental Feed"), ("x-ms-documentdb-partitionkey", r#"["key7"]"#)],
    ),
    (
        "all versions, pages of 100",
        &[
            ("A-IM", "Full-Fidelity Feed"),
            ("x-ms-max-item-count", "100"),
            ("If-None-Match", r#""0""#),
        ],
    ),
];

/// Measures and prints.
pub(crate) async fn run(arguments: &Arguments) -> Result<()> {
    let scratch = Scratch::new()?;
    let server = Server::start(Kind::SheafDisk, &arguments.sheaf, &scratch.0)?;
    let documents = arguments.documents.unwrap_or(DOCUMENTS);
    create(&server).await?;
    let started = Instant::now();
    fill(&server, 1..documents + 1, arguments.connections).await?;
    let rate = documents as f64 / started.elapsed().as_secs_f64();
    println!("load of {documents} documents, all versions kept: {rate:.0} documents/s");
    println!("{:28} {:>12} {:>14} {:>14}", "", "changes/s", "CPU us/change", "changes/core-s");
    for (name, headers) in CASES {
        if arguments.wants(name) {
            let cost = measure(&server, headers, arguments).await?;
            let per_core = 1e6 / cost.cpu_us;
            println!("{name:28} {:12.0} {:14.2} {per_core:14.0}", cost.rate, cost.cpu_us);
        }
    }
    println!("memory afterwards: {:.1} MB", megabytes(server.resident_bytes()?));
    Ok(())
}

/// The collection of the layout, with all versions of its documents kept.
async fn create(server: &Server) -> Result<()> {
    let api = Api::new(&server.host);
    let mut connection = Connection::open(&server.host).await?;
    connection.expect(api.create_database()?, 201).await?;
    let mut request = api.create_collection(LAYOUT)?;
    let body = format!(
        r#"{{"id":"{}","partitionKey":{{"paths":["/pk"],"kind":"Hash","version":2}},"changeFeedPolicy":{{"retentionDuration":1440}}}}"#,
        LAYOUT.name()
    );
    *request.body_mut() = Full::new(body.into());
    connection.expect(request, 201).await
}

struct Cost {
    rate: f64,
    cpu_us: f64,
}

/// Reads the feed from its beginning to its end, again and again, over one connection.
async fn measure(
    server: &Server,
    headers: &[(&'static str, &'static str)],
    arguments: &Arguments,
) -> Result<Cost> {
    let api = Api::new(&server.host);
    let mut connection = Connection::open(&server.host).await?;
    let (started, cpu) = (Instant::now(), server.cpu()?);
    let (mut changes, mut position) = (0, None);
    while started.elapsed() < arguments.duration {
        let link = format!("dbs/{DATABASE}/colls/{}", LAYOUT.name());
        let path = format!("/{link}/docs");
        let mut request = api.prepare(Method::GET, "docs", &link, &path, VERSION, String::new())?;
        for (name, value) in headers {
            request.headers_mut().insert(*name, HeaderValue::from_static(value));
        }
        if let Some(position) = position.take() {
            request.headers_mut().insert("If-None-Match", position);
        }
        let answer = connection.exchange(request).await?;
        match answer.status().as_u16() {
            200 => {
                let count = answer.headers().get("x-ms-item-count");
                let count = count.and_then(|count| count.to_str().ok()?.parse::<usize>().ok());
                changes += count.unwrap_or(0);
                position = answer.headers().get("etag").cloned();
            }
            304 => {}
            status => bail!("{status}: {}", String::from_utf8_lossy(answer.body())),
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    let cpu = server.cpu()?.saturating_sub(cpu).as_secs_f64();
    Ok(Cost { rate: changes as f64 / seconds, cpu_us: cpu * 1e6 / (changes.max(1) as f64) })
}
