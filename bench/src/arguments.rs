//! The command line, by hand: ten options do not earn a parser.

use std::{path::PathBuf, time::Duration};

use anyhow::{Context as _, Result, bail};

/// What is printed for a wrong command line.
pub(crate) const HELP: &str = "\
  --sheaf PATH       the server [../target/release/sheaf, seen from bench/]
  --seconds N        length of each measurement [5]
  --connections N    connections kept open [64]
  --documents N      documents that `startup` and `changes` load [100000], `backup` [200000],
                     `query` [1000000], `ttl` [50000]
  --cycles N         `cycles`: collections to create and delete [5000]; `idle`: collections [4999]
  --rate N           `flood`: requests without a key in a second [2000]
  --small N          `query`: documents of the small collection to compare with [100000]
  --only WORD        `run`, `scripts`: only servers whose name contains WORD; `query`: only such queries
  --postgres DIR     `query`: where initdb and postgres are [found by itself]
  --keep DIR         `query`: load the data there, leave it there, and use it the next time";

/// The options of all commands.
pub(crate) struct Arguments {
    pub(crate) sheaf: PathBuf,
    pub(crate) duration: Duration,
    pub(crate) connections: usize,
    pub(crate) documents: Option<usize>,
    pub(crate) cycles: Option<usize>,
    pub(crate) rate: Option<u64>,
    pub(crate) small: usize,
    pub(crate) only: Option<String>,
    pub(crate) postgres: Option<PathBuf>,
    pub(crate) keep: Option<PathBuf>,
}

impl Arguments {
    /// Reads `--name value` pairs.
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Self> {
        let bench = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let mut found = Self {
            sheaf: bench.join("../target/release/sheaf"),
            duration: Duration::from_secs(5),
            connections: 64,
            documents: None,
            cycles: None,
            rate: None,
            small: 100_000,
            only: None,
            postgres: None,
            keep: None,
        };
        while let Some(name) = words.next() {
            let value = words.next().with_context(|| format!("`{name}` needs a value\n{HELP}"))?;
            match name.as_str() {
                "--sheaf" => found.sheaf = value.into(),
                "--seconds" => found.duration = Duration::from_secs_f64(value.parse()?),
                "--connections" => found.connections = value.parse()?,
                "--documents" => found.documents = Some(value.parse()?),
                "--cycles" => found.cycles = Some(value.parse()?),
                "--rate" => found.rate = Some(value.parse()?),
                "--small" => found.small = value.parse()?,
                "--only" => found.only = Some(value),
                "--postgres" => found.postgres = Some(value.into()),
                "--keep" => found.keep = Some(value.into()),
                _ => bail!("unknown option `{name}`\n{HELP}"),
            }
        }
        Ok(found)
    }

    /// Whether something with this name was asked for.
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|word| name.contains(word.as_str()))
    }
}
