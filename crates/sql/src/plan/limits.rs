//! TOP, OFFSET and LIMIT: a client skips and counts over all partitions, so that each of them has
//! to return what would be skipped as well.

use super::Planner;
use crate::Query;
use crate::ast::{Count, OffsetLimit};
use crate::error::Span;

/// The counts of a query.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Limits {
    pub(super) top: Option<u32>,
    /// Set together with the limit.
    pub(super) offset: Option<u32>,
    pub(super) limit: Option<u32>,
}

impl Limits {
    /// The counts as written, or as their parameters say.
    pub(super) fn of(query: &Query, planner: &Planner<'_>) -> Limits {
        let number = |count: &Count| match count {
            Count::Literal(number) => *number,
            // The checks have seen to it that there is such a number.
            Count::Parameter(name) => {
                let value = planner.parameters.get(name.text.as_str());
                let count = value.and_then(|value| value.as_i64()).unwrap_or_default();
                u32::try_from(count).unwrap_or(u32::MAX)
            }
        };
        let clause = query.offset_limit.as_ref();
        Limits {
            top: query.select.top.as_ref().map(|top| number(&top.count)),
            offset: clause.map(|clause| number(&clause.offset)),
            limit: clause.map(|clause| number(&clause.limit)),
        }
    }

    /// Keeps OFFSET and LIMIT out of the plan: the only partition executes them as written.
    pub(super) fn leave_offset_to_partition(&mut self) {
        self.offset = None;
        self.limit = None;
    }

    /// Whether a client has to skip or count.
    pub(super) fn is_any(&self) -> bool {
        self.top.is_some() || self.offset.is_some()
    }

    /// The query whose answer still has what the client will skip.
    pub(super) fn widened(&self, query: &Query) -> Query {
        let mut widened = query.clone();
        if let (Some(offset), Some(limit)) = (self.offset, self.limit) {
            let count = offset.saturating_add(limit);
            widened.offset_limit = Some(up_to(count));
            // TOP counts after OFFSET, and would cut off the skipped rows.
            widened.select.top = None;
        }
        widened
    }
}

/// `OFFSET 0 LIMIT count`.
pub(super) fn up_to(count: u32) -> OffsetLimit {
    OffsetLimit { offset: Count::Literal(0), limit: Count::Literal(count), span: Span::default() }
}

/// The query without any count: the client needs every row.
pub(super) fn without(query: &Query) -> Query {
    let mut unlimited = query.clone();
    unlimited.select.top = None;
    unlimited.offset_limit = None;
    unlimited
}
