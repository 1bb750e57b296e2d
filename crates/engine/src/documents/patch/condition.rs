//! The condition of a patch: the FROM and WHERE of a query, evaluated on the stored document.

use protocol::{Code, Error};
use query::execution::halted;
use sql::{
    Span,
    program::{Computed, Halt, Program, Run, Settings},
};
use value::Value;

/// Turns a condition into a query. Only the existence of rows matters.
const SELECT: &str = "SELECT VALUE 1 ";

/// A compiled condition.
#[derive(Debug)]
pub(crate) struct Condition {
    program: Program,
    is_planar: bool,
}

impl Condition {
    /// Checks and compiles `FROM c WHERE ...`.
    pub(crate) fn compile(
        text: &str,
        computed: &[Computed],
        is_planar: bool,
    ) -> Result<Self, Error> {
        if !begins_with_from(text) {
            return Err(refused("it does not begin with FROM"));
        }
        let refused_query = |mut errors: Vec<sql::Error>| {
            // Spans must refer to the client's own text.
            for span in errors.iter_mut().filter_map(|error| error.span.as_mut()) {
                let own = |at: usize| at.saturating_sub(SELECT.len());
                *span = Span::new(own(span.start), own(span.end));
            }
            Error::query(sql::error::to_json(&errors, text))
        };
        let query = sql::parse(&format!("{SELECT}{text}"))
            .and_then(|query| sql::check_burden(&query, &[]).map(|()| query))
            .map_err(|error| refused_query(vec![error]))?;
        if !query.group_by.is_empty() || query.order_by.is_some() || query.offset_limit.is_some() {
            return Err(refused("it has other clauses than FROM and WHERE"));
        }
        // User-defined functions are for queries only.
        let has_udf = Some(&(|_: &str| false) as &(dyn Fn(&str) -> bool + Sync));
        let settings = Settings { computed, is_planar, has_udf, ..Settings::default() };
        let program = Program::compile(&query, &settings).map_err(refused_query)?;
        if program.shape().inner.is_some() {
            return Err(refused("its FROM reads more than the document"));
        }
        Ok(Self { program, is_planar })
    }

    /// Whether evaluation can be slow and therefore needs its own thread.
    pub(crate) fn is_slow(&self) -> bool {
        self.program.shape().is_slow
    }

    /// Refuses the patch if the condition does not hold for the document.
    pub(crate) fn check(
        &self,
        document: &Value,
        now_millis: i64,
        is_cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Result<(), Error> {
        let mut run = Run::new(now_millis, now_millis.unsigned_abs())
            .with_cancel(is_cancelled)
            .with_plane(self.is_planar);
        let undefined = Value::Undefined;
        let document = if self.program.shape().reads_container { document } else { &undefined };
        // One row is enough.
        match self.program.rows(document, &mut run, &mut |_, _| Err(Halt::Stopped)) {
            Err(Halt::Stopped) => Ok(()),
            Err(halt) => Err(halted(halt)),
            Ok(()) => Err(Error::new(
                Code::PatchConditionFailed,
                "One of the specified pre-condition is not met",
            )),
        }
    }
}

fn begins_with_from(text: &str) -> bool {
    let word = text.split_whitespace().next().unwrap_or_default();
    word.eq_ignore_ascii_case("from")
}

fn refused(reason: &str) -> Error {
    Error::bad_request(format!("Invalid patch request: the condition is invalid: {reason}."))
}
