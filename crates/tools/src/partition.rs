//! `sheaf partition`: shows the ranges of a collection on a running server, splits and merges them,
//! and gives a partition key to a collection without one.

use std::{collections::HashMap, process::ExitCode, time::Duration};

use clap::{Args, Subcommand};
use hyper::Method;
use value::{Object, Value, json};

use crate::{
    args::{AccountArgs, CollectionArgs, escaped},
    client::{Account, Call, Client, no_sheaf, place::Place},
    failure::Failure,
    output, pretty, table,
};

pub(crate) const HELP: &str = "\
The server splits partitions automatically when they are full, or too few for the throughput of their
collection. Splits and merges are online: reads continue, and writes wait only for the moment of the
switch. While a collection without a partition key is given one, writes wait until it is done.

Examples:
  sheaf partition list -d shop -c orders
  sheaf partition split -d shop -c orders 0
  sheaf partition merge -d shop -c orders 1        With its right neighbour
  sheaf partition key -d shop -c readings /deviceId

Exit codes:
  0  success
  2  the command line is invalid
  4  the server refused, or could not be reached";

/// Arguments of `sheaf partition`.
#[derive(Debug, Subcommand)]
pub enum PartitionCommand {
    /// Show the ranges of a collection
    List(PartitionListArgs),
    /// Split a range into two halves of about the same size
    Split(PartitionChangeArgs),
    /// Join a range with the one to its right
    Merge(PartitionChangeArgs),
    /// Give a partition key to a collection that was created without one
    Key(PartitionKeyArgs),
}

/// Arguments of `sheaf partition list`.
#[derive(Args, Debug)]
pub struct PartitionListArgs {
    /// The collection of the ranges.
    #[command(flatten)]
    pub at: CollectionArgs,

    /// Print the ranges as JSON
    #[arg(long)]
    pub json: bool,

    /// The server, and the key to sign with.
    #[command(flatten)]
    pub account: AccountArgs,
}

/// Arguments of `sheaf partition split` and `sheaf partition merge`.
#[derive(Args, Debug)]
pub struct PartitionChangeArgs {
    /// Id of the range, as `sheaf partition list` shows it
    #[arg(value_name = "RANGE")]
    pub range: String,

    /// The collection of the range.
    #[command(flatten)]
    pub at: CollectionArgs,

    /// The server, and the key to sign with.
    #[command(flatten)]
    pub account: AccountArgs,
}

/// Arguments of `sheaf partition key`.
#[derive(Args, Debug)]
pub struct PartitionKeyArgs {
    /// Path of the property that is the key; two or three of them for a hierarchical key
    #[arg(value_name = "PATH", required = true, num_args = 1..=3)]
    pub paths: Vec<String>,

    /// The collection that gets the key.
    #[command(flatten)]
    pub at: CollectionArgs,

    /// The server, and the key to sign with.
    #[command(flatten)]
    pub account: AccountArgs,
}

/// The server copies the documents of a full partition while we wait. If we stop waiting, the
/// server continues.
const CHANGE_TIME: Duration = Duration::from_hours(24);

/// Runs the command, and returns the exit code.
pub(crate) fn run(command: &PartitionCommand) -> Result<ExitCode, Failure> {
    let account = match command {
        PartitionCommand::List(args) => &args.account,
        PartitionCommand::Split(args) | PartitionCommand::Merge(args) => &args.account,
        PartitionCommand::Key(args) => &args.account,
    };
    let account = Account::new(account)?;
    let text = output::block_on(async {
        let mut client = Client::connect(&account).await?;
        match command {
            PartitionCommand::List(args) => list(&mut client, &args.at, args.json).await,
            PartitionCommand::Split(args) => change(&mut client, args, "split").await,
            PartitionCommand::Merge(args) => change(&mut client, args, "merge").await,
            PartitionCommand::Key(args) => give_key(&mut client, args).await,
        }
    });
    output::print(text?)
}

/// The ranges as a table, in the order of their hashes.
async fn list(
    client: &mut Client<'_>,
    at: &CollectionArgs,
    as_json: bool,
) -> Result<String, Failure> {
    let (place, link) = (Place::from(at), at.link());
    let mut get = async |path: String, kind, headers| {
        let call = Call { headers, ..Call::get(&path, kind, &link) };
        client.answered("list", &place, &call).await?.json()
    };
    let path = at.path();
    let ranges = get(format!("/{path}/pkranges"), "pkranges", Vec::new()).await?;
    let wish = ("x-ms-documentdb-populatepartitionstatistics", "True".to_owned());
    let collection = get(format!("/{path}"), "colls", vec![wish]).await?;
    let ranges = ranges.get("PartitionKeyRanges").as_array().ok_or_else(no_sheaf)?;
    let statistics = collection.get("statistics").as_array().unwrap_or_default();
    let rows = rows(ranges, statistics);
    Ok(if as_json { pretty::lines(&rows) } else { table::text(&rows) })
}

