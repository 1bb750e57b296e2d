//! Finds environment variables that resemble ours but are not: probably typing mistakes.

use std::{collections::BTreeSet, env};

use clap::Command;

/// The prefix of our variables.
const PREFIX: &str = "SHEAF_";

/// Warnings about variables whose names are close to one that a command reads.
pub fn doubts(command: &Command) -> Vec<String> {
    let names = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    doubts_of(&known(command), names)
}

/// The variables of all commands.
fn known(command: &Command) -> BTreeSet<String> {
    let mut known = BTreeSet::new();
    let mut commands = vec![command];
    while let Some(command) = commands.pop() {
        let names = command.get_arguments().filter_map(|it| it.get_env()?.to_str());
        known.extend(names.map(str::to_owned));
        commands.extend(command.get_subcommands());
    }
    known
}

fn doubts_of(known: &BTreeSet<String>, names: impl Iterator<Item = String>) -> Vec<String> {
    let mut doubts: Vec<String> = names
        .filter(|name| name.to_uppercase().starts_with(PREFIX) && !known.contains(name))
        .filter_map(|name| {
            let likely = likely(known, &name)?;
            Some(format!("the variable `{name}` is unknown; do you mean `{likely}`?"))
        })
        .collect();
    doubts.sort();
    doubts
}

/// The name that was probably meant; `None` if none is close.
fn likely<'a>(known: &'a BTreeSet<String>, name: &str) -> Option<&'a str> {
    let said = name.to_uppercase().replace('-', "_");
    let said = said.strip_prefix(PREFIX)?;
    let close = known.iter().filter_map(|known| {
        let meant = known.strip_prefix(PREFIX)?;
        let steps = distance(said, meant);
        let is_close = steps <= steps_max(said.len().min(meant.len()));
        let rank = if is_close { steps } else { usize::MAX };
        (is_close || is_part(said, meant)).then_some((rank, known.as_str()))
    });
    close.min().map(|(_, known)| known)
}

/// The number of typing mistakes to tolerate in a name of this length.
fn steps_max(length: usize) -> usize {
    match length {
        0..=2 => 0,
        3 | 4 => 1,
        5..=9 => 2,
        _ => 3,
    }
}

/// Whether all words of a name are words of the other: `DIR` probably means `DATA_DIR`.
fn is_part(said: &str, meant: &str) -> bool {
    let words: Vec<&str> = meant.split('_').collect();
    !said.is_empty() && said.split('_').all(|word| words.contains(&word))
}

/// The edit distance: how many letters to insert, delete, replace or swap with their neighbour to
/// turn one text into the other.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (row, letter) in a.iter().enumerate() {
        let mut next = vec![row + 1];
        for (column, other) in b.iter().enumerate() {
            let replaced = last[column] + usize::from(letter != other);
            let mut least = replaced.min(last[column + 1] + 1).min(next[column] + 1);
            let is_swap = row > 0 && column > 0 && *letter == b[column - 1] && a[row - 1] == *other;
            if is_swap {
                least = least.min(before[column - 1] + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut last, next);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn distances_are_counted() {
        for (a, b, expected) in [
            ("", "", 0),
            ("PORT", "PORT", 0),
            ("PROT", "PORT", 1),
            ("PRT", "PORT", 1),
            ("", "ABC", 3),
            ("KEYS", "KEY", 1),
            ("ABCD", "DCBA", 3),
        ] {
            assert_eq!(distance(a, b), expected, "{a} {b}");
            assert_eq!(distance(b, a), expected, "{a} {b}");
        }
    }

    #[test]
    fn mistakes_are_told_with_what_was_meant() {
        let known = names(&[
            "SHEAF_PORT",
            "SHEAF_KEY",
            "SHEAF_KEY_FILE",
            "SHEAF_DATA_DIR",
            "SHEAF_DATABASE",
            "SHEAF_TLS",
        ]);
        for (said, meant) in [
            ("SHEAF_PROT", "SHEAF_PORT"),
            ("SHEAF_KEYS", "SHEAF_KEY"),
            ("SHEAF_KEYFILE", "SHEAF_KEY_FILE"),
            ("SHEAF_DATADIR", "SHEAF_DATA_DIR"),
            ("SHEAF_DIR", "SHEAF_DATA_DIR"),
            ("SHEAF_DATABSE", "SHEAF_DATABASE"),
            ("sheaf_port", "SHEAF_PORT"),
            ("SHEAF_DATA-DIR", "SHEAF_DATA_DIR"),
        ] {
            assert_eq!(likely(&known, said), Some(meant), "{said}");
        }
        for other in ["SHEAF_BIN", "SHEAF_", "SHEAF_SERVICE_HOST", "SHEAF_PORT_8081_TCP_ADDR"] {
            assert_eq!(likely(&known, other), None, "{other}");
        }
        let environment = ["SHEAF_PROT", "PATH", "SHEAF_PORT", "PROT", "SHEAF_BIN"];
        let said = doubts_of(&known, environment.into_iter().map(str::to_owned));
        assert_eq!(said, ["the variable `SHEAF_PROT` is unknown; do you mean `SHEAF_PORT`?"]);
    }

    #[test]
    fn the_variables_of_all_commands_are_known() {
        let flag = |name: &'static str, env: &'static str| clap::Arg::new(name).long(name).env(env);
        let inner = Command::new("inner").arg(flag("b", "SHEAF_B"));
        let outer = Command::new("outer").arg(flag("a", "SHEAF_A")).subcommand(inner);
        assert_eq!(known(&Command::new("x").subcommand(outer)), names(&["SHEAF_A", "SHEAF_B"]));
    }
}
