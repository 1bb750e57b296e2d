//! `sheaf query`: asks a running server, page after page, and prints the rows.
//!
//! In reading order: `asked` turns the command line into requests, `rows` prints what comes back,
//! `explain` says how it came about.

mod asked;
mod explain;
mod rows;

use std::{
    io::{self, Write as _},
    process::ExitCode,
};

use anyhow::anyhow;
use value::{Value, json};

use crate::{
    cli::QueryArgs,
    client::{Answer, Client, refusal},
    failure::Failure,
    query::{asked::Asked, explain::Summary, rows::Rows},
};

/// Asks, and gives the exit code.
pub(crate) fn run(args: &QueryArgs) -> Result<ExitCode, Failure> {
    let asked = Asked::new(args)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::start)?;
    match runtime.block_on(ask(args, &asked)) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        // Whoever reads our rows has had enough of them, as `head` has.
        Err(Trouble::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            Ok(ExitCode::SUCCESS)
        }
        Err(Trouble::Output(error)) => Err(Failure::start(error)),
        Err(Trouble::Server(error)) => Err(Failure::start(error)),
    }
}

/// Why a query ended early.
enum Trouble {
    /// The rows cannot be written.
    Output(io::Error),
    /// The server refused, or could not be reached.
    Server(anyhow::Error),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl From<anyhow::Error> for Trouble {
    fn from(error: anyhow::Error) -> Self {
        Self::Server(error)
    }
}

async fn ask(args: &QueryArgs, asked: &Asked) -> Result<(), Trouble> {
    let mut client = Client::connect(&asked.server, &asked.key).await?;
    let mut rows = Rows::new(args.format, io::stdout().lock());
    let mut summary = Summary::default();
    let mut left = args.max_items.unwrap_or(u64::MAX);
    let mut continuation = None;
    while left > 0 {
        let page = asked.page(&mut client, left, continuation.as_deref()).await?;
        let page = read(asked, page)?;
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
    // The rows are out; nobody is left to hear about a broken stderr.
    let _ = write!(io::stderr().lock(), "{}", summary.text(continuation.is_some()));
    Ok(())
}

/// A page that was answered.
struct Page {
    rows: Vec<Value>,
    continuation: Option<String>,
    charge: f64,
    explain: Option<Value>,
}

fn read(asked: &Asked, answer: Answer) -> anyhow::Result<Page> {
    if answer.status != 200 {
        return Err(anyhow!(refusal::text("query", answer.status, &answer.body, &asked.text)));
    }
    let mut body = json::parse(&answer.body)
        .map_err(|error| anyhow!("the server's answer is no JSON ({error}); is it a Sheaf?"))?;
    let mut take = |name: &str| body.as_object_mut()?.remove(name);
    let explain = take("_explain");
    let Some(Value::Array(rows)) = take("Documents") else {
        return Err(anyhow!("the server's answer holds no rows; is it a Sheaf?"));
    };
    Ok(Page { rows, continuation: answer.continuation, charge: answer.charge, explain })
}