/// A row for each range. A range created by a split between the two requests has no statistics.
fn rows(ranges: &[Value], statistics: &[Value]) -> Vec<Value> {
    let statistics: HashMap<_, _> =
        statistics.iter().map(|item| (item.get("id").as_str(), item)).collect();
    let mut rows = Vec::new();
    for range in ranges {
        let parents = range.get("parents").as_array().unwrap_or_default();
        let parents: Vec<_> = parents.iter().filter_map(Value::as_str).collect();
        let mut row = Object::new();
        row.insert("id", range.get("id").clone());
        row.insert("min", range.get("minInclusive").clone());
        row.insert("max", range.get("maxExclusive").clone());
        if let Some(known) = statistics.get(&range.get("id").as_str()) {
            row.insert("documents", known.get("documentCount").clone());
            row.insert("size (KB)", known.get("sizeInKB").clone());
        }
        row.insert("parents", parents.join(","));
        rows.push(Value::Object(row));
    }
    let start = |row: &Value| row.get("min").as_str().unwrap_or_default().to_owned();
    rows.sort_by_key(start);
    rows
}

/// Splits or merges, and prints the result.
async fn change(
    client: &mut Client<'_>,
    args: &PartitionChangeArgs,
    action: &str,
) -> Result<String, Failure> {
    let range = escaped(&args.range);
    let call = Call {
        method: Method::POST,
        path: &format!("/_sheaf/{}/pkranges/{range}/{action}", args.at.path()),
        kind: "pkranges",
        link: &format!("{}/pkranges/{}", args.at.link(), args.range),
        headers: Vec::new(),
        body: &[],
        patience: CHANGE_TIME,
    };
    let answer = client.answered(action, &Place::from(&args.at), &call).await?.json()?;
    let parents = answer.get("parents").as_array().ok_or_else(no_sheaf)?;
    let children = answer.get("children").as_array().ok_or_else(no_sheaf)?;
    let children: Vec<&Value> = children.iter().map(|child| child.get("id")).collect();
    let pause = answer.get("writesPausedMs").as_f64().unwrap_or_default();
    let (parents, children) = (ids(parents.iter()), ids(children.into_iter()));
    Ok(format!("{parents} became {children}; writes waited for {pause:.1} ms\n"))
}

/// Gives a collection its partition key, and prints the resulting key.
async fn give_key(client: &mut Client<'_>, args: &PartitionKeyArgs) -> Result<String, Failure> {
    let body = key_body(&args.paths);
    let call = Call {
        method: Method::POST,
        path: &format!("/_sheaf/{}/partition", args.at.path()),
        kind: "colls",
        link: &args.at.link(),
        headers: Vec::new(),
        body: body.as_bytes(),
        patience: CHANGE_TIME,
    };
    let collection = client.answered("key", &Place::from(&args.at), &call).await?.json()?;
    let paths = collection.get("partitionKey").get("paths").as_array().ok_or_else(no_sheaf)?;
    let paths: Vec<&str> = paths.iter().filter_map(Value::as_str).collect();
    Ok(format!("the partition key is {}\n", paths.join(" and ")))
}

/// The key as in the definition of a collection.
fn key_body(paths: &[String]) -> String {
    let kind = if paths.len() > 1 { "MultiHash" } else { "Hash" };
    let mut key = Object::new();
    key.insert("paths", Value::Array(paths.iter().map(|path| path.as_str().into()).collect()));
    key.insert("kind", kind);
    key.insert("version", 2_i64);
    let mut body = Object::new();
    body.insert("partitionKey", key);
    json::print(&Value::Object(body))
}

/// `range 1`, `ranges 1 and 2`.
fn ids<'a>(ids: impl Iterator<Item = &'a Value>) -> String {
    let ids: Vec<&str> = ids.filter_map(Value::as_str).collect();
    let word = if ids.len() == 1 { "range" } else { "ranges" };
    format!("{word} {}", ids.join(" and "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(text: &str) -> Vec<Value> {
        json::parse(text.as_bytes()).unwrap().as_array().unwrap().to_vec()
    }

    #[test]
    fn ranges_are_shown_in_their_order() {
        let ranges = array(
            r#"[{"id":"2","minInclusive":"1F","maxExclusive":"FF","parents":["0"]},
                {"id":"3","minInclusive":"","maxExclusive":"0A","parents":["0","1"]},
                {"id":"4","minInclusive":"0A","maxExclusive":"1F","parents":["0","1"]}]"#,
        );
        let statistics = array(
            r#"[{"id":"2","documentCount":7,"sizeInKB":12},{"id":"4","documentCount":10,"sizeInKB":3}]"#,
        );
        let expected = "\
id  min  max  parents  documents  size (KB)
--  ---  ---  -------  ---------  ---------
3        0A   0,1
4   0A   1F   0,1             10          3
2   1F   FF   0                7         12
";
        assert_eq!(table::text(&rows(&ranges, &statistics)), expected);
        assert_eq!(table::text(&rows(&ranges, &[])).lines().count(), 5);
    }

    #[test]
    fn ids_are_named() {
        assert_eq!(ids(array(r#"["1"]"#).iter()), "range 1");
        assert_eq!(ids(array(r#"["1","2"]"#).iter()), "ranges 1 and 2");
    }
}
