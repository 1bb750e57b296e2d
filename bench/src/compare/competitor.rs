//! Who is compared: how each is started and loaded, and how it is asked.

use std::{
    cell::RefCell,
    collections::HashMap,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, atomic::AtomicUsize},
    time::{Duration, Instant},
};

use anyhow::{Result, bail, ensure};

use super::{
    client::Transport,
    install::Programs,
    job::Job,
    load::{self, Target},
    mongo,
    pool::Pool,
    postgres,
    rest::Rest,
    setup,
    workload::{MANY, Workload},
};
use crate::{
    process::{Kind, Server},
    query::{data::Data, postgres::Postgres},
    scratch::Scratch,
};

/// Servers that keep all in the memory of one process of another language take no more.
const SMALL_MAX: usize = 100_000;
const START_TIMEOUT: Duration = Duration::from_secs(30);
/// Connections that load documents.
const LOADERS: usize = 16;

/// Whom to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Who {
    Floor,
    SheafMemory,
    SheafDisk,
    Vercel,
    Postgres,
    /// The same server and process as above, asked in the table with an index on one number.
    PostgresOrdered,
    Cosmium,
    Ferret,
    /// The store alone, in a process of its own: see `raw`.
    RawStore,
    /// A file that is appended to.
    RawAppend,
}

impl Who {
    /// All of them, in the order of the tables.
    pub(crate) const ALL: [Self; 10] = [
        Self::Floor,
        Self::SheafMemory,
        Self::SheafDisk,
        Self::Vercel,
        Self::Cosmium,
        Self::Postgres,
        Self::PostgresOrdered,
        Self::Ferret,
        Self::RawStore,
        Self::RawAppend,
    ];

    /// Its word in the tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Floor => "floor",
            Self::SheafMemory => "sheaf-memory",
            Self::SheafDisk => "sheaf-disk",
            Self::Vercel => "vercel",
            Self::Postgres => "postgres",
            Self::PostgresOrdered => "postgres-btree",
            Self::Cosmium => "cosmium",
            Self::Ferret => "ferretdb",
            Self::RawStore => "raw-store",
            Self::RawAppend => "raw-append",
        }
    }

    pub(crate) fn is_raw(self) -> bool {
        matches!(self, Self::RawStore | Self::RawAppend)
    }

    /// Made for tests and small data: all in memory, or without indexes.
    pub(crate) fn is_small(self) -> bool {
        matches!(self, Self::Vercel | Self::Cosmium | Self::Ferret)
    }

    pub(crate) fn is_sheaf(self) -> bool {
        matches!(self, Self::SheafMemory | Self::SheafDisk)
    }
}

/// What keeps a server running.
enum Guard {
    Server(Server),
    Postgres(Arc<Postgres>),
    Other { _running: Running },
}

/// A server that is compared; it ends when dropped.
pub(crate) struct Competitor {
    pub(crate) who: Who,
    pub(crate) address: String,
    pub(crate) process: u32,
    guard: Guard,
    data: Data,
    /// Of its collections.
    partitions: usize,
    pool: Arc<Pool>,
    /// The next operation of each workload.
    next: RefCell<HashMap<Workload, Arc<AtomicUsize>>>,
    /// What loading took of CPU time for each document, in microseconds.
    pub(crate) load_cpu_us: f64,
    pub(crate) scratch: Option<Scratch>,
}

/// What starting needs.
pub(crate) struct Place<'a> {
    pub(crate) sheaf: &'a Path,
    /// Where the floor finds its answers.
    pub(crate) answers: &'a Path,
    pub(crate) programs: &'a Programs,
    pub(crate) postgres: Option<&'a Path>,
    pub(crate) pool: &'a Arc<Pool>,
    /// Of the collections.
    pub(crate) partitions: usize,
    pub(crate) rest_max: Duration,
}

