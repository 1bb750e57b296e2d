//! `sheaf doc`: single documents of a collection on a running server. `key` finds the partition key.

mod key;

use std::{path::PathBuf, process::ExitCode};

use clap::{Args, Subcommand, builder::NonEmptyStringValueParser};
use hyper::Method;

use crate::{
    args::{AccountArgs, CollectionArgs, escaped},
    client::{Account, Answer, Call, Client, place::Place},
    deletion::Deletion,
    document::key::Keyed,
    failure::Failure,
    input, output, pretty,
};

pub(crate) const HELP: &str = "\
`put` replaces the document with the same id and partition key, if there is one.

Examples:
  sheaf doc put order.json -d shop -c orders
  echo '{\"id\":\"1\",\"customer\":\"ada\"}' | sheaf doc put -d shop -c orders
  sheaf doc get 1 -d shop -c orders --partition-key '\"ada\"'
  sheaf doc delete 1 -d shop -c orders --partition-key '\"ada\"'

Exit codes:
  0  success
  2  the command line or the document is invalid
  4  the server refused, or could not be reached";

/// Subcommands of `sheaf doc`.
#[derive(Debug, Subcommand)]
pub enum DocumentCommand {
    /// Print a document
    Get(GetArgs),
    /// Create a document, or replace it
    Put(PutArgs),
    /// Delete a document
    Delete(DeleteArgs),
}

/// The partition key of a document given by its id.
#[derive(Args, Debug)]
pub struct PartitionKeyArgs {
    /// Partition key of the document: a JSON value, or an array of them for a hierarchical key; not
    /// needed where documents are partitioned by /id
    #[arg(long, short = 'k', value_name = "JSON")]
    pub partition_key: Option<String>,
}

/// Arguments of `sheaf doc get`.
#[derive(Args, Debug)]
pub struct GetArgs {
    /// Id of the document
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub id: String,

    /// The collection of the document.
    #[command(flatten)]
    pub at: CollectionArgs,

    /// The partition key of the document.
    #[command(flatten)]
    pub key: PartitionKeyArgs,

    /// Print the document as it is stored, on one line
    #[arg(long)]
    pub json: bool,

    /// The server, and the key to sign with.
    #[command(flatten)]
    pub account: AccountArgs,
}

/// Arguments of `sheaf doc put`.
#[derive(Args, Debug)]
pub struct PutArgs {
    /// JSON file with the document; `-` for stdin
    #[arg(value_name = "FILE", default_value = "-")]
    pub file: PathBuf,

    /// The collection for the document.
    #[command(flatten)]
    pub at: CollectionArgs,

    /// Partition key of the document: a JSON value, or an array of them for a hierarchical key
    /// [default: what the document says]
    #[arg(long, short = 'k', value_name = "JSON")]
    pub partition_key: Option<String>,

    /// Print the document as it is stored, on one line
    #[arg(long)]
    pub json: bool,

    /// The server, and the key to sign with.
    #[command(flatten)]
    pub account: AccountArgs,
}

/// Arguments of `sheaf doc delete`.
#[derive(Args, Debug)]
pub struct DeleteArgs {
    /// Id of the document
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub id: String,

    /// The collection of the document.
    #[command(flatten)]
    pub at: CollectionArgs,

    /// The partition key of the document.
    #[command(flatten)]
    pub key: PartitionKeyArgs,

    /// Succeed if the document does not exist
    #[arg(long)]
    pub if_exists: bool,

    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,

    /// The server, and the key to sign with.
    #[command(flatten)]
    pub account: AccountArgs,
}

