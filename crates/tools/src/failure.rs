//! How a command ends when it does not end well: one line for people, one exit code for scripts.

use std::{
    fmt::{self, Display},
    io::Write as _,
    process::ExitCode,
};

/// A command that could not do its work.
#[derive(Debug)]
pub struct Failure {
    code: u8,
    message: String,
}

impl Failure {
    /// What was asked for makes no sense: exit code 2, as for an unknown flag.
    pub fn usage(message: impl Display) -> Self {
        Self { code: 2, message: message.to_string() }
    }

    /// The machine refused: exit code 1.
    pub fn start(error: impl Into<anyhow::Error>) -> Self {
        Self { code: 1, message: format!("{:#}", error.into()) }
    }

    /// A server refused, or could not be reached: exit code 4.
    pub fn server(error: impl Into<anyhow::Error>) -> Self {
        Self::start(error).with_code(4)
    }

    /// This failure under another exit code.
    #[must_use]
    pub fn with_code(self, code: u8) -> Self {
        Self { code, ..self }
    }

    /// Says on stderr what went wrong, and gives the exit code.
    pub fn report(&self) -> ExitCode {
        // Nobody is left to hear about a broken stderr.
        let _ = writeln!(std::io::stderr().lock(), "sheaf: {}", self.message);
        ExitCode::from(self.code)
    }

    /// What went wrong.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}
