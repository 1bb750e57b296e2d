//! The command line: what can be asked of `sheaf`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::settings::Settings;

const SERVE_EXAMPLES: &str = "\
Every flag is also an environment variable (SHEAF_PORT) and a line of the configuration file
(port = 8081). A flag wins over the environment, the environment over the file.

Examples:
  sheaf serve                                  Data in ./sheaf-data, http and https on port 8081
  sheaf serve --in-memory --port 0             For a test run: no files, any free port
  sheaf serve --host 0.0.0.0 --key-file keys   For others, with keys of your own
  sheaf serve --config /etc/sheaf.toml         Everything in one file

Once it accepts requests, the server prints one line on stdout:
  ready endpoint=http://127.0.0.1:8081/";

const VERIFY_HELP: &str = "\
The server that uses the directory must be stopped.

Exit codes:
  0  no problem found
  1  problems found; each is printed
  2  the directory could not be opened";

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
