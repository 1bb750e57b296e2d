//! Turns the command line into requests: the body, its headers, and one request per page.

use std::{io::Read as _, time::Duration};

use hyper::Method;
use value::{Object, Value, json};

use super::QueryArgs;
use crate::{
    client::{Account, Answer, Call, Client, place::Place},
    failure::Failure,
    partition_key,
};

/// A query that cannot be continued in another page may take the server longer than a page.
const ANSWER_TIME: Duration = Duration::from_mins(10);
/// Most rows of one page.
const PAGE_ROWS: u64 = 1000;

/// A query, ready to send.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) account: Account,
    /// The collection to query.
    pub(super) place: Place,
    /// The query as typed, without a final semicolon.
    pub(super) text: String,
    /// The text and parameters as JSON.
    pub(super) body: Vec<u8>,
    /// The path of the documents, escaped.
    pub(super) path: String,
    /// The link for the signature, not escaped.
    pub(super) link: String,
    /// The partition key in the form of its header.
    pub(super) partition_key: Option<String>,
    pub(super) explain: bool,
}

impl Asked {
    pub(super) fn new(args: &QueryArgs) -> Result<Self, Failure> {
        let text = match args.query.as_str() {
            "-" => {
                let mut text = String::new();
                std::io::stdin().lock().read_to_string(&mut text).map_err(Failure::start)?;
                text
            }
            text => text.to_owned(),
        };
        let text = without_semicolon(&text).to_owned();
        let parameters = args.parameters.iter().map(|text| parameter(text));
        let parameters = parameters.collect::<Result<Vec<_>, _>>()?;
        let mut body = Object::new();
        body.insert("query", text.as_str());
        body.insert("parameters", parameters);
        Ok(Self {
            account: Account::new(&args.account)?,
            place: Place::from(&args.at),
            body: json::print(&body.into()).into_bytes(),
            text,
            path: format!("/{}/docs", args.at.path()),
            link: args.at.link(),
            partition_key: args.partition_key.as_deref().map(partition_key::header).transpose()?,
            explain: args.explain,
        })
    }

    /// Requests a page of at most so many rows.
    pub(super) async fn page(
        &self,
        client: &mut Client<'_>,
        rows: u64,
        continuation: Option<&str>,
    ) -> Result<Answer, Failure> {
        let mut headers = vec![
            ("content-type", "application/query+json".to_owned()),
            ("x-ms-documentdb-isquery", "True".to_owned()),
            ("x-ms-max-item-count", rows.min(PAGE_ROWS).to_string()),
        ];
        headers.push(match &self.partition_key {
            Some(key) => ("x-ms-documentdb-partitionkey", key.clone()),
            None => ("x-ms-documentdb-query-enablecrosspartition", "True".to_owned()),
        });
        if let Some(continuation) = continuation {
            headers.push(("x-ms-continuation", continuation.to_owned()));
        }
        if self.explain {
            headers.push(("x-sheaf-explain", "True".to_owned()));
        }
        let call = Call {
            method: Method::POST,
            path: &self.path,
            kind: "docs",
            link: &self.link,
            headers,
            body: &self.body,
            patience: ANSWER_TIME,
        };
        client.call(&call).await
    }
}

/// The query without a final semicolon. The service accepts none, but users of other databases type
/// it.
fn without_semicolon(text: &str) -> &str {
    text.trim_end().strip_suffix(';').unwrap_or(text)
}

/// `@name=JSON`.
fn parameter(text: &str) -> Result<Value, Failure> {
    let (name, value) = text
        .split_once('=')
        .filter(|(name, _)| name.starts_with('@') && name.len() > 1)
        .ok_or_else(|| Failure::usage(format!("`{text}` is not a parameter: write @name=JSON")))?;
    let value = partition_key::parse(value, &format!("the value of `{name}`"))?;
    let mut object = Object::new();
    object.insert("name", name);
    object.insert("value", value);
    Ok(object.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::told;

    fn asked_as(query: &str, more: &[&str]) -> Result<Asked, Failure> {
        let base = [query, "-d", "d", "-c", "c/é"];
        Asked::new(&told::<QueryArgs>(&[&base, more].concat(), &[]))
    }

    fn asked(more: &[&str]) -> Result<Asked, Failure> {
        asked_as("SELECT 1", more)
    }

    #[test]
    fn names_are_escaped_where_they_travel() {
        let asked = asked(&[]).unwrap();
        assert_eq!(asked.path, "/dbs/d/colls/c%2F%C3%A9/docs");
        assert_eq!(asked.link, "dbs/d/colls/c/é");
        assert_eq!(asked.body, br#"{"query":"SELECT 1","parameters":[]}"#);
    }

    #[test]
    fn parameters_are_json() {
        let asked = asked(&["--param", "@a=\"x=y\"", "-p", "@b=[1]"]).unwrap();
        let body = String::from_utf8(asked.body).unwrap();
        let expected = r#"{"query":"SELECT 1","parameters":[{"name":"@a","value":"x=y"},{"name":"@b","value":[1]}]}"#;
        assert_eq!(body, expected);
        for bad in ["a=1", "@=1", "@a", "@a=x", "@a="] {
            assert!(self::asked(&["--param", bad]).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_semicolon_may_end_a_query() {
        for (typed, sent) in [
            ("SELECT 1;", "SELECT 1"),
            ("SELECT 1 ; \n", "SELECT 1 "),
            ("SELECT ';'", "SELECT ';'"),
            ("SELECT 1;;", "SELECT 1;"),
            ("SELECT 1\n", "SELECT 1\n"),
            (";", ""),
        ] {
            assert_eq!(asked_as(typed, &[]).unwrap().text, sent, "{typed}");
        }
    }
}
