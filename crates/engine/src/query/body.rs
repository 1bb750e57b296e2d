//! The body of a query: its text, its parameters, and where its rows begin.

use protocol::{Error, query::QueryBody};
use value::Value;

use crate::{bodies, query::resume::Resume};

/// A query as the client wrote it.
pub(crate) struct Text {
    pub(crate) query: String,
    pub(crate) parameters: Vec<(String, Value)>,
    /// Where its rows begin, if the client says so.
    pub(crate) resume: Option<Resume>,
}

/// Most parameters of a query. The text limits how many can be of use.
const PARAMETERS_MAX: usize = 100_000;

impl Text {
    pub(crate) fn parse(body: &QueryBody) -> Result<Self, Error> {
        if body.is_text {
            let query = std::str::from_utf8(&body.content)
                .map_err(|_| Error::bad_request("The query is not UTF-8."))?;
            return Ok(Self { query: query.to_owned(), parameters: Vec::new(), resume: None });
        }
        let content = bodies::parse(&body.content)?;
        let query =
            match &content {
                // Python and curl users send the text as a JSON string.
                Value::String(text) => text.clone(),
                other => other.get("query").as_str().map(str::to_owned).ok_or_else(|| {
                    Error::bad_request("The body of a query needs a string `query`.")
                })?,
            };
        let parameters = match content.get("parameters") {
            Value::Undefined | Value::Null => Vec::new(),
            Value::Array(parameters) if parameters.len() <= PARAMETERS_MAX => {
                parameters.iter().map(parameter).collect::<Result<_, _>>()?
            }
            _ => return Err(Error::bad_request("`parameters` must be an array.")),
        };
        let resume = match content.get("resumeFilter") {
            Value::Undefined | Value::Null => None,
            filter => Some(Resume::parse(filter)?),
        };
        Ok(Self { query, parameters, resume })
    }
}

fn parameter(parameter: &Value) -> Result<(String, Value), Error> {
    let name = parameter.get("name").as_str().filter(|name| name.starts_with('@'));
    let name = name.ok_or_else(|| {
        Error::bad_request("A query parameter needs a `name` that begins with '@'.")
    })?;
    Ok((name.to_owned(), parameter.get("value").clone()))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn parse(content: &'static str, is_text: bool) -> Result<Text, Error> {
        Text::parse(&QueryBody { content: Bytes::from_static(content.as_bytes()), is_text })
    }

    #[test]
    fn bodies_are_read() {
        assert_eq!(parse("SELECT 1", true).expect("text").query, "SELECT 1");
        assert_eq!(parse("\"SELECT 1\"", false).expect("a string").query, "SELECT 1");
        let text = parse(r#"{"query":"q","parameters":[{"name":"@a","value":1}]}"#, false);
        let text = text.expect("an object");
        assert_eq!((text.query.as_str(), text.parameters.len()), ("q", 1));
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
            assert!(parse(Box::leak(body.into_boxed_str()), false).is_err(), "{bad}");
        }
    }
}
