//! Arguments of `sheaf backup`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use tools::args::AccountArgs;

pub(super) const BACKUP_HELP: &str = "\
The running server writes a backup into a directory of its own machine while it continues to serve. A
directory holds many backups, which share their common files: the next one copies only what is new.
docs/backup.md explains how to schedule, keep and test backups.

Examples:
  sheaf backup create /backups/sheaf --keep 14        From a running server
  sheaf backup create /backups/sheaf --offline DATA   From a stopped one
  sheaf backup list /backups/sheaf
  sheaf backup verify /backups/sheaf
  sheaf backup restore /backups/sheaf --data-dir NEW
  sheaf verify NEW && sheaf serve --data-dir NEW

Exit codes:
  0  success
  1  it failed, or damage was found
  2  the command line is invalid
  4  the server refused, or could not be reached";

/// Subcommands of `sheaf backup`.
#[derive(Debug, Subcommand)]
pub(crate) enum BackupCommand {
    /// Add a backup to a directory
    Create(CreateArgs),
    /// Show the backups in a directory
    List(ListArgs),
    /// Read the files of backups and compare their checksums
    Verify(VerifyArgs),
    /// Create a data directory from a backup
    Restore(RestoreArgs),
    /// Remove old backups
    Prune(PruneArgs),
}

/// Arguments of `sheaf backup create`.
#[derive(Args, Debug)]
pub(crate) struct CreateArgs {
    /// Directory of the backups on the server's machine: one with backups, an empty one or a new one
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,

    /// Afterwards remove all but the newest N backups
    #[arg(long, value_name = "N", value_parser = keep)]
    pub(crate) keep: Option<usize>,

    /// Back up this data directory, whose server is stopped
    #[arg(long, value_name = "DATA_DIR")]
    pub(crate) offline: Option<PathBuf>,

    /// The server, and the key to sign with.
    #[command(flatten)]
    pub(crate) account: AccountArgs,
}

/// Arguments of `sheaf backup list`.
#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    /// Directory of the backups
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
}

/// Arguments of `sheaf backup verify`.
#[derive(Args, Debug)]
pub(crate) struct VerifyArgs {
    /// Directory of the backups
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,

    /// Only this backup [default: all]
    #[arg(long, value_name = "NAME")]
    pub(crate) at: Option<String>,
}

/// Arguments of `sheaf backup restore`.
#[derive(Args, Debug)]
pub(crate) struct RestoreArgs {
    /// Directory of the backups
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,

    /// Which backup, as `sheaf backup list` shows it [default: the newest]
    #[arg(long, value_name = "NAME")]
    pub(crate) at: Option<String>,

    /// Data directory to create; it must not exist, or be empty
    // Not from the environment: the variable names the directory of the server.
    #[arg(long, value_name = "NEW")]
    pub(crate) data_dir: PathBuf,
}

/// Arguments of `sheaf backup prune`.
#[derive(Args, Debug)]
pub(crate) struct PruneArgs {
    /// Directory of the backups
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,

    /// Number of the newest backups to keep
    #[arg(long, value_name = "N", value_parser = keep)]
    pub(crate) keep: usize,
}

/// Parses a count of at least one.
fn keep(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("at least one backup must stay".to_owned()),
        Ok(keep) => Ok(keep),
    }
}
