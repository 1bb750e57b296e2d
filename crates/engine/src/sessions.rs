//! Sessions: a reader sees at least what its session has seen.

use protocol::{Error, Options};

use crate::{Inner, partition::Partition, served::Served};

/// Refuses a reader whose session has seen more than the partition has.
pub(crate) fn check_session(
    engine: &Inner,
    collection: &Served,
    partition: &Partition,
    options: &Options,
) -> Result<(), Error> {
    if !options.is_session_read(engine.options.default_consistency) {
        return Ok(());
    }
    partition.check_session(options.session.as_ref()).map_err(|mut error| {
        error.meta.partitions = vec![partition.point(partition.lsn())];
        error.meta.owner = Some(collection.owner());
        error
    })
}
