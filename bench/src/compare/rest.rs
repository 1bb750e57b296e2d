//! The requests of the REST API, as bytes of HTTP/1.1, signed as they are made.

use std::sync::Arc;

use anyhow::Result;

use super::{
    framing::Framing,
    job::Job,
    pool::Pool,
    queries::query_body,
    setup::PARTITIONS,
    workload::{MANY, SEVERAL, Workload, scatter},
};
use crate::{
    api::{DATABASE, Signer, VERSION, id},
    query::data::Data,
};

/// The collection that is loaded before it is measured.
pub(crate) const LOADED: &str = "orders";
/// The collection that grows.
pub(crate) const FRESH: &str = "fresh";
/// The stored procedure that creates the documents it is given.
pub(crate) const PROCEDURE: &str = "create-several";
/// Of so many operations of the mix one is an upsert.
const UPSERT_EVERY: usize = 20;

/// Makes requests to one server.
pub(crate) struct Rest {
    host: String,
    signer: Signer,
    pool: Arc<Pool>,
    data: Data,
    /// Of the collections.
    partitions: usize,
}

/// A request, before it is written.
struct Parts<'a> {
    method: &'a str,
    kind: &'a str,
    link: &'a str,
    path: &'a str,
    key: Option<&'a str>,
    headers: &'a [(&'a str, &'a str)],
    continuation: Option<&'a [u8]>,
    body: &'a [u8],
}

impl Rest {
    /// For `data`, which is loaded.
    pub(crate) fn new(host: &str, pool: &Arc<Pool>, data: Data) -> Result<Self> {
        let (host, signer, pool) = (host.to_owned(), Signer::new()?, Arc::clone(pool));
        Ok(Self { host, signer, pool, data, partitions: PARTITIONS })
    }

    /// For collections of so many partitions.
    pub(crate) fn over(self, partitions: usize) -> Self {
        Self { partitions, ..self }
    }

    /// The job of a workload.
    pub(crate) fn job(self, workload: Workload) -> Job {
        let make = move |number, continuation: Option<&[u8]>, out: &mut Vec<u8>| {
            self.make(workload, number, continuation, out);
        };
        let job = Job::new(Framing::Http, make);
        match workload {
            Workload::Create | Workload::CreateOneKey => job.answered(&[201]),
            Workload::ChangeFeed => Job { rows: workload.rows(), ..job },
            Workload::Batch | Workload::Bulk => Job { says: Some("\"statusCode\":201"), ..job },
            // Not all emulators answer a change as the service does.
            Workload::UpsertMix | Workload::Replace | Workload::Patch => job.answered(&[200, 201]),
            Workload::PointRead | Workload::Procedure => job,
            query => Job { rows: query.rows(), has_pages: true, ..job },
        }
    }

    /// Creates of the documents to load, one in a request.
    pub(crate) fn load_job(self) -> Job {
        let make = move |number, _: Option<&[u8]>, out: &mut Vec<u8>| {
            let (body, key) = (self.data.document(number), self.data.customer_of(number));
            self.post(LOADED, Some(&key), &[], None, body.as_bytes(), out);
        };
        Job::new(Framing::Http, make).answered(&[201])
    }

    /// Creates of the documents to load, many in a request.
    pub(crate) fn bulk_load_job(self) -> Job {
        let make = move |number: usize, _: Option<&[u8]>, out: &mut Vec<u8>| {
            let mut body = Vec::with_capacity(MANY * 1200);
            let from = number * MANY;
            for number in from..(from + MANY).min(self.data.documents) {
                let key = self.data.customer_of(number);
                push_operation(number == from, &key, &mut body);
                body.extend_from_slice(self.data.document(number).as_bytes());
                body.push(b'}');
            }
            body.push(b']');
            self.post(LOADED, None, &BULK_HEADERS, None, &body, out);
        };
        let job = Job::new(Framing::Http, make);
        Job { says: Some("\"statusCode\":201"), ..job }
    }

