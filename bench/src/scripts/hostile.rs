//! `load hostile`: how much endless scripts slow other requests down, next to as many processes that
//! are just busy.
//!
//! The three states follow each other in several rounds, and the medians of the rounds are compared:
//! what else the machine does falls on all of them alike.

use std::{
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};
use tokio::task::JoinHandle;

use super::{
    load,
    requests::{Call, Maker, endless, scripts},
};
use crate::{
    api::{Api, Layout},
    arguments::Arguments,
    cell::Connection,
    process::{Kind, Server},
    scratch::Scratch,
};

/// Endless scripts that clients keep asking for.
const SCRIPTS: usize = 8;
const ROUNDS: usize = 5;
/// Requests of others: few enough that they do not wait for each other.
const CONNECTIONS: usize = 4;
/// How much slower others may be beside scripts than beside processes that are just busy.
const AIM: f64 = 1.5;
const NUMBERS: usize = 10_000_000;
/// Long enough for a worker to have begun.
const BEGUN: Duration = Duration::from_millis(500);

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Alone,
    BesideBusy,
    BesideScripts,
}

impl State {
    const ALL: [Self; 3] = [Self::Alone, Self::BesideBusy, Self::BesideScripts];

    fn name(self) -> &'static str {
        match self {
            Self::Alone => "alone",
            Self::BesideBusy => "beside busy processes",
            Self::BesideScripts => "beside endless scripts",
        }
    }
}

/// Measures and prints.
pub(crate) async fn run(arguments: &Arguments) -> Result<()> {
    let data = Scratch::new()?;
    let server = Server::start(Kind::SheafDisk, &arguments.sheaf, &data.0)?;
    let api = Api::new(&server.host);
    let mut setup = Connection::open(&server.host).await?;
    setup.expect(api.create_database()?, 201).await?;
    setup.expect(api.create_collection(Layout::ManyKeys)?, 201).await?;
    for script in scripts(&api)? {
        setup.expect(script, 201).await?;
    }
    let (mut created, busy) = fill_and_count(&server, &api).await?;
    println!(
        "{SCRIPTS} endless scripts asked for, {busy} run at a time, {} cores; {CONNECTIONS} connections of others, \
         {:?} a cell, medians of {ROUNDS} rounds",
        std::thread::available_parallelism()?,
        arguments.duration
    );
    // For each call and state, what each round gave: per second, p50, p99.
    let mut found = vec![Vec::new(); 6];
    for _ in 0..ROUNDS {
        for (at, state) in State::ALL.into_iter().enumerate() {
            let _noise = Noise::start(state, &server, busy)?;
            tokio::time::sleep(BEGUN).await;
            for (row, call) in [Call::Read, Call::Create].into_iter().enumerate() {
                let maker = Maker::new(&api, call, created)?;
                let measured = load::run(&server, maker, CONNECTIONS, arguments.duration).await?;
                if call == Call::Create {
                    created += measured.made;
                }
                let (p50, p99) = (measured.percentile(50)?, measured.percentile(99)?);
                found[row * 3 + at].push((measured.per_second(), p50, p99));
            }
        }
    }
    print(&mut found);
    Ok(())
}

/// Some documents to read, and how many workers are busy while endless scripts are asked for.
async fn fill_and_count(server: &Server, api: &Api) -> Result<(usize, usize)> {
    let maker = Maker::new(api, Call::Create, 0)?;
    let created = load::run(server, maker, CONNECTIONS, Duration::from_secs(1)).await?.made;
    ensure!(created < NUMBERS, "too many documents");
    // The last ones may not have been acknowledged in time, but they were all answered.
    let _noise = Noise::start(State::BesideScripts, server, 0)?;
    tokio::time::sleep(BEGUN).await;
    let before = server.workers_cpu();
    tokio::time::sleep(Duration::from_secs(2)).await;
    let after = server.workers_cpu();
    // On a machine with other work even a busy one has only a part of a processor.
    let is_busy = |(id, cpu): &&(u32, Duration)| {
        before.iter().any(|(other, earlier)| other == id && *cpu > *earlier)
    };
    let busy = after.iter().filter(is_busy).count();
    ensure!(busy > 0, "no worker is busy");
    Ok((created, busy))
}

/// What goes on beside the measurement; it ends when this is dropped.
struct Noise {
    processes: Vec<Child>,
    scripts: Vec<JoinHandle<Result<()>>>,
    is_over: Arc<AtomicBool>,
}

impl Noise {
    fn start(state: State, server: &Server, busy: usize) -> Result<Self> {
        let is_over = Arc::new(AtomicBool::new(false));
        let mut noise = Self { processes: Vec::new(), scripts: Vec::new(), is_over };
        match state {
            State::Alone => {}
            State::BesideBusy => {
                for _ in 0..busy {
                    let mut command = Command::new(std::env::current_exe()?);
                    let command = command.arg("spin").stdin(Stdio::null()).stdout(Stdio::null());
                    noise.processes.push(command.spawn().context("cannot start a busy process")?);
                }
            }
            State::BesideScripts => {
                for number in 0..SCRIPTS {
                    let (host, is_over) = (server.host.clone(), Arc::clone(&noise.is_over));
                    noise.scripts.push(tokio::spawn(keep_asking(host, number, is_over)));
                }
            }
        }
        Ok(noise)
    }
}

impl Drop for Noise {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for process in &mut self.processes {
            process.kill().ok();
            process.wait().ok();
        }
        // Closes the connections: the server drops what nobody waits for.
        for script in &self.scripts {
            script.abort();
        }
    }
}

/// Asks for the script that never ends again and again. It ends by its time limit, or was refused
/// because all workers are busy.
async fn keep_asking(host: String, number: usize, is_over: Arc<AtomicBool>) -> Result<()> {
    let mut connection = Connection::open(&host).await?;
    while !is_over.load(Ordering::Relaxed) {
        let (status, body) = connection.send(endless(&Api::new(&host), number)?).await?;
        if status != 408 && status != 429 {
            bail!("an endless script answers {status}: {}", String::from_utf8_lossy(&body));
        }
    }
    Ok(())
}

/// `load spin`: a process that is just busy.
pub(crate) fn spin() -> ! {
    loop {
        std::hint::black_box(Instant::now());
    }
}

fn print(found: &mut [Vec<(f64, Duration, Duration)>]) {
    println!(
        "{:7} {:23} {:>9} {:>8} {:>8} {:>22}",
        "what", "state", "per second", "p50 ms", "p99 ms", "p99 of all rounds"
    );
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    for (row, name) in ["read", "create"].into_iter().enumerate() {
        let mut p99s = Vec::new();
        for (at, state) in State::ALL.into_iter().enumerate() {
            let rounds = &mut found[row * 3 + at];
            rounds.sort_by_key(|(_, _, p99)| *p99);
            let (rate, p50, p99) = rounds[rounds.len() / 2];
            let all: Vec<_> =
                rounds.iter().map(|(.., p99)| format!("{:.1}", milliseconds(*p99))).collect();
            println!(
                "{name:7} {:23} {rate:10.0} {:8.2} {:8.2} {:>22}",
                state.name(),
                milliseconds(p50),
                milliseconds(p99),
                all.join(" ")
            );
            p99s.push(milliseconds(p99));
        }
        let ratio = p99s[2] / p99s[1];
        let mark = if ratio > AIM { " !" } else { "" };
        println!(
            "{name:7} p99 beside scripts / beside busy processes: {ratio:.2}{mark} (aim: {AIM})"
        );
    }
}
