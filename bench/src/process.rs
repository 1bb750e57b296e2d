//! The servers under test: child processes that print a ready line and are watched through /proc.

use std::{
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};

/// Clock ticks per second in /proc/PID/stat; Linux has reported 100 on every architecture for ages.
const TICKS_PER_SECOND: f64 = 100.0;
const READY: &str = "ready endpoint=http://";
const STOP_TIMEOUT: Duration = Duration::from_mins(1);

/// What to start.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A bare HTTP server that answers 1 KB: no database can be cheaper.
    Floor,
    /// Sheaf, keeping everything in memory.
    SheafMemory,
    /// Sheaf, every write on disk before it is acknowledged.
    SheafDisk,
    /// `@vercel/cosmosdb-server`, an emulator for Node that keeps everything in memory.
    Vercel,
}

impl Kind {
    /// Its word in the table.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Floor => "floor",
            Self::SheafMemory => "sheaf-memory",
            Self::SheafDisk => "sheaf-disk",
            Self::Vercel => "vercel",
        }
    }

    fn command(self, sheaf: &Path, data_dir: &Path) -> Result<Command> {
        let mut command = match self {
            Self::Floor => Command::new(std::env::current_exe()?),
            Self::Vercel => Command::new("node"),
            Self::SheafMemory | Self::SheafDisk => Command::new(sheaf),
        };
        match self {
            // Its answers have been recorded there.
            Self::Floor => command.arg("floor").arg(data_dir),
            Self::Vercel => {
                command.arg(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("vercel/serve.js"))
            }
            // Throughput is what is measured: nothing may answer 429.
            Self::SheafMemory => {
                command.args(["serve", "--port", "0", "--rate-limit", "never", "--in-memory"])
            }
            Self::SheafDisk => command
                .args(["serve", "--port", "0", "--rate-limit", "never", "--data-dir"])
                .arg(data_dir),
        };
        Ok(command)
    }
}

/// CPU time that a process used so far, all threads.
pub(crate) fn cpu_of(process: u32) -> Result<Duration> {
    Ok(Times::of(process)?.own)
}

/// What `/proc` says of a process.
struct Times {
    parent: u32,
    /// CPU time, all threads.
    own: Duration,
    /// CPU time of its children that have ended.
    of_ended_children: Duration,
}

/// CPU time that a process and all below it used so far, those that have ended included.
pub(crate) fn cpu_of_tree(root: u32) -> Result<Duration> {
    loop {
        let before = Times::of(root)?.of_ended_children;
        let processes = std::fs::read_dir("/proc")?.flatten();
        let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let all: Vec<(u32, Times)> = ids.filter_map(|id| Some((id, Times::of(id).ok()?))).collect();
        let own = Times::of(root)?;
        // A child that ended meanwhile would be counted twice, or not at all.
        if own.of_ended_children == before {
            return Ok(own.own + own.of_ended_children + sum_below(root, &all));
        }
    }
}

fn sum_below(root: u32, all: &[(u32, Times)]) -> Duration {
    let (mut sum, mut parents) = (Duration::ZERO, vec![root]);
    while let Some(parent) = parents.pop() {
        for (id, times) in all.iter().filter(|(_, times)| times.parent == parent) {
            sum += times.own + times.of_ended_children;
            parents.push(*id);
        }
    }
    sum
}

impl Times {
    fn of(process: u32) -> Result<Self> {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
        // The second field is the program's name in parentheses and may hold spaces.
        let rest = stat.rsplit(')').next().unwrap_or_default();
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let field = |at: usize| fields.get(at).context("short /proc/PID/stat");
        let ticks = |at: usize| -> Result<f64> { field(at)?.parse().context("not a number") };
        let time = |ticks: f64| Duration::from_secs_f64(ticks / TICKS_PER_SECOND);
        Ok(Self {
            parent: field(1)?.parse()?,
            own: time(ticks(11)? + ticks(12)?),
            of_ended_children: time(ticks(13)? + ticks(14)?),
        })
    }
}

