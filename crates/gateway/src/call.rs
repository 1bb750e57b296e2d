//! The one call inward, guarded: a panic below costs one request, not the server.

use std::{
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    task::Poll,
};

use protocol::{Code, Context, Error, Request, Response, Service};

/// Calls the service; a panic becomes [`Code::Internal`].
///
/// `AssertUnwindSafe`: the call is not polled again after a panic, and what it shares with other
/// calls is the service's, which keeps it behind locks that survive a panic or report it.
pub(crate) async fn guarded(
    service: &dyn Service,
    context: &Context,
    request: Request,
) -> Result<Response, Error> {
    let started = catch_unwind(AssertUnwindSafe(|| service.call(context, request)));
    let Ok(mut call) = started else { return Err(defect()) };
    poll_fn(|task| {
        catch_unwind(AssertUnwindSafe(|| call.as_mut().poll(task)))
            .unwrap_or_else(|_| Poll::Ready(Err(defect())))
    })
    .await
}

/// Says nothing of the cause: that is in the log, under the activity id.
fn defect() -> Error {
    Error::new(Code::Internal, "An unexpected error occurred while serving the request.")
}
