//! Stops workers that have been idle for a while.

use std::{sync::Arc, time::Duration};

use crate::Inner;

/// How long an idle worker is kept.
const IDLE_MAX: Duration = Duration::from_mins(1);
/// How often to look for idle workers.
const ROUND: Duration = Duration::from_secs(15);

pub(crate) async fn look_after(engine: Arc<Inner>) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(ROUND) => engine.workers.release(IDLE_MAX),
            () = engine.closing() => return,
        }
    }
}
