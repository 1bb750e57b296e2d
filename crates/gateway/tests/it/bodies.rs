//! Request bodies: limits, and what becomes of them on the way in.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use bytes::Bytes;
use hyper::body::{Body, Frame};
use protocol::{Operation, limits::REQUEST_BYTES_MAX};

use crate::support::{Call, Harness};

const DOCS: &str = "/dbs/d/colls/c/docs";

/// A body of so many chunks, which counts how many were taken and may fail in the end.
struct Chunks {
    chunk: Bytes,
    left: usize,
    taken: Arc<AtomicUsize>,
    fails: bool,
}

impl Body for Chunks {
    type Data = Bytes;
    type Error = &'static str;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, &'static str>>> {
        if self.left == 0 {
            return Poll::Ready(self.fails.then_some(Err("connection reset")));
        }
        self.left -= 1;
        self.taken.fetch_add(1, Ordering::Relaxed);
        Poll::Ready(Some(Ok(Frame::data(self.chunk.clone()))))
    }
}

fn chunks(chunk: &'static [u8], left: usize) -> (Chunks, Arc<AtomicUsize>) {
    let taken = Arc::new(AtomicUsize::new(0));
    let chunk = Bytes::from_static(chunk);
    (Chunks { chunk, left, taken: taken.clone(), fails: false }, taken)
}

fn created(harness: &Harness) -> Bytes {
    match harness.one_call().1.operation {
        Operation::CreateDocument { body, .. } => body,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn chunks_are_joined() {
    let harness = Harness::new();
    let (body, _) = chunks(b"[1]", 3);
    assert_eq!(harness.send_with(Call::post(DOCS), "http", body).await.status, 200);
    assert_eq!(created(&harness), "[1][1][1]");
}

/// Strangers must not make the server read.
#[tokio::test]
async fn nothing_is_read_before_the_signature() {
    let harness = Harness::new();
    for (call, status) in [
        (Call::post(DOCS).unsigned(), 401),
        (Call::post(DOCS).key("d3Jvbmc="), 401),
        (Call::post("/dbs").header("x-ms-cosmos-is-batch-request", "true"), 400),
        (Call::post(DOCS).header("content-length", "99999999"), 413),
    ] {
        let (body, taken) = chunks(&[b' '; 1024], 8);
        assert_eq!(harness.send_with(call, "http", body).await.status, status);
        assert_eq!(taken.load(Ordering::Relaxed), 0);
    }
}

#[tokio::test]
async fn long_bodies_are_cut_off() {
    static CHUNK: [u8; 64 * 1024] = [b' '; 64 * 1024];
    let fitting = REQUEST_BYTES_MAX / CHUNK.len();
    for (method, path) in [("POST", DOCS), ("GET", DOCS), ("DELETE", "/dbs/d")] {
        let harness = Harness::new();
        let (body, _) = chunks(&CHUNK, fitting);
        assert_eq!(harness.send_with(Call::new(method, path), "http", body).await.status, 200);
        let (body, taken) = chunks(&CHUNK, 1_000_000);
        let reply = harness.send_with(Call::new(method, path), "http", body).await;
        assert_eq!(reply.status, 413, "{method}");
        assert_eq!(reply.json().get("code").as_str(), Some("RequestEntityTooLarge"));
        assert_eq!(taken.load(Ordering::Relaxed), fitting + 1);
        assert_eq!(harness.calls().len(), 1);
    }
}

#[tokio::test]
async fn broken_bodies_do_nothing() {
    let harness = Harness::new();
    let (mut body, _) = chunks(b"{}", 1);
    body.fails = true;
    let reply = harness.send_with(Call::post(DOCS), "http", body).await;
    assert_eq!(reply.status, 400);
    assert!(reply.error().contains("connection reset"));
    for (method, path) in
        [("POST", "/dbs"), ("POST", "/dbs/d/colls"), ("POST", DOCS), ("PUT", "/dbs/d/colls/c")]
    {
        let reply = harness.send(Call::new(method, path)).await;
        assert_eq!(reply.status, 400, "an empty body: {method} {path}");
    }
    let zipped = Call::post(DOCS).header("content-encoding", "gzip");
    assert!(harness.send(zipped).await.error().contains("content-encoding"));
    assert!(harness.calls().is_empty());
    // What is replaced may not be there, which the engine knows, and which comes first.
    let replace = Call::new("PUT", "/dbs/d/colls/c/docs/x");
    assert_eq!(harness.send(replace).await.status, 200);
    let plain = Call::post(DOCS).header("content-encoding", "Identity");
    assert_eq!(harness.send(plain).await.status, 200);
}

/// What the Rust SDK sends for `{"id":"Item 1","pk":"a"}`.
#[tokio::test]
async fn binary_bodies_become_text() {
    let harness = Harness::new();
    let mut binary = vec![0x80, 0xED, 0x0F, 0x02, 0x82];
    binary.extend_from_slice(b"id\x86Item 1\x82pk\x81a");
    assert_eq!(binary.len(), 4 + 0x0F, "the length in the header");
    assert_eq!(harness.send(Call::post(DOCS).body(binary)).await.status, 200);
    assert_eq!(created(&harness), r#"{"id":"Item 1","pk":"a"}"#);
    let reply = harness.send(Call::post(DOCS).body(vec![0x80, 0xED, 0x0F])).await;
    assert_eq!(reply.status, 400);
    assert!(reply.error().contains("binary"), "{}", reply.text());
}
