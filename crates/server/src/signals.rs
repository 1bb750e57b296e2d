//! What the operating system tells: to stop, and to read files again.

use std::io;

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Exit code after a second signal: 128 + SIGINT, as is usual in shells.
const IMPATIENT_EXIT_CODE: i32 = 130;

/// SIGTERM and SIGINT (ctrl-c elsewhere), from the moment this is made.
pub(crate) struct Signals {
    #[cfg(unix)]
    terminate: Signal,
    #[cfg(unix)]
    interrupt: Signal,
}

impl Signals {
    /// Takes the signals over; until then they end the process.
    pub(crate) fn install() -> io::Result<Self> {
        Ok(Self {
            #[cfg(unix)]
            terminate: signal(SignalKind::terminate())?,
            #[cfg(unix)]
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Waits for one of them. Cancel-safe.
    pub(crate) async fn received(&mut self) {
        #[cfg(unix)]
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
        #[cfg(not(unix))]
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// From now on, another signal ends the process at once.
    pub(crate) fn exit_on_next(mut self) {
        tokio::spawn(async move {
            self.received().await;
            tracing::warn!("stopped immediately by a second signal");
            std::process::exit(IMPATIENT_EXIT_CODE);
        });
    }
}

/// SIGHUP, from the moment this is created. On systems without that signal it never arrives.
pub(crate) struct Hangups {
    #[cfg(unix)]
    hangup: Signal,
}

impl Hangups {
    /// Takes the signal over; until then it ends the process.
    pub(crate) fn install() -> io::Result<Self> {
        Ok(Self {
            #[cfg(unix)]
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for the next one. Cancel-safe.
    pub(crate) async fn received(&mut self) {
        #[cfg(unix)]
        if self.hangup.recv().await.is_some() {
            return;
        }
        std::future::pending::<()>().await;
    }
}