    fn make(&self, what: Workload, number: usize, page: Option<&[u8]>, out: &mut Vec<u8>) {
        let documents = self.data.documents;
        match what {
            Workload::PointRead => self.read(scatter(number, documents), out),
            Workload::UpsertMix if !number.is_multiple_of(UPSERT_EVERY) => {
                self.read(scatter(number, documents), out);
            }
            Workload::UpsertMix => {
                let of = scatter(number, documents);
                let headers = [("x-ms-documentdb-is-upsert", "True")];
                let body = self.data.document(of);
                let key = self.data.customer_of(of);
                self.post(LOADED, Some(&key), &headers, None, body.as_bytes(), out);
            }
            Workload::Replace => {
                let of = scatter(number, documents);
                self.change("PUT", of, &[], self.data.document(of).as_bytes(), out);
            }
            Workload::Patch => {
                let headers = [("content-type", "application/json_patch+json")];
                let body = br#"{"operations":[{"op":"set","path":"/active","value":true}]}"#;
                self.change("PATCH", scatter(number, documents), &headers, body, out);
            }
            Workload::Create | Workload::CreateOneKey => {
                let is_spread = what == Workload::Create;
                let like = self.pool.sample(if is_spread { number } else { 0 });
                let mut body = Vec::with_capacity(like.text.len());
                self.pool.append(number, like, &mut body);
                self.post(FRESH, Some(&like.key), &[], None, &body, out);
            }
            Workload::Batch | Workload::Procedure => self.several(what, number, out),
            Workload::Bulk => self.bulk(number, out),
            Workload::ChangeFeed => self.changes(number, out),
            _ => self.query(what, number, page, out),
        }
    }

    fn read(&self, number: usize, out: &mut Vec<u8>) {
        self.change("GET", number, &[], &[], out);
    }

    /// Any request that concerns one loaded document.
    fn change(
        &self,
        method: &str,
        number: usize,
        headers: &[(&str, &str)],
        body: &[u8],
        out: &mut Vec<u8>,
    ) {
        let link = format!("dbs/{DATABASE}/colls/{LOADED}/docs/{}", id(number));
        let (path, key) = (format!("/{link}"), self.data.customer_of(number));
        let (kind, key, continuation) = ("docs", Some(&key[..]), None);
        let (link, path) = (&link[..], &path[..]);
        self.write(&Parts { method, kind, link, path, key, headers, continuation, body }, out);
    }

    fn post(
        &self,
        collection: &str,
        key: Option<&str>,
        headers: &[(&str, &str)],
        continuation: Option<&[u8]>,
        body: &[u8],
        out: &mut Vec<u8>,
    ) {
        let link = format!("dbs/{DATABASE}/colls/{collection}");
        let path = format!("/{link}/docs");
        let (method, kind, link, path) = ("POST", "docs", &link[..], &path[..]);
        self.write(&Parts { method, kind, link, path, key, headers, continuation, body }, out);
    }

