//! The driver's side of `load raw`: the store alone with the batches of a Sheaf that was stopped.

use std::process::Stdio;

use anyhow::{Context as _, Result, anyhow, bail};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
};

use super::{
    client::Transport,
    competitor::{Place, Who},
    figures::Figures,
    load::{self, Target},
    options::Options,
    rest::Rest,
    results::{Cell, Results},
    setup,
    workload::Workload,
};
use crate::{
    process::{Kind, Server},
    query::data::Data,
    scratch::Scratch,
    startup::size_of,
};

/// Connections that create the documents whose batches are recorded.
const LOADERS: usize = 64;

/// The running child; killed when dropped.
pub(crate) struct Raw {
    // Held for its drop, as is the directory.
    _child: Child,
    _scratch: Scratch,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    /// Batches that were not written yet when it was ready.
    batches: usize,
}

impl Raw {
    /// Loads a Sheaf with single creates, which is a measurement, too, stops it, and starts the child
    /// with what it has left behind.
    pub(crate) async fn start(
        options: &Options,
        place: &Place<'_>,
        data: Data,
        results: &mut Results,
    ) -> Result<Self> {
        let source = Scratch::named("raw-source")?;
        let server = Server::start(Kind::SheafDisk, &options.sheaf, &source.0)?;
        setup::rest_collections(&server.host, false, setup::PARTITIONS).await?;
        let job = || Ok(Rest::new(&server.host, place.pool, data)?.load_job());
        let (address, process) = (server.host.clone(), server.id());
        let target = Target { address, transport: Transport::Plain, process };
        let count = data.documents;
        let (elapsed, cpu) = load::run_all(&target, job, count, LOADERS, place.rest_max).await?;
        let each = cpu.as_secs_f64() * 1e6 / count as f64;
        results.add("load", "single creates: CPU of a document", each, "µs");
        let rate = count as f64 / elapsed.as_secs_f64();
        results.add("load", "single creates: documents in a second", rate, "");
        server.stop()?;
        let bytes = size_of(&source.0)? as f64;
        results.add("load", "single creates: disk after a clean stop", bytes / 1e6, "MB");
        let scratch = Scratch::named("raw")?;
        let mut child = Command::new(std::env::current_exe()?)
            .arg("raw")
            .arg(source.0.join("store"))
            .arg(scratch.0.join("store"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let input = child.stdin.take().context("a piped input")?;
        let mut output = BufReader::new(child.stdout.take().context("a piped output")?).lines();
        let line = output.next_line().await?.context("`load raw` ended before it was ready")?;
        let batches = line.split(' ').nth(1).and_then(|word| word.parse().ok());
        let batches = batches.with_context(|| format!("`load raw` said `{line}`"))?;
        Ok(Self { _child: child, _scratch: scratch, input, output, batches })
    }

    /// Which of its parts a cell can be compared with.
    pub(crate) fn parts(cell: &Cell) -> Vec<Who> {
        match cell.workload {
            _ if cell.transport != Transport::Plain => vec![],
            Workload::Create => vec![Who::RawStore, Who::RawAppend],
            Workload::PointRead | Workload::Equality => vec![Who::RawStore],
            _ => vec![],
        }
    }

    /// One round of a cell.
    pub(crate) async fn turn(
        &mut self,
        who: Who,
        cell: &Cell,
        options: &Options,
    ) -> Result<Option<Figures>> {
        // More than a minute's worth is not needed, nor less than a tenth of a second's.
        let tenths = (1_usize..600).find(|tenths| *tenths as f64 >= options.seconds * 10.0);
        let tenths = tenths.unwrap_or(600);
        let many = |per_second: usize| per_second * tenths / 10;
        // What is left is shared by the rounds with 16 and with 64 writers; one writer takes few.
        let share = self.batches * 9 / 20 / options.rounds;
        let few = self.batches / 10 / options.rounds;
        let (what, count) = match (who, cell.workload) {
            (Who::RawAppend, _) if cell.connections == 1 => ("append", many(300)),
            (Who::RawAppend, _) => ("append", many(8_000)),
            (_, Workload::PointRead) => ("get", many(100_000)),
            (_, Workload::Equality) => ("scan", many(10_000)),
            _ if cell.connections == 1 => ("create", few.min(many(300))),
            _ => ("create", share),
        };
        let line = format!("{what} {} {count}\n", cell.connections);
        self.input.write_all(line.as_bytes()).await?;
        self.input.flush().await?;
        let answer = self.output.next_line().await?.ok_or_else(|| anyhow!("`load raw` ended"))?;
        let figures: Vec<f64> = answer.split(' ').filter_map(|word| word.parse().ok()).collect();
        let [per_second, p50_ms, p99_ms, cpu_us, operations] = figures[..] else { bail!(answer) };
        Ok(Some(Figures { per_second, p50_ms, p99_ms, cpu_us, operations }))
    }
}
