//! Turns the command line into the definition of a collection.

use std::path::PathBuf;

use clap::Args;
use value::{Object, Value};

use crate::{failure::Failure, input};

/// Levels of a hierarchical partition key.
const LEVELS_MAX: usize = 3;

/// The definition of a new collection.
#[derive(Args, Debug)]
pub struct DefinitionArgs {
    /// Path of the partition key; up to three paths, separated by commas or in separate flags, for a
    /// hierarchical key
    #[arg(long, short = 'k', required = true, value_name = "/PATH")]
    pub partition_key: Vec<String>,

    /// JSON file with the indexing policy; `-` for stdin [default: everything is indexed]
    #[arg(long, value_name = "FILE")]
    pub indexing_policy: Option<PathBuf>,

    /// How long documents without a `ttl` live: seconds, or 90s, 30m, 12h, 7d; with `on` only those
    /// with a `ttl` expire, with `off` none [default: off]
    #[arg(long, value_name = "TIME", value_parser = ttl)]
    pub ttl: Option<Ttl>,

    /// Path whose value no two documents of a partition key may share; several paths, separated by
    /// commas, for their combination; may be repeated
    #[arg(long, value_name = "/PATH")]
    pub unique: Vec<String>,
}

/// The `defaultTtl` of a collection; `None` for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ttl(Option<i64>);

impl DefinitionArgs {
    /// The request body that creates a collection.
    pub(crate) fn body(&self, id: &str) -> Result<Value, Failure> {
        let mut body = Object::new();
        body.insert("id", id);
        body.insert("partitionKey", partition_key(&self.partition_key)?);
        if let Some(path) = &self.indexing_policy {
            let policy = input::json(path, "the indexing policy")?;
            body.insert("indexingPolicy", policy);
        }
        if let Some(Ttl(Some(seconds))) = self.ttl {
            body.insert("defaultTtl", seconds);
        }
        if !self.unique.is_empty() {
            let keys = self.unique.iter().map(|text| unique_key(text));
            let mut policy = Object::new();
            policy.insert("uniqueKeys", keys.collect::<Result<Vec<Value>, _>>()?);
            body.insert("uniqueKeyPolicy", policy);
        }
        Ok(body.into())
    }
}

fn partition_key(said: &[String]) -> Result<Value, Failure> {
    let said: Vec<&str> = said.iter().flat_map(|text| paths(text)).collect();
    if said.len() > LEVELS_MAX {
        return Err(Failure::usage(format!(
            "the partition key has {} paths: at most {LEVELS_MAX} are allowed",
            said.len()
        )));
    }
    let mut key = Object::new();
    key.insert("paths", checked(&said)?);
    key.insert("kind", if said.len() > 1 { "MultiHash" } else { "Hash" });
    key.insert("version", 2_i64);
    Ok(key.into())
}

fn unique_key(text: &str) -> Result<Value, Failure> {
    let mut key = Object::new();
    key.insert("paths", checked(&paths(text))?);
    Ok(key.into())
}

fn checked(said: &[&str]) -> Result<Vec<Value>, Failure> {
    let is_path = |path: &str| path.len() > 1 && path.starts_with('/');
    match said.iter().find(|path| !is_path(path)) {
        Some(wrong) => Err(Failure::usage(format!(
            "`{wrong}` is not a path: write /{}",
            if wrong.trim_matches('/').is_empty() { "property" } else { wrong.trim_matches('/') }
        ))),
        None => Ok(said.iter().map(|path| Value::from(*path)).collect()),
    }
}

/// Splits a text at commas outside of quotes.
fn paths(text: &str) -> Vec<&str> {
    let mut is_quoted = false;
    let parts = text.split(move |letter| {
        is_quoted ^= letter == '"';
        letter == ',' && !is_quoted
    });
    parts.map(str::trim).collect()
}

fn ttl(text: &str) -> Result<Ttl, String> {
    let wrong = || format!("`{text}` is not a time: write 3600, 90s, 30m, 12h, 7d, on or off");
    match text {
        "on" => return Ok(Ttl(Some(-1))),
        "off" => return Ok(Ttl(None)),
        _ => {}
    }
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let unit = match unit {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 24 * 3600,
        _ => return Err(wrong()),
    };
    let number: i32 = number.parse().map_err(|_| wrong())?;
    let seconds = i64::from(number) * unit;
    if seconds == 0 || i32::try_from(seconds).is_err() {
        return Err(format!("`{text}` is out of range: use 1 to 2147483647 seconds"));
    }
    Ok(Ttl(Some(seconds)))
}

#[cfg(test)]
mod tests {
    use value::json;

    use super::*;
    use crate::testing::told;

    fn body(flags: &[&str]) -> Result<String, Failure> {
        told::<DefinitionArgs>(flags, &[]).body("c").map(|body| json::print(&body))
    }

    #[test]
    fn keys_have_one_path_or_several() {
        let one = r#"{"id":"c","partitionKey":{"paths":["/a"],"kind":"Hash","version":2}}"#;
        assert_eq!(body(&["-k", "/a"]).unwrap(), one);
        let three = r#"{"id":"c","partitionKey":{"paths":["/a","/b/c","/d"],"kind":"MultiHash","version":2}}"#;
        assert_eq!(body(&["-k", "/a, /b/c", "-k", "/d"]).unwrap(), three);
        let quoted = body(&["-k", "/\"a,b\""]).unwrap();
        assert!(quoted.contains(r#"["/\"a,b\""]"#), "{quoted}");
        let wrong = body(&["-k", "customer"]).unwrap_err();
        assert_eq!(wrong.message(), "`customer` is not a path: write /customer");
        for bad in ["/", "", "/a,", "/a,/b,/c,/d"] {
            assert!(body(&["-k", bad]).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_rest_is_said_only_where_it_was() {
        let scratch = tempfile::tempdir().unwrap();
        let file = scratch.path().join("policy.json");
        std::fs::write(&file, "{\"automatic\": false}").unwrap();
        let file = file.to_str().unwrap();
        let full = ["-k", "/a", "--ttl", "2h", "--unique", "/x", "--unique", "/y,/z"];
        let full = body(&[&full[..], &["--indexing-policy", file]].concat()).unwrap();
        let expected = r#","indexingPolicy":{"automatic":false},"defaultTtl":7200,"uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/x"]},{"paths":["/y","/z"]}]}}"#;
        assert!(full.ends_with(expected), "{full}");
        assert!(body(&["-k", "/a", "--unique", "x"]).is_err());
        let missing = body(&["-k", "/a", "--indexing-policy", "/nowhere/p"]).unwrap_err();
        assert!(missing.message().contains("/nowhere/p"), "{missing}");
    }

    #[test]
    fn times_have_units() {
        for (text, expected) in [
            ("on", Some(-1)),
            ("off", None),
            ("1", Some(1)),
            ("90s", Some(90)),
            ("30m", Some(1800)),
            ("7d", Some(604_800)),
        ] {
            assert_eq!(ttl(text), Ok(Ttl(expected)), "{text}");
        }
        for bad in ["", "0", "-1", "1.5h", "soon", "3w", "99999d", "99999999999"] {
            assert!(ttl(bad).is_err(), "{bad}");
        }
    }
}
