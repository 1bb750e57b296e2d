//! `sheaf backup`: creates, checks and restores backups of a database in use.
//!
//! A directory holds a *series* of backups, which share their common files. The server itself
//! writes them, into a directory of its machine, because only it can take an image of its store.
//!
//! In reading order: `manifest` (what a backup consists of), `pool` (the files), `series` (the
//! directory), `create`, `restore`; `job` (in the server). The client side is in `tools`.

mod create;
mod job;
mod manifest;
mod pool;
mod restore;
mod series;

use std::{
    collections::HashSet,
    io::{self, Write as _},
    path::Path,
    process::ExitCode,
};

use anyhow::{Context as _, anyhow};
pub(crate) use tools::backup::PATH;
use tools::{Failure, backup::size, table};
use value::{Object, Value};

pub(crate) use self::job::Backups;
use self::{
    create::{Progress, Summary},
    series::Series,
};
use crate::{
    cli::backup::{BackupCommand, CreateArgs, PruneArgs, RestoreArgs, VerifyArgs},
    clock::MachineClock,
    data_dir::DataDir,
    database,
};

/// Backups do not read through the cache.
const CACHE_BYTES: u64 = 16 << 20;

/// Runs the command, and returns the exit code.
pub(crate) fn run(command: &BackupCommand) -> Result<ExitCode, Failure> {
    let mut code = ExitCode::SUCCESS;
    let text = match command {
        BackupCommand::Create(args) => create(args)?,
        BackupCommand::List(args) => list(&args.directory).map_err(Failure::start)?,
        BackupCommand::Verify(args) => {
            let (text, is_sound) = verify(args).map_err(Failure::start)?;
            if !is_sound {
                code = ExitCode::FAILURE;
            }
            text
        }
        BackupCommand::Restore(args) => restore(args).map_err(Failure::start)?,
        BackupCommand::Prune(args) => prune(args).map_err(Failure::start)?,
    };
    match io::stdout().lock().write_all(text.as_bytes()) {
        // The reader of our output has closed it, as `head` does.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::start(error)),
        _ => Ok(code),
    }
}

fn create(args: &CreateArgs) -> Result<String, Failure> {
    let directory = std::path::absolute(&args.directory).map_err(Failure::start)?;
    let summary = if let Some(data_dir) = &args.offline {
        offline(&directory, data_dir, args.keep).map_err(Failure::start)?
    } else {
        let said = tools::backup::create(&args.account, &directory, args.keep)?;
        let strange = || anyhow!("the answer is not that of a Sheaf server");
        Summary::read(&said).ok_or_else(|| Failure::server(strange()))?
    };
    if let Some(warning) = &summary.warning {
        // The exit code only says that the backup was made.
        let _ = writeln!(io::stderr().lock(), "sheaf: {warning}");
    }
    Ok(format!("{summary}\n"))
}

/// Backs up the data of a stopped server.
fn offline(directory: &Path, data_dir: &Path, keep: Option<usize>) -> anyhow::Result<Summary> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(create_offline(directory, data_dir, keep))
}

async fn create_offline(
    directory: &Path,
    data_dir: &Path,
    keep: Option<usize>,
) -> anyhow::Result<Summary> {
    let source = DataDir::existing(data_dir)?;
    let series = Series::claim(directory, data_dir)?;
    let store = database::open_store(&source.store(), CACHE_BYTES).await?;
    let image = store.image().await.context("cannot read the data")?;
    let now = MachineClock.since_epoch().as_secs();
    let summary = create::write(&*image, &series, now, &Progress::default())?;
    drop(image);
    store.close().await.context("cannot close the store")?;
    Ok(create::tidy(&series, keep, summary))
}

/// The backups of a series as a table, the oldest first.
fn list(directory: &Path) -> anyhow::Result<String> {
    let series = Series::read(directory)?;
    let mut rows = Vec::new();
    for name in series.names()? {
        let mut row = Object::new();
        row.insert("backup", name.to_string());
        match series.manifest(&name) {
            Ok(manifest) => {
                row.insert("files", manifest.files.len().to_string());
                row.insert("size", size(manifest.bytes()));
                row.insert("new", size(manifest.copied_bytes));
                row.insert("server", manifest.server);
            }
            Err(error) => {
                row.insert("files", format!("{error:#}"));
            }
        }
        rows.push(Value::Object(row));
    }
    if rows.is_empty() {
        return Ok("no backups\n".to_owned());
    }
    Ok(table::text(&rows))
}

/// Reads all files of one backup, or of all of them; returns a report, and whether there are no
/// problems.
fn verify(args: &VerifyArgs) -> anyhow::Result<(String, bool)> {
    let series = Series::read(&args.directory)?;
    let names = match &args.at {
        Some(_) => vec![series.find(args.at.as_deref())?.name],
        None => series.names()?,
    };
    let (mut problems, mut ids) = (Vec::new(), HashSet::new());
    for name in &names {
        match series.manifest(name) {
            Ok(manifest) => ids.extend(manifest.files.into_iter().map(|file| file.id)),
            Err(error) => problems.push(format!("{error:#}")),
        }
    }
    problems.extend(ids.iter().filter_map(|id| series.pool.problem(*id)));
    let bytes = size(ids.iter().map(|id| id.bytes).sum());
    let found = match problems.len() {
        0 => "no problems".to_owned(),
        count => format!("{count} problems"),
    };
    let (backups, files) = (names.len(), ids.len());
    let is_sound = problems.is_empty();
    problems.push(format!("{backups} backups, {files} files, {bytes}: {found}\n"));
    Ok((problems.join("\n"), is_sound))
}

fn restore(args: &RestoreArgs) -> anyhow::Result<String> {
    let series = Series::read(&args.directory)?;
    let manifest = series.find(args.at.as_deref())?;
    restore::run(&series, &manifest, &args.data_dir, database::restore_store)?;
    let (name, data_dir) = (&manifest.name, args.data_dir.display());
    Ok(format!(
        "restored {name} into {data_dir}: {size}\nNO KEYS: a backup does not contain them, and a \
         server without a key file accepts the well-known key. Before you start it, copy the old \
         server's key file to {data_dir}/keys, or run `sheaf keys regenerate all --data-dir \
         {data_dir}`\n",
        size = size(manifest.bytes())
    ))
}

fn prune(args: &PruneArgs) -> anyhow::Result<String> {
    let series = Series::own(&args.directory)?;
    let removed = series.prune(args.keep)?;
    let lines = removed.iter().map(|name| format!("removed {name}\n"));
    let kept = series.names()?.len();
    Ok(lines.collect::<String>() + &format!("kept {kept} backups\n"))
}
