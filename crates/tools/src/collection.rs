//! `sheaf coll`: the collections of a running server.
//!
//! `definition` turns the command line into a request body, `shown` formats the server's answer for
//! people.

mod definition;
mod shown;

use std::process::ExitCode;

use clap::{Args, Subcommand, builder::NonEmptyStringValueParser};
use hyper::Method;
use value::{Value, json};

pub use self::definition::DefinitionArgs;
use crate::{
    args::AccountArgs,
    client::{Account, Call, Client, no_sheaf, place::Place},
    confirm,
    deletion::Deletion,
    failure::Failure,
    output, pretty, table,
    throughput::{Offers, ThroughputArgs},
};

pub(crate) const HELP: &str = "\
Examples:
  sheaf coll create orders -d shop --partition-key /customer
  sheaf coll create events -d shop --partition-key /tenant,/user,/session --ttl 30d
  sheaf coll create people -d shop --partition-key /country --unique /email --autoscale 4000
  sheaf coll create notes -d shop --partition-key /owner --indexing-policy policy.json
  sheaf coll list -d shop
  sheaf coll show orders -d shop --json
  sheaf coll delete orders -d shop --yes

Exit codes:
  0  success
  1  nothing was deleted: not confirmed
  2  the command line or a file is invalid
  4  the server refused, or could not be reached";

/// Subcommands of `sheaf coll`.
#[derive(Debug, Subcommand)]
pub enum CollectionCommand {
    /// Show the collections of a database
    List(ListArgs),
    /// Create a collection
    Create(Box<CreateArgs>),
    /// Show the definition and the size of a collection
    Show(ShowArgs),
    /// Delete a collection with all its documents
    Delete(DeleteArgs),
}

/// The database of the collections.
#[derive(Args, Debug)]
pub struct DatabaseArgs {
    /// Database of the collection
    #[arg(long, short, env = "SHEAF_DATABASE", value_name = "ID")]
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub database: String,
}

/// Arguments of `sheaf coll list`.
#[derive(Args, Debug)]
pub struct ListArgs {
    /// The database of the collections.
    #[command(flatten)]
    pub at: DatabaseArgs,

    /// Print the server's answer as JSON
    #[arg(long)]
    pub json: bool,

    /// The server, and the key to sign with.
    #[command(flatten)]
    pub account: AccountArgs,
}

/// Arguments of `sheaf coll create`.
#[derive(Args, Debug)]
pub struct CreateArgs {
    /// Id of the collection
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub id: String,

    /// The database to create it in.
    #[command(flatten)]
    pub at: DatabaseArgs,

    /// The definition of the collection.
    #[command(flatten)]
    pub definition: DefinitionArgs,

    /// The collection's own throughput.
    #[command(flatten)]
    pub throughput: ThroughputArgs,

    /// Succeed if the collection already exists
    #[arg(long)]
    pub if_not_exists: bool,

    /// Print the server's answer as JSON
    #[arg(long)]
    pub json: bool,

    /// The server, and the key to sign with.
    #[command(flatten)]
    pub account: AccountArgs,
}

/// Arguments of `sheaf coll show`.
#[derive(Args, Debug)]
pub struct ShowArgs {
    /// Id of the collection
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub id: String,

    /// The database of the collection.
    #[command(flatten)]
    pub at: DatabaseArgs,

    /// Print the server's answer as JSON
    #[arg(long)]
    pub json: bool,

    /// The server, and the key to sign with.
    #[command(flatten)]
    pub account: AccountArgs,
}

/// Arguments of `sheaf coll delete`.
#[derive(Args, Debug)]
pub struct DeleteArgs {
    /// Id of the collection
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub id: String,

    /// The database of the collection.
    #[command(flatten)]
    pub at: DatabaseArgs,

    /// Do not ask for confirmation
    #[arg(long, short)]
    pub yes: bool,

