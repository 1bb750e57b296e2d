//! Types shared by the wire protocols and the engine.
//!
//! A protocol turns bytes into a [`Request`], makes one call on a [`Service`], and turns the
//! [`Response`] or [`Error`] into bytes. Nothing here knows HTTP, BSON or storage.

pub mod autoscale;
pub mod continuation;
pub mod error;
pub mod etag;
pub mod guid;
pub mod limits;
pub mod meta;
pub mod operator;
pub mod patch;
pub mod paths;
pub mod principal;
pub mod query;
pub mod request;
pub mod response;
pub mod rid;
pub mod rights;
pub mod service;
pub mod session;
pub mod token;

pub use error::{Code, Error};
pub use operator::Operator;
pub use principal::{Principal, Proof, Role};
pub use request::{Operation, Options, Request};
pub use response::{Body, Meta, Outcome, Owner, PartitionPoint, Response};
pub use service::{BoxFuture, Context, Service};
