//! An in-memory database for one script, and short ways to run one.

use std::{collections::BTreeMap, ffi::OsString, time::Duration};

use protocol::{BoxFuture, Error};
use script::{
    Answer, Call, Context, Failure, Host, Job, Kind, Limits, Operation, Pool, PoolOptions, Promise,
    Reply, Report, Target, host::Name,
};
use value::{Value, json};

pub(crate) const SELF_LINK: &str = "dbs/AAAAAA==/colls/AAAAAAAAAAA=/";
pub(crate) const ALT_LINK: &str = "dbs/shop/colls/books";

/// Documents by id. A document's rid is `rid-` and its id, its etag the number of its versions.
pub(crate) struct Fake {
    pub(crate) documents: BTreeMap<String, (String, u32)>,
    pub(crate) calls: Vec<Call>,
    /// Calls from this index on are refused.
    pub(crate) accepts: usize,
    /// If set, every call ends the script with this error.
    pub(crate) breaks: Option<Error>,
    /// Every call hangs.
    pub(crate) hangs: bool,
    /// What it promises before each message.
    pub(crate) promises: Promise,
}

impl Default for Fake {
    fn default() -> Fake {
        let documents = BTreeMap::new();
        let promises = Promise::default();
        let (calls, accepts) = (Vec::new(), usize::MAX);
        Fake { documents, calls, accepts, breaks: None, hangs: false, promises }
    }
}

impl Fake {
    pub(crate) fn with(documents: &[&str]) -> Fake {
        let mut fake = Fake::default();
        for document in documents {
            let id = id_of(document);
            fake.documents.insert(id, ((*document).to_owned(), 1));
        }
        fake
    }

    pub(crate) fn ids(&self) -> Vec<&str> {
        self.documents.keys().map(String::as_str).collect()
    }

    fn answer(&mut self, call: &Call) -> Reply {
        let id = match &call.target {
            Target::Document(Name::Id(id)) => id.clone(),
            Target::Document(Name::Rid(rid)) => rid.trim_start_matches("rid-").to_owned(),
            Target::Documents => call.body.as_deref().map(id_of).unwrap_or_default(),
            Target::Attachments(_) | Target::Attachment(..) => {
                return error(405, "no attachments here");
            }
        };
        let stored = self.documents.get(&id).cloned();
        if let (Some(expected), Some((_, version))) = (&call.if_match, &stored)
            && *expected != version.to_string()
        {
            return error(412, "Precondition Failed");
        }
        match (call.operation, stored) {
            (Operation::ReadFeed, _) => self.page(call, |_| true),
            (Operation::Query, _) => self.query(call),
            (Operation::Read, Some((_, version)))
                if call.if_none_match == Some(version.to_string()) =>
            {
                Reply { status: 304, ..Reply::default() }
            }
            (Operation::Read, Some((text, _))) => done(200, text),
            (Operation::Create, Some(_)) => error(409, "Conflict: the id is taken"),
            (Operation::Delete, Some(_)) => {
                self.documents.remove(&id);
                Reply { status: 204, ..Reply::default() }
            }
            (Operation::Create | Operation::Upsert, None) => self.put(id, call, 1, 201),
            (Operation::Replace | Operation::Upsert, Some((_, version))) => {
                self.put(id, call, version + 1, 200)
            }
            (Operation::Read | Operation::Replace | Operation::Delete, None) => {
                error(404, "Resource Not Found")
            }
        }
    }

    fn put(&mut self, id: String, call: &Call, version: u32, status: u16) -> Reply {
        let text = call.body.clone().unwrap_or_default();
        self.documents.insert(id, (text.clone(), version));
        done(status, text)
    }

    /// `ERROR` fails, geometry returns 7, a parameter selects the document with that id, anything
    /// else returns all.
    fn query(&self, call: &Call) -> Reply {
        let body = json::parse(call.body.as_deref().unwrap_or_default().as_bytes()).expect("JSON");
        if body.get("query").as_str() == Some("ERROR") {
            return error(400, "Syntax error, incorrect syntax near 'ERROR'.");
        }
        if body.get("query").as_str().is_some_and(|text| text.starts_with("SELECT VALUE ST_")) {
            let is_valid =
                !body.get("parameters").as_array().expect("shapes")[0].get("value").is_undefined();
            return done(200, if is_valid { "[7]" } else { "[]" }.to_owned());
        }
        let wanted = body.get("parameters").as_array().map(|all| all[0].get("value").clone());
        self.page(call, |id| wanted.as_ref().is_none_or(|wanted| wanted.as_str() == Some(id)))
    }

