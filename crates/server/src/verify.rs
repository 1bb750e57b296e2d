//! `sheaf verify DIR`: checks the data of a stopped server, and writes nothing.

use std::{io::Write as _, process::ExitCode};

use anyhow::Context as _;

use tools::Failure;

use crate::{cli::VerifyArgs, data_dir::DataDir, database};

/// The exit code if nothing could be checked; 1 is for problems found.
const CANNOT_OPEN: u8 = 2;
/// A check reads everything once, so a cache beyond the store's own needs would not help.
const CACHE_BYTES: u64 = 16 << 20;

/// Runs the check, prints the result, and returns the exit code.
pub(crate) fn run(args: &VerifyArgs) -> Result<ExitCode, Failure> {
    let directory = DataDir::look_at(&args.directory).map_err(cannot_open)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(cannot_open)?;
    let report = runtime.block_on(check(&directory)).map_err(cannot_open)?;
    // If stdout is closed, the exit code still gives the result.
    let _ = writeln!(std::io::stdout().lock(), "{report}");
    Ok(if report.problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn check(directory: &DataDir) -> anyhow::Result<engine::Report> {
    let store = database::examine_store(&directory.store(), CACHE_BYTES).await?;
    engine::verify(store).await.context("cannot read the data")
}

fn cannot_open(error: impl Into<anyhow::Error>) -> Failure {
    Failure::start(error).with_code(CANNOT_OPEN)
}
