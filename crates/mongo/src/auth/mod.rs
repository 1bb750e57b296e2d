//! How a client shows that it has a key of the account, without sending it: SCRAM (RFC 5802, 7677).
//!
//! The password is an account key. There are several, and the client does not say which it has, so all
//! of them share a salt and a number of iterations, and the proof is compared with each.

mod exchange;
mod mechanism;
mod verifier;

pub use exchange::{Exchange, Failure};
pub use mechanism::Mechanism;
pub use verifier::{Salt, Verifier};
