//! Arguments, and which of them came from the environment instead of the command line.

use std::ops::Deref;

use clap::{ArgMatches, Args, Command, Error, FromArgMatches, Id, parser::ValueSource};

/// The origin of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A flag of the command.
    Flag,
    /// An environment variable.
    Variable,
}

/// Arguments, with the names of those that came from variables.
#[derive(Debug)]
pub struct Told<T> {
    args: T,
    variables: Vec<String>,
}

impl<T> Told<T> {
    /// Arguments of which those with these names came from variables.
    #[cfg(test)]
    pub(crate) fn new(args: T, variables: Vec<String>) -> Self {
        Self { args, variables }
    }

    /// The origin of the argument of this name, if it was given.
    pub fn origin(&self, name: &str) -> Origin {
        let is_variable = self.variables.iter().any(|variable| variable == name);
        if is_variable { Origin::Variable } else { Origin::Flag }
    }

    /// The arguments alone.
    pub fn into_inner(self) -> T {
        self.args
    }
}

impl<T> Deref for Told<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.args
    }
}

fn variables(matches: &ArgMatches) -> Vec<String> {
    let is_variable = |id: &&Id| {
        let source = matches.try_contains_id(id.as_str()).unwrap_or(false);
        source && matches.value_source(id.as_str()) == Some(ValueSource::EnvVariable)
    };
    matches.ids().filter(is_variable).map(|id| id.as_str().to_owned()).collect()
}

impl<T: FromArgMatches> FromArgMatches for Told<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        Ok(Self { variables: variables(matches), args: T::from_arg_matches(matches)? })
    }

    fn from_arg_matches_mut(matches: &mut ArgMatches) -> Result<Self, Error> {
        Ok(Self { variables: variables(matches), args: T::from_arg_matches_mut(matches)? })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.variables = variables(matches);
        self.args.update_from_arg_matches(matches)
    }
}

impl<T: Args> Args for Told<T> {
    fn augment_args(command: Command) -> Command {
        T::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        T::augment_args_for_update(command)
    }

    fn group_id() -> Option<Id> {
        T::group_id()
    }
}
