//! `sheaf top`: the partitions of a running server, redrawn every second.

mod table;

use std::{
    io::{self, Write as _},
    process::ExitCode,
    time::Duration,
};

use anyhow::anyhow;
use bytes::Bytes;
use clap::Args;
use http_body_util::Full;
use hyper::Request;
use tokio::time::{MissedTickBehavior, interval};
use value::json;

use self::table::Partition;
use crate::{
    args::ServerArgs,
    failure::Failure,
    remote::{self, Connection, Server},
    told::Told,
};

pub(crate) const HELP: &str = "\
Shows the busiest partitions and refreshes every second; ctrl-c ends it. The server's setting `metrics`
decides who may see them: by default, only clients on the same machine.

Exit codes:
  0  success
  2  the command line is invalid
  4  the server refused, or could not be reached";

/// Arguments of `sheaf top`.
#[derive(Args, Debug)]
pub struct TopArgs {
    /// Print one table and exit
    #[arg(long)]
    pub once: bool,

    /// Print the server's answer as JSON and exit
    #[arg(long)]
    pub json: bool,

    /// The server to watch.
    #[command(flatten)]
    pub server: Told<ServerArgs>,
}

const REDRAW: Duration = Duration::from_secs(1);
const ANSWER_TIME: Duration = Duration::from_secs(10);

/// Moves to the upper left corner and clears the screen.
const CLEAR: &str = "\x1b[H\x1b[2J";

/// Partitions on one screen.
const ROWS_MAX: usize = 40;

/// Runs the command, and returns the exit code.
pub(crate) fn run(args: &TopArgs) -> Result<ExitCode, Failure> {
    let server = Server::new(&args.server)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::start)?;
    let looked = runtime.block_on(async {
        if args.once || args.json { once(args, &server).await } else { live(&server).await }
    });
    match looked {
        Ok(()) => Ok(ExitCode::SUCCESS),
        // The reader of our output has closed it, as `head` does.
        Err(error) if is_broken_pipe(&error) => Ok(ExitCode::SUCCESS),
        Err(error) => Err(Failure::server(error)),
    }
}

async fn once(args: &TopArgs, server: &Server) -> anyhow::Result<()> {
    let page = page(&mut Connection::open(server).await?).await?;
    if args.json {
        return print(&format!("{}\n", String::from_utf8_lossy(&page)));
    }
    print(&table::text(&read(&page)?, &[], usize::MAX))
}

/// Redraws until it is stopped or stdout is closed. Reconnects if the server goes away.
async fn live(server: &Server) -> anyhow::Result<()> {
    let mut ticks = interval(REDRAW);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // A wrong address or a refusal ends the command at once.
    let mut connection = Some(Connection::open(server).await?);
    let mut before = None;
    loop {
        ticks.tick().await;
        let partitions = match &mut connection {
            Some(connection) => page(connection).await.and_then(|page| read(&page)),
            None => match Connection::open(server).await {
                Ok(again) => {
                    connection = Some(again);
                    continue;
                }
                Err(error) => Err(error),
            },
        };
        match partitions {
            Ok(now) => {
                let earlier = before.as_deref().unwrap_or_default();
                print(&format!("{CLEAR}{}", table::text(&now, earlier, ROWS_MAX)))?;
                before = Some(now);
            }
            Err(error) if before.is_none() => return Err(error),
            Err(error) => {
                connection = None;
                print(&format!("{CLEAR}{error:#}; trying again\n"))?;
            }
        }
    }
}

/// The server's partition statistics.
async fn page(connection: &mut Connection) -> anyhow::Result<Bytes> {
    let request = Request::get("/_sheaf/partitions")
        .header("host", &connection.authority)
        .body(Full::new(Bytes::new()))?;
    let response = connection.send(request, ANSWER_TIME).await?;
    let status = response.status().as_u16();
    let body = remote::body(response, ANSWER_TIME).await?;
    match status {
        200 => Ok(body),
        403 => Err(anyhow!(
            "the server's setting `metrics` allows this to nobody, or only to clients on its own \
             machine"
        )),
        other => Err(anyhow!("the server answered {other}; is it a recent Sheaf?")),
    }
}

fn read(page: &[u8]) -> anyhow::Result<Vec<Partition>> {
    let strange = || anyhow!("the server's answer has no partitions; is it Sheaf?");
    let page = json::parse(page).map_err(|_| strange())?;
    let partitions = page.get("partitions").as_array().ok_or_else(strange)?;
    Ok(partitions.iter().map(Partition::read).collect())
}

fn print(text: &str) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    Ok(stdout.flush()?)
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<io::Error>();
    error.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
