//! One worker process, seen from the host.

use std::{ffi::OsString, path::Path, process::Stdio};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, BufReader},
    process::{Child, ChildStdin, ChildStdout, Command},
    time::Instant,
};

use crate::message;

/// A worker that is alive, as far as anybody knows. Dropping it kills the process: a script that
/// nobody waits for any more does not go on.
pub(crate) struct Process {
    child: Child,
    input: ChildStdin,
    /// Buffered, so that a message and its length take one system call.
    output: BufReader<ChildStdout>,
    /// When it ended its last script; `None` if it has run none.
    pub(crate) idle_since: Option<Instant>,
}

impl Process {
    /// Starts a worker: no environment, no folder of ours, and of open files only its two pipes. All
    /// that the server opens is marked to be closed here, as Rust's library does; what the server was
    /// itself started with, beyond the usual three, would be passed on.
    pub(crate) fn start(program: &Path, arguments: &[OsString]) -> std::io::Result<Process> {
        let mut child = Command::new(program)
            .args(arguments)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(std::io::Error::other("no pipe to the worker"));
        };
        Ok(Process { child, input, output: BufReader::new(output), idle_since: None })
    }

    /// Sends one whole message, its length included.
    pub(crate) async fn send(&mut self, message: &[u8]) -> std::io::Result<()> {
        self.input.write_all(message).await?;
        self.input.flush().await
    }

    /// Receives one message, without its length.
    pub(crate) async fn receive(&mut self) -> std::io::Result<Vec<u8>> {
        let mut prefix = [0; 4];
        self.output.read_exact(&mut prefix).await?;
        let mut text = vec![0; message::length(prefix)?];
        self.output.read_exact(&mut text).await?;
        Ok(text)
    }

    /// Ends it and waits until it is gone, so that its memory is free when the caller goes on.
    pub(crate) async fn kill(mut self) {
        // It may be gone already, which is what is wanted.
        let _ = self.child.kill().await;
    }
}
