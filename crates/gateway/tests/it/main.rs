//! The gateway in front of a service that records what it is asked.

mod access;
mod answers;
mod bodies;
mod credentials;
mod operations;
mod options;
mod queries;
mod query_answers;
mod random;
mod support;
