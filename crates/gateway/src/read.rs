//! Parses the bodies that have their own syntax in REST: batches, patches and queries. The engine
//! executes the result; documents inside stay text.
//!
//! - [`batch`]: the operations of a batch, as JSON, or as rows of HybridRow (`rows`),
//! - [`patch`]: the changes of a patch,
//! - [`query`]: text and parameters of a query, and where its rows begin (`resume`).

mod batch;
mod patch;
mod query;
mod resume;
mod rows;

use protocol::{Code, Error};
use value::{Value, json};

pub use batch::operations as batch;
pub use patch::patch;
pub use query::query;

/// Parses a body.
fn parse(text: &[u8]) -> Result<Value, Error> {
    json::parse(text)
        .map_err(|error| Error::bad_request(format!("The input content is invalid JSON: {error}")))
}

/// The error for a body that is too large, in the service's wording.
fn too_large() -> Error {
    Error::new(Code::TooLarge, "Request size is too large")
}
