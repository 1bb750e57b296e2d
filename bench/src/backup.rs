//! `load backup`: what a backup costs, beside a plain copy of the directory.

use std::{
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use tokio::task::JoinHandle;

use crate::{
    api::Layout,
    arguments::Arguments,
    cell::{self, Operation, Outcome},
    process::{Kind, Server},
    scratch::Scratch,
    startup::{fill, megabytes, size_of},
};

/// Documents to load unless told otherwise.
const DOCUMENTS: usize = 200_000;
/// Copies and backups of which the median is printed, in turns.
const ROUNDS: usize = 5;
/// One document in so many is added before an incremental backup.
const NEW_SHARE: usize = 100;

/// Measures and prints.
pub(crate) async fn run(arguments: &Arguments) -> Result<()> {
    let sheaf = arguments.sheaf.as_path();
    let documents = arguments.documents.unwrap_or(DOCUMENTS);
    let (data, copies) = (Scratch::named("data")?, Scratch::named("copies")?);
    let server = Server::start(Kind::SheafDisk, sheaf, &data.0)?;
    fill(&server, 0..documents, arguments.connections).await?;
    // What a stop leaves is in tables: nothing is written behind our back meanwhile.
    server.stop()?;
    let server = Server::start(Kind::SheafDisk, sheaf, &data.0)?;
    let bytes = size_of(&data.0.join("store"))?;
    println!("{documents} documents, {:.1} MB on disk\n", megabytes(bytes));
    println!("{:34}{:>9}  {:>8}  {:>7}", "", "ms", "MB/s", "ratio");

    let full = compare(&server, sheaf, &data.0, &copies.0)?;
    let copy = full.copy;
    line("cp -r", copy, bytes, copy);
    line("cp -r and sync", full.synced_copy, bytes, copy);
    line("backup, full", full.backup, bytes, copy);
    line("  beside cp -r and sync", full.backup, bytes, full.synced_copy);

    let series = copies.0.join("series");
    backup(&server, sheaf, &series)?;
    line("backup, nothing new", backup(&server, sheaf, &series)?.0, bytes, copy);
    let more = documents..documents + (documents / NEW_SHARE).max(1);
    fill(&server, more, arguments.connections).await?;
    let (took, said) = backup(&server, sheaf, &series)?;
    line("backup, 1 % more documents", took, bytes, copy);
    println!("  {}", said.trim());

    let alone = writes(&server, arguments, documents * 2).await?;
    let task = backups_meanwhile(sheaf, &server.host, &copies.0, arguments.duration);
    let beside = writes(&server, arguments, documents * 4).await?;
    let pauses = task.await??;
    println!("\n{:34}{:>9}  {:>8}  {:>8}", "creates", "per s", "p50 ms", "p99 ms");
    for (name, outcome) in [("alone", &alone), ("while backups are made", &beside)] {
        let [p50, p99] = [outcome.p50, outcome.p99].map(|time| time.as_secs_f64() * 1e3);
        println!("{name:34}{:9.0}  {p50:8.2}  {p99:8.2}", outcome.operations_per_second);
    }
    let longest = pauses.iter().copied().fold(0.0, f64::max);
    println!("{} backups meanwhile; commits waited for {longest:.1} ms at most", pauses.len());
    server.stop()?;

    let begin = Instant::now();
    let new = copies.0.join("restored");
    sheaf_backup(sheaf, &["restore".as_ref(), &series, "--data-dir".as_ref(), &new])?;
    println!();
    line("restore", begin.elapsed(), size_of(&new.join("store"))?, copy);
    Ok(())
}

/// Medians of copies and full backups.
struct Full {
    copy: Duration,
    synced_copy: Duration,
    backup: Duration,
}

fn compare(server: &Server, sheaf: &Path, data: &Path, copies: &Path) -> Result<Full> {
    let [mut copy, mut synced_copy, mut backups] = [const { Vec::new() }; 3];
    for _ in 0..ROUNDS {
        for (is_synced, times) in [(false, &mut copy), (true, &mut synced_copy)] {
            let target = copies.join("copy");
            let begin = Instant::now();
            let mut copying = Command::new("cp");
            let status = copying.arg("-r").arg(data.join("store")).arg(&target).status()?;
            ensure!(status.success(), "cp ends with {status}");
            if is_synced {
                let synced = Command::new("sync").arg("-f").arg(&target).status()?;
                ensure!(synced.success(), "sync ends with {synced}");
            }
            times.push(begin.elapsed());
            std::fs::remove_dir_all(&target)?;
        }
        let target = copies.join("full");
        backups.push(backup(server, sheaf, &target)?.0);
        std::fs::remove_dir_all(&target)?;
    }
    let median = |mut times: Vec<Duration>| {
        times.sort_unstable();
        times[ROUNDS / 2]
    };
    Ok(Full { copy: median(copy), synced_copy: median(synced_copy), backup: median(backups) })
}

/// Makes a backup; returns how long the command took and what it said.
fn backup(server: &Server, sheaf: &Path, series: &Path) -> Result<(Duration, String)> {
    create(sheaf, &server.host, series)
}

fn create(sheaf: &Path, host: &str, series: &Path) -> Result<(Duration, String)> {
    let endpoint = format!("http://{host}");
    let begin = Instant::now();
    let words = ["create".as_ref(), series, "--endpoint".as_ref(), Path::new(&endpoint)];
    let said = sheaf_backup(sheaf, &words)?;
    Ok((begin.elapsed(), said))
}

fn sheaf_backup(sheaf: &Path, words: &[&Path]) -> Result<String> {
    let done = Command::new(sheaf).arg("backup").args(words).output()?;
    ensure!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Ok(String::from_utf8(done.stdout)?)
}

async fn writes(server: &Server, arguments: &Arguments, from: usize) -> Result<Outcome> {
    let (connections, duration) = (arguments.connections, arguments.duration);
    cell::run(server, Layout::ManyKeys, Operation::Create, from, connections, duration).await
}

/// Full backups, one after the other, for about as long as a measurement takes; returns how many
/// milliseconds commits waited for each.
fn backups_meanwhile(
    sheaf: &Path,
    host: &str,
    copies: &Path,
    duration: Duration,
) -> JoinHandle<Result<Vec<f64>>> {
    let (sheaf, host, target) = (sheaf.to_owned(), host.to_owned(), copies.join("meanwhile"));
    tokio::task::spawn_blocking(move || {
        let end = Instant::now() + duration;
        let mut pauses = Vec::new();
        while Instant::now() < end {
            let (_, said) = create(&sheaf, &host, &target)?;
            std::fs::remove_dir_all(&target)?;
            let pause = said.split("waited for ").nth(1).and_then(|rest| rest.split(' ').next());
            pauses.push(pause.context("no pause was said")?.parse()?);
        }
        Ok(pauses)
    })
}

fn line(name: &str, took: Duration, bytes: u64, beside: Duration) {
    let rate = megabytes(bytes) / took.as_secs_f64();
    let ratio = took.as_secs_f64() / beside.as_secs_f64();
    println!("{name:34}{:9.0}  {rate:8.0}  {ratio:7.2}", took.as_secs_f64() * 1e3);
}
