//! Stores for tests, each of which keeps the contract but exercises one of its freedoms.
//!
//! [`Slow`] delays every call, so that callers really wait. [`Flaky`] fails calls, at chosen steps
//! or at random. [`Journals`] keeps a journal per key space, and can lose what was only buffered.
//! All of them pass [`conformance`](crate::conformance), so a caller that fails on one of them
//! relies on something that the contract does not promise.

mod flaky;
mod journals;
mod random;
mod slow;
mod timer;

pub use self::{
    flaky::{Chances, Fault, Flaky},
    journals::Journals,
    random::Random,
    slow::Slow,
};
