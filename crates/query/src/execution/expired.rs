//! Expired documents that are still in the index: an answer from the index alone must leave them
//! out.

use bytes::Bytes;
use partition::{
    errors,
    keys::{self, number_at},
    rows::Header,
};
use protocol::{Error, rid::DocNum};

use crate::execution::job::{Job, Part};

/// Most expired documents to examine; with more, the query reads documents instead.
const NUMBERS_MAX: usize = 4096;
/// Documents that are read together.
const CHUNK: usize = 16;

/// The numbers of a part's expired documents, sorted; `None` if some may be unknown.
pub(crate) async fn numbers(job: &Job<'_>, part: &Part) -> Result<Option<Vec<DocNum>>, Error> {
    if !part.expiry.is_on() {
        return Ok(Some(Vec::new()));
    }
    // Rows written for another time to live may be due too late.
    if job.collection.is_transforming() {
        return Ok(None);
    }
    let due = part.expiry.due(&*part.snapshot, None, NUMBERS_MAX).await?;
    if due.has_more {
        return Ok(None);
    }
    let reach = part.reach(&job.figures);
    reach.note_index_entries(due.rows.len());
    let in_reach = |number: &DocNum| reach.contains(*number);
    let mut numbers: Vec<DocNum> =
        due.rows.iter().filter_map(|key| number_at(key)).filter(in_reach).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let mut expired = Vec::with_capacity(numbers.len());
    for chunk in numbers.chunks(CHUNK) {
        job.check_timeout()?;
        let wanted: Vec<Bytes> = chunk.iter().map(|number| keys::document(*number)).collect();
        let rows = part.snapshot.get_many(&wanted).await.map_err(errors::from_store)?;
        for (number, row) in chunk.iter().zip(rows) {
            let Some(row) = row else { continue };
            let (header, document) = Header::decode(&row).map_err(errors::from_damaged)?;
            if part.expiry.is_over(&header, &document) {
                expired.push(*number);
            }
        }
    }
    Ok(Some(expired))
}
