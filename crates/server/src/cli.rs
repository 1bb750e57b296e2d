//! The command line: what can be asked of `sheaf`.

pub(crate) mod backup;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use self::backup::{BACKUP_HELP, BackupCommand};
use crate::settings::Settings;

const SERVE_EXAMPLES: &str = "\
Every flag is also an environment variable (SHEAF_PORT) and a line of the configuration file
(port = 8081). A flag wins over the environment, the environment over the file.

Examples:
  sheaf serve                                  Data in ./sheaf-data, http and https on port 8081
  sheaf serve --in-memory --port 0             For a test run: no files, any free port
  sheaf serve --host 0.0.0.0 --key-file keys   For others, with keys of your own
  sheaf serve --config /etc/sheaf.toml         Everything in one file

Once it accepts requests, the server prints one line for programs on stdout, then where it is and how to
connect, which --quiet leaves out:
  ready endpoint=http://127.0.0.1:8081/";

const VERIFY_HELP: &str = "\
The server that uses the directory must be stopped.

Exit codes:
  0  no problem found
  1  problems found; each is printed
  2  the directory could not be opened";

const COMPACT_HELP: &str = "\
The server that uses the directory must be stopped. The disk needs room for a second copy of the
largest partition. A compaction may be interrupted: what is done stays done, nothing is lost.

Exit codes:
  0  everything is compacted; the bytes on disk before and after are printed
  1  the disk refused, or the data is damaged
  2  the directory could not be opened";

const QUERY_HELP: &str = "\
Rows go to stdout; how many there were, what they cost and --explain go to stderr.
Without --partition-key the query may read every partition.

Examples:
  sheaf query -d shop -c orders \"SELECT c.id, c.total FROM c WHERE c.total > 10\"
  sheaf query -d shop -c orders --partition-key '\"ada\"' \"SELECT * FROM c\" --format lines
  sheaf query -d shop -c orders \"SELECT * FROM c WHERE c.tag = @tag\" --param '@tag=\"new\"'
  sheaf query -d shop -c orders \"SELECT VALUE COUNT(1) FROM c\" --explain

Exit codes:
  0  the query was answered
  1  it was refused, or the server could not be reached
  2  the command line makes no sense";

const PARTITION_HELP: &str = "\
The server splits partitions that are full, or too few for the throughput of their collection, by
itself. Splits and merges are online: reads go on, writes wait for the moment of the switch. While a
collection that was created without a partition key is given one, writes wait all the time.

Examples:
  sheaf partition list -d shop -c orders
  sheaf partition split -d shop -c orders 0
  sheaf partition merge -d shop -c orders 1        With its right neighbour
  sheaf partition key -d shop -c readings /deviceId

Exit codes:
  0  it is done
  1  it was refused, or the server could not be reached
  2  the command line makes no sense";

const KEYS_HELP: &str = "\
Without --key-file the keys are in the file `keys` of the data directory; while that is absent, the
published emulator key is the only one. A server that runs takes a new key within a second, and the
keys beside it stay as they are: move clients to the secondary key, regenerate the primary, move
them back.

Examples:
  sheaf keys regenerate all                    Keys of your own in ./sheaf-data
  sheaf keys list --data-dir /var/lib/sheaf
  sheaf keys regenerate primary

Exit codes:
  0  it is done
  1  the file cannot be written
  2  the file or the command line makes no sense";

const CERT_HELP: &str = "\
The certificate goes to stdout, or to --output; how each SDK is told to trust it goes to stderr.

Examples:
  sheaf cert > sheaf.pem
  sheaf cert --output sheaf.crt --format der   For Windows
  sheaf cert --sdk python

Exit codes:
  0  it is done
  1  the certificate cannot be read, or the output not be written
  2  the command line makes no sense";

const TOP_HELP: &str = "\
Shows the partitions that do most, redrawn every second; ctrl-c ends it. The server answers those
whom its setting `metrics` lets read them: by default, clients on the same machine.

Exit codes:
  0  ended as told
  1  the server could not be reached, or refused
  2  the command line makes no sense";

