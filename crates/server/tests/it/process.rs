//! Starts and stops `sheaf`.

use std::{
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

/// A running server. Killed when dropped.
pub(crate) struct Sheaf {
    child: Child,
    pub(crate) endpoint: String,
    pub(crate) address: SocketAddr,
}

/// The command, free of what the environment of the tests may say.
pub(crate) fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sheaf"));
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("SHEAF_") || text.starts_with("AZURE_COSMOS_EMULATOR_") {
            command.env_remove(name);
        }
    }
    // The test runner does not hold back what other processes write.
    command.env("SHEAF_LOG_LEVEL", "error").args(args).stdin(Stdio::null());
    command
}

/// Runs a command that ends by itself.
pub(crate) fn run(args: &[&str]) -> Output {
    command(args).output().unwrap()
}

/// Runs a command that must fail, and gives what it said.
pub(crate) fn failure(code: i32, args: &[&str]) -> String {
    let output = run(args);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    assert!(output.stdout.is_empty());
    assert!(!stderr.contains("panicked"), "{stderr}");
    stderr
}

impl Sheaf {
    /// Starts a server on a free port and waits until it is ready.
    pub(crate) fn start(args: &[&str]) -> Self {
        Self::spawn(command(&["serve", "--port", "0"]).args(args))
    }

    /// Starts a server without files.
    pub(crate) fn in_memory(args: &[&str]) -> Self {
        Self::spawn(command(&["serve", "--port", "0", "--in-memory"]).args(args))
    }

    /// Starts a prepared command and waits for its ready line.
    pub(crate) fn spawn(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let endpoint = line.trim_end().strip_prefix("ready endpoint=").expect(&line).to_owned();
        let address = endpoint.split('/').nth(2).unwrap().parse().unwrap();
        Self { child, endpoint, address }
    }

    /// The memory that it has, in bytes.
    pub(crate) fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, name: &str) {
        let kill = Command::new("kill").args([name, &self.child.id().to_string()]).status();
        assert!(kill.unwrap().success());
    }

    /// Waits for the end and gives the exit code.
    pub(crate) fn wait(&mut self) -> i32 {
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code().expect("an exit code");
            }
            assert!(Instant::now() < deadline, "the server does not stop");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Stops the server in good order.
    pub(crate) fn stop(mut self) {
        self.signal("-TERM");
        assert_eq!(self.wait(), 0);
    }
}

impl Drop for Sheaf {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