/// Runs the command, and returns the exit code.
pub(crate) fn run(command: &DocumentCommand) -> Result<ExitCode, Failure> {
    let account = match command {
        DocumentCommand::Get(args) => &args.account,
        DocumentCommand::Put(args) => &args.account,
        DocumentCommand::Delete(args) => &args.account,
    };
    let account = Account::new(account)?;
    let bytes = match command {
        DocumentCommand::Put(args) => document(args)?,
        DocumentCommand::Get(_) | DocumentCommand::Delete(_) => Vec::new(),
    };
    let text = output::block_on(async {
        let mut client = Client::connect(&account).await?;
        match command {
            DocumentCommand::Get(args) => get(&mut client, args).await,
            DocumentCommand::Put(args) => put(&mut client, args, &bytes).await,
            DocumentCommand::Delete(args) => delete(&mut client, args).await,
        }
    });
    output::print(text?)
}

/// The text of the document to put.
fn document(args: &PutArgs) -> Result<Vec<u8>, Failure> {
    let bytes = input::bytes(&args.file, "the document")?;
    let document = input::parse(&bytes, "the document")?;
    if document.as_object().is_none() {
        return Err(Failure::usage(
            "the document is not a JSON object: one document is put at a time",
        ));
    }
    Ok(bytes)
}

async fn get(client: &mut Client<'_>, args: &GetArgs) -> Result<Vec<u8>, Failure> {
    let place = Place::from(&args.at);
    let keyed = Keyed::Id(&args.id);
    let headers = key::header(client, &place, args.key.partition_key.as_deref(), &keyed).await?;
    let (path, link) = names(&place, &args.id);
    let place = place.with_item(item(&args.id, &headers));
    let call = Call { headers, ..Call::get(&path, "docs", &link) };
    let what = format!("document `{}`", args.id);
    let answer = client.answered(&what, &place, &call).await?;
    printed(&answer, args.json)
}

async fn put(client: &mut Client<'_>, args: &PutArgs, bytes: &[u8]) -> Result<Vec<u8>, Failure> {
    let place = Place::from(&args.at);
    let document = input::parse(bytes, "the document")?;
    let keyed = Keyed::Body(&document);
    let mut headers = key::header(client, &place, args.partition_key.as_deref(), &keyed).await?;
    headers.push(("x-ms-documentdb-is-upsert", "True".to_owned()));
    headers.push(("content-type", "application/json".to_owned()));
    let (path, link) = (format!("{}/docs", place.path()), place.link());
    let call = Call { headers, body: bytes, ..Call::new(Method::POST, &path, "docs", &link) };
    let answer = client.answered("document", &place, &call).await?;
    if args.json {
        return printed(&answer, true);
    }
    let stored = answer.json()?;
    let id = stored.get("id").as_str().unwrap_or_default();
    let became = if answer.status == 201 { "created" } else { "replaced" };
    Ok(format!("the document `{id}` is {became}; {:.2} RU\n", answer.charge).into_bytes())
}

async fn delete(client: &mut Client<'_>, args: &DeleteArgs) -> Result<Vec<u8>, Failure> {
    let place = Place::from(&args.at);
    let keyed = Keyed::Id(&args.id);
    let headers = key::header(client, &place, args.key.partition_key.as_deref(), &keyed).await?;
    let (path, link) = names(&place, &args.id);
    let place = place.with_item(item(&args.id, &headers));
    let deletion = Deletion {
        what: "document",
        id: &args.id,
        kind: "docs",
        path,
        link,
        place,
        headers,
        if_exists: args.if_exists,
    };
    deletion.run(client, args.json).await.map(String::into_bytes)
}

/// The document in words, for errors.
fn item(id: &str, headers: &[(&'static str, String)]) -> String {
    match headers {
        [(_, key), ..] => format!("document `{id}` with the partition key {key}"),
        [] => format!("document `{id}`"),
    }
}

/// The path of a document, escaped, and its link for the signature.
fn names(place: &Place, id: &str) -> (String, String) {
    (format!("{}/docs/{}", place.path(), escaped(id)), format!("{}/docs/{id}", place.link()))
}

fn printed(answer: &Answer, as_json: bool) -> Result<Vec<u8>, Failure> {
    let document = answer.json()?;
    let mut text =
        if as_json { answer.body.to_vec() } else { pretty::text(&document).into_bytes() };
    text.push(b'\n');
    Ok(text)
}