/// A running server; killed when dropped.
pub(crate) struct Server {
    child: Child,
    /// `127.0.0.1:PORT`.
    pub(crate) host: String,
    /// From the spawn to the ready line.
    pub(crate) started_in: Duration,
}

impl Server {
    /// Starts a server and waits until it is ready.
    pub(crate) fn start(kind: Kind, sheaf: &Path, data_dir: &Path) -> Result<Self> {
        Self::start_with(kind, sheaf, data_dir, &[])
    }

    /// Starts a server with more arguments than usual.
    pub(crate) fn start_with(
        kind: Kind,
        sheaf: &Path,
        data_dir: &Path,
        more: &[&str],
    ) -> Result<Self> {
        Self::launch(kind.name(), kind.command(sheaf, data_dir)?.args(more))
    }

    /// Starts a program that prints the ready line.
    pub(crate) fn launch(name: &str, command: &mut Command) -> Result<Self> {
        let begin = Instant::now();
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {name}"))?;
        let output = child.stdout.take().context("the child has a piped stdout")?;
        // It ends with this value, ready or not.
        let mut server = Self { child, host: String::new(), started_in: Duration::ZERO };
        for line in BufReader::new(output).lines() {
            if let Some(rest) = line?.strip_prefix(READY) {
                rest.trim_end_matches('/').clone_into(&mut server.host);
                server.started_in = begin.elapsed();
                return Ok(server);
            }
        }
        server.child.wait()?;
        bail!("{name} ended before it was ready")
    }

    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// CPU time used so far, all threads.
    pub(crate) fn cpu(&self) -> Result<Duration> {
        cpu_of(self.child.id())
    }

    /// CPU time used so far by the threads that live, in nanoseconds instead of clock ticks.
    pub(crate) fn cpu_of_threads(&self) -> Result<Duration> {
        let mut nanos = 0;
        for thread in std::fs::read_dir(format!("/proc/{}/task", self.child.id()))? {
            let figures = std::fs::read_to_string(thread?.path().join("schedstat"))?;
            let own = figures.split_whitespace().next().context("an empty schedstat")?;
            nanos += own.parse::<u64>()?;
        }
        Ok(Duration::from_nanos(nanos))
    }

    /// CPU time used so far: by the server, and by its script workers, those that have ended included.
    pub(crate) fn cpu_with_workers(&self) -> Result<(Duration, Duration)> {
        let times = Times::of(self.child.id())?;
        let living: Duration = self.workers_cpu().iter().map(|(_, cpu)| *cpu).sum();
        Ok((times.own, times.of_ended_children + living))
    }

    /// CPU time used so far by each script worker that lives, by its process id.
    pub(crate) fn workers_cpu(&self) -> Vec<(u32, Duration)> {
        let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        // One that has ended meanwhile is none.
        let times = ids.filter_map(|id| Some((id, Times::of(id).ok()?)));
        let own = self.child.id();
        times.filter(|(_, times)| times.parent == own).map(|(id, times)| (id, times.own)).collect()
    }

    /// Resident memory, in bytes.
    pub(crate) fn resident_bytes(&self) -> Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes: u64 = line
            .and_then(|line| line.trim().strip_suffix(" kB"))
            .context("no VmRSS in /proc/PID/status")?
            .trim()
            .parse()?;
        Ok(kilobytes * 1024)
    }

    /// Threads that it has now.
    pub(crate) fn threads(&self) -> Result<usize> {
        Ok(std::fs::read_dir(format!("/proc/{}/task", self.child.id()))?.count())
    }

    /// Asks the server to end and waits; returns how long that took.
    pub(crate) fn stop(mut self) -> Result<Duration> {
        let begin = Instant::now();
        Command::new("kill").arg(self.child.id().to_string()).status()?;
        while begin.elapsed() < STOP_TIMEOUT {
            if let Some(status) = self.child.try_wait()? {
                if !status.success() {
                    bail!("after SIGTERM the server ended with {status}");
                }
                return Ok(begin.elapsed());
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        bail!("the server did not end within {STOP_TIMEOUT:?} of SIGTERM")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Fails only if it has ended already.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
