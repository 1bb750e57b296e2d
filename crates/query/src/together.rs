//! Futures side by side: whoever reads several partitions waits for the slowest of them, not for
//! one after the other.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::atomic::{AtomicBool, Ordering},
    task::{Context, Poll},
};

use protocol::BoxFuture;

/// How many futures are under way at the same time. Others begin when one of these has ended.
pub(crate) const AT_ONCE: usize = 16;

/// Runs futures side by side, on the caller's own task, and gives their results in their order. The
/// first error ends all of them.
pub(crate) async fn all<'a, T, E>(
    futures: impl IntoIterator<Item = impl Future<Output = Result<T, E>> + Send + 'a>,
) -> Result<Vec<T>, E> {
    let mut futures: Vec<BoxFuture<'a, Result<T, E>>> =
        futures.into_iter().map(|future| Box::pin(future) as BoxFuture<'a, _>).collect();
    if futures.len() < 2 {
        return match futures.pop() {
            Some(only) => Ok(vec![only.await?]),
            None => Ok(Vec::new()),
        };
    }
    let mut results: Vec<Option<T>> = futures.iter().map(|_| None).collect();
    let mut running: Vec<(usize, BoxFuture<'a, Result<T, E>>)> =
        futures.into_iter().enumerate().collect();
    poll_fn(|context| poll(&mut running, &mut results, context)).await?;
    Ok(results.into_iter().flatten().collect())
}

/// Goes on with the first few, in whose place others come when they end.
fn poll<T, E>(
    running: &mut Vec<(usize, BoxFuture<'_, Result<T, E>>)>,
    results: &mut [Option<T>],
    context: &mut Context<'_>,
) -> Poll<Result<(), E>> {
    let mut at = 0;
    while let Some((place, future)) = running.get_mut(at).filter(|_| at < AT_ONCE) {
        match future.as_mut().poll(context) {
            Poll::Pending => at += 1,
            Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
            Poll::Ready(Ok(result)) => {
                results[*place] = Some(result);
                drop(running.remove(at));
            }
        }
    }
    if running.is_empty() { Poll::Ready(Ok(())) } else { Poll::Pending }
}

/// Whether answers had to be waited for. Where they are at hand, nothing is won by asking early.
#[derive(Debug, Default)]
pub(crate) struct Waits(AtomicBool);

impl Waits {
    /// Waits for an answer. Notes whether it was not at hand.
    pub(crate) async fn on<T>(&self, answer: impl Future<Output = T>) -> T {
        let mut answer = pin!(answer);
        poll_fn(|context| {
            let answer = answer.as_mut().poll(context);
            if answer.is_pending() {
                self.0.store(true, Ordering::Relaxed);
            }
            answer
        })
        .await
    }

    /// Notes what was noted elsewhere.
    pub(crate) fn absorb(&self, other: &Self) {
        self.0.fetch_or(other.has_waited(), Ordering::Relaxed);
    }

    /// Whether an answer was not at hand.
    pub(crate) fn has_waited(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::sync::Barrier;

    use super::*;

    #[tokio::test]
    async fn results_come_in_the_order_of_the_futures() {
        let yielding = |number: usize| async move {
            for _ in number..100 {
                tokio::task::yield_now().await;
            }
            Ok::<_, ()>(number)
        };
        for count in [0, 1, 2, 100] {
            let numbers: Vec<usize> = (0..count).collect();
            assert_eq!(all(numbers.iter().map(|number| yielding(*number))).await, Ok(numbers));
        }
    }

    /// Nobody passes the barrier unless all wait at it.
    #[tokio::test]
    async fn as_many_as_allowed_are_under_way() {
        let (barrier, running) = (Barrier::new(AT_ONCE), AtomicUsize::new(0));
        let most = AtomicUsize::new(0);
        let task = |number: usize| {
            let (barrier, running, most) = (&barrier, &running, &most);
            async move {
                most.fetch_max(running.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
                barrier.wait().await;
                running.fetch_sub(1, Ordering::Relaxed);
                Ok::<_, ()>(number)
            }
        };
        assert_eq!(all((0..4 * AT_ONCE).map(task)).await.map(|all| all.len()), Ok(4 * AT_ONCE));
        assert_eq!(most.into_inner(), AT_ONCE);
    }

    #[tokio::test]
    async fn an_error_ends_the_others() {
        let task = |number: usize| async move {
            if number == 3 {
                return Err(number);
            }
            std::future::pending::<()>().await;
            Ok(())
        };
        assert_eq!(all((0..8).map(task)).await, Err(3));
    }
}
