//! `load scripts`: stored procedures, triggers and batches beside plain creates, in one run.

use anyhow::Result;

use super::{
    load::{self, Measured},
    requests::{Call, Maker, scripts},
};
use crate::{
    api::{Api, Layout},
    arguments::Arguments,
    cell::Connection,
    process::{Kind, Server},
    scratch::Scratch,
};

const CALLS: [Call; 6] = [
    Call::Create,
    Call::Batch,
    Call::Empty,
    Call::ProcedureCreate,
    Call::ProcedureSeveral,
    Call::Trigger,
];
/// Numbers of documents that one line of the table may use.
const NUMBERS: usize = 10_000_000;

/// Measures and prints, a line at a time.
pub(crate) async fn run(arguments: &Arguments) -> Result<()> {
    println!(
        "1 KB documents of 1000 keys, {} connections, {:?} a line, {} cores; CPU µs per request",
        arguments.connections,
        arguments.duration,
        std::thread::available_parallelism()?
    );
    println!(
        "{:13} {:21} {:>9} {:>11} {:>8} {:>8} {:>8} {:>8} {:>8} {:>9}",
        "server",
        "what",
        "requests/s",
        "documents/s",
        "p50 ms",
        "p99 ms",
        "server",
        "workers",
        "both",
        "/document"
    );
    for kind in [Kind::SheafMemory, Kind::SheafDisk] {
        if arguments.wants(kind.name()) {
            measure(kind, arguments).await?;
        }
    }
    Ok(())
}

async fn measure(kind: Kind, arguments: &Arguments) -> Result<()> {
    let data = Scratch::new()?;
    let server = Server::start(kind, &arguments.sheaf, &data.0)?;
    let api = Api::new(&server.host);
    let mut setup = Connection::open(&server.host).await?;
    setup.expect(api.create_database()?, 201).await?;
    setup.expect(api.create_collection(Layout::ManyKeys)?, 201).await?;
    for script in scripts(&api)? {
        setup.expect(script, 201).await?;
    }
    for (at, call) in CALLS.into_iter().enumerate() {
        let maker = Maker::new(&api, call, at * NUMBERS)?;
        let measured = load::run(&server, maker, arguments.connections, arguments.duration).await?;
        print_line(kind, call, &measured)?;
    }
    Ok(())
}

fn print_line(kind: Kind, call: Call, measured: &Measured) -> Result<()> {
    let microseconds = |time: std::time::Duration| time.as_secs_f64() * 1e6;
    let (own, workers) = measured.cpu();
    let (own, workers) = (microseconds(own), microseconds(workers));
    let documents = call.documents() as f64;
    let each = if documents > 0.0 {
        format!("{:.1}", (own + workers) / documents)
    } else {
        "-".to_owned()
    };
    println!(
        "{:13} {:21} {:10.0} {:11.0} {:8.2} {:8.2} {own:8.1} {workers:8.1} {:8.1} {each:>9}",
        kind.name(),
        call.name(),
        measured.per_second(),
        measured.per_second() * documents,
        measured.percentile(50)?.as_secs_f64() * 1e3,
        measured.percentile(99)?.as_secs_f64() * 1e3,
        own + workers,
    );
    Ok(())
}
