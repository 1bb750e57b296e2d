//! Session consistency: a reader sees at least what its session has seen.

use catalog::range::Range;
use protocol::{Code, Error, session::SessionTokens};

use crate::Partition;

/// Fails if the caller's session has seen more of a range than this LSN.
pub fn check(range: &Range, lsn: u64, session: Option<&SessionTokens>) -> Result<(), Error> {
    // A session that knows an ancestor has seen at most what the ancestor handed down.
    let seen = session.and_then(|tokens| {
        let parents: Vec<String> = range.parents.iter().map(u32::to_string).collect();
        tokens.lsn_of(&range.id.to_string(), &parents)
    });
    if seen.is_some_and(|seen| seen > lsn) {
        return Err(Error::new(
            Code::SessionNotAvailable,
            "The read/write session is not available for the input session token.",
        ));
    }
    Ok(())
}

impl Partition {
    /// Fails if the caller's session has seen more than this partition has.
    pub fn check_session(&self, session: Option<&SessionTokens>) -> Result<(), Error> {
        check(&self.range, self.lsn(), session)
    }
}
