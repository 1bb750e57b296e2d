//! The command line, by hand: five options do not earn a parser.

use std::{path::PathBuf, time::Duration};

use anyhow::{Context as _, Result, bail};

/// What is printed for a wrong command line.
pub(crate) const HELP: &str = "\
  --sheaf PATH       the server [../target/release/sheaf, seen from bench/]
  --seconds N        length of each measurement [5]
  --connections N    connections kept open [64]
  --documents N      documents that `startup` loads [100000]
  --only WORD        `run`: only servers whose name contains WORD";

/// The options of both commands.
pub(crate) struct Arguments {
    pub(crate) sheaf: PathBuf,
    pub(crate) duration: Duration,
    pub(crate) connections: usize,
    pub(crate) documents: usize,
    pub(crate) only: Option<String>,
}

impl Arguments {
    /// Reads `--name value` pairs.
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Self> {
        let bench = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let mut found = Self {
            sheaf: bench.join("../target/release/sheaf"),
            duration: Duration::from_secs(5),
            connections: 64,
            documents: 100_000,
            only: None,
        };
        while let Some(name) = words.next() {
            let value = words.next().with_context(|| format!("`{name}` needs a value\n{HELP}"))?;
            match name.as_str() {
                "--sheaf" => found.sheaf = value.into(),
                "--seconds" => found.duration = Duration::from_secs_f64(value.parse()?),
                "--connections" => found.connections = value.parse()?,
                "--documents" => found.documents = value.parse()?,
                "--only" => found.only = Some(value),
                _ => bail!("unknown option `{name}`\n{HELP}"),
            }
        }
        Ok(found)
    }
}
