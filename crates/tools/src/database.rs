//! `sheaf db`: the databases of a running server.

use std::process::ExitCode;

use clap::{Args, Subcommand, builder::NonEmptyStringValueParser};
use hyper::Method;
use value::{Object, Value, json};

use crate::{
    args::AccountArgs,
    client::{Account, Call, Client, place::Place},
    confirm,
    deletion::Deletion,
    failure::Failure,
    output, pretty, table,
    throughput::{Offers, ThroughputArgs},
};

pub(crate) const HELP: &str = "\
Examples:
  sheaf db create shop
  sheaf db create shop --autoscale 4000       Throughput that its collections share
  sheaf db list --json
  sheaf db delete shop --yes

Exit codes:
  0  success
  1  nothing was deleted: not confirmed
  2  the command line is invalid
  4  the server refused, or could not be reached";

/// Subcommands of `sheaf db`.
#[derive(Debug, Subcommand)]
pub enum DatabaseCommand {
    /// Show the databases
    List(ListArgs),
    /// Create a database
    Create(CreateArgs),
    /// Delete a database with everything in it
    Delete(DeleteArgs),
}

/// Arguments of `sheaf db list`.
#[derive(Args, Debug)]
pub struct ListArgs {
    /// Print the server's answer as JSON
    #[arg(long)]
    pub json: bool,

    /// The server, and the key to sign with.
    #[command(flatten)]
    pub account: AccountArgs,
}

/// Arguments of `sheaf db create`.
#[derive(Args, Debug)]
pub struct CreateArgs {
    /// Id of the database
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub id: String,

    /// Throughput that its collections share.
    #[command(flatten)]
    pub throughput: ThroughputArgs,

    /// Succeed if the database already exists
    #[arg(long)]
    pub if_not_exists: bool,

    /// Print the server's answer as JSON
    #[arg(long)]
    pub json: bool,

    /// The server, and the key to sign with.
    #[command(flatten)]
    pub account: AccountArgs,
}

/// Arguments of `sheaf db delete`.
#[derive(Args, Debug)]
pub struct DeleteArgs {
    /// Id of the database
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub id: String,

    /// Do not ask for confirmation
    #[arg(long, short)]
    pub yes: bool,

    /// Succeed if the database does not exist
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
pub(crate) fn run(command: &DatabaseCommand) -> Result<ExitCode, Failure> {
    let account = match command {
        DatabaseCommand::List(args) => &args.account,
        DatabaseCommand::Create(args) => &args.account,
        DatabaseCommand::Delete(args) => &args.account,
    };
    let account = Account::new(account)?;
    if let DatabaseCommand::Delete(args) = command {
        confirm::deletion("database", &args.id, args.yes)?;
    }
    let text = output::block_on(async {
        let mut client = Client::connect(&account).await?;
        match command {
            DatabaseCommand::List(args) => list(&mut client, args).await,
            DatabaseCommand::Create(args) => create(&mut client, args).await,
            DatabaseCommand::Delete(args) => delete(&mut client, args).await,
        }
    });
    output::print(text?)
}

async fn list(client: &mut Client<'_>, args: &ListArgs) -> Result<String, Failure> {
    let call = Call::get("/dbs", "dbs", "");
    let databases = client.feed("list of databases", &Place::account(), call, "Databases").await?;
    if args.json {
        return Ok(pretty::lines(&databases));
    }
    if databases.is_empty() {
        return Ok("no databases\n".to_owned());
    }
    let offers = Offers::read(client).await;
    Ok(table::text(&databases.iter().map(|database| row(database, &offers)).collect::<Vec<_>>()))
}

fn row(database: &Value, offers: &Offers) -> Value {
    let mut row = Object::new();
    row.insert("id", database.get("id").clone());
    row.insert("shared throughput", offers.text(database, "none"));
    row.into()
}

async fn create(client: &mut Client<'_>, args: &CreateArgs) -> Result<String, Failure> {
    let mut body = Object::new();
    body.insert("id", args.id.as_str());
    let body = json::print(&body.into());
    let headers = args.throughput.headers();
    let call =
        Call { headers, body: body.as_bytes(), ..Call::new(Method::POST, "/dbs", "dbs", "") };
    let what = format!("creation of the database `{}`", args.id);
    let mut answer = client.call(&call).await?;
    let is_there = answer.status == 409 && args.if_not_exists;
    if is_there {
        let place = Place::database(&args.id);
        let (path, link) = (place.path(), place.link());
        answer = client.answered(&what, &place, &Call::get(&path, "dbs", &link)).await?;
    } else if answer.status != 201 {
        return Err(client.refusal(&what, &Place::account(), &answer, "").await);
    }
    if args.json {
        return Ok(format!("{}\n", json::print(&answer.json()?)));
    }
    let became = if is_there { "already exists" } else { "is created" };
    Ok(format!("the database `{}` {became}\n", args.id))
}

async fn delete(client: &mut Client<'_>, args: &DeleteArgs) -> Result<String, Failure> {
    let place = Place::database(&args.id);
    let deletion = Deletion {
        what: "database",
        id: &args.id,
        kind: "dbs",
        path: place.path(),
        link: place.link(),
        place,
        headers: Vec::new(),
        if_exists: args.if_exists,
    };
    deletion.run(client, args.json).await
}
