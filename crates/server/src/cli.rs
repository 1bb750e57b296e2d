//! The command line of `sheaf`.

pub(crate) mod backup;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use tools::{
    keys::KeyName,
    manual::{COMPLETIONS_HELP, CompletionsArgs, MAN_HELP, ManArgs},
    told::Told,
};

use self::backup::{BACKUP_HELP, BackupCommand};
use crate::settings::Settings;

const SERVE_EXAMPLES: &str = "\
Every flag is also an environment variable (SHEAF_PORT) and a line of the configuration file
(port = 8081). Flags override the environment, and the environment overrides the file.

Examples:
  sheaf serve                                  Data in ./sheaf-data, http and https on port 8081
  sheaf serve --in-memory --port 0             For a test run: no files, any free port
  sheaf serve --host 0.0.0.0 --key-file keys   For other machines, with your own keys
  sheaf serve --config /etc/sheaf.toml         Everything in one file

Once it accepts requests, the server prints one line for programs on stdout, and then (unless --quiet is
given) how to connect:
  ready endpoint=http://127.0.0.1:8081/";

const VERIFY_HELP: &str = "\
The server that uses the directory must be stopped.

Exit codes:
  0  no problem found
  1  problems found; each is printed
  2  the directory could not be opened";

const COMPACT_HELP: &str = "\
The server that uses the directory must be stopped. The disk needs space for a second copy of the
largest partition. You may interrupt a compaction: finished partitions stay compacted, nothing is lost.

Exit codes:
  0  everything is compacted; the bytes on disk before and after are printed
  1  the disk failed, or the data is damaged
  2  the directory could not be opened";

const KEYS_HELP: &str = "\
Without --key-file, the keys are in the file `keys` of the data directory. If that does not exist, the
well-known emulator key is the only one. A running server adopts a new key within a second, and the
other keys stay valid: move clients to the secondary key, regenerate the primary, move them back.

Examples:
  sheaf keys regenerate all                    Your own keys in ./sheaf-data
  sheaf keys list --data-dir /var/lib/sheaf
  sheaf keys regenerate primary

Exit codes:
  0  success
  1  the file cannot be written
  2  the file or the command line is invalid";

const CERT_HELP: &str = "\
The certificate goes to stdout, or to --output; instructions for each SDK go to stderr.

Examples:
  sheaf cert > sheaf.pem
  sheaf cert --output sheaf.crt --format der   For Windows
  sheaf cert --sdk python

Exit codes:
  0  success
  1  the certificate cannot be read, or the output cannot be written
  2  the command line is invalid";

/// A self-hosted database with the REST API of Azure Cosmos DB.
#[derive(Debug, Parser)]
#[command(name = "sheaf", version, propagate_version = true)]
#[command(arg_required_else_help = true)]
#[command(after_help = "`sheaf serve --help` lists every setting.")]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the database
    #[command(after_help = SERVE_EXAMPLES)]
    Serve(Box<ServeArgs>),
    /// The commands for a running server.
    #[command(flatten)]
    Tool(tools::Command),
    /// Check a data directory for damage
    #[command(after_help = VERIFY_HELP)]
    Verify(VerifyArgs),
    /// Rewrite a data directory so that reads are as cheap as possible
    #[command(after_help = COMPACT_HELP)]
    Compact(CompactArgs),
    /// Back up a running server, and restore backups
    #[command(subcommand, after_help = BACKUP_HELP)]
    Backup(Box<BackupCommand>),
    /// Print the server's certificate, and how to make clients trust it
    #[command(after_help = CERT_HELP)]
    Cert(CertArgs),
    /// Show and replace the keys of the account
    #[command(subcommand, after_help = KEYS_HELP)]
    Keys(KeysCommand),
    /// Print a script that completes this command line in a shell
    #[command(after_help = COMPLETIONS_HELP)]
    Completions(CompletionsArgs),
    /// Print the manual page, or write those of all commands
    #[command(after_help = MAN_HELP)]
    Man(ManArgs),
}

/// Arguments of `sheaf serve`.
#[derive(Args, Debug)]
pub(crate) struct ServeArgs {
    /// Configuration file in TOML
    #[arg(long, env = "SHEAF_CONFIG", value_name = "FILE", help_heading = "Configuration")]
    pub(crate) config: Option<PathBuf>,

    /// The settings given as flags or in the environment.
    #[command(flatten)]
    pub(crate) settings: Told<Settings>,
}

/// Arguments of `sheaf verify`.
#[derive(Args, Debug)]
pub(crate) struct VerifyArgs {
    /// The data directory to check
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
}

/// Arguments of `sheaf compact`.
#[derive(Args, Debug)]
pub(crate) struct CompactArgs {
    /// The data directory to compact [default: ./sheaf-data]
    #[arg(long, env = "SHEAF_DATA_DIR", value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
}

/// Arguments of `sheaf keys`.
#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Print the keys
    List(KeyFileArgs),
    /// Replace one key or all of them, and print the new ones
    Regenerate(KeysRegenerateArgs),
}

/// Arguments of `sheaf keys regenerate`.
#[derive(Args, Debug)]
pub(crate) struct KeysRegenerateArgs {
    /// Which key
    #[arg(value_name = "KEY")]
    pub(crate) name: KeyName,

    /// The location of the keys.
    #[command(flatten)]
    pub(crate) file: KeyFileArgs,
}

/// The location of an account's keys.
#[derive(Args, Debug)]
pub(crate) struct KeyFileArgs {
    /// Data directory of the server [default: ./sheaf-data]
    #[arg(long, env = "SHEAF_DATA_DIR", value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,

    /// Key file of the server, if it was given one
    #[arg(long, env = "SHEAF_KEY_FILE", value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,
}

/// Arguments of `sheaf cert`.
#[derive(Args, Debug)]
pub(crate) struct CertArgs {
    /// Data directory of the server [default: ./sheaf-data]
    #[arg(long, env = "SHEAF_DATA_DIR", value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,

    /// Certificate of the server, if it was given one
    #[arg(long, env = "SHEAF_TLS_CERT", value_name = "FILE")]
    pub(crate) tls_cert: Option<PathBuf>,

    /// Write the certificate to this file
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Format of the certificate
    #[arg(long, value_name = "FORMAT", default_value = "pem")]
    pub(crate) format: CertificateFormat,

    /// Instructions for this SDK only
    #[arg(long, value_name = "SDK")]
    pub(crate) sdk: Option<Sdk>,
}

/// The format of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CertificateFormat {
    /// Text
    Pem,
    /// Bytes
    Der,
}

/// Clients with instructions for trusting a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sdk {
    Python,
    Javascript,
    Java,
    Dotnet,
    Go,
    Rust,
    Curl,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_setting_has_its_environment_variable() {
        let command = Cli::command();
        let serve = command.find_subcommand("serve").unwrap();
        for argument in
            serve.get_arguments().filter(|a| !matches!(a.get_id().as_str(), "help" | "version"))
        {
            let flag = argument.get_long().unwrap();
            let expected = format!("SHEAF_{}", flag.replace('-', "_").to_uppercase());
            assert_eq!(argument.get_env().unwrap().to_str(), Some(expected.as_str()));
        }
    }
}
