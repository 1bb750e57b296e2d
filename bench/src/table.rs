//! `load run`: every server, layout and operation, and how they compare.

use std::{collections::HashMap, path::PathBuf, time::Duration};

use anyhow::Result;

use crate::{
    api::{Api, Layout},
    arguments::Arguments,
    cell::{self, Connection, Operation, Outcome},
    process::{Kind, Server},
};

/// CPU per operation of what the others are compared with.
#[derive(Default)]
struct Yardsticks {
    cpu: HashMap<(&'static str, &'static str), Duration>,
}

impl Yardsticks {
    fn note(&mut self, kind: Kind, operation: Operation, outcome: &Outcome) {
        self.cpu.insert((kind.name(), operation.name()), outcome.cpu);
    }

    /// `12.3x` of a yardstick's CPU, or a dash where it was not measured.
    fn ratio(&self, kind: Kind, operation: Operation, outcome: &Outcome) -> String {
        let Some(yardstick) = self.cpu.get(&(kind.name(), operation.name())) else {
            return "-".to_owned();
        };
        format!("{:.2}x", outcome.cpu.as_secs_f64() / yardstick.as_secs_f64())
    }
}

/// Measures and prints, a line at a time.
pub(crate) async fn run(arguments: &Arguments) -> Result<()> {
    println!(
        "1 KB documents, {} connections, {:?} a cell, {} cores; CPU is the server's, per operation",
        arguments.connections,
        arguments.duration,
        std::thread::available_parallelism()?
    );
    println!(
        "{:13} {:10} {:7} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>6}",
        "server",
        "layout",
        "what",
        "ops/s",
        "p50 ms",
        "p99 ms",
        "CPU µs",
        "/floor",
        "/vercel",
        "group"
    );
    let mut yardsticks = Yardsticks::default();
    for kind in Kind::ALL {
        if !arguments.wants(kind.name()) {
            continue;
        }
        if let Err(error) = measure(kind, arguments, &mut yardsticks).await {
            println!("{:13} not measured: {error:#}", kind.name());
        }
    }
    Ok(())
}

async fn measure(kind: Kind, arguments: &Arguments, yardsticks: &mut Yardsticks) -> Result<()> {
    let data_dir = Scratch::new()?;
    let server = Server::start(kind, &arguments.sheaf, &data_dir.0)?;
    let api = Api::new(&server.host);
    let mut setup = Connection::open(&server.host).await?;
    setup.expect(api.create_database()?, 201).await?;
    // The layouts exist to find what slows Sheaf down; the others have nothing to tell apart.
    let layouts = if kind.is_sheaf() { &Layout::ALL[..] } else { &Layout::ALL[..1] };
    for &layout in layouts {
        setup.expect(api.create_collection(layout)?, 201).await?;
        let mut documents = 0;
        for operation in Operation::ALL {
            let (connections, duration) = (arguments.connections, arguments.duration);
            let outcome =
                cell::run(&server, layout, operation, documents, connections, duration).await?;
            documents = outcome.documents;
            if !kind.is_sheaf() {
                yardsticks.note(kind, operation, &outcome);
            }
            print_line(kind, layout, operation, &outcome, yardsticks);
        }
    }
    Ok(())
}

fn print_line(
    kind: Kind,
    layout: Layout,
    operation: Operation,
    outcome: &Outcome,
    yardsticks: &Yardsticks,
) {
    println!(
        "{:13} {:10} {:7} {:9.0} {:9.2} {:9.2} {:9.1} {:>9} {:>9} {:>6}",
        kind.name(),
        layout.name(),
        operation.name(),
        outcome.operations_per_second,
        outcome.p50.as_secs_f64() * 1e3,
        outcome.p99.as_secs_f64() * 1e3,
        outcome.cpu.as_secs_f64() * 1e6,
        yardsticks.ratio(Kind::Floor, operation, outcome),
        yardsticks.ratio(Kind::Vercel, operation, outcome),
        outcome.group.map_or_else(|| "-".to_owned(), |group| format!("{group:.1}")),
    );
}

/// A directory below the system's temporary one, removed at the end.
pub(crate) struct Scratch(pub(crate) PathBuf);

impl Scratch {
    pub(crate) fn new() -> Result<Self> {
        Self::named("data")
    }

    /// Several may be there at a time, under different names.
    pub(crate) fn named(name: &str) -> Result<Self> {
        let path = std::env::temp_dir().join(format!("sheaf-bench-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Nothing can be done about a leftover but to leave it.
        std::fs::remove_dir_all(&self.0).ok();
    }
}
