//! Starts a backup on a running server, and waits for it.

use std::{
    io::{self, IsTerminal as _, Write as _},
    path::Path,
    time::Duration,
};

use anyhow::anyhow;
use hyper::Method;
use tokio::time::sleep;
use value::{Object, Value, json};

use crate::{
    args::AccountArgs,
    client::{Account, Call, Client, no_sheaf, place::Place},
    failure::Failure,
    output,
};

/// The path of the server's page for backups.
pub const PATH: &str = "/_sheaf/backup";

/// The resource type for the signature; the link is empty.
pub const KIND: &str = "backup";

/// How often to ask the server for its progress: often at first, for small databases.
const LOOK_FIRST: Duration = Duration::from_millis(20);
const LOOK_LAST: Duration = Duration::from_millis(100);

/// Makes the server write a backup into a directory of its machine and keep the newest `keep`;
/// waits for the end, and returns the server's summary.
pub fn create(
    account: &AccountArgs,
    directory: &Path,
    keep: Option<usize>,
) -> Result<Value, Failure> {
    let account = Account::new(account)?;
    let Some(directory) = directory.to_str() else {
        return Err(Failure::usage("the directory's name is not UTF-8"));
    };
    let mut body = Object::new();
    body.insert("directory", directory);
    if let Some(keep) = keep {
        body.insert("keep", i64::try_from(keep).unwrap_or(i64::MAX));
    }
    let body = json::print(&Value::Object(body));
    output::block_on(async {
        let mut client = Client::connect(&account).await?;
        let begun = ask(&mut client, Method::POST, body.as_bytes()).await?;
        let id = begun.get("id").as_i64().ok_or_else(no_sheaf)?;
        wait(&mut client, id).await
    })
}

/// Waits until the backup of this number has ended.
async fn wait(client: &mut Client<'_>, id: i64) -> Result<Value, Failure> {
    let mut line = Line::new();
    let mut pause = LOOK_FIRST;
    loop {
        let page = ask(client, Method::GET, b"").await?;
        let last = page.get("last");
        if last.get("id").as_i64() == Some(id) {
            line.clear();
            return match last.get("error").as_str() {
                Some(error) => Err(Failure::start(anyhow!("the backup failed: {error}"))),
                None => Ok(last.clone()),
            };
        }
        let running = page.get("running");
        if running.get("id").as_i64() != Some(id) {
            return Err(Failure::start(anyhow!(
                "the server no longer knows the backup: see `sheaf backup list`"
            )));
        }
        line.show(number(running, "doneBytes"), number(running, "bytes"));
        sleep(pause).await;
        pause = (pause * 2).min(LOOK_LAST);
    }
}

async fn ask(client: &mut Client<'_>, method: Method, body: &[u8]) -> Result<Value, Failure> {
    let call = Call { body, ..Call::new(method, PATH, KIND, "") };
    client.answered("backup", &Place::account(), &call).await?.json()
}

fn number(object: &Value, name: &str) -> u64 {
    object.get(name).as_i64().and_then(|number| u64::try_from(number).ok()).unwrap_or(0)
}

/// A line with the progress, on a terminal only.
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

/// Formats a size for people.
pub fn size(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    let scaled = |unit: u64| bytes as f64 / unit as f64;
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{:.1} kB", scaled(1_000)),
        1_000_000..1_000_000_000 => format!("{:.1} MB", scaled(1_000_000)),
        _ => format!("{:.2} GB", scaled(1_000_000_000)),
    }
}
