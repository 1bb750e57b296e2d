//! The backup that the server writes, one at a time, and the page that starts it and reports on it.
//!
//! `POST /_sheaf/backup` starts a backup and answers at once; `GET` reports its progress, and the
//! outcome of the last one. So no connection has to last as long as a backup, and the client may
//! disconnect: the backup is completed unless the server stops.
//!
//! A backup writes wherever the server's user may. So besides a key that may write, it requires a
//! client on the same machine that uses one of the server's own names: a web page could make its
//! own name resolve to this machine.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering},
};

use anyhow::Context as _;
use bytes::Bytes;
use gateway::Gateway;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::{Method, Response, StatusCode, header, http::request::Parts};
use store::Files;
use tokio::{sync::watch, task::spawn_blocking};
use tools::backup::KIND;
use value::{Object, Value, json};

use super::{
    create::{self, Progress, Summary},
    series::Series,
};
use crate::{clock::MachineClock, http::RequestBody};

/// A request names a directory, and no file system takes longer names.
const BODY_BYTES_MAX: usize = 16 << 10;

/// Writes backups of a database.
pub(crate) struct Backups {
    files: Option<Arc<dyn Files>>,
    /// The data directory; `None` if the database is in memory.
    source: Option<PathBuf>,
    state: Mutex<State>,
    /// Whether a backup is being written.
    is_running: watch::Sender<bool>,
}

#[derive(Default)]
struct State {
    begun: u64,
    running: Option<(u64, Arc<Progress>)>,
    last: Option<(u64, Result<Summary, String>)>,
    is_stopping: bool,
}

/// The status and message of a refused request.
type Refusal = (StatusCode, String);

impl Backups {
    /// Backups of the database in this data directory, if it has one.
    pub(crate) fn new(files: Option<Arc<dyn Files>>, source: Option<&Path>) -> Arc<Self> {
        let source = source.map(Path::to_owned);
        let is_running = watch::Sender::new(false);
        Arc::new(Self { files, source, state: Mutex::default(), is_running })
    }

    /// Answers a request to [`tools::backup::PATH`]. `is_local` says that it comes from this
    /// machine and uses one of its own names.
    pub(crate) async fn answer(
        self: &Arc<Self>,
        gateway: &Gateway,
        scheme: &'static str,
        is_local: bool,
        parts: &Parts,
        body: RequestBody,
    ) -> Response<Full<Bytes>> {
        let mut handled = match gateway.check_signature(scheme, parts, KIND) {
            Ok(handled) => handled,
            Err(refused) => return *refused,
        };
        let answer = if !is_local {
            let message = "only clients on the server's own machine can make backups, under the \
                           name localhost or the advertised name";
            (handled.is_refused, handled.reason) = (true, Some(message.to_owned()));
            Err((StatusCode::FORBIDDEN, message.to_owned()))
        } else if parts.method == Method::POST {
            self.post(body).await
        } else if parts.method == Method::GET {
            Ok((StatusCode::OK, self.page()))
        } else {
            Err((StatusCode::METHOD_NOT_ALLOWED, "use GET or POST".to_owned()))
        };
        let mut response = match answer {
            Ok((status, body)) => respond(status, body),
            Err((status, message)) => {
                let mut body = Object::new();
                let code = status.canonical_reason().unwrap_or_default().replace(' ', "");
                body.insert("code", code);
                body.insert("message", message);
                respond(status, body)
            }
        };
        response.extensions_mut().insert(handled);
        response
    }

    async fn post(self: &Arc<Self>, body: RequestBody) -> Result<(StatusCode, Object), Refusal> {
        let bad = |message: &str| (StatusCode::BAD_REQUEST, message.to_owned());
        let body = Limited::new(body, BODY_BYTES_MAX).collect().await;
        let body = body.map_err(|_| bad("the body is too long or incomplete"))?.to_bytes();
        let asked = json::parse(&body).map_err(|_| bad("the body is not JSON"))?;
        let directory = asked.get("directory").as_str();
        let directory = directory.ok_or_else(|| bad("the body needs a string `directory`"))?;
        let keep = match asked.get("keep") {
            Value::Undefined | Value::Null => None,
            keep => match keep.as_i64().map(usize::try_from) {
                Some(Ok(keep @ 1..)) => Some(keep),
                _ => return Err(bad("`keep` must be a whole number, 1 or more")),
            },
        };
        let in_memory = || bad("the database is in memory: there are no files to back up");
        let source = self.source.clone().ok_or_else(in_memory)?;
        let id = self.begin(PathBuf::from(directory), source, keep).await?;
        let mut answer = Object::new();
        answer.insert("id", count(id));
        Ok((StatusCode::ACCEPTED, answer))
    }