    /// Succeed if the collection does not exist
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
pub(crate) fn run(command: &CollectionCommand) -> Result<ExitCode, Failure> {
    let account = match command {
        CollectionCommand::List(args) => &args.account,
        CollectionCommand::Create(args) => &args.account,
        CollectionCommand::Show(args) => &args.account,
        CollectionCommand::Delete(args) => &args.account,
    };
    let account = Account::new(account)?;
    let mut definition = Value::Undefined;
    match command {
        CollectionCommand::Create(args) => definition = args.definition.body(&args.id)?,
        CollectionCommand::Delete(args) => confirm::deletion("collection", &args.id, args.yes)?,
        CollectionCommand::List(_) | CollectionCommand::Show(_) => {}
    }
    let text = output::block_on(async {
        let mut client = Client::connect(&account).await?;
        match command {
            CollectionCommand::List(args) => list(&mut client, args).await,
            CollectionCommand::Create(args) => create(&mut client, args, &definition).await,
            CollectionCommand::Show(args) => show(&mut client, args).await,
            CollectionCommand::Delete(args) => delete(&mut client, args).await,
        }
    });
    output::print(text?)
}

/// The definition of a collection.
pub(crate) async fn read(
    client: &mut Client<'_>,
    what: &str,
    place: &Place,
    headers: Vec<(&'static str, String)>,
) -> Result<Value, Failure> {
    let (path, link) = (place.path(), place.link());
    let call = Call { headers, ..Call::get(&path, "colls", &link) };
    client.answered(what, place, &call).await?.json()
}

async fn list(client: &mut Client<'_>, args: &ListArgs) -> Result<String, Failure> {
    let place = Place::database(&args.at.database);
    let (path, link) = (format!("{}/colls", place.path()), place.link());
    let call = Call::get(&path, "colls", &link);
    let what = "list of collections";
    let collections = client.feed(what, &place, call, "DocumentCollections").await?;
    if args.json {
        return Ok(pretty::lines(&collections));
    }
    if collections.is_empty() {
        return Ok("no collections\n".to_owned());
    }
    let offers = Offers::read(client).await;
    let rows: Vec<Value> = collections.iter().map(|it| shown::row(it, &offers)).collect();
    Ok(table::text(&rows))
}

async fn create(
    client: &mut Client<'_>,
    args: &CreateArgs,
    definition: &Value,
) -> Result<String, Failure> {
    let owner = Place::database(&args.at.database);
    let (path, link) = (format!("{}/colls", owner.path()), owner.link());
    let body = json::print(definition);
    let headers = args.throughput.headers();
    let call =
        Call { headers, body: body.as_bytes(), ..Call::new(Method::POST, &path, "colls", &link) };
    let what = format!("creation of the collection `{}`", args.id);
    let answer = client.call(&call).await?;
    let is_there = answer.status == 409 && args.if_not_exists;
    let collection = if is_there {
        let place = Place::collection(&args.at.database, &args.id);
        let there = read(client, &what, &place, Vec::new()).await?;
        let (has, wanted) = (shown::partition_key(&there), shown::partition_key(definition));
        if has != wanted {
            output::say(&format!(
                "the collection `{}` already exists, and its partition key is {has}, not {wanted}",
                args.id
            ));
        }
        there
    } else if answer.status == 201 {
        answer.json()?
    } else {
        return Err(client.refusal(&what, &owner, &answer, "").await);
    };
    if args.json {
        return Ok(format!("{}\n", json::print(&collection)));
    }
    let became = if is_there { "already exists" } else { "is created" };
    let key = shown::partition_key(&collection);
    Ok(format!("the collection `{}` {became}, partitioned by {key}\n", args.id))
}

async fn show(client: &mut Client<'_>, args: &ShowArgs) -> Result<String, Failure> {
    let place = Place::collection(&args.at.database, &args.id);
    let wish = ("x-ms-documentdb-populatepartitionstatistics", "True".to_owned());
    let what = format!("reading the collection `{}`", args.id);
    let collection = read(client, &what, &place, vec![wish]).await?;
    if args.json {
        return Ok(format!("{}\n", json::print(&collection)));
    }
    collection.as_object().ok_or_else(no_sheaf)?;
    let offers = Offers::read(client).await;
    Ok(shown::text(&args.at.database, &collection, &offers))
}

async fn delete(client: &mut Client<'_>, args: &DeleteArgs) -> Result<String, Failure> {
    let place = Place::collection(&args.at.database, &args.id);
    let deletion = Deletion {
        what: "collection",
        id: &args.id,
        kind: "colls",
        path: place.path(),
        link: place.link(),
        place,
        headers: Vec::new(),
        if_exists: args.if_exists,
    };
    deletion.run(client, args.json).await
}