    /// Ten documents of one key, in a batch or by a procedure.
    fn several(&self, what: Workload, number: usize, out: &mut Vec<u8>) {
        let mut body = Vec::with_capacity(SEVERAL * 1100);
        let (first, key) = (number * SEVERAL, &self.pool.sample(number).key);
        if what == Workload::Batch {
            body.push(b'[');
            let around = (&br#"{"operationType":"Create","resourceBody":"#[..], &b"}"[..]);
            self.pool.append_several(first, SEVERAL, &mut body, around);
            body.push(b']');
            let headers =
                [("x-ms-cosmos-is-batch-request", "True"), ("x-ms-cosmos-batch-atomic", "True")];
            return self.post(FRESH, Some(key), &headers, None, &body, out);
        }
        body.extend_from_slice(b"[[");
        self.pool.append_several(first, SEVERAL, &mut body, (b"", b""));
        body.extend_from_slice(b"]]");
        let link = format!("dbs/{DATABASE}/colls/{FRESH}/sprocs/{PROCEDURE}");
        let path = format!("/{link}");
        let (method, kind, link, path) = ("POST", "sprocs", &link[..], &path[..]);
        let (key, headers, continuation, body) = (Some(&key[..]), &[][..], None, &body[..]);
        self.write(&Parts { method, kind, link, path, key, headers, continuation, body }, out);
    }

    fn bulk(&self, number: usize, out: &mut Vec<u8>) {
        let mut body = Vec::with_capacity(MANY * 1200);
        for number in number * MANY..(number + 1) * MANY {
            let like = self.pool.sample(number);
            push_operation(number.is_multiple_of(MANY), &like.key, &mut body);
            self.pool.append(number, like, &mut body);
            body.push(b'}');
        }
        body.push(b']');
        self.post(FRESH, None, &BULK_HEADERS, None, &body, out);
    }

    fn changes(&self, number: usize, out: &mut Vec<u8>) {
        let range = if number.is_multiple_of(2) || self.partitions < 2 { "0" } else { "1" };
        let link = format!("dbs/{DATABASE}/colls/{LOADED}");
        let path = format!("/{link}/docs");
        let headers = [
            ("a-im", "Incremental Feed"),
            ("x-ms-max-item-count", "100"),
            ("x-ms-documentdb-partitionkeyrangeid", range),
        ];
        let (method, kind, link, path) = ("GET", "docs", &link[..], &path[..]);
        let (key, headers, continuation, body) = (None, &headers[..], None, &[][..]);
        self.write(&Parts { method, kind, link, path, key, headers, continuation, body }, out);
    }

    fn query(&self, what: Workload, number: usize, page: Option<&[u8]>, out: &mut Vec<u8>) {
        let (body, key) = query_body(what, self.data, number);
        let headers = [
            ("content-type", "application/query+json"),
            ("x-ms-documentdb-isquery", "True"),
            ("x-ms-documentdb-query-enablecrosspartition", "True"),
        ];
        self.post(LOADED, key.as_deref(), &headers, page, body.as_bytes(), out);
    }

    fn write(&self, parts: &Parts<'_>, out: &mut Vec<u8>) {
        let verb = parts.method.to_ascii_lowercase();
        let authorization = self.signer.sign(&verb, parts.kind, parts.link);
        let mut put = |pieces: &[&str]| {
            for piece in pieces {
                out.extend_from_slice(piece.as_bytes());
            }
        };
        put(&[parts.method, " ", parts.path, " HTTP/1.1\r\nhost: ", &self.host]);
        put(&["\r\nx-ms-version: ", VERSION, "\r\nx-ms-date: ", &self.signer.date]);
        put(&["\r\nauthorization: ", &authorization]);
        if !parts.headers.iter().any(|(name, _)| *name == "content-type") {
            put(&["\r\ncontent-type: application/json"]);
        }
        for (name, value) in parts.headers {
            put(&["\r\n", name, ": ", value]);
        }
        if let Some(key) = parts.key {
            put(&["\r\nx-ms-documentdb-partitionkey: [\"", key, "\"]"]);
        }
        if let Some(token) = parts.continuation {
            put(&["\r\nx-ms-continuation: ", &String::from_utf8_lossy(token)]);
        }
        if parts.method != "GET" {
            put(&["\r\ncontent-length: ", &parts.body.len().to_string()]);
        }
        put(&["\r\n\r\n"]);
        out.extend_from_slice(parts.body);
    }
}

const BULK_HEADERS: [(&str, &str); 3] = [
    ("x-ms-cosmos-is-batch-request", "True"),
    ("x-ms-cosmos-batch-atomic", "False"),
    ("x-ms-cosmos-batch-continue-on-error", "True"),
];

fn push_operation(is_first: bool, key: &str, body: &mut Vec<u8>) {
    body.push(if is_first { b'[' } else { b',' });
    body.extend_from_slice(br#"{"operationType":"Create","partitionKey":"[\""#);
    body.extend_from_slice(key.as_bytes());
    body.extend_from_slice(br#"\"]","resourceBody":"#);
}
