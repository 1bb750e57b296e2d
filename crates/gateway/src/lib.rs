//! The Cosmos DB REST protocol: bytes in, one call on a `Service`, bytes out.
//!
//! In reading order, which is the order a request passes through:
//! - `gateway`: the pipeline,
//! - [`settings`]: keys and what the account says of itself,
//! - `route`: path to target, `auth`: signature to principal, `resource_token`: token of a permission to principal,
//!   `issuers`, `role`: of access tokens,
//! - `decode`, `query`, `batch`, `changes`, `options`, `body`: target, headers and body to [`protocol::Request`],
//! - `call`: the one inward call,
//! - `encode`, `failure`, `status`: answer or error to a response,
//! - `sign`: the other side of `auth`, for clients of ours,
//! - `handled`: what became of it, for whoever keeps count,
//! - `account`: the answer to `GET /`,
//! - `host`, `local`, `names`, `endpoint`: what a request calls the server, whether this machine is meant, whose
//!   name that is, and where clients reach the server,
//! - `activity`, `headers`, `version`: what several of these share.

mod account;
mod activity;
mod auth;
mod batch;
mod body;
mod call;
mod changes;
mod decode;
mod encode;
mod endpoint;
mod failure;
mod form;
mod gateway;
mod handled;
mod headers;
mod host;
mod issuers;
mod local;
mod names;
mod options;
mod query;
mod resource_token;
mod role;
mod route;
pub mod settings;
mod sign;
mod status;
mod version;

pub use body::BodyError;
pub use endpoint::{Authority, Endpoint, Forwarded, scheme_of};
pub use gateway::{Clock, Connection, Gateway, Recorder};
pub use handled::{Credential, Handled};
pub use issuers::{Issuer, Issuers, KeySet};
pub use local::{is_called_local, is_forwarded};
pub use names::Names;
pub use role::Role;
pub use settings::{
    CrossPartition, Key, KeyError, Keys, Limits, PUBLISHED_KEY, Settings, Staleness,
};
pub use sign::{Signed, signed};
