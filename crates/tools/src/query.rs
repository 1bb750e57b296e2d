//! `sheaf query`: runs a query on a running server, page by page, and prints the rows.
//!
//! In reading order: `asked` turns the command line into requests, `rows` prints the results,
//! `explain` prints how the server executed the query.

mod asked;
mod explain;
mod rows;

use std::{
    io::{self, Write as _},
    process::ExitCode,
};

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use value::{Value, json};

use self::{asked::Asked, explain::Summary, rows::Rows};
use crate::{
    args::{AccountArgs, CollectionArgs},
    client::{Answer, Client},
    failure::Failure,
    output,
};

pub(crate) const HELP: &str = "\
Rows go to stdout; their number, the charge and --explain go to stderr.
Without --partition-key the query may read every partition.

Examples:
  sheaf query -d shop -c orders \"SELECT c.id, c.total FROM c WHERE c.total > 10\"
  sheaf query -d shop -c orders --partition-key '\"ada\"' \"SELECT * FROM c\" --format lines
  sheaf query -d shop -c orders \"SELECT * FROM c WHERE c.tag = @tag\" --param '@tag=\"new\"'
  sheaf query -d shop -c orders \"SELECT VALUE COUNT(1) FROM c\" --explain

Exit codes:
  0  the query was answered
  2  the command line is invalid
  4  the query was refused, or the server could not be reached";

/// Arguments of `sheaf query`.
#[derive(Args, Debug)]
pub struct QueryArgs {
    /// The query; `-` reads it from stdin
    #[arg(value_name = "SQL")]
    pub query: String,

    /// The collection to query.
    #[command(flatten)]
    pub at: CollectionArgs,

    /// Parameter and its value in JSON; may be given several times
    #[arg(long = "param", short, value_name = "@NAME=JSON")]
    pub parameters: Vec<String>,

    /// Read only this partition key: a JSON value, or an array of them for a hierarchical key
    #[arg(long, short = 'k', value_name = "JSON")]
    pub partition_key: Option<String>,

    /// Maximum number of rows to print [default: all]
    #[arg(long, value_name = "N")]
    pub max_items: Option<u64>,

    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub format: Format,

    /// Print one JSON array: --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,

    /// Show how the query was executed
    #[arg(long)]
    pub explain: bool,

    /// The server, and the key to sign with.
    #[command(flatten)]
    pub account: AccountArgs,
}

/// The output format of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people: a column for each property
    Table,
    /// One JSON array
    Json,
    /// One JSON value on each line
    Lines,
}

/// Runs the query, and returns the exit code.
pub(crate) fn run(args: &QueryArgs) -> Result<ExitCode, Failure> {
    let asked = Asked::new(args)?;
    output::block_on(async {
        match ask(args, &asked).await {
            Ok(()) => Ok(ExitCode::SUCCESS),
            // The reader of our output has closed it, as `head` does.
            Err(Trouble::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
                Ok(ExitCode::SUCCESS)
            }
            Err(Trouble::Output(error)) => Err(Failure::start(error)),
            Err(Trouble::Server(failure)) => Err(failure),
        }
    })
}

/// The reason why a query ended early.
enum Trouble {
    /// The rows cannot be written.
    Output(io::Error),
    /// The server refused, or could not be reached.
    Server(Failure),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Self::Server(failure)
    }
}

async fn ask(args: &QueryArgs, asked: &Asked) -> Result<(), Trouble> {
    let mut client = Client::connect(&asked.account).await?;
    let format = if args.json { Format::Json } else { args.format };
    let mut rows = Rows::new(format, io::stdout().lock());
    let mut summary = Summary::default();
    let mut left = args.max_items.unwrap_or(u64::MAX);
    let mut continuation = None;
    while left > 0 {
        let page = asked.page(&mut client, left, continuation.as_deref()).await?;
        if page.status != 200 {
            let refusal = client.refusal("query", &asked.place, &page, &asked.text).await;
            return Err(refusal.into());
        }
        let page = read(page)?;
        summary.add(page.charge, page.rows.len(), page.explain);
        for row in page.rows {
            if left == 0 {
                break;
            }
            rows.push(row)?;
            left -= 1;
        }
        continuation = page.continuation;
        if continuation.is_none() {
            break;
        }
    }
    rows.finish()?;
    // The rows are printed; if stderr is closed, nobody reads the summary.
    let _ = write!(io::stderr().lock(), "{}", summary.text(continuation.is_some()));
    Ok(())
}

/// A page of results.
struct Page {
    rows: Vec<Value>,
    continuation: Option<String>,
    charge: f64,
    explain: Option<Value>,
}

fn read(answer: Answer) -> Result<Page, Failure> {
    let mut body = json::parse(&answer.body).map_err(|error| {
        Failure::server(anyhow!("the server's answer is not JSON ({error}); is it Sheaf?"))
    })?;
    let mut take = |name: &str| body.as_object_mut()?.remove(name);
    let explain = take("_explain");
    let Some(Value::Array(rows)) = take("Documents") else {
        return Err(Failure::server(anyhow!("the server's answer has no rows; is it Sheaf?")));
    };
    Ok(Page { rows, continuation: answer.continuation, charge: answer.charge, explain })
}