impl Competitor {
    /// Starts a server and loads it.
    pub(crate) async fn start(who: Who, place: &Place<'_>, data: Data) -> Result<Self> {
        let scratch = Scratch::named(&format!("{}-{}", who.name(), data.documents))?;
        ensure!(
            !who.is_small() || data.documents <= SMALL_MAX,
            "not made for more than {SMALL_MAX} documents"
        );
        let (address, process, guard) = launch(who, place, &scratch.0)?;
        let pool = Arc::clone(place.pool);
        let next = RefCell::default();
        let mut started = Self {
            who,
            address,
            process,
            guard,
            data,
            partitions: place.partitions,
            pool,
            next,
            load_cpu_us: 0.0,
            scratch: None,
        };
        started.scratch = Some(scratch);
        started.fill(place.rest_max).await?;
        Ok(started)
    }

    /// The same PostgreSQL, asked in its other table.
    pub(crate) fn ordered(&self) -> Option<Self> {
        let Guard::Postgres(guard) = &self.guard else { return None };
        Some(Self {
            who: Who::PostgresOrdered,
            address: self.address.clone(),
            process: self.process,
            guard: Guard::Postgres(Arc::clone(guard)),
            data: self.data,
            partitions: self.partitions,
            pool: Arc::clone(&self.pool),
            next: RefCell::default(),
            load_cpu_us: 0.0,
            scratch: None,
        })
    }

    async fn fill(&mut self, rest_max: Duration) -> Result<()> {
        match self.who {
            Who::Floor | Who::PostgresOrdered | Who::RawStore | Who::RawAppend => return Ok(()),
            Who::Postgres => {
                // Elsewhere, so that a signal is heard meanwhile: it ends the server, and with it this.
                let (address, data) = (self.address.clone(), self.data);
                return tokio::task::spawn_blocking(move || postgres::fill(&address, data)).await?;
            }
            Who::Ferret => {}
            _ => {
                setup::rest_collections(&self.address, self.who.is_sheaf(), self.partitions).await?
            }
        }
        let rest = || Rest::new(&self.address, &self.pool, self.data);
        let job = || match self.who {
            Who::Ferret => Ok(mongo::load_job(self.data)),
            Who::Vercel | Who::Cosmium => Ok(rest()?.load_job()),
            _ => Ok(rest()?.bulk_load_job()),
        };
        let is_single = matches!(self.who, Who::Vercel | Who::Cosmium);
        let documents = self.data.documents;
        let count = if is_single { documents } else { documents.div_ceil(MANY) };
        let target = self.target(Transport::Plain);
        let (_, cpu) = load::run_all(&target, job, count, LOADERS, rest_max).await?;
        self.load_cpu_us = cpu.as_secs_f64() * 1e6 / self.data.documents as f64;
        Ok(())
    }

    pub(crate) fn target(&self, transport: Transport) -> Target {
        Target { address: self.address.clone(), transport, process: self.process }
    }

    /// The requests of a workload; `None` if this server has no counterpart.
    pub(crate) fn job(&self, workload: Workload) -> Result<Option<Job>> {
        Ok(match self.who {
            Who::Floor if !matches!(workload, Workload::PointRead | Workload::Create) => None,
            Who::PostgresOrdered
                if !matches!(
                    workload,
                    Workload::RangeTop | Workload::OrderTop | Workload::CrossPartition
                ) =>
            {
                None
            }
            Who::Postgres | Who::PostgresOrdered => {
                let is_ordered = self.who == Who::PostgresOrdered;
                postgres::job(workload, &self.pool, self.data, is_ordered)
            }
            Who::Ferret => mongo::job(workload, &self.pool, self.data),
            Who::Vercel | Who::Cosmium if !is_of_emulators(workload) => None,
            _ => {
                let rest = Rest::new(&self.address, &self.pool, self.data)?;
                Some(rest.over(self.partitions).job(workload))
            }
        })
    }

    /// Which requests can be sent how.
    pub(crate) fn speaks(&self, transport: Transport) -> bool {
        transport == Transport::Plain || self.who.is_sheaf() || self.who == Who::Floor
    }

