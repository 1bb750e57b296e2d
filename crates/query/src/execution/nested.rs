//! `SELECT … FROM (SELECT DISTINCT … FROM c)`: the inner query reads the whole collection, and the
//! outer one reads the inner's rows, which are kept in memory up to a limit.

use protocol::Error;
use sql::program::{Halt, Program, Run, weight};
use value::Value;

use crate::execution::{
    aggregate, grouped,
    job::Job,
    memory,
    ordered::Order,
    page::{Page, Seen, too_large},
    token::Place,
};

/// Most bytes of the inner query's rows.
const INNER_BYTES_MAX: usize = 64 << 20;

/// Fills the page with the rows of the outer query from `place` on.
pub(crate) async fn run(
    job: &Job<'_>,
    order: Option<&Order>,
    page: &mut Page,
    place: &Place,
    run: &mut Run<'_>,
) -> Result<Option<Place>, Error> {
    let Some(inner) = &job.program.shape().inner else { return Ok(None) };
    let values = inner_rows(job, inner, run).await?;
    let host = memory::Host { functions: Some(&job.functions), held: job.held() };
    let rows = memory::rows(job.program, &values, order, host, run).await?;
    let from = if let Place::Ordinal(from) = place { *from } else { 0 };
    Ok(memory::fill(page, &rows, from).map(Place::Ordinal))
}

/// The inner query's rows. As values, not as the JSON of a page: the outer query handles NaN in its
/// own way.
async fn inner_rows(
    job: &Job<'_>,
    inner: &Program,
    run: &mut Run<'_>,
) -> Result<Vec<Value>, Error> {
    let job = job.of_program(inner);
    let shape = inner.shape();
    if shape.inner.is_some() {
        return Err(Error::bad_request(
            "An aggregating subquery in FROM cannot read another aggregating subquery.",
        ));
    }
    let rows = if shape.groups {
        grouped::rows(&job, run).await?
    } else if shape.is_aggregate {
        vec![aggregate::row(&job, run).await?]
    } else {
        return listed(&job, run).await;
    };
    let mut seen = job.seen();
    let mut kept = Vec::new();
    for row in rows {
        if !row.is_undefined() && is_new(seen.as_mut(), &row)? {
            kept.push(row);
        }
    }
    Ok(kept)
}

/// The value of each row.
async fn listed(job: &Job<'_>, run: &mut Run<'_>) -> Result<Vec<Value>, Error> {
    let mut seen = job.seen();
    let (mut rows, mut bytes, mut failure) = (Vec::new(), 0, None);
    job.documents(run, |_, text, run| {
        let document = job.document(text)?;
        job.rows(&document, text.len(), run, &mut |row, run| {
            let value = job.program.project(row, run)?;
            if value.is_undefined() {
                return Ok(());
            }
            match is_new(seen.as_mut(), &value) {
                Ok(false) => return Ok(()),
                Ok(true) => {}
                Err(error) => {
                    failure = Some(error);
                    return Err(Halt::Stopped);
                }
            }
            let more = weight(&value);
            bytes += more;
            if bytes > INNER_BYTES_MAX {
                failure = Some(too_large("the result of an inner query is too large"));
                return Err(Halt::Stopped);
            }
            job.held().take(more)?;
            rows.push(value);
            Ok(())
        })?;
        failure.take().map_or(Ok(()), Err)
    })
    .await?;
    Ok(rows)
}

fn is_new(seen: Option<&mut Seen>, row: &Value) -> Result<bool, Error> {
    seen.map_or(Ok(true), |seen| seen.insert(row))
}
