//! Command lines for tests, with a separate environment.

use clap::{Args, Command, builder::Resettable};

use crate::told::Told;

/// Parses flags as a command with these arguments does, and `variables` as if they came from the
/// environment, with names such as `--port`. Ignores the environment of the process.
pub(crate) fn told<T: Args>(flags: &[&str], variables: &[(&str, &str)]) -> Told<T> {
    let command = T::augment_args(Command::new("test").no_binary_name(true));
    let command = command.mut_args(|argument| argument.env(Resettable::Reset));
    let mut given = flags.to_vec();
    let mut names = Vec::new();
    for (name, value) in variables.iter().filter(|(name, _)| !flags.contains(name)) {
        given.extend([name, value]);
        names.push(name.trim_start_matches('-').replace('-', "_"));
    }
    let matches = command.try_get_matches_from(given).unwrap();
    Told::new(T::from_arg_matches(&matches).unwrap(), names)
}