    /// The counter of a workload's operations: no document is ever created twice.
    pub(crate) fn next(&self, workload: Workload) -> Arc<AtomicUsize> {
        let at = Workload::ALL.iter().position(|it| *it == workload).unwrap_or_default();
        let first = at * 50_000_000 / workload.creates().max(1);
        let mut all = self.next.borrow_mut();
        Arc::clone(all.entry(workload).or_insert_with(|| Arc::new(AtomicUsize::new(first))))
    }

    /// Takes the server itself, and the directory with its data.
    pub(crate) fn into_server(self) -> Option<(Server, Scratch)> {
        let Guard::Server(server) = self.guard else { return None };
        Some((server, self.scratch?))
    }
}

/// What the other emulators of the API can do, and do as the service does.
fn is_of_emulators(workload: Workload) -> bool {
    !matches!(
        workload,
        Workload::ChangeFeed
            | Workload::CreateOneKey
            | Workload::Procedure
            | Workload::Batch
            | Workload::Bulk
    )
}

fn launch(who: Who, place: &Place<'_>, directory: &Path) -> Result<(String, u32, Guard)> {
    let server = match who {
        Who::Floor => {
            let mut command = Command::new(std::env::current_exe()?);
            Server::launch(who.name(), command.arg("floor").arg(place.answers))?
        }
        Who::SheafMemory | Who::SheafDisk => {
            let kind = if who == Who::SheafDisk { Kind::SheafDisk } else { Kind::SheafMemory };
            let more = ["--tls", "optional", "--max-connections", "2000"];
            Server::start_with(kind, place.sheaf, directory, &more)?
        }
        Who::Vercel => {
            place.programs.vercel()?;
            Server::start(Kind::Vercel, place.sheaf, directory)?
        }
        Who::Postgres | Who::PostgresOrdered => {
            let Some(programs) = place.postgres else { bail!("PostgreSQL is not installed") };
            let postgres = Postgres::start(programs, directory)?;
            let (address, process) = (postgres.address.clone(), postgres.id());
            return Ok((address, process, Guard::Postgres(Arc::new(postgres))));
        }
        Who::RawStore | Who::RawAppend => bail!("it is no server"),
        Who::Cosmium => {
            let port = free_port()?;
            let mut command = Command::new(place.programs.cosmium()?);
            command.args(["-DisableTls", "-Host", "127.0.0.1", "-LogLevel", "silent", "-Port"]);
            return Running::start(command.arg(port.to_string()), directory, port);
        }
        Who::Ferret => {
            let port = free_port()?;
            let mut command = Command::new(place.programs.ferret()?);
            command.args(["--handler=sqlite", "--telemetry=disable", "--debug-addr=-"]);
            command.args(["--log-level=error", "--mode=normal"]);
            command.arg(format!("--listen-addr=127.0.0.1:{port}"));
            command.arg(format!("--state-dir={}", directory.display()));
            command.arg(format!("--sqlite-url=file:{}/", directory.display()));
            return Running::start(&mut command, directory, port);
        }
    };
    Ok((server.host.clone(), server.id(), Guard::Server(server)))
}

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// A program that does not say when it is ready; killed when dropped.
struct Running(Child);

impl Running {
    fn start(command: &mut Command, directory: &Path, port: u16) -> Result<(String, u32, Guard)> {
        let command = command.current_dir(directory).stdin(Stdio::null());
        let mut running = Self(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?);
        let address = format!("127.0.0.1:{port}");
        let begin = Instant::now();
        while std::net::TcpStream::connect(&address).is_err() {
            if let Some(status) = running.0.try_wait()? {
                bail!("it ended with {status} before it was ready");
            }
            ensure!(begin.elapsed() < START_TIMEOUT, "not ready within {START_TIMEOUT:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
        let process = running.0.id();
        Ok((address, process, Guard::Other { _running: running }))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Fails only if it has ended already.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Where a program of ours keeps what it has built.
pub(crate) fn tools() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/compare")
}