    /// Claims the directory and starts a backup, unless one is running.
    async fn begin(
        self: &Arc<Self>,
        directory: PathBuf,
        source: PathBuf,
        keep: Option<usize>,
    ) -> Result<u64, Refusal> {
        let (id, running) = self.enter()?;
        let claim = spawn_blocking(move || {
            let source = std::path::absolute(source)?;
            Series::claim(&directory, &source)
        });
        let series = match claim.await.context("the backup panicked").and_then(|claimed| claimed) {
            Ok(series) => series,
            Err(error) => return Err((StatusCode::BAD_REQUEST, format!("{error:#}"))),
        };
        let backups = Arc::clone(self);
        tokio::spawn(async move {
            let ended = backups.write(series, keep, &running.progress).await;
            match &ended {
                Ok(summary) => tracing::info!(%summary, "made a backup"),
                Err(error) => tracing::error!(error = %format!("{error:#}"), "a backup failed"),
            }
            let ended = ended.map_err(|error| format!("{error:#}"));
            backups.state().last = Some((id, ended));
            drop(running);
        });
        Ok(id)
    }

    fn enter(self: &Arc<Self>) -> Result<(u64, Running), Refusal> {
        let mut state = self.state();
        if state.is_stopping {
            return Err((StatusCode::SERVICE_UNAVAILABLE, "the server is stopping".to_owned()));
        }
        if state.running.is_some() {
            return Err((StatusCode::CONFLICT, "a backup is already running".to_owned()));
        }
        state.begun += 1;
        let progress = Arc::<Progress>::default();
        state.running = Some((state.begun, Arc::clone(&progress)));
        self.is_running.send_replace(true);
        Ok((state.begun, Running { backups: Arc::clone(self), progress }))
    }

    async fn write(
        &self,
        series: Series,
        keep: Option<usize>,
        progress: &Arc<Progress>,
    ) -> anyhow::Result<Summary> {
        let files = self.files.as_ref().context("the database is in memory")?;
        let image = files.image().await.context("cannot read the data")?;
        let progress = Arc::clone(progress);
        let written = spawn_blocking(move || {
            let now = MachineClock.since_epoch().as_secs();
            let summary = create::write(&*image, &series, now, &progress)?;
            // Release the image: tables that were replaced meanwhile can now be removed.
            drop(image);
            Ok(create::tidy(&series, keep, summary))
        });
        written.await.context("the backup panicked")?
    }

    fn page(&self) -> Object {
        let state = self.state();
        let mut page = Object::new();
        if let Some((id, progress)) = &state.running {
            let mut running = Object::new();
            running.insert("id", count(*id));
            running.insert("bytes", count(progress.bytes.load(Ordering::Relaxed)));
            running.insert("doneBytes", count(progress.done_bytes.load(Ordering::Relaxed)));
            page.insert("running", running);
        }
        if let Some((id, ended)) = &state.last {
            let mut last = match ended {
                Ok(summary) => summary.to_object(),
                Err(message) => {
                    let mut failed = Object::new();
                    failed.insert("error", message.as_str());
                    failed
                }
            };
            last.insert("id", count(*id));
            page.insert("last", last);
        }
        page
    }

    /// Stops the running backup, and waits until it has cleaned up.
    pub(crate) async fn stop(&self) {
        let mut is_running = self.is_running.subscribe();
        {
            let mut state = self.state();
            state.is_stopping = true;
            if let Some((_, progress)) = &state.running {
                progress.is_cancelled.store(true, Ordering::Relaxed);
            }
        }
        // We own the sender, so the channel stays open.
        let _ = is_running.wait_for(|is_running| !is_running).await;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A running backup, which ends when this is dropped.
struct Running {
    backups: Arc<Backups>,
    progress: Arc<Progress>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.backups.state().running = None;
        self.backups.is_running.send_replace(false);
    }
}

impl Summary {
    fn to_object(&self) -> Object {
        let mut object = Object::new();
        object.insert("name", self.name.as_str());
        object.insert("files", count(self.files));
        object.insert("bytes", count(self.bytes));
        object.insert("copiedFiles", count(self.copied_files));
        object.insert("copiedBytes", count(self.copied_bytes));
        object.insert("writesPausedMs", self.pause.as_secs_f64() * 1000.0);
        object.insert("removed", count(self.removed));
        if let Some(warning) = &self.warning {
            object.insert("warning", warning.as_str());
        }
        object
    }
}

/// Counts stay far below 2^53.
fn count(count: u64) -> Value {
    Value::from(i64::try_from(count).unwrap_or(i64::MAX))
}

fn respond(status: StatusCode, body: Object) -> Response<Full<Bytes>> {
    let body = Bytes::from(json::print(&Value::Object(body)));
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, header::HeaderValue::from_static("no-store"));
    response
}
