//! Signals from the operating system: to stop, and to reload files.

use std::io;

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Exit code after a second signal: 128 + SIGINT, as is usual in shells.
const IMPATIENT_EXIT_CODE: i32 = 130;

/// Receives SIGTERM and SIGINT (ctrl-c elsewhere), from its creation on.
pub(crate) struct Signals {
    #[cfg(unix)]
    terminate: Signal,
    #[cfg(unix)]
    interrupt: Signal,
}

impl Signals {
    /// Installs the handlers; until then the signals end the process.
    pub(crate) fn install() -> io::Result<Self> {
        Ok(Self {
            #[cfg(unix)]
            terminate: signal(SignalKind::terminate())?,
            #[cfg(unix)]
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Waits for one of the signals. Cancel-safe.
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

/// Receives SIGHUP, from its creation on. On systems without that signal it never arrives.
pub(crate) struct Hangups {
    #[cfg(unix)]
    hangup: Signal,
}

impl Hangups {
    /// Installs the handler; until then the signal ends the process.
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
