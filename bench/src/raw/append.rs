//! Raw group commit: what any store on this disk has to do at least.
//!
//! Tasks hand their bytes to one thread, which writes what has come meanwhile to the end of a file,
//! waits for one sync, and answers all of them.

use std::{
    fs::OpenOptions,
    io::Write as _,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    time::Instant,
};

use anyhow::{Result, anyhow};
use bytes::Bytes;
use tokio::sync::oneshot;

use super::timed;
use crate::compare::Figures;

type Turn = (Bytes, oneshot::Sender<()>);

/// Appends `count` pieces, over and over the same.
pub(crate) async fn run(
    file: &Path,
    pieces: &Arc<Vec<Bytes>>,
    tasks: usize,
    count: usize,
) -> Result<Figures> {
    let (sender, receiver) = mpsc::channel::<Turn>();
    let mut file = OpenOptions::new().create(true).write(true).truncate(true).open(file)?;
    let committer = std::thread::spawn(move || -> Result<()> {
        let (mut buffer, mut waiting) = (Vec::new(), Vec::new());
        while let Ok(first) = receiver.recv() {
            for (bytes, answer) in std::iter::once(first).chain(receiver.try_iter()) {
                buffer.extend_from_slice(&bytes);
                waiting.push(answer);
            }
            file.write_all(&buffer)?;
            file.sync_data()?;
            buffer.clear();
            // A task that has gone does not wait for an answer.
            for answer in waiting.drain(..) {
                answer.send(()).ok();
            }
        }
        Ok(())
    });
    let next = Arc::new(AtomicUsize::new(0));
    let writers = (0..tasks).map(|_| {
        let (sender, next, pieces) = (sender.clone(), Arc::clone(&next), Arc::clone(pieces));
        async move {
            let mut latencies = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    return Ok(latencies);
                }
                let begin = Instant::now();
                let (answer, answered) = oneshot::channel();
                let piece = pieces[number % pieces.len()].clone();
                sender.send((piece, answer)).map_err(|_| anyhow!("the committer has ended"))?;
                answered.await?;
                latencies.push(begin.elapsed());
            }
        }
    });
    let figures = timed(writers, false).await;
    drop(sender);
    committer.join().map_err(|_| anyhow!("the committer panicked"))??;
    figures
}
