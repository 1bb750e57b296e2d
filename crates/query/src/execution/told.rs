//! The metadata of a page besides its rows, if the client requests it.

use std::time::Duration;

use protocol::{
    Options,
    query::{QueryMeta, QueryMetrics},
};

use crate::execution::{
    explain, index_metrics, job::Job, ordered::Order, page::Page, prepared::Prepared,
};

/// The metadata that the client requested.
pub(super) fn of(
    job: &Job<'_>,
    prepared: &Prepared,
    order: Option<&Order>,
    page: &Page,
    options: &Options,
    charge: f64,
    times: [Duration; 3],
) -> Option<Box<QueryMeta>> {
    let asked = &options.query;
    let metrics_of =
        |version| index_metrics::of(prepared, job.collection, order, (options, version));
    let meta = QueryMeta {
        requires_distribution: asked.is_optimistic.then(|| requires_distribution(job)),
        metrics: asked.populate_metrics.then(|| query_metrics(job, page, times)),
        index_metrics: asked.index_metrics.map(|version| (version, metrics_of(version))),
        advice: (asked.populate_advice)
            .then(|| sql::advice::of(&prepared.query, &prepared.source.parameters))
            .flatten(),
        explain: asked.explain.then(|| explain::of(job, prepared, order, page, charge)),
    };
    (meta != QueryMeta::default()).then(|| meta.into())
}

/// Whether the rows of one partition are not the whole answer. This depends on the query, not on
/// the results: .NET treats a change from page to page as an error.
fn requires_distribution(job: &Job<'_>) -> bool {
    let shape = job.program.shape();
    let is_merged =
        shape.is_distinct || shape.is_aggregate || shape.groups || shape.inner.is_some();
    is_merged || job.parts.len() > 1
}

fn query_metrics(
    job: &Job<'_>,
    page: &Page,
    [total, compiled, planned]: [Duration; 3],
) -> QueryMetrics {
    let totals = job.figures.totals();
    let millis = |duration: Duration| duration.as_secs_f64() * 1000.0;
    #[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
    let index_hit_ratio = if totals.documents == 0 {
        1.0
    } else {
        totals.matched.min(totals.documents) as f64 / totals.documents as f64
    };
    QueryMetrics {
        total_ms: millis(total),
        compile_ms: millis(compiled),
        plan_ms: millis(planned.saturating_sub(compiled)),
        index_lookup_ms: millis(totals.index),
        document_load_ms: millis(totals.load),
        // Rows are printed during evaluation.
        execution_ms: millis(totals.run.saturating_sub(page.written())),
        functions_ms: millis(totals.call),
        write_output_ms: millis(page.written()),
        retrieved_documents: totals.documents,
        retrieved_bytes: totals.document_bytes,
        output_documents: page.items.len() as u64,
        output_bytes: page.bytes() as u64,
        index_hit_ratio,
    }
}
