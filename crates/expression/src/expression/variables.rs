//! The names of variables that an expression may use.

use crate::error::{Error, Result};

/// The variables that are defined where an expression stands, besides those of the system.
#[derive(Clone, Debug, Default)]
pub struct Variables {
    /// The outermost first.
    frames: Vec<Vec<String>>,
}

impl Variables {
    /// No variables but those of the system.
    pub fn new() -> Self {
        Self::default()
    }

    /// These and more, which hide others of the same name. Their values are given by
    /// [`Scope::frame`](super::Scope::frame), in the same order.
    pub fn with<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Result<Self> {
        let mut frames = self.frames.clone();
        let names = names.into_iter().map(|name| check_definable(name).map(|()| name.to_owned()));
        frames.push(names.collect::<Result<_>>()?);
        Ok(Self { frames })
    }

    /// Adds names that were already checked.
    pub(super) fn push(&mut self, names: Vec<String>) {
        self.frames.push(names);
    }

    pub(super) fn pop(&mut self) {
        self.frames.pop();
    }

    /// How many frames to leave to get to the variable, and its position there.
    pub(super) fn find(&self, name: &str) -> Option<(usize, usize)> {
        self.frames.iter().rev().enumerate().find_map(|(leave, names)| {
            names.iter().position(|known| known == name).map(|position| (leave, position))
        })
    }
}

/// Checks the name of a variable that the user defines: a lower case letter first, or `CURRENT`.
pub(super) fn check_definable(name: &str) -> Result<()> {
    if name == "CURRENT" {
        return Ok(());
    }
    check(name, |first| first.is_ascii_lowercase() || !first.is_ascii())
}

/// Checks the name of a variable that is read.
pub(super) fn check_readable(name: &str) -> Result<()> {
    check(name, |first| first.is_ascii_alphabetic() || !first.is_ascii())
}

fn check(name: &str, may_be_first: impl Fn(char) -> bool) -> Result<()> {
    let mut characters = name.chars();
    let Some(first) = characters.next() else {
        return Err(Error::failed_to_parse("empty variable names are not allowed"));
    };
    if !may_be_first(first) {
        return Err(Error::failed_to_parse(format!(
            "'{name}' starts with an invalid character for a user variable name"
        )));
    }
    let is_allowed =
        |other: char| other.is_ascii_alphanumeric() || other == '_' || !other.is_ascii();
    match characters.find(|other| !is_allowed(*other)) {
        None => Ok(()),
        Some(wrong) => Err(Error::failed_to_parse(format!(
            "'{name}' contains an invalid character for a variable name: '{wrong}'"
        ))),
    }
}
