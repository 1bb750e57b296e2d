//! The audit log: who changed the account's resources, and who was refused. One JSON object per
//! line. `file` writes the lines, `line` formats them, `quota` limits those from unauthenticated
//! clients.
//!
//! Requests never wait for the log: lines go through a bounded queue to a thread. Unauthenticated
//! clients could otherwise fill the disk, wear it out, or push out the record of changes, so
//! refusals beyond a quota are only counted, and files are limited in size and number. Changes are
//! never left out while the disk keeps up.

mod file;
mod line;
mod quota;

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

pub(crate) use self::line::{Line, Who};
use self::{file::Rotated, quota::Quota};
use crate::clock::MachineClock;

/// Lines that may wait for the disk.
const QUEUE_LINES_MAX: usize = 4096;
/// How soon a single line is handed to the operating system.
const SECOND: Duration = Duration::from_secs(1);
/// How often the count of omitted lines is written.
const COUNT_INTERVAL: Duration = Duration::from_mins(1);

/// Location and limits of the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AuditSettings {
    pub(crate) path: PathBuf,
    /// The size at which a file is rotated.
    pub(crate) bytes_max: u64,
    /// Number of files to keep, including the current one.
    pub(crate) files_max: u32,
}

/// The log. If it is off, it discards all lines.
#[derive(Default)]
pub(crate) struct Audit {
    sender: Option<SyncSender<Message>>,
    writer: Mutex<Option<JoinHandle<()>>>,
    quota: Mutex<Quota>,
    omitted: Arc<AtomicU64>,
}

enum Message {
    Line(String),
    End,
}

impl Audit {
    /// Opens the log.
    pub(crate) fn open(settings: &AuditSettings) -> anyhow::Result<Self> {
        let file = Rotated::open(settings)?;
        let (sender, receiver) = sync_channel(QUEUE_LINES_MAX);
        let omitted = Arc::new(AtomicU64::new(0));
        let writer = {
            let omitted = Arc::clone(&omitted);
            let writer = std::thread::Builder::new().name("audit".to_owned());
            writer.spawn(move || write(file, &receiver, &omitted))?
        };
        let writer = Mutex::new(Some(writer));
        let quota = Mutex::new(Quota::new(settings));
        Ok(Self { sender: Some(sender), writer, quota, omitted })
    }

    /// Logs a change, or an event of the server.
    pub(crate) fn changed(&self, line: Line<'_>) {
        if self.sender.is_some() {
            self.send(text(&line));
        }
    }

    /// Logs a refusal.
    pub(crate) fn refused(&self, line: Line<'_>) {
        if self.sender.is_none() {
            return;
        }
        let now = Instant::now();
        let quota = || self.quota.lock().unwrap_or_else(PoisonError::into_inner);
        // Most refusals of a flood are dropped before their text is made.
        let text = quota().take_line(now).then(|| text(&line));
        match text.filter(|text| quota().take_bytes(text.len(), now)) {
            Some(text) => self.send(text),
            None => _ = self.omitted.fetch_add(1, Ordering::Relaxed),
        }
    }

    fn send(&self, text: String) {
        let Some(sender) = &self.sender else { return };
        if sender.try_send(Message::Line(text)).is_err() {
            self.omitted.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Writes the queued lines. Later lines are discarded.
    pub(crate) fn close(&self) {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let (Some(sender), Some(writer)) = (&self.sender, writer) {
            // This fails only if the thread has already ended.
            let _ = sender.send(Message::End);
            let _ = writer.join();
        }
    }
}

fn text(line: &Line<'_>) -> String {
    line.text(MachineClock.since_epoch())
}

/// Runs the thread that writes.
fn write(mut file: Rotated, receiver: &Receiver<Message>, omitted: &AtomicU64) {
    let mut counted: Option<Instant> = None;
    loop {
        let message = receiver.recv_timeout(SECOND);
        let is_end = matches!(message, Ok(Message::End) | Err(RecvTimeoutError::Disconnected));
        if let Ok(Message::Line(line)) = message {
            file.append(&line);
            // Write lines that are already waiting at the same time.
            for message in receiver.try_iter().take(QUEUE_LINES_MAX) {
                match message {
                    Message::Line(line) => file.append(&line),
                    Message::End => return finish(&mut file, omitted),
                }
            }
        }
        if is_end {
            return finish(&mut file, omitted);
        }
        if counted.is_none_or(|at| at.elapsed() >= COUNT_INTERVAL)
            && count_omitted(&mut file, omitted)
        {
            counted = Some(Instant::now());
        }
        file.flush();
    }
}

fn finish(file: &mut Rotated, omitted: &AtomicU64) {
    count_omitted(file, omitted);
    file.flush();
}

/// Writes the number of omitted lines, if there are any.
fn count_omitted(file: &mut Rotated, omitted: &AtomicU64) -> bool {
    let count = omitted.swap(0, Ordering::Relaxed);
    if count > 0 {
        file.append(&text(&Line::omitted(count)));
    }
    count > 0
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn settings(path: PathBuf) -> AuditSettings {
        AuditSettings { path, bytes_max: 1 << 20, files_max: 2 }
    }

    #[test]
    fn refusals_have_a_quota_and_changes_have_none() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("audit.log");
        let audit = Audit::open(&settings(path.clone())).unwrap();
        for _ in 0..1000 {
            audit.refused(Line::server("refused", "test"));
            audit.changed(Line::server("changed", "test"));
        }
        audit.close();
        audit.changed(Line::server("changed", "too late"));
        let text = fs::read_to_string(&path).unwrap();
        let count = |event: &str| text.matches(&format!("\"event\":\"{event}\"")).count();
        assert_eq!(count("changed"), 1000);
        // The test may run into the next second, but not into many.
        assert!(count("refused") >= 100 && count("refused") < 1000);
        assert!(count("omitted") >= 1);
        for line in text.lines() {
            value::json::parse(line.as_bytes()).unwrap();
        }
    }

    #[test]
    fn refusals_do_not_push_out_who_changed_what() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("audit.log");
        let settings = AuditSettings { path: path.clone(), bytes_max: 4096, files_max: 2 };
        let audit = Audit::open(&settings).unwrap();
        audit.changed(Line::server("changed", "this"));
        // Enough lines to fill all files, if they were written.
        for _ in 0..100 {
            audit.refused(Line::server("refused", &"x".repeat(200)));
        }
        audit.close();
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains("\"reason\":\"this\""), "{text}");
        assert!(text.contains("\"event\":\"refused\"") && text.contains("\"event\":\"omitted\""));
        assert!(text.len() < 4096);
    }

    #[test]
    fn a_log_that_is_off_costs_nothing() {
        let audit = Audit::default();
        audit.changed(Line::server("changed", "test"));
        audit.refused(Line::server("refused", "test"));
        audit.close();
    }
}
