//! The interface through which protocols call the database.

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

/// The most nodes that may forward a request. Two are enough for a client whose node knows an old
/// owner; more than this is a loop.
pub const HOPS_MAX: u8 = 4;

/// The context of a request, besides its content.
#[derive(Clone, Debug)]
pub struct Context {
    /// The caller's identity.
    pub principal: Principal,
    /// Identifies this request in logs and responses.
    pub activity_id: u128,
    /// The connection it came over, if it carries only one caller's requests: a repeated request on
    /// it then comes from the same caller.
    pub connection: Option<u64>,
    /// When the caller stops waiting, if known. Nothing is started after it.
    pub deadline: Option<Instant>,
    /// How many nodes have forwarded the request. Zero if it came from a client.
    pub hops: u8,
    /// The version of the catalog that a node used to route the request. A service with an older
    /// catalog must not use that to decide.
    pub catalog_version: Option<u64>,
}

impl Context {
    /// The context of a client's request, with nothing else known.
    pub fn new(principal: Principal, activity_id: u128) -> Self {
        let (connection, deadline, hops, catalog_version) = (None, None, 0, None);
        Self { principal, activity_id, connection, deadline, hops, catalog_version }
    }

    /// Fails if the request is too late or is being forwarded in a loop.
    /// The clock is not asked for a request without a deadline.
    pub fn check(&self, now: impl FnOnce() -> Instant) -> Result<(), Error> {
        if self.deadline.is_some_and(|deadline| deadline <= now()) {
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

/// The database, single node or clustered; `main` chooses.
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

/// Calls a service. A panic inside costs one request, not the server, and becomes
/// [`Code::Internal`].
///
/// `AssertUnwindSafe`: the call is not polled again after a panic, and its state shared with other
/// calls belongs to the service, which keeps it behind locks that survive a panic or report it.
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

/// Does not mention the cause, which is in the log under the activity id.
fn defect() -> Error {
    Error::new(Code::Internal, "An unexpected error occurred while serving the request.")
}
