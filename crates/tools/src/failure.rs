//! The failure of a command: one line for people, one exit code for scripts.

use std::{
    fmt::{self, Display},
    io::Write as _,
    process::ExitCode,
};

/// The error of a command.
#[derive(Debug)]
pub struct Failure {
    code: u8,
    message: String,
}

impl Failure {
    /// Invalid arguments or input: exit code 2, as for an unknown flag.
    pub fn usage(message: impl Display) -> Self {
        Self { code: 2, message: message.to_string() }
    }

    /// A failure on this machine: exit code 1.
    pub fn start(error: impl Into<anyhow::Error>) -> Self {
        Self { code: 1, message: format!("{:#}", error.into()) }
    }

    /// A server refused, or could not be reached: exit code 4.
    pub fn server(error: impl Into<anyhow::Error>) -> Self {
        Self::start(error).with_code(4)
    }

    /// This failure with another exit code.
    #[must_use]
    pub fn with_code(self, code: u8) -> Self {
        Self { code, ..self }
    }

    /// Prints the failure on stderr, and returns the exit code.
    pub fn report(&self) -> ExitCode {
        // If stderr is closed, nobody reads this.
        let _ = writeln!(std::io::stderr().lock(), "sheaf: {}", self.message);
        ExitCode::from(self.code)
    }

    /// The message.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}
