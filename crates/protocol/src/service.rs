//! The one call inward.

use std::{
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::Poll,
    time::Instant,
};

use crate::{
    error::{Code, Error},
    principal::Principal,
    request::Request,
    response::Response,
};

/// A future that can be named in an object-safe trait.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Most nodes that may hand a request on. Two are enough for a client whose node knows an old owner;
/// more than this is a circle.
pub const HOPS_MAX: u8 = 4;

/// What travels with a request besides its content.
#[derive(Clone, Debug)]
pub struct Context {
    /// Who is asking.
    pub principal: Principal,
    /// Names this request in logs and answers.
    pub activity_id: u128,
    /// The connection it came by, if one caller has it to itself: a request that comes again by it
    /// is the same caller's.
    pub connection: Option<u64>,
    /// When the caller stops waiting, if that is known. Nothing is begun after it.
    pub deadline: Option<Instant>,
    /// How many nodes have handed the request on. Zero where it came from a client.
    pub hops: u8,
    /// The version of the catalog by which a node decided where the request belongs. A service that
    /// knows only an older one must not decide by that.
    pub catalog_version: Option<u64>,
}

impl Context {
    /// A request of a client, of which nothing else is known.
    pub fn new(principal: Principal, activity_id: u128) -> Self {
        let (connection, deadline, hops, catalog_version) = (None, None, 0, None);
        Self { principal, activity_id, connection, deadline, hops, catalog_version }
    }

    /// Refuses a request that came too late, or that nodes hand to each other in a circle.
    pub fn check(&self, now: Instant) -> Result<(), Error> {
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            return Err(Error::new(Code::Timeout, "The request arrived after its deadline."));
        }
        if self.hops > HOPS_MAX {
            return Err(Error::new(
                Code::Unavailable,
                format!("The request was handed on more than {HOPS_MAX} times."),
            ));
        }
        Ok(())
    }
}

/// The database, single node or clustered: which one is chosen once, in `main`.
pub trait Service: Send + Sync {
    /// Carries out one request.
    ///
    /// Cancel-safe: a dropped call either did nothing or completes in the background.
    fn call<'a>(
        &'a self,
        context: &'a Context,
        request: Request,
    ) -> BoxFuture<'a, Result<Response, Error>>;
}

/// Calls a service; a panic below costs one request, not the server, and becomes [`Code::Internal`].
///
/// `AssertUnwindSafe`: the call is not polled again after a panic, and what it shares with other
/// calls is the service's, which keeps it behind locks that survive a panic or report it.
pub async fn guarded(
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
