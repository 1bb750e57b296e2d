//! Checks that a source is a function, by asking a worker before anything is stored.

use std::sync::Arc;

use protocol::{BoxFuture, Error};
use script::{Answer, Call, Context, Failure, Host, Job, Kind, Limits};

use crate::Inner;

/// Characters of a script's line that an error message repeats at most.
const SHOWN_CHARS_MAX: usize = 200;

/// Refuses a source that is not a function, with the place of the error.
pub(crate) async fn compile(engine: &Inner, id: &str, source: &Arc<str>) -> Result<(), Error> {
    let job = Job {
        name: id.to_owned(),
        source: Arc::clone(source),
        kind: Kind::Compile,
        context: Context::default(),
        limits: Limits::default(),
    };
    let report = engine.workers.run(job, &mut Nothing).await;
    report.result.map(|_| ()).map_err(|failure| refused(&failure, source))
}

fn refused(failure: &Failure, source: &str) -> Error {
    match failure {
        Failure::Syntax { message, line, column } => {
            let at = usize::try_from(*line).unwrap_or(usize::MAX).saturating_sub(1);
            let text = source.lines().nth(at).unwrap_or_default();
            let shown: String = text.trim().chars().take(SHOWN_CHARS_MAX).collect();
            Error::bad_request(format!(
                "Encountered exception while compiling function. Exception = {message}\r\nSource \
                 information: line: {line}, column: {column}, source line:\n{shown}"
            ))
        }
        other => Error::new(other.code(), other.to_string()),
    }
}

/// A host for compiling, which makes no calls.
struct Nothing;

impl Host for Nothing {
    fn call(&mut self, _: Call) -> BoxFuture<'_, Result<Answer, Error>> {
        Box::pin(async { Ok(Answer::Refused) })
    }
}
