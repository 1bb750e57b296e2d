//! From the command line to what is sent: the endpoint, the key, the body and its headers.

use std::{fmt::Write as _, io::Read as _};

use gateway::{Key, PUBLISHED_KEY};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use value::{Object, Value, json};

use crate::{cli::QueryArgs, failure::Failure, keys, remote::Server};

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
        let escaped = |name: &str| utf8_percent_encode(name, NON_ALPHANUMERIC).to_string();
        let (database, collection) = (&args.database, &args.collection);
        Ok(Self {
            server: Server::new(&args.server)?,
            key: key(args)?,
            body: json::print(&body.into()).into_bytes(),
            text,
            path: format!("/dbs/{}/colls/{}/docs", escaped(database), escaped(collection)),
            link: format!("dbs/{database}/colls/{collection}"),
            partition_key: args.partition_key.as_deref().map(partition_key).transpose()?,
            explain: args.explain,
        })
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

fn key(args: &QueryArgs) -> Result<Key, Failure> {
    let parsed =
        |text: &str| Key::parse(text).map_err(|error| Failure::usage(format!("--key: {error}")));
    match (&args.key, &args.key_file) {
        (Some(text), _) => parsed(text),
        (None, Some(path)) => {
            let keys = keys::load(Some(path))?.keys;
            let mut all = keys.read_write.into_iter().chain(keys.read_only);
            all.next().ok_or_else(|| Failure::usage("the key file holds no key"))
        }
        (None, None) => parsed(PUBLISHED_KEY),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::{
        cli::{Cli, Command},
        remote::Trust,
    };

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

    #[test]
    fn endpoints_say_how_they_are_trusted() {
        let server = |more: &[&str]| asked(more).map(|asked| asked.server);
        let plain = server(&["--endpoint", "http://db.example:9/"]).unwrap();
        assert_eq!((plain.host.as_str(), plain.port), ("db.example", 9));
        assert_eq!(plain.trust, Trust::Plain);
        let secure = server(&["--endpoint", "https://[::1]", "--insecure"]).unwrap();
        assert_eq!((secure.host.as_str(), secure.port), ("::1", 443));
        assert_eq!(secure.trust, Trust::Anyone);
        let untrusted = server(&["--endpoint", "https://x", "--data-dir", "/nowhere"]);
        assert!(untrusted.unwrap_err().message().contains("--insecure"));
        for bad in ["localhost:8081", "ftp://x", "http://", ""] {
            assert!(server(&["--endpoint", bad]).is_err(), "{bad}");
        }
    }
}
