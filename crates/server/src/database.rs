//! The database behind the port: its store, and how it is opened and closed.
//!
//! The only file that names the engine's type and a kind of store: all other code uses a
//! [`Service`], an [`Operator`] or a [`Store`](store::Store).

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::Context as _;
use engine::Engine;
use protocol::{Operator, Service};
use store::Files;

use crate::{
    clock::MachineClock,
    config::Config,
    data_dir::DataDir,
    settings::{Charges, RateLimit},
};

/// Scripts that may wait for a worker; more get 429.
const SCRIPTS_WAITING_MAX: usize = 256;

/// An open database.
pub(crate) struct Database {
    engine: Arc<Engine>,
    store: Arc<dyn store::Store>,
    /// The store as files; `None` if it is in memory.
    files: Option<Arc<dyn Files>>,
    disk: Arc<engine::Disk>,
}

impl Database {
    /// Opens the database in its directory, or an empty one in memory.
    pub(crate) async fn open(config: &Config, directory: Option<&DataDir>) -> anyhow::Result<Self> {
        let files = match directory {
            Some(directory) => Some(open_store(&directory.store(), config.cache_bytes).await?),
            None => None,
        };
        let store: Arc<dyn store::Store> = match &files {
            Some(files) => Arc::clone(files) as _,
            None => Arc::new(store::memory::MemoryStore::new()),
        };
        let clock = Arc::new(MachineClock);
        let options = options(config);
        let disk = Arc::clone(&options.disk);
        let engine = Engine::open(Arc::clone(&store), options, clock)
            .await
            .context("cannot open the database")?;
        Ok(Self { engine, store, files, disk })
    }

    /// The disk state, which the server updates.
    pub(crate) fn disk(&self) -> &Arc<engine::Disk> {
        &self.disk
    }

    /// The service for clients.
    pub(crate) fn service(&self) -> Arc<dyn Service> {
        Arc::clone(&self.engine) as _
    }

    /// The interface for operators.
    pub(crate) fn operator(&self) -> Arc<dyn Operator> {
        Arc::clone(&self.engine) as _
    }

    /// The store of this process, for its figures.
    pub(crate) fn store(&self) -> Arc<dyn store::Store> {
        Arc::clone(&self.store)
    }

    /// The store as files, for backups; `None` if it is in memory.
    pub(crate) fn files(&self) -> Option<Arc<dyn Files>> {
        self.files.clone()
    }

    /// Finishes running work and leaves everything on disk.
    pub(crate) async fn close(&self) -> anyhow::Result<()> {
        self.engine.close().await.context("cannot close the database cleanly")
    }
}

/// Options with this much memory for caches. A document is read by its own row and its primary row;
/// what the rows have is not needed for their blocks.
fn store_options(cache_bytes: u64) -> store_lsm::Options {
    store_lsm::Options {
        cache_bytes: cache_bytes / 2,
        row_cache_bytes: usize::try_from(cache_bytes / 2).unwrap_or(usize::MAX),
        cached_kinds: &engine::READ_BY_KEY,
        ..store_lsm::Options::default()
    }
}

/// Opens the store of a data directory.
pub(crate) async fn open_store(path: &Path, cache_bytes: u64) -> anyhow::Result<Arc<dyn Files>> {
    let path = path.to_owned();
    let options = store_options(cache_bytes);
    // Opening replays the journal of a killed server, which can take seconds.
    let opened = tokio::task::spawn_blocking(move || {
        store_lsm::LsmStore::open(&path, options)
            .with_context(|| format!("cannot open the store in `{}`", path.display()))
    });
    Ok(opened.await.context("opening the store failed")??)
}

/// Opens the store of a data directory for inspection. Changes nothing in the directory.
pub(crate) async fn examine_store(
    path: &Path,
    cache_bytes: u64,
) -> anyhow::Result<Arc<dyn store::Store>> {
    let path = path.to_owned();
    let options = store_options(cache_bytes);
    let opened = tokio::task::spawn_blocking(move || {
        store_lsm::LsmStore::examine(&path, options)
            .with_context(|| format!("cannot open the store in `{}`", path.display()))
    });
    Ok(opened.await.context("opening the store failed")??)
}

/// The path of this program, for starting script processes. On Linux it stays valid when the file
/// is replaced by another version.
fn own_program() -> PathBuf {
    let running = Path::new("/proc/self/exe");
    if matches!(running.try_exists(), Ok(true)) {
        return running.to_owned();
    }
    std::env::current_exe().unwrap_or_else(|_| PathBuf::from("sheaf"))
}

/// Creates the store of a data directory from files that `write` puts there.
pub(crate) fn restore_store(
    path: &Path,
    write: &dyn Fn(&Path) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    store_lsm::LsmStore::restore(path, write)
        .with_context(|| format!("cannot create the store in `{}`", path.display()))
}

fn options(config: &Config) -> engine::Options {
    engine::Options {
        charges: match config.charges {
            Charges::Current => engine::Charges::Current,
            Charges::Y2017 => engine::Charges::Y2017,
        },
        rate_limit: match config.rate_limit {
            RateLimit::Always => engine::RateLimit::Always,
            RateLimit::Provisioned => engine::RateLimit::Provisioned,
            RateLimit::Never => engine::RateLimit::Never,
        },
        limits: config.limits.into(),
        throughput_max: Some(config.throughput_max),
        partition_throughput: config.partition_throughput,
        sizes: config.sizes,
        default_consistency: config.consistency.into(),
        query_timeout: config.query_timeout,
        query_memory: config.query_memory,
        all_versions_retention: config.all_versions_retention,
        scripts: script::PoolOptions {
            program: own_program(),
            arguments: vec![crate::SCRIPT_WORKER.into()],
            workers: config.script_workers as usize,
            waiting_max: SCRIPTS_WAITING_MAX,
        },
        ..engine::Options::default()
    }
}
