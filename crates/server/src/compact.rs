//! `sheaf compact`: rewrites the data of a stopped server, so that reads find it in one place.

use std::{io::Write as _, path::PathBuf, process::ExitCode};

use anyhow::Context as _;

use tools::Failure;

use crate::{cli::CompactArgs, data_dir::DataDir, database};

/// The exit code when the directory could not be opened; 1 is for a compaction that failed.
const CANNOT_OPEN: u8 = 2;
/// A compaction reads everything once, so a cache beyond the store's own needs would not help.
const CACHE_BYTES: u64 = 16 << 20;

/// Compacts everything, prints the sizes before and after, and returns the exit code.
pub(crate) fn run(args: &CompactArgs) -> Result<ExitCode, Failure> {
    let path = args.data_dir.clone().unwrap_or_else(|| PathBuf::from("./sheaf-data"));
    let directory = DataDir::existing(&path).map_err(cannot_open)?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(cannot_open)?;
    runtime.block_on(async {
        let opened = database::open_store(&directory.store(), CACHE_BYTES).await;
        let store = opened.map_err(cannot_open)?;
        let (before, after) = compact(&*store).await.map_err(Failure::start)?;
        // If stdout is closed, the exit code still gives the result.
        let _ = writeln!(std::io::stdout().lock(), "{before} bytes before, {after} bytes after");
        Ok(ExitCode::SUCCESS)
    })
}

/// Bytes on disk before and after.
async fn compact(store: &dyn store::Files) -> anyhow::Result<(u64, u64)> {
    let before = store.statistics().disk_bytes;
    store.compact(None).await.context("cannot compact the data")?;
    store.close().await.context("cannot close the store")?;
    Ok((before, store.statistics().disk_bytes))
}

fn cannot_open(error: impl Into<anyhow::Error>) -> Failure {
    Failure::start(error).with_code(CANNOT_OPEN)
}
