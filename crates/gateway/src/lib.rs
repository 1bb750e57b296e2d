//! The Cosmos DB REST protocol: bytes in, one call on a `Service`, bytes out.
//!
//! In reading order, which is the order in which a request passes through:
//! - `gateway`: the pipeline,
//! - [`settings`]: the keys and the properties of the account,
//! - `route`: path to target, `auth`: signature to principal, `resource_token`: resource token to
//!   principal, `issuers`: access token to principal,
//! - `decode`, `query`, `batch`, `changes`, `options`, `body`: target, headers and body to
//!   [`protocol::Request`], `fill`, [`read`], [`hybrid_row`]: body bytes to the body of an
//!   operation,
//! - [`protocol::service`]: the one inward call,
//! - `encode`, `failure`, `status`: answer or error to a response,
//! - `sign`: the client side of `auth`, for our own tools,
//! - `handled`: the outcome of a request, for the audit log and for counting failures,
//! - `account`: the answer to `GET /`,
//! - `host`, `local`, `names`, `endpoint`: the name by which a request addresses the server,
//!   whether it belongs to this machine or could be a web page's, and where clients reach the
//!   server,
//! - `activity`, `headers`, `version`: helpers that several of these share.

mod account;
mod activity;
mod auth;
mod batch;
mod body;
mod changes;
mod decode;
mod encode;
mod endpoint;
mod failure;
mod fill;
mod form;
mod gateway;
mod handled;
mod headers;
mod host;
pub mod hybrid_row;
mod issuers;
mod local;
mod names;
mod options;
mod percent;
mod query;
pub mod read;
mod resource_token;
mod route;
pub mod settings;
mod sign;
mod status;
mod version;

pub use body::BodyError;
pub use endpoint::{Authority, Endpoint, Forwarded, scheme_of};
pub use gateway::{Arrival, Clock, Gateway, Recorder};
pub use handled::{Credential, Handled};
pub use issuers::{Issuer, Issuers, KeySet};
pub use local::{is_called_local, is_forwarded};
pub use names::Names;
pub use settings::{
    CrossPartition, Key, KeyError, Keys, Limits, PUBLISHED_KEY, Settings, Staleness,
};
pub use sign::{Signed, signed};
