//! Running stored procedures, and what is to become of triggers.

use std::sync::Arc;

use bytes::Bytes;
use protocol::{Error, Operation, Options, Response, request::ScriptPath};

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

/// Refuses a write that names triggers: what they are to check or to add must not be left out
/// silently.
pub(crate) fn check_triggers(operation: &Operation, options: &Options) -> Result<(), Error> {
    let is_write = matches!(
        operation,
        Operation::CreateDocument { .. }
            | Operation::ReplaceDocument { .. }
            | Operation::PatchDocument { .. }
            | Operation::DeleteDocument(_)
    );
    if is_write && !(options.pre_triggers.is_empty() && options.post_triggers.is_empty()) {
        return Err(Error::bad_request(
            "Running triggers is not supported by this version of Sheaf yet.",
        ));
    }
    Ok(())
}
