//! What Sheaf is compared with: Postgres on a directory and a port of its own, documents as JSONB
//! under a GIN index.

use std::{
    net::TcpListener,
    os::unix::{fs::MetadataExt as _, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};

use super::{
    cost::{Cost, Samples},
    data::Data,
    text::Query,
    wire::Client,
};
use crate::{api::id, process::cpu_of};

pub(crate) const USER: &str = "bench";
const START_TIMEOUT: Duration = Duration::from_mins(1);
/// Where distributions put the programs, which are rarely in the path.
const PLACES: [&str; 4] =
    ["/usr/lib/postgresql/15/bin", "/usr/pgsql-15/bin", "/usr/local/pgsql/bin", "/usr/local/bin"];

/// A running server; stopped when dropped.
pub(crate) struct Postgres {
    child: Child,
    pub(crate) address: String,
}

impl Postgres {
    /// Where its programs are, if it is installed.
    pub(crate) fn find(given: Option<&Path>) -> Option<PathBuf> {
        let has = |place: &Path| ["initdb", "postgres"].iter().all(|p| place.join(p).is_file());
        if let Some(place) = given {
            return has(place).then(|| place.to_owned());
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let places = PLACES.iter().map(PathBuf::from).chain(std::env::split_paths(&path));
        places.into_iter().find(|place| has(place))
    }

    /// Starts in a directory, which is made ready if it is empty.
    pub(crate) fn start(programs: &Path, directory: &Path) -> Result<Self> {
        let owner = Owner::of_a_server()?;
        if std::fs::read_dir(directory)?.next().is_none() {
            owner.give(directory)?;
            let mut initdb = owner.command(&programs.join("initdb"));
            initdb.args(["--auth", "trust", "--username", USER, "--encoding", "UTF8"]);
            let output = initdb.args(["--locale", "C", "--pgdata"]).arg(directory).output()?;
            let errors = String::from_utf8_lossy(&output.stderr);
            ensure!(output.status.success(), "initdb: {errors}");
        }
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut command = owner.command(&programs.join("postgres"));
        command.arg("-D").arg(directory).arg("-k").arg(directory);
        for setting in [
            "listen_addresses=127.0.0.1".to_owned(),
            format!("port={port}"),
            // For the load.
            "max_wal_size=4GB".to_owned(),
            "maintenance_work_mem=256MB".to_owned(),
            // All work of a query in the one process whose CPU time is read.
            "max_parallel_workers_per_gather=0".to_owned(),
        ] {
            command.arg("-c").arg(setting);
        }
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let mut server = Self { child, address: format!("127.0.0.1:{port}") };
        let begin = Instant::now();
        loop {
            match Client::connect(&server.address, USER) {
                Ok(_) => return Ok(server),
                Err(error) if begin.elapsed() > START_TIMEOUT => return Err(error),
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
            if let Some(status) = server.child.try_wait()? {
                bail!("postgres ended with {status} before it was ready");
            }
        }
    }

    /// The process that started all others.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its version, in its own words.
    pub(crate) fn version(&self) -> Result<String> {
        Ok(Client::connect(&self.address, USER)?.run("SHOW server_version")?.value)
    }

    /// Loads all documents, then builds the index: the cheapest way there is.
    pub(crate) fn fill(&self, data: Data) -> Result<()> {
        let mut client = Client::connect(&self.address, USER)?;
        client.run("CREATE TABLE orders (id text PRIMARY KEY, doc jsonb NOT NULL)")?;
        // No document has a character that COPY would want escaped.
        let lines = (0..data.documents).map(|n| format!("{}\t{}\n", id(n), data.document(n)));
        client.copy("COPY orders FROM STDIN", lines)?;
        client.run("CREATE INDEX orders_doc ON orders USING gin (doc jsonb_path_ops)")?;
        client.run("VACUUM ANALYZE orders")?;
        client.run("CHECKPOINT")?;
        Ok(())
    }

    /// Bytes of the table with what belongs to it, and of its GIN index alone.
    pub(crate) fn sizes(&self) -> Result<(f64, f64)> {
        let mut client = Client::connect(&self.address, USER)?;
        let total = client.run("SELECT pg_total_relation_size('orders')")?.value.parse()?;
        let index = client.run("SELECT pg_relation_size('orders_doc')")?.value.parse()?;
        Ok((total, index))
    }

    /// Asks one query after the other for a while.
    pub(crate) fn measure(
        &self,
        query: Query,
        data: Data,
        warm_up: Duration,
        duration: Duration,
    ) -> Result<Cost> {
        let mut client = Client::connect(&self.address, USER)?;
        let process = client.process;
        let mut turn = 0;
        let begin = Instant::now();
        while turn == 0 || begin.elapsed() < warm_up {
            ask(&mut client, query, data, turn)?;
            turn += 1;
        }
        let cpu_begin = cpu_of(process)?;
        let mut samples = Samples::new(duration);
        while samples.wants_more() {
            let started = Instant::now();
            ask(&mut client, query, data, turn)?;
            samples.add(started.elapsed());
            turn += 1;
        }
        Ok(samples.cost(cpu_of(process)?.saturating_sub(cpu_begin)))
    }
}

/// Asks one query, and looks whether the answer is right.
fn ask(client: &mut Client, query: Query, data: Data, turn: usize) -> Result<()> {
    let answer = client.run(&query.postgres(data, turn))?;
    let name = query.name();
    ensure!(answer.rows == query.rows(), "{name} has {} rows in PostgreSQL", answer.rows);
    let is_right = query.answer().is_none_or(|value| answer.value == value.to_string());
    ensure!(is_right, "{name} answers {} in PostgreSQL", answer.value);
    Ok(())
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // SIGINT: without waiting for clients. A kill would leave its children behind.
        Command::new("kill").args(["-INT", &self.child.id().to_string()]).status().ok();
        self.child.wait().ok();
    }
}

/// Who the server runs as: it refuses to be root.
struct Owner(Option<(u32, u32)>);

impl Owner {
    fn of_a_server() -> Result<Self> {
        if std::fs::metadata("/proc/self")?.uid() != 0 {
            return Ok(Self(None));
        }
        let users = std::fs::read_to_string("/etc/passwd")?;
        let find = |name: &str| {
            users.lines().find_map(|line| {
                let fields: Vec<&str> = line.split(':').collect();
                let [user, _, uid, gid, ..] = fields[..] else { return None };
                (user == name).then_some(())?;
                Some((uid.parse().ok()?, gid.parse().ok()?))
            })
        };
        let user = find("postgres").or_else(|| find("nobody"));
        Ok(Self(Some(user.context("no user that PostgreSQL could run as")?)))
    }

    fn give(&self, directory: &Path) -> Result<()> {
        if let Some((uid, gid)) = self.0 {
            std::os::unix::fs::chown(directory, Some(uid), Some(gid))?;
        }
        Ok(())
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.stdin(Stdio::null()).current_dir("/");
        if let Some((uid, gid)) = self.0 {
            command.uid(uid).gid(gid);
        }
        command
    }
}
