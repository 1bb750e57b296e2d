//! Running stored procedures.

use std::sync::Arc;

use bytes::Bytes;
use protocol::{Error, Options, Response, request::ScriptPath};

use crate::{Inner, charge::Meter, scripts::find};

/// Runs a stored procedure.
pub(crate) async fn execute(
    engine: &Arc<Inner>,
    path: &ScriptPath,
    _arguments: &Bytes,
    options: &Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    meter.metadata_read();
    find(engine, path, options)?;
    Err(Error::bad_request(
        "Running stored procedures is not supported by this version of Sheaf yet.",
    ))
}
