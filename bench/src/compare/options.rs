//! The command line of `load compare`.

use std::{path::PathBuf, time::Duration};

use anyhow::{Context as _, Result, bail, ensure};

use super::{load::Times, setup::PARTITIONS};

/// What is printed for a wrong command line.
const HELP: &str = "\
  --sheaf PATH       the server [../target/release/sheaf, seen from bench/]
  --documents N,N    sizes of the collections; all is measured at the last, reads at all [10000,100000]
  --partitions N     partitions of the collections [4]; PostgreSQL has one
  --full             sizes 10000 and 1000000, and a soak of 300 seconds
  --quick            a smoke test of two minutes, whose figures say little
  --rounds N         turns of each server, of which the median is reported [3]
  --seconds N        length of each turn [1.5]
  --soak SECONDS     length of each load at half of the greatest throughput [20]
  --only WORD        only servers, workloads or sections (workloads, soak, resources)
                     whose name contains WORD; may be given several times
  --report FILE      the report in HTML; the figures go beside it as JSON
                     [target/compare.html, seen from bench/]
  --postgres DIR     where initdb and postgres are [found by itself]";

/// What was asked for.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) sheaf: PathBuf,
    pub(crate) sizes: Vec<usize>,
    pub(crate) partitions: usize,
    pub(crate) is_quick: bool,
    pub(crate) rounds: usize,
    pub(crate) seconds: f64,
    pub(crate) soak: Duration,
    pub(crate) only: Vec<String>,
    pub(crate) report: PathBuf,
    pub(crate) postgres: Option<PathBuf>,
}

impl Options {
    /// Reads the words of the command line.
    pub(crate) fn parse(words: impl Iterator<Item = String>) -> Result<Self> {
        let words: Vec<String> = words.collect();
        let sheaf = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../target/release/sheaf");
        let mut found = Self {
            sheaf,
            sizes: vec![10_000, 100_000],
            partitions: PARTITIONS,
            is_quick: words.iter().any(|word| word == "--quick"),
            rounds: 3,
            seconds: 1.5,
            soak: Duration::from_secs(20),
            only: Vec::new(),
            report: PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/compare.html"),
            postgres: None,
        };
        if found.is_quick {
            found.sizes = vec![5_000];
            (found.rounds, found.seconds, found.soak) = (1, 0.3, Duration::from_secs(2));
        }
        if words.iter().any(|word| word == "--full") {
            found.sizes = vec![10_000, 1_000_000];
            found.soak = Duration::from_mins(5);
        }
        let mut words = words.into_iter();
        while let Some(name) = words.next() {
            if name == "--quick" || name == "--full" {
                continue;
            }
            if name == "--help" {
                println!("{HELP}");
                std::process::exit(0);
            }
            let value = words.next().with_context(|| format!("`{name}` needs a value\n{HELP}"))?;
            match name.as_str() {
                "--sheaf" => found.sheaf = value.into(),
                "--documents" => {
                    found.sizes = value.split(',').map(str::parse).collect::<Result<_, _>>()?;
                }
                "--partitions" => found.partitions = value.parse()?,
                "--rounds" => found.rounds = value.parse()?,
                "--seconds" => found.seconds = value.parse()?,
                "--soak" => found.soak = Duration::from_secs_f64(value.parse()?),
                "--only" => found.only.push(value),
                "--report" => found.report = value.into(),
                "--postgres" => found.postgres = Some(value.into()),
                _ => bail!("unknown option `{name}`\n{HELP}"),
            }
        }
        ensure!(found.rounds > 0 && found.seconds > 0.0, "at least one round, please");
        ensure!((1..=10).contains(&found.partitions), "one to ten partitions, please");
        ensure!(found.sheaf.is_file(), "there is no `{}`: build it", found.sheaf.display());
        Ok(found)
    }

    /// Whether something is wanted, of several things with these names. A word that none of them
    /// contains is about something else.
    pub(crate) fn wants(&self, name: &str, all: &[&str]) -> bool {
        let mut about = self.only.iter().filter(|word| all.iter().any(|it| it.contains(*word)));
        let Some(first) = about.next() else { return true };
        std::iter::once(first).chain(about).any(|word| name.contains(word.as_str()))
    }

    /// Whether a section of the run is wanted: who names servers or workloads wants these only.
    pub(crate) fn wants_section(&self, name: &str, all: &[&str]) -> bool {
        let names_some = self.only.iter().any(|word| all.iter().any(|it| it.contains(word)));
        match (self.only.is_empty(), names_some) {
            (true, _) => true,
            (false, true) => self.wants(name, all),
            (false, false) => all.first() == Some(&name),
        }
    }

    pub(crate) fn times(&self) -> Times {
        let measured = Duration::from_secs_f64(self.seconds);
        Times {
            warm_up: measured.mul_f64(0.3).max(Duration::from_millis(150)),
            measured,
            rest_max: Duration::from_secs(if self.is_quick { 2 } else { 60 }),
        }
    }

    /// The size at which everything is measured.
    pub(crate) fn largest(&self) -> usize {
        self.sizes.last().copied().unwrap_or(1000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &str) -> Result<Options> {
        let own = std::env::current_exe().unwrap();
        let sheaf = format!("--sheaf {} ", own.display());
        Options::parse((sheaf + words).split_whitespace().map(str::to_owned))
    }

    #[test]
    fn words_choose_among_names_of_their_kind() {
        let servers = ["floor", "sheaf-disk", "sheaf-memory"];
        let workloads = ["create", "point-read"];
        let options = parse("--only sheaf --only create").unwrap();
        let wanted = |all: &[&'static str]| -> Vec<&str> {
            all.iter().copied().filter(|name| options.wants(name, all)).collect()
        };
        assert_eq!(wanted(&servers), ["sheaf-disk", "sheaf-memory"]);
        assert_eq!(wanted(&workloads), ["create"]);
        assert!(parse("").unwrap().wants("floor", &servers));
        let sections = ["workloads", "soak"];
        assert!(options.wants_section("workloads", &sections));
        assert!(!options.wants_section("soak", &sections));
        assert!(parse("").unwrap().wants_section("soak", &sections));
        assert!(!parse("--only soak").unwrap().wants_section("workloads", &sections));
    }

    #[test]
    fn later_words_refine_what_quick_says() {
        let options = parse("--documents 1000,2000 --quick --rounds 2").unwrap();
        assert_eq!((options.sizes, options.rounds), (vec![1000, 2000], 2));
        assert!(parse("--rounds").is_err() && parse("--nothing 1").is_err());
        assert!(parse("--rounds 0").is_err());
        assert_eq!(parse("--partitions 1").unwrap().partitions, 1);
        assert_eq!(parse("").unwrap().partitions, PARTITIONS);
        assert!(parse("--partitions 0").is_err());
    }
}
