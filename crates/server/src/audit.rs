//! The audit log: who changed what the account consists of, and who was refused. One JSON object a
//! line. `file` is where the lines go, `line` what they look like.
//!
//! Nobody waits for it: lines go through a bounded queue to a thread. Strangers could otherwise fill
//! the disk, or wear it out, so refusals beyond some a second are only counted, and files are of a
//! bounded size and number. Changes are never left out while the disk keeps up.

mod file;
mod line;

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

use self::file::Rotated;
pub(crate) use self::line::{Line, Who};
use crate::clock::MachineClock;

/// Lines that wait for the disk.
const QUEUE_LINES_MAX: usize = 4096;
/// Refusals that are written down in a second.
const REFUSALS_MAX: u32 = 100;
/// How soon a count of what was left out is written down.
const SECOND: Duration = Duration::from_secs(1);

/// Where the audit log is, and how much of it there may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AuditSettings {
    pub(crate) path: PathBuf,
    /// Size at which a file is put aside.
    pub(crate) bytes_max: u64,
    /// Files that are kept, with the one that is written.
    pub(crate) files_max: u32,
}

/// The log. One that is off takes lines and forgets them.
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
        Ok(Self { sender: Some(sender), writer, quota: Mutex::default(), omitted })
    }

    /// Something was changed, or happened to the server.
    pub(crate) fn changed(&self, line: Line<'_>) {
        self.send(&line);
    }

    /// Somebody was refused.
    pub(crate) fn refused(&self, line: Line<'_>) {
        if self.sender.is_none() {
            return;
        }
        let has_room = self.quota.lock().unwrap_or_else(PoisonError::into_inner).take();
        if has_room {
            self.send(&line);
        } else {
            self.omitted.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn send(&self, line: &Line<'_>) {
        let Some(sender) = &self.sender else { return };
        let line = Message::Line(line.text(MachineClock.since_epoch()));
        if sender.try_send(line).is_err() {
            self.omitted.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Writes down what is queued. What comes later is forgotten.
    pub(crate) fn close(&self) {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let (Some(sender), Some(writer)) = (&self.sender, writer) {
            // It fails only when the thread is gone already.
            let _ = sender.send(Message::End);
            let _ = writer.join();
        }
    }
}

/// How many refusals were written down in the present second.
#[derive(Default)]
struct Quota {
    since: Option<Instant>,
    taken: u32,
}

impl Quota {
    fn take(&mut self) -> bool {
        let now = Instant::now();
        if self.since.is_none_or(|since| now.duration_since(since) >= SECOND) {
            (self.since, self.taken) = (Some(now), 0);
        }
        self.taken = self.taken.saturating_add(1);
        self.taken <= REFUSALS_MAX
    }
}

/// The thread that writes.
fn write(mut file: Rotated, receiver: &Receiver<Message>, omitted: &AtomicU64) {
    loop {
        let message = receiver.recv_timeout(SECOND);
        let is_end = matches!(message, Ok(Message::End) | Err(RecvTimeoutError::Disconnected));
        if let Ok(Message::Line(line)) = message {
            file.append(&line);
            // What waits already is written with it.
            for message in receiver.try_iter().take(QUEUE_LINES_MAX) {
                match message {
                    Message::Line(line) => file.append(&line),
                    Message::End => return finish(&mut file, omitted),
                }
            }
        }
        let count = omitted.swap(0, Ordering::Relaxed);
        if count > 0 {
            file.append(&Line::omitted(count).text(MachineClock.since_epoch()));
        }
        file.flush();
        if is_end {
            return finish(&mut file, omitted);
        }
    }
}

fn finish(file: &mut Rotated, omitted: &AtomicU64) {
    let count = omitted.swap(0, Ordering::Relaxed);
    if count > 0 {
        file.append(&Line::omitted(count).text(MachineClock.since_epoch()));
    }
    file.flush();
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
        // A second may have passed meanwhile, but hardly many.
        assert!(count("refused") >= 100 && count("refused") < 1000);
        assert!(count("omitted") >= 1);
        for line in text.lines() {
            value::json::parse(line.as_bytes()).unwrap();
        }
    }

    #[test]
    fn a_log_that_is_off_costs_nothing() {
        let audit = Audit::default();
        audit.changed(Line::server("changed", "test"));
        audit.refused(Line::server("refused", "test"));
        audit.close();
    }
}
