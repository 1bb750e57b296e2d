//! Asks a running server for a backup, and waits for it.

use std::{
    io::{self, IsTerminal as _, Write as _},
    path::Path,
    time::Duration,
};

use anyhow::{anyhow, bail};
use hyper::Method;
use tokio::time::sleep;
use value::{Object, Value, json};

use super::{
    create::{Summary, size},
    job::{KIND, PATH},
};
use crate::{
    cli::backup::CreateArgs,
    client::{self, Answer, Call, Client, refusal},
    failure::Failure,
    remote::Server,
};

/// The server answers at once, and writes the backup meanwhile.
const ANSWER_TIME: Duration = Duration::from_mins(1);

/// How often the server is asked how far it is: soon at first, for small databases.
const LOOK_FIRST: Duration = Duration::from_millis(20);
const LOOK_LAST: Duration = Duration::from_millis(100);

/// Lets the server write a backup, and says what it was.
pub(crate) async fn create(args: &CreateArgs, directory: &Path) -> Result<Summary, Failure> {
    let (server, key) = (Server::new(&args.account.server)?, client::key(&args.account)?);
    let Some(directory) = directory.to_str() else {
        return Err(Failure::usage("the directory's name is not in UTF-8"));
    };
    let mut body = Object::new();
    body.insert("directory", directory);
    if let Some(keep) = args.keep {
        body.insert("keep", i64::try_from(keep).unwrap_or(i64::MAX));
    }
    let body = json::print(&Value::Object(body));
    let made = async {
        let mut client = Client::connect(&server, &key).await?;
        let begun = ask(&mut client, Method::POST, body.as_bytes()).await?;
        let id = begun.get("id").as_i64().ok_or_else(no_sheaf)?;
        wait(&mut client, id).await
    };
    made.await.map_err(Failure::start)
}

/// Waits until the backup of this number has ended.
async fn wait(client: &mut Client<'_>, id: i64) -> anyhow::Result<Summary> {
    let mut line = Line::new();
    let mut pause = LOOK_FIRST;
    loop {
        let page = ask(client, Method::GET, b"").await?;
        let last = page.get("last");
        if last.get("id").as_i64() == Some(id) {
            line.clear();
            return match last.get("error").as_str() {
                Some(error) => Err(anyhow!("the backup failed: {error}")),
                None => summary(last).ok_or_else(no_sheaf),
            };
        }
        let running = page.get("running");
        if running.get("id").as_i64() != Some(id) {
            bail!("the server knows nothing of the backup any more: see `sheaf backup list`");
        }
        line.show(number(running, "doneBytes"), number(running, "bytes"));
        sleep(pause).await;
        pause = (pause * 2).min(LOOK_LAST);
    }
}

async fn ask(client: &mut Client<'_>, method: Method, body: &[u8]) -> anyhow::Result<Value> {
    let call = Call {
        method,
        path: PATH,
        kind: KIND,
        link: "",
        headers: Vec::new(),
        body,
        patience: ANSWER_TIME,
    };
    let Answer { status, body, .. } = client.call(&call).await?;
    if !matches!(status, 200 | 202) {
        bail!(refusal::text("backup", status, &body, ""));
    }
    json::parse(&body).map_err(|_| no_sheaf())
}

fn summary(last: &Value) -> Option<Summary> {
    let pause = last.get("writesPausedMs").as_f64()?.clamp(0.0, 1e12) / 1000.0;
    Some(Summary {
        name: last.get("name").as_str()?.to_owned(),
        files: number(last, "files"),
        bytes: number(last, "bytes"),
        copied_files: number(last, "copiedFiles"),
        copied_bytes: number(last, "copiedBytes"),
        pause: Duration::from_secs_f64(pause),
        removed: number(last, "removed"),
        warning: last.get("warning").as_str().map(str::to_owned),
    })
}

fn number(object: &Value, name: &str) -> u64 {
    object.get(name).as_i64().and_then(|number| u64::try_from(number).ok()).unwrap_or(0)
}

fn no_sheaf() -> anyhow::Error {
    anyhow!("the answer is not that of a Sheaf server")
}

/// A line on the terminal that says how far the server is. Elsewhere there is none.
struct Line {
    is_shown: bool,
}

impl Line {
    fn new() -> Self {
        Self { is_shown: io::stderr().is_terminal() }
    }

    fn show(&self, done: u64, all: u64) {
        if self.is_shown {
            let _ = write!(io::stderr().lock(), "\r\x1b[K{} of {}", size(done), size(all));
        }
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.is_shown) {
            let _ = write!(io::stderr().lock(), "\r\x1b[K");
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.clear();
    }
}
