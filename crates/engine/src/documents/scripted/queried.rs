//! Parses a script's query, which is JSON: its text alone, or with parameters.

use partition::charge::Meter;
use protocol::{Error, limits::QUERY_PARAMETERS_MAX, query::QuerySource};
use query::execution::{INLINE_BYTES_MAX, apart};
use script::Call;
use value::Value;

use catalog::bodies;

/// The query of a script. A long one is parsed on its own thread.
pub(super) async fn source(call: &Call, meter: &mut Meter) -> Result<QuerySource, Error> {
    let body = call.body.as_deref().unwrap_or_default();
    if body.len() <= INLINE_BYTES_MAX {
        return read(body);
    }
    let body = body.to_owned();
    apart::run_at_once(meter, move |_, _| read(&body)).await
}

fn read(body: &str) -> Result<QuerySource, Error> {
    let content = bodies::parse(body.as_bytes())?;
    let text = match &content {
        Value::String(text) => Some(text.as_str()),
        other => other.get("query").as_str(),
    };
    let text =
        text.ok_or_else(|| Error::bad_request("The body of a query must have a string `query`."))?;
    let parameters = match content.get("parameters") {
        Value::Undefined | Value::Null => Vec::new(),
        Value::Array(parameters) if parameters.len() <= QUERY_PARAMETERS_MAX => {
            parameters.iter().map(parameter).collect::<Result<_, _>>()?
        }
        _ => return Err(Error::bad_request("`parameters` must be an array.")),
    };
    Ok(QuerySource { text: text.to_owned(), parameters, resume: None, bytes: body.len() })
}

fn parameter(parameter: &Value) -> Result<(String, Value), Error> {
    let name = parameter.get("name").as_str().filter(|name| name.starts_with('@'));
    let name = name.ok_or_else(|| {
        Error::bad_request("A query parameter must have a `name` that begins with '@'.")
    })?;
    Ok((name.to_owned(), parameter.get("value").clone()))
}