/// A self-hosted database that speaks the Azure Cosmos DB REST API.
#[derive(Debug, Parser)]
#[command(name = "sheaf", version, propagate_version = true)]
#[command(arg_required_else_help = true, disable_help_subcommand = true)]
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
    /// Check a data directory for damage
    #[command(after_help = VERIFY_HELP)]
    Verify(VerifyArgs),
    /// Rewrite a data directory so that reads are as cheap as they can be
    #[command(after_help = COMPACT_HELP)]
    Compact(CompactArgs),
    /// Back up a running server, and restore what was backed up
    #[command(subcommand, after_help = BACKUP_HELP)]
    Backup(Box<BackupCommand>),
    /// Ask a running server
    #[command(after_help = QUERY_HELP)]
    Query(Box<QueryArgs>),
    /// Look at the partitions of a collection on a running server, split and merge them
    #[command(subcommand, after_help = PARTITION_HELP)]
    Partition(PartitionCommand),
    /// Watch the partitions of a running server
    #[command(after_help = TOP_HELP)]
    Top(TopArgs),
    /// Print the certificate that the server made, and how clients trust it
    #[command(after_help = CERT_HELP)]
    Cert(CertArgs),
    /// Show and replace the keys of the account
    #[command(subcommand, after_help = KEYS_HELP)]
    Keys(KeysCommand),
    /// Run users' scripts for the server that started this process
    #[command(hide = true)]
    ScriptWorker,
}

/// What `sheaf serve` takes.
#[derive(Args, Debug)]
pub(crate) struct ServeArgs {
    /// Configuration file in TOML
    #[arg(long, env = "SHEAF_CONFIG", value_name = "FILE", help_heading = "Configuration")]
    pub(crate) config: Option<PathBuf>,

    /// The settings given as flags or in the environment.
    #[command(flatten)]
    pub(crate) settings: Settings,
}

/// What `sheaf verify` takes.
#[derive(Args, Debug)]
pub(crate) struct VerifyArgs {
    /// The data directory to check
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
}

/// What `sheaf compact` takes.
#[derive(Args, Debug)]
pub(crate) struct CompactArgs {
    /// The data directory to compact [default: ./sheaf-data]
    #[arg(long, env = "SHEAF_DATA_DIR", value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
}

/// What `sheaf query` takes.
#[derive(Args, Debug)]
pub(crate) struct QueryArgs {
    /// The query; `-` reads it from stdin
    #[arg(value_name = "SQL")]
    pub(crate) query: String,

    /// What is asked.
    #[command(flatten)]
    pub(crate) at: CollectionArgs,

    /// Parameter and its value in JSON; may be given several times
    #[arg(long = "param", short, value_name = "@NAME=JSON")]
    pub(crate) parameters: Vec<String>,

    /// Read only this partition key: a JSON value, or an array of them for a hierarchical key
    #[arg(long, value_name = "JSON")]
    pub(crate) partition_key: Option<String>,

    /// Most rows to print [default: all]
    #[arg(long, value_name = "N")]
    pub(crate) max_items: Option<u64>,

    /// How rows are printed
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) format: Format,

    /// Say how the query was run
    #[arg(long)]
    pub(crate) explain: bool,

    /// Which server to ask, and by which key.
    #[command(flatten)]
    pub(crate) account: AccountArgs,
}

/// What `sheaf partition` takes.
#[derive(Debug, Subcommand)]
pub(crate) enum PartitionCommand {
    /// Show the ranges of a collection
    List(PartitionListArgs),
    /// Cut a range in two halves of about the same size
    Split(PartitionChangeArgs),
    /// Join a range with the one to its right
    Merge(PartitionChangeArgs),
    /// Give a partition key to a collection that was created without one
    Key(PartitionKeyArgs),
}

/// What `sheaf partition list` takes.
#[derive(Args, Debug)]
pub(crate) struct PartitionListArgs {
    /// Whose ranges.
    #[command(flatten)]
    pub(crate) at: CollectionArgs,

    /// Which server to ask, and by which key.
    #[command(flatten)]
    pub(crate) account: AccountArgs,
}

/// What `sheaf partition split` and `sheaf partition merge` take.
#[derive(Args, Debug)]
pub(crate) struct PartitionChangeArgs {
    /// Id of the range, as `sheaf partition list` shows it
    #[arg(value_name = "RANGE")]
    pub(crate) range: String,

    /// Whose range.
    #[command(flatten)]
    pub(crate) at: CollectionArgs,

    /// Which server to ask, and by which key.
    #[command(flatten)]
    pub(crate) account: AccountArgs,
}

/// What `sheaf partition key` takes.
#[derive(Args, Debug)]
pub(crate) struct PartitionKeyArgs {
    /// Path of the property that is the key; two or three of them for a hierarchical key
    #[arg(value_name = "PATH", required = true, num_args = 1..=3)]
    pub(crate) paths: Vec<String>,

    /// Which collection gets it.
    #[command(flatten)]
    pub(crate) at: CollectionArgs,

