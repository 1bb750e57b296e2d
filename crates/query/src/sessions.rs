//! Sessions: a reader sees at least what its session has already seen.

use catalog::range::Range;
use partition::session;
use protocol::{Error, Options, PartitionPoint};

use crate::{reading::Reading, served::Served};

/// Refuses a reader whose session has seen more of a range than this LSN.
pub fn check_session(
    reading: &Reading,
    collection: &Served,
    (range, lsn): (&Range, u64),
    options: &Options,
) -> Result<(), Error> {
    if !options.is_session_read(reading.rules.default_consistency) {
        return Ok(());
    }
    session::check(range, lsn, options.session.as_ref()).map_err(|mut error| {
        error.meta.partitions = vec![PartitionPoint { range_id: range.id, lsn }];
        error.meta.owner = Some(collection.owner());
        error
    })
}
