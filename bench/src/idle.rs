//! `load idle`: what a server costs that nobody asks for anything, with few collections and with as
//! many as it takes.

use std::{path::Path, time::Duration};

use anyhow::{Result, ensure};
use hyper::Method;

use crate::{
    api::{Api, DATABASE, VERSION},
    arguments::Arguments,
    cell::Connection,
    process::{Kind, Server},
    scratch::Scratch,
};

/// Collections of the server to compare with.
const FEW: usize = 10;
/// As many as a server takes, less one for their database.
const MANY: usize = 4_999;
/// After so many a signature is made anew.
const ROUND: usize = 500;
/// What the work of a create has left behind is over by then.
const SETTLE: Duration = Duration::from_secs(3);
/// What must hold with many collections, as a part of one core.
const SHARE_MAX: f64 = 0.01;

/// Measures, prints, and fails if an idle server takes too much.
pub(crate) async fn run(arguments: &Arguments) -> Result<()> {
    let many = arguments.cycles.unwrap_or(MANY);
    println!("                         {FEW:6} collections  {many:6} collections    ratio");
    let mut worst: f64 = 0.0;
    for kind in
        [Kind::SheafMemory, Kind::SheafDisk].into_iter().filter(|it| arguments.wants(it.name()))
    {
        for (what, definition) in [("", ""), (", ttl", r#","defaultTtl":-1"#)] {
            let few = share(kind, FEW, definition, &arguments.sheaf, arguments.duration).await?;
            let share = share(kind, many, definition, &arguments.sheaf, arguments.duration).await?;
            println!(
                "{:22} {:8.3} % of a core  {:8.3} % of a core {:8.1}",
                format!("{}{what}", kind.name()),
                few * 100.0,
                share * 100.0,
                share / few
            );
            worst = worst.max(share);
        }
    }
    ensure!(worst <= SHARE_MAX, "an idle server takes {:.2} % of a core", worst * 100.0);
    Ok(())
}

/// The CPU time that an idle server with so many collections takes, as a part of one core.
pub(crate) async fn share(
    kind: Kind,
    count: usize,
    definition: &str,
    sheaf: &Path,
    duration: Duration,
) -> Result<f64> {
    let scratch = Scratch::new()?;
    let server = Server::start(kind, sheaf, &scratch.0)?;
    let mut connection = Connection::open(&server.host).await?;
    connection.expect(Api::new(&server.host).create_database()?, 201).await?;
    let (link, path) = (format!("dbs/{DATABASE}"), format!("/dbs/{DATABASE}/colls"));
    for first in (0..count).step_by(ROUND) {
        let api = Api::new(&server.host);
        for number in first..count.min(first + ROUND) {
            let body = format!(
                r#"{{"id":"c{number}","partitionKey":{{"paths":["/pk"],"kind":"Hash","version":2}}{definition}}}"#
            );
            let create = api.prepare(Method::POST, "colls", &link, &path, VERSION, body)?;
            connection.expect(create, 201).await?;
        }
    }
    tokio::time::sleep(SETTLE).await;
    let before = server.cpu_of_threads()?;
    tokio::time::sleep(duration).await;
    let cpu = server.cpu_of_threads()?.saturating_sub(before);
    Ok(cpu.as_secs_f64() / duration.as_secs_f64())
}