    fn page(&self, call: &Call, keep: impl Fn(&str) -> bool) -> Reply {
        let from: usize =
            call.continuation.as_deref().map_or(0, |text| text.parse().expect("ours"));
        let size = call.page_size.filter(|size| *size > 0).unwrap_or(100);
        let size = usize::try_from(size).expect("a size");
        let all: Vec<&str> = self
            .documents
            .iter()
            .filter(|(id, _)| keep(id))
            .map(|(_, (text, _))| text.as_str())
            .collect();
        let rows: Vec<&str> = all.iter().skip(from).take(size).copied().collect();
        let continuation = (from + size < all.len()).then(|| (from + size).to_string());
        let body = Some(format!("[{}]", rows.join(",")));
        Reply { status: 200, body, continuation, size_mb: Some((1, 10_240)) }
    }
}

impl Host for Fake {
    fn call(&mut self, call: Call) -> BoxFuture<'_, Result<Answer, Error>> {
        Box::pin(async move {
            if self.hangs {
                std::future::pending::<()>().await;
            }
            if let Some(error) = &self.breaks {
                return Err(error.clone());
            }
            if self.calls.len() >= self.accepts && !call.is_promised {
                return Ok(Answer::Refused);
            }
            let reply = self.answer(&call);
            self.calls.push(call);
            Ok(Answer::Done(reply))
        })
    }

    fn promise(&self) -> Promise {
        self.promises
    }
}

fn id_of(document: &str) -> String {
    let document = json::parse(document.as_bytes()).expect("JSON");
    document.get("id").as_str().unwrap_or_default().to_owned()
}

fn done(status: u16, text: String) -> Reply {
    Reply { status, body: Some(text), ..Reply::default() }
}

fn error(status: u16, message: &str) -> Reply {
    done(status, message.to_owned())
}

pub(crate) fn pool(workers: usize) -> Pool {
    Pool::new(PoolOptions {
        program: env!("CARGO_BIN_EXE_script-worker-test").into(),
        arguments: Vec::<OsString>::new(),
        workers,
        waiting_max: 8,
    })
}

pub(crate) fn context() -> Context {
    Context {
        self_link: SELF_LINK.to_owned(),
        alt_link: ALT_LINK.to_owned(),
        logging: true,
        ..Context::default()
    }
}

/// Limits that no well-behaved script reaches, however busy the machine is.
pub(crate) fn patient() -> Limits {
    let long = Duration::from_mins(2);
    Limits { time: long, accepting: long, ..Limits::default() }
}

pub(crate) fn job(source: &str, arguments: &str) -> Job {
    Job {
        name: "script".to_owned(),
        source: source.into(),
        kind: Kind::StoredProcedure { arguments: arguments.into() },
        context: context(),
        limits: patient(),
    }
}

/// Runs a stored procedure without arguments in a new pool.
pub(crate) async fn run_on(fake: &mut Fake, source: &str) -> Report {
    pool(1).run(job(source, "[]"), fake).await
}

/// The response body of a stored procedure, which must succeed.
pub(crate) async fn body_on(fake: &mut Fake, source: &str) -> String {
    let report = run_on(fake, source).await;
    match report.result {
        Ok(outcome) => outcome.response_body.unwrap_or_default(),
        Err(failure) => panic!("{failure}"),
    }
}

/// Likewise for the body of `function () { … }`, with `c`, `link` and `answer` predefined.
pub(crate) async fn answer_on(fake: &mut Fake, body: &str) -> String {
    body_on(fake, &wrapped(body)).await
}

pub(crate) fn wrapped(body: &str) -> String {
    format!(
        "function script() {{ const c = getContext().getCollection(); const link = c.getSelfLink();
         const answer = (value) => getContext().getResponse().setBody(value);
         {body} }}"
    )
}

/// The message and number of an exception.
pub(crate) fn thrown(report: &Report) -> (&str, Option<i64>) {
    match &report.result {
        Err(Failure::Thrown { number, description, .. }) => (description, *number),
        other => panic!("{other:?}"),
    }
}

/// Parses JSON.
pub(crate) fn value(text: &str) -> Value {
    json::parse(text.as_bytes()).expect("JSON")
}
