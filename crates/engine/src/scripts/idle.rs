//! Workers that nobody has needed for a while are given back to the machine.

use std::{sync::Arc, time::Duration};

use crate::Inner;

/// How long a worker stays for the next script.
const IDLE_MAX: Duration = Duration::from_mins(1);
/// How often it is looked for those that stayed too long.
const ROUND: Duration = Duration::from_secs(15);

pub(crate) async fn look_after(engine: Arc<Inner>) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(ROUND) => engine.workers.release(IDLE_MAX),
            () = engine.closing() => return,
        }
    }
}
