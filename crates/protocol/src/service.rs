//! The one call inward.

use std::{future::Future, pin::Pin};

use crate::{Error, Request, Response, token::Grant};

/// A future that can be named in an object-safe trait.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Who is asking, as proven by an authenticator. What the holder of a token may do is the engine's to
/// find out; the rights of a key are checked before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Principal {
    /// Holds a key of the account.
    Account {
        /// A read-only key may read and query, nothing else.
        read_only: bool,
    },
    /// Holds the token of a permission, which is genuine and has not expired.
    Token(Grant),
}

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
