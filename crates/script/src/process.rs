//! One worker process, seen from the host.

use std::{ffi::OsString, path::Path, process::Stdio};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, BufReader},
    process::{Child, ChildStdin, ChildStdout, Command},
    time::Instant,
};

use crate::message;

/// As much as a pipe holds.
const OUTPUT_BYTES: usize = 64 << 10;

/// A worker process, presumably alive. Dropping it kills the process, so that an abandoned script
/// does not keep running.
pub(crate) struct Process {
    child: Child,
    input: ChildStdin,
    /// Buffered, so that messages and their lengths take one system call.
    output: BufReader<ChildStdout>,
    /// When it finished its last script; `None` before the first.
    pub(crate) idle_since: Option<Instant>,
}

impl Process {
    /// Starts a worker with an empty environment but for one setting, none of our folders, and no open
    /// files but its two pipes. Rust's library marks everything the server opens as close-on-exec; but
    /// descriptors that the server itself inherited, beyond the usual three, are passed on.
    pub(crate) fn start(program: &Path, arguments: &[OsString]) -> std::io::Result<Process> {
        let mut child = Command::new(program)
            .args(arguments)
            .env_clear()
            // The allocator reserves a gibibyte of addresses at its first use otherwise, which is all
            // that a worker may have.
            .env("MIMALLOC_ARENA_RESERVE", "8MiB")
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(std::io::Error::other("no pipe to the worker"));
        };
        Ok(Process {
            child,
            input,
            output: BufReader::with_capacity(OUTPUT_BYTES, output),
            idle_since: None,
        })
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

    /// Kills it and waits until it is gone, so that its memory is free when this returns.
    pub(crate) async fn kill(mut self) {
        // It may be gone already, which is what is wanted.
        let _ = self.child.kill().await;
    }
}
