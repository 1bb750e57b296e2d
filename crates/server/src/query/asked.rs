//! From the command line to what is sent: the body, its headers, and one request for each page.

use std::{fmt::Write as _, io::Read as _, time::Duration};

use gateway::Key;
use hyper::Method;
use value::{Object, Value, json};

use crate::{
    cli::QueryArgs,
    client::{self, Answer, Call, Client},
    failure::Failure,
    remote::Server,
};

/// A query that cannot be cut into pages may take the server longer than a page does.
const ANSWER_TIME: Duration = Duration::from_mins(10);
/// Most rows of one page.
const PAGE_ROWS: u64 = 1000;

/// A query, ready to be sent.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) server: Server,
    pub(super) key: Key,
    /// The query as it was typed.
    pub(super) text: String,
    /// Text and parameters as JSON.
    pub(super) body: Vec<u8>,
    /// The path of the documents, escaped.
    pub(super) path: String,
    /// The link that is signed, not escaped.
    pub(super) link: String,
    /// The partition key as its header has it.
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
        let parameters = args.parameters.iter().map(|text| parameter(text));
        let parameters = parameters.collect::<Result<Vec<_>, _>>()?;
        let mut body = Object::new();
        body.insert("query", text.as_str());
        body.insert("parameters", parameters);
        Ok(Self {
            server: Server::new(&args.account.server)?,
            key: client::key(&args.account)?,
            body: json::print(&body.into()).into_bytes(),
            text,
            path: format!("/{}/docs", args.at.path()),
            link: args.at.link(),
            partition_key: args.partition_key.as_deref().map(partition_key).transpose()?,
            explain: args.explain,
        })
    }

    /// Asks for a page of at most so many rows.
    pub(super) async fn page(
        &self,
        client: &mut Client<'_>,
        rows: u64,
        continuation: Option<&str>,
    ) -> anyhow::Result<Answer> {
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

/// `@name=JSON`.
fn parameter(text: &str) -> Result<Value, Failure> {
    let (name, value) = text
        .split_once('=')
        .filter(|(name, _)| name.starts_with('@') && name.len() > 1)
        .ok_or_else(|| Failure::usage(format!("`{text}` is no parameter: write @name=JSON")))?;
    let value = parse(value, &format!("the value of `{name}`"))?;
    let mut object = Object::new();
    object.insert("name", name);
    object.insert("value", value);
    Ok(object.into())
}

/// The header's array, in ASCII.
fn partition_key(text: &str) -> Result<String, Failure> {
    let key = match parse(text, "the partition key")? {
        Value::Array(levels) => levels,
        one => vec![one],
    };
    let mut ascii = String::new();
    for letter in json::print(&key.into()).chars() {
        if letter.is_ascii() {
            ascii.push(letter);
            continue;
        }
        let mut units = [0; 2];
        for unit in letter.encode_utf16(&mut units) {
            // Writing to a string cannot fail.
            let _ = write!(ascii, "\\u{unit:04x}");
        }
    }
    Ok(ascii)
}

fn parse(text: &str, what: &str) -> Result<Value, Failure> {
    json::parse(text.as_bytes()).map_err(|error| {
        let hint = "a text needs its quotes, as in '\"text\"'";
        Failure::usage(format!("{what} is no JSON ({error}); {hint}"))
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::{Cli, Command};

    fn asked(more: &[&str]) -> Result<Asked, Failure> {
        let base = ["sheaf", "query", "SELECT 1", "-d", "d", "-c", "c/é"];
        let command = Cli::try_parse_from(base.iter().chain(more)).unwrap().command;
        let Command::Query(args) = command else { panic!("another command") };
        Asked::new(&args)
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
    fn partition_keys_become_arrays() {
        let key = |text| asked(&["--partition-key", text]).map(|asked| asked.partition_key);
        assert_eq!(key("\"ada\"").unwrap().unwrap(), r#"["ada"]"#);
        assert_eq!(key("[\"a\", 1]").unwrap().unwrap(), r#"["a",1]"#);
        assert_eq!(key("\"é😀\"").unwrap().unwrap(), r#"["\u00e9\ud83d\ude00"]"#);
        assert!(key("ada").unwrap_err().message().contains("quotes"));
    }
}
