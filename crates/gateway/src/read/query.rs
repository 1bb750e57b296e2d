//! Reads the body of a query: its text, its parameters, and where its rows begin.

use protocol::{Error, limits::QUERY_PARAMETERS_MAX, query::QuerySource};
use value::Value;

use super::{parse, resume::resume};

/// Parses a query: `{"query": ..., "parameters": [...]}`, or the bare text if `is_text`.
pub fn query(body: &[u8], is_text: bool) -> Result<QuerySource, Error> {
    if is_text {
        let text =
            std::str::from_utf8(body).map_err(|_| Error::bad_request("The query is not UTF-8."))?;
        return Ok(QuerySource::new(text));
    }
    let content = parse(body)?;
    let text =
        match &content {
            // Python and users of curl send the text as a JSON string.
            Value::String(text) => text.clone(),
            other => other.get("query").as_str().map(str::to_owned).ok_or_else(|| {
                Error::bad_request("The body of a query must have a string `query`.")
            })?,
        };
    let parameters = match content.get("parameters") {
        Value::Undefined | Value::Null => Vec::new(),
        Value::Array(parameters) if parameters.len() <= QUERY_PARAMETERS_MAX => {
            parameters.iter().map(parameter).collect::<Result<_, _>>()?
        }
        _ => return Err(Error::bad_request("`parameters` must be an array.")),
    };
    let resume = match content.get("resumeFilter") {
        Value::Undefined | Value::Null => None,
        filter => Some(resume(filter)?),
    };
    Ok(QuerySource { text, parameters, resume, bytes: body.len() })
}

fn parameter(parameter: &Value) -> Result<(String, Value), Error> {
    let name = parameter.get("name").as_str().filter(|name| name.starts_with('@'));
    let name = name.ok_or_else(|| {
        Error::bad_request("A query parameter must have a `name` that begins with '@'.")
    })?;
    Ok((name.to_owned(), parameter.get("value").clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(content: &str, is_text: bool) -> Result<QuerySource, Error> {
        query(content.as_bytes(), is_text)
    }

    #[test]
    fn bodies_are_read() {
        assert_eq!(parse("SELECT 1", true).expect("text").text, "SELECT 1");
        assert_eq!(parse("\"SELECT 1\"", false).expect("a string").text, "SELECT 1");
        let text = parse(r#"{"query":"q","parameters":[{"name":"@a","value":1}]}"#, false);
        let text = text.expect("an object");
        assert_eq!((text.text.as_str(), text.parameters.len()), ("q", 1));
        assert!(parse(r#"{"query":"q","parameters":null}"#, false).is_ok());
        let absent = parse(r#"{"query":"q","parameters":[{"name":"@a"}]}"#, false);
        assert!(absent.expect("a parameter without a value").parameters[0].1.is_undefined());
    }

    #[test]
    fn what_is_no_query_is_refused() {
        for bad in ["", "{}", "[]", "1", r#"{"query":1}"#, r#"{"query":"q","parameters":{}}"#] {
            assert!(parse(bad, false).is_err(), "{bad}");
        }
        for bad in [r#"[{"name":"a"}]"#, r#"[{"value":1}]"#, "[1]"] {
            let body = format!(r#"{{"query":"q","parameters":{bad}}}"#);
            assert!(parse(&body, false).is_err(), "{bad}");
        }
    }
}
