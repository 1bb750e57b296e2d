//! How an order is made: by following its index, or by sorting.

use protocol::rid::DocNum;

use crate::execution::{
    costs::READ_COSTS,
    job::{Job, Part},
    ordered::Order,
    page::Page,
};

/// Whether following an index is cheaper than sorting the documents that can match.
pub(super) fn is_walk(
    job: &Job<'_>,
    order: &Order,
    lists: &[Option<Vec<DocNum>>],
    page: &Page,
) -> bool {
    if order.index.is_none() || job.parts.iter().any(|part| part.has_unindexed) {
        return false;
    }
    let (mut matching, mut all) = (0.0, 0.0);
    for (part, list) in job.parts.iter().zip(lists) {
        all += part.partition_documents as f64;
        let known = list.as_ref().map(|list| list.len() as f64);
        matching += known.unwrap_or(part.documents as f64).min(part.documents as f64);
    }
    let wanted = (page.wants() as f64).min(matching);
    wanted / matching.max(1.0) * all * READ_COSTS.entry + wanted * READ_COSTS.document
        < matching * READ_COSTS.document
}

/// Whether so many of a part's documents are in a list that scanning all of them is faster than
/// reading those one by one.
pub(super) fn is_dense(list: &[DocNum], part: &Part) -> bool {
    list.len() as u64 * 4 > part.documents
}