    /// Which server to ask, and by which key.
    #[command(flatten)]
    pub(crate) account: AccountArgs,
}

/// A collection.
#[derive(Args, Debug)]
pub(crate) struct CollectionArgs {
    /// Database of the collection
    #[arg(long, short, env = "SHEAF_DATABASE", value_name = "ID")]
    pub(crate) database: String,

    /// Collection to ask or change
    #[arg(long, short, env = "SHEAF_COLLECTION", value_name = "ID")]
    pub(crate) collection: String,
}

impl CollectionArgs {
    /// Its path, escaped, without a slash before it.
    pub(crate) fn path(&self) -> String {
        let escaped = |name: &str| utf8_percent_encode(name, NON_ALPHANUMERIC).to_string();
        format!("dbs/{}/colls/{}", escaped(&self.database), escaped(&self.collection))
    }

    /// Its link as it is signed, not escaped.
    pub(crate) fn link(&self) -> String {
        format!("dbs/{}/colls/{}", self.database, self.collection)
    }
}

/// Which server a request goes to, and whose key it is signed with.
#[derive(Args, Debug)]
pub(crate) struct AccountArgs {
    /// Which server.
    #[command(flatten)]
    pub(crate) server: ServerArgs,

    /// Key of the account; others can see it in the list of processes, so prefer --key-file
    #[arg(long, value_name = "KEY", help_heading = "Server")]
    pub(crate) key: Option<String>,

    /// File with the account's keys, as `sheaf serve` has it [default: `keys` in the data directory,
    /// else the published emulator key]
    #[arg(long, env = "SHEAF_KEY_FILE", value_name = "FILE", help_heading = "Server")]
    pub(crate) key_file: Option<PathBuf>,
}

/// What `sheaf keys` takes.
#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Print the keys
    List(KeyFileArgs),
    /// Replace one key, or all of them, and print what is new
    Regenerate(KeysRegenerateArgs),
}

/// What `sheaf keys regenerate` takes.
#[derive(Args, Debug)]
pub(crate) struct KeysRegenerateArgs {
    /// Which key
    #[arg(value_name = "KEY")]
    pub(crate) name: KeyName,

    /// Where it is kept.
    #[command(flatten)]
    pub(crate) file: KeyFileArgs,
}

/// Where the keys of an account are kept.
#[derive(Args, Debug)]
pub(crate) struct KeyFileArgs {
    /// Data directory of the server [default: ./sheaf-data]
    #[arg(long, env = "SHEAF_DATA_DIR", value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,

    /// Key file of the server, if it was given one
    #[arg(long, env = "SHEAF_KEY_FILE", value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,
}

/// The keys of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum KeyName {
    /// May do everything
    Primary,
    /// The same
    Secondary,
    /// May read and query
    PrimaryReadonly,
    /// The same
    SecondaryReadonly,
    /// All four
    All,
}

/// What `sheaf cert` takes.
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

    /// How the certificate is written
    #[arg(long, value_name = "FORMAT", default_value = "pem")]
    pub(crate) format: CertificateFormat,

    /// Instructions for this SDK only
    #[arg(long, value_name = "SDK")]
    pub(crate) sdk: Option<Sdk>,
}

/// How a certificate is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CertificateFormat {
    /// Text
    Pem,
    /// Bytes
    Der,
}

/// Who can be told to trust a certificate.
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

/// What `sheaf top` takes.
#[derive(Args, Debug)]
pub(crate) struct TopArgs {
    /// Print one table and end
    #[arg(long)]
    pub(crate) once: bool,

    /// Print what the server says as JSON, and end
    #[arg(long)]
    pub(crate) json: bool,

    /// Which server to look at.
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

/// Which server a command talks to, and how it is trusted.
#[derive(Args, Debug)]
pub(crate) struct ServerArgs {
    /// Where the server listens
    #[arg(long, env = "SHEAF_ENDPOINT", value_name = "URL", help_heading = "Server")]
    #[arg(default_value = "http://127.0.0.1:8081")]
    pub(crate) endpoint: String,

    /// Data directory whose certificate is trusted for https [default: ./sheaf-data]
    #[arg(long, env = "SHEAF_DATA_DIR", value_name = "DIR", help_heading = "Server")]
    pub(crate) data_dir: Option<PathBuf>,

    /// Trust any certificate: whoever is in between can read and change everything
    #[arg(long, help_heading = "Server")]
    pub(crate) insecure: bool,
}

/// How rows are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people: a column for each property
    Table,
    /// One JSON array
    Json,
    /// One JSON value on each line
    Lines,
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
