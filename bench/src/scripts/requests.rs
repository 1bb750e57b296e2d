//! The requests: creates, batches, calls of stored procedures, creates that name a trigger.

use anyhow::Result;
use bytes::Bytes;
use http_body_util::Full;
use hyper::{Method, header::HeaderValue};

use crate::api::{Api, DATABASE, Layout, Prepared, VERSION, document};

const LAYOUT: Layout = Layout::ManyKeys;
/// Documents of a batch, and of a procedure that creates several.
pub(crate) const SEVERAL: usize = 10;
/// The layout has a thousand keys in turn: documents that lie so far apart are of one key.
const KEYS: usize = 1000;

/// Scripts under their names.
const PROCEDURES: [(&str, &str); 4] = [
    ("empty", "function () { }"),
    (
        "create",
        "function (document) {
            const collection = getContext().getCollection();
            collection.createDocument(collection.getSelfLink(), document, (error, made) => {
                if (error) throw error;
                getContext().getResponse().setBody(made.id);
            });
        }",
    ),
    (
        "create-several",
        "function (documents) {
            const collection = getContext().getCollection();
            let count = 0;
            for (const document of documents) {
                collection.createDocument(collection.getSelfLink(), document, (error) => {
                    if (error) throw error;
                    getContext().getResponse().setBody(count += 1);
                });
            }
        }",
    ),
    ("endless", "function () { for (;;) { } }"),
];

/// A trigger that does what most do: it changes the document.
const TRIGGER: &str = "function () {
    const request = getContext().getRequest(), document = request.getBody();
    document.checked = true;
    request.setBody(document);
}";

/// What a load consists of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    Create,
    Read,
    Batch,
    Empty,
    ProcedureCreate,
    ProcedureSeveral,
    Trigger,
}

impl Call {
    /// Its word in the table.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Read => "read",
            Self::Batch => "batch of 10",
            Self::Empty => "procedure: nothing",
            Self::ProcedureCreate => "procedure: create 1",
            Self::ProcedureSeveral => "procedure: create 10",
            Self::Trigger => "create, pre-trigger",
        }
    }

    /// Documents that one request creates.
    pub(crate) fn documents(self) -> usize {
        match self {
            Self::Create | Self::ProcedureCreate | Self::Trigger => 1,
            Self::Batch | Self::ProcedureSeveral => SEVERAL,
            Self::Read | Self::Empty => 0,
        }
    }

    pub(crate) fn status(self) -> u16 {
        match self {
            Self::Create | Self::Trigger => 201,
            _ => 200,
        }
    }
}

/// Makes requests of one kind; each has numbers of its own, so that no two documents collide.
pub(crate) struct Maker {
    pub(crate) call: Call,
    template: Prepared,
    first: usize,
    /// Of reads: signed one by one.
    reads: Vec<Prepared>,
}

impl Maker {
    /// `first` is a number from which on no document exists; of reads, up to which all do.
    pub(crate) fn new(api: &Api, call: Call, first: usize) -> Result<Self> {
        let collection = format!("dbs/{DATABASE}/colls/{}", LAYOUT.name());
        let mut template = match call {
            Call::Empty => execution(api, "empty")?,
            Call::ProcedureCreate => execution(api, "create")?,
            Call::ProcedureSeveral => execution(api, "create-several")?,
            _ => {
                let path = format!("/{collection}/docs");
                api.prepare(Method::POST, "docs", &collection, &path, VERSION, String::new())?
            }
        };
        let headers = template.headers_mut();
        if call == Call::Batch {
            headers.insert("x-ms-cosmos-is-batch-request", HeaderValue::from_static("True"));
            headers.insert("x-ms-cosmos-batch-atomic", HeaderValue::from_static("True"));
        }
        if call == Call::Trigger {
            let name = HeaderValue::from_static("stamp");
            headers.insert("x-ms-documentdb-pre-trigger-include", name);
        }
        let readable = if call == Call::Read { first.min(5_000) } else { 0 };
        let reads = (0..readable).map(|number| api.read(LAYOUT, number)).collect::<Result<_>>()?;
        Ok(Self { call, template, first, reads })
    }

    /// The request with this number, counted from zero.
    pub(crate) fn make(&self, number: usize) -> Result<Prepared> {
        if self.call == Call::Read {
            return Ok(self.reads[number.wrapping_mul(7_919) % self.reads.len()].clone());
        }
        let mut request = self.template.clone();
        let number = self.first + number;
        // Several documents of one request have one key.
        let block = number / KEYS * KEYS * SEVERAL + number % KEYS;
        let several = || (0..SEVERAL).map(|n| document(LAYOUT, block + n * KEYS));
        let body = match self.call {
            Call::Read => String::new(),
            Call::Create | Call::Trigger => document(LAYOUT, number),
            Call::Empty => "[]".to_owned(),
            Call::ProcedureCreate => format!("[{}]", document(LAYOUT, number)),
            Call::ProcedureSeveral => format!("[[{}]]", several().collect::<Vec<_>>().join(",")),
            Call::Batch => {
                let create = |it| format!(r#"{{"operationType":"Create","resourceBody":{it}}}"#);
                format!("[{}]", several().map(create).collect::<Vec<_>>().join(","))
            }
        };
        *request.body_mut() = Full::new(Bytes::from(body));
        set_key(&mut request, &format!("key{}", number % KEYS))?;
        Ok(request)
    }
}

/// A request that runs the script that never ends, on a key of its own.
pub(crate) fn endless(api: &Api, number: usize) -> Result<Prepared> {
    let mut request = execution(api, "endless")?;
    *request.body_mut() = Full::new(Bytes::from_static(b"[]"));
    set_key(&mut request, &format!("endless{number}"))?;
    Ok(request)
}

/// Requests that store all scripts.
pub(crate) fn scripts(api: &Api) -> Result<Vec<Prepared>> {
    let collection = format!("dbs/{DATABASE}/colls/{}", LAYOUT.name());
    let store = |kind: &str, body: String| {
        let path = format!("/{collection}/{kind}");
        api.prepare(Method::POST, kind, &collection, &path, VERSION, body)
    };
    let text = |source: &str| source.replace('\n', " ");
    let mut requests = Vec::new();
    for (name, source) in PROCEDURES {
        let body = format!(r#"{{"id":"{name}","body":"{}"}}"#, text(source));
        requests.push(store("sprocs", body)?);
    }
    let when = r#""triggerType":"Pre","triggerOperation":"All""#;
    let body = format!(r#"{{"id":"stamp",{when},"body":"{}"}}"#, text(TRIGGER));
    requests.push(store("triggers", body)?);
    Ok(requests)
}

fn execution(api: &Api, name: &str) -> Result<Prepared> {
    let link = format!("dbs/{DATABASE}/colls/{}/sprocs/{name}", LAYOUT.name());
    api.prepare(Method::POST, "sprocs", &link, &format!("/{link}"), VERSION, String::new())
}

fn set_key(request: &mut Prepared, key: &str) -> Result<()> {
    let value = HeaderValue::try_from(format!(r#"["{key}"]"#))?;
    request.headers_mut().insert("x-ms-documentdb-partitionkey", value);
    Ok(())
}
