//! Shared by the commands that talk to a server: a runtime, and output to a stdout that may be
//! closed at any time.

use std::{
    future::Future,
    io::{self, Write as _},
    process::ExitCode,
};

use crate::failure::Failure;

/// Runs a future that talks to a server.
pub(crate) fn block_on<T>(asking: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(Failure::start)?.block_on(asking)
}

/// Prints on stdout, and returns the exit code.
pub(crate) fn print(text: impl AsRef<[u8]>) -> Result<ExitCode, Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_ref()).and_then(|()| stdout.flush()) {
        // The reader of our output has closed it, as `head` does.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::start(error)),
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// Prints a message on stderr. If stderr is closed, nobody reads it.
pub fn say(text: &str) {
    let _ = writeln!(io::stderr().lock(), "sheaf: {text}");
}
