//! Every path and verb reaches the right operation, and no other.

use protocol::Operation;

use crate::support::{Call, Harness, READ_ONLY_KEY, resource};

/// The operation that a call reaches, as text, without its body.
async fn operation(call: Call) -> String {
    let harness = Harness::new();
    let reply = harness.send(call).await;
    assert!(reply.status < 400, "{}", reply.text());
    format!("{:?}", harness.one_call().1.operation)
}

const DB: &str = r#"DatabasePath("d")"#;
const COLL: &str = r#"CollectionPath { database: DatabasePath("d"), collection: "c" }"#;

fn throughput(manual: &str, autoscale: &str, level: &str) -> String {
    format!("ThroughputRequest {{ manual: {manual}, autoscale: {autoscale}, level: {level} }}")
}

#[tokio::test]
async fn reads() {
    let document = format!(r#"DocumentPath {{ collection: {COLL}, document: "Item 1" }}"#);
    for (path, expected) in [
        ("/dbs", "ListDatabases".to_owned()),
        ("/dbs/d", format!("ReadDatabase({DB})")),
        ("/dbs/d/colls", format!("ListCollections({DB})")),
        ("/dbs/d/colls/c", format!("ReadCollection({COLL})")),
        ("/dbs/d/colls/c/docs", format!("ListDocuments({COLL})")),
        ("/dbs/d/colls/c/docs/Item%201", format!("ReadDocument({document})")),
        (
            "/dbs/d/colls/c/pkranges",
            format!("ListPartitionKeyRanges {{ path: {COLL}, known: None }}"),
        ),
        (
            "/dbs/d/colls/c/pkranges/0",
            format!(r#"ReadPartitionKeyRange {{ path: {COLL}, range: "0" }}"#),
        ),
        ("/offers", "ListOffers".to_owned()),
    ] {
        for method in ["GET", "HEAD"] {
            assert_eq!(operation(Call::new(method, path)).await, expected);
            assert_eq!(operation(Call::new(method, format!("{path}/"))).await, expected);
            assert_eq!(operation(Call::new(method, path).key(READ_ONLY_KEY)).await, expected);
            let with_body = Call::new(method, path).body("ignored");
            assert_eq!(operation(with_body).await, expected);
        }
    }
    let offer = Call::get("/offers/VjQS").signing("offers", "vjqs");
    assert_eq!(operation(offer).await, r#"ReadOffer("VjQS")"#);
}

#[tokio::test]
async fn changes() {
    let feed = |kind| Call::get("/dbs/d/colls/c/docs").header("A-IM", kind);
    let expected = |mode: &str, since: &str| {
        format!("ReadChanges {{ collection: {COLL}, mode: {mode}, since: {since} }}")
    };
    let latest = operation(feed("Incremental feed").key(READ_ONLY_KEY)).await;
    assert_eq!(latest, expected("Latest", "None"));
    assert_eq!(operation(feed("Full-Fidelity Feed")).await, expected("All", "None"));
    for zone in ["GMT", "UTC", "+0000"] {
        let date = format!("Thu, 01 Jan 1970 00:01:00 {zone}");
        let since = feed("Incremental Feed").header("If-Modified-Since", &date);
        assert_eq!(operation(since).await, expected("Latest", "Some(60)"), "{zone}");
    }
}

#[tokio::test]
async fn writes() {
    let none = throughput("None", "None", "None");
    let body = r#"body: b"{\"id\":\"a\"}""#;
    let document = format!(r#"path: DocumentPath {{ collection: {COLL}, document: "x" }}"#);
    for (method, path, expected) in [
        ("POST", "/dbs", format!("CreateDatabase {{ {body}, upsert: false, throughput: {none} }}")),
        ("DELETE", "/dbs/d", format!("DeleteDatabase({DB})")),
        (
            "POST",
            "/dbs/d/colls",
            format!(
                "CreateCollection {{ database: {DB}, {body}, upsert: false, throughput: {none}, \
                 partition_key_optional: false }}"
            ),
        ),
        ("PUT", "/dbs/d/colls/c", format!("ReplaceCollection {{ path: {COLL}, {body} }}")),
        ("DELETE", "/dbs/d/colls/c", format!("DeleteCollection({COLL})")),
        (
            "POST",
            "/dbs/d/colls/c/docs/",
            format!("CreateDocument {{ collection: {COLL}, {body}, upsert: false }}"),
        ),
        ("PUT", "/dbs/d/colls/c/docs/x", format!("ReplaceDocument {{ {document}, {body} }}")),
        (
            "DELETE",
            "/dbs/d/colls/c/docs/x",
            format!("DeleteDocument({})", &document["path: ".len()..]),
        ),
    ] {
        let call = Call::new(method, path).body(r#"{"id":"a"}"#);
        assert_eq!(operation(call.clone()).await, expected);
        // A read-only key gets nowhere near the service.
        let harness = Harness::new();
        let reply = harness.send(call.key(READ_ONLY_KEY)).await;
        assert_eq!((reply.status, harness.calls().len()), (403, 0), "{method} {path}");
        assert!(reply.error().contains("read-only key"));
    }
    let offer = Call::new("PUT", "/offers/VjQS").signing("offers", "vjqs").body("{}");
    let expected = r#"ReplaceOffer { offer: "VjQS", body: b"{}", migration: None }"#;
    assert_eq!(operation(offer.clone()).await, expected);
    let (autoscale, manual) = (
        ("x-ms-cosmos-migrate-offer-to-autopilot", "ToAutoscale"),
        ("x-ms-cosmos-migrate-offer-to-manual-throughput", "ToManual"),
    );
    for (header, migration) in [autoscale, manual] {
        let migrated = operation(offer.clone().header(header, "true")).await;
        assert!(migrated.ends_with(&format!("migration: Some({migration}) }}")), "{migrated}");
        let left = operation(offer.clone().header(header, "False")).await;
        assert_eq!(left, expected);
    }
    let both = offer.header(autoscale.0, "true").header(manual.0, "true");
    assert_eq!(Harness::new().send(both).await.status, 400);
}

#[tokio::test]
async fn creates_take_headers() {
    let upsert = Call::post("/dbs/d/colls/c/docs").header("x-ms-documentdb-is-upsert", "True");
    assert!(operation(upsert).await.ends_with("upsert: true }"));
    let manual = Call::post("/dbs").header("x-ms-offer-throughput", "400");
    assert!(operation(manual).await.contains(&throughput("Some(400)", "None", "None")));
    let other = Call::post("/dbs/d/colls")
        .header("x-ms-cosmos-offer-autopilot-settings", r#"{"maxThroughput":4000}"#)
        .header("x-ms-offer-type", "S1")
        .header("x-ms-version", "2018-09-17");
    let other = operation(other).await;
    let expected = throughput(
        "None",
        "Some(Autoscale { max: 4000, increment_percent: None })",
        r#"Some("S1")"#,
    );
    assert!(other.contains(&expected), "{other}");
    assert!(other.ends_with("partition_key_optional: true }"), "{other}");
    let bad = Call::post("/dbs").header("x-ms-offer-throughput", "lots");
    assert_eq!(Harness::new().send(bad).await.status, 400);
}

#[tokio::test]
async fn rid_paths_are_passed_on() {
    let path = "/dbs/obLD1A==/colls/obLD1IAAAAE=/pkranges";
    let call = Call::get(path)
        .signing("pkranges", "obld1iaaaae=")
        .header("a-im", "Incremental Feed")
        .header("if-none-match", "\"17\"");
    let harness = Harness::new();
    assert_eq!(harness.send(call).await.status, 200);
    let request = harness.one_call().1;
    let Operation::ListPartitionKeyRanges { path, known } = request.operation else {
        panic!("not the ranges")
    };
    assert_eq!(path.collection, "obLD1IAAAAE=");
    assert_eq!(path.database.0, "obLD1A==");
    assert_eq!(known.as_deref(), Some("17"));
    assert_eq!(request.options.if_none_match, None, "it has been used");
}

/// Whatever else a batch says of itself, it must never become a document.
#[tokio::test]
async fn batches_never_create() {
    for (name, value) in [("x-ms-documentdb-isquery", "True"), ("content-type", "text/plain")] {
        let batch = |path| {
            let batch = Call::post(path).header("x-ms-cosmos-is-batch-request", "True");
            batch.header(name, value).header("x-ms-documentdb-is-upsert", "true")
        };
        for path in ["/dbs", "/dbs/d/colls", "/offers"] {
            let harness = Harness::new();
            let reply = harness.send(batch(path)).await;
            assert_eq!((reply.status, harness.calls().len()), (400, 0), "{path} {name}");
            assert!(reply.error().contains("A batch request can only contain documents"));
        }
        let body = r#"[{"operationType":"Read","id":"a"}]"#;
        let reached = operation(batch("/dbs/d/colls/c/docs").body(body)).await;
        assert!(reached.starts_with("ExecuteBatch"), "{reached}");
    }
}

#[tokio::test]
async fn what_the_operations_of_a_batch_have_to_do_with_each_other() {
    let atomic = ("x-ms-cosmos-batch-atomic", "True");
    let goes_on = "x-ms-cosmos-batch-continue-on-error";
    let independent = |stops| format!("Independent {{ stops_at_failure: {stops} }}");
    for (headers, mode) in [
        (vec![atomic], "Atomic".to_owned()),
        (vec![atomic, (goes_on, "True")], "Atomic".to_owned()),
        (vec![], independent(false)),
        (vec![("x-ms-cosmos-batch-atomic", "false"), (goes_on, "true")], independent(false)),
        (vec![(goes_on, "False")], independent(true)),
    ] {
        let body = r#"[{"operationType":"Read","id":"a"}]"#;
        let mut call = Call::post("/dbs/d/colls/c/docs").body(body);
        call = call.header("x-ms-cosmos-is-batch-request", "true");
        for (name, value) in &headers {
            call = call.header(name, value);
        }
        let reached = operation(call.clone()).await;
        let expected =
            format!("ExecuteBatch {{ collection: {COLL}, operations: [BatchOperation {{");
        assert!(reached.starts_with(&expected), "{reached}");
        assert!(reached.ends_with(&format!("], mode: {mode} }}")), "{headers:?}: {reached}");
        let harness = Harness::new();
        assert_eq!(harness.send(call.key(READ_ONLY_KEY)).await.status, 403);
    }
}

/// A body that cannot be read does not get as far as the service, however long it is; one that can does.
#[tokio::test]
async fn bodies_are_read_before_the_service_is_called() {
    let docs = "/dbs/d/colls/c/docs";
    let batch = || Call::post(docs).header("x-ms-cosmos-is-batch-request", "True");
    let query = || Call::post(docs).header("content-type", "application/query+json");
    let patch = || Call::new("PATCH", "/dbs/d/colls/c/docs/x");
    let long = "x".repeat(100_000);
    for (call, good, bad, words) in [
        (
            batch(),
            r#"[{"operationType":"Create","resourceBody":{"a":"LONG"}}]"#,
            r#"{"a":"LONG"}"#,
            "The batch is not",
        ),
        (query(), r#"{"query":"SELECT 'LONG'"}"#, r#"{"query":1,"a":"LONG"}"#, "a string `query`"),
        (patch(), r#"[{"op":"set","path":"/a","value":"LONG"}]"#, r#"["LONG"]"#, "patch request"),
    ] {
        for filling in ["", &long] {
            let harness = Harness::new();
            let reply = harness.send(call.clone().body(bad.replace("LONG", filling))).await;
            assert_eq!((reply.status, harness.calls().len()), (400, 0), "{}", reply.text());
            assert!(reply.error().contains(words), "{}", reply.text());
            assert_eq!(reply.header("x-ms-request-charge"), Some("0"));
            let reply = harness.send(call.clone().body(good.replace("LONG", filling))).await;
            assert_eq!((reply.status, harness.calls().len()), (200, 1), "{}", reply.text());
        }
    }
    let harness = Harness::new();
    let reply = harness.send(batch().body(b"\x81\x01\x02".to_vec())).await;
    assert_eq!((reply.status, harness.calls().len()), (400, 0));
    assert!(reply.error().contains("not a HybridRow stream"), "{}", reply.text());
}

#[tokio::test]
async fn patches() {
    let call = Call::new("PATCH", "/dbs/d/colls/c/docs/x")
        .body(r#"{"condition":"from c","operations":[{"op":"remove","path":"/a"}]}"#);
    let reached = operation(call.clone()).await;
    assert!(
        reached.contains(r#"document: "x" }, patch: Patch { operations: [Remove {"#),
        "{reached}"
    );
    assert!(reached.contains(r#"condition: Some("from c")"#), "{reached}");
    assert_eq!(Harness::new().send(call.key(READ_ONLY_KEY)).await.status, 403);
}

#[tokio::test]
async fn scripts() {
    let id = r#"{"id":"a"}"#;
    let body = r#"body: b"{\"id\":\"a\"}""#;
    for (segment, kind) in
        [("sprocs", "StoredProcedure"), ("triggers", "Trigger"), ("udfs", "Function")]
    {
        let feed = format!("/dbs/d/colls/c/{segment}");
        let of = format!("collection: {COLL}, kind: {kind}");
        let path = format!(r#"ScriptPath {{ {of}, script: "a b" }}"#);
        let one = format!("{feed}/a%20b");
        for (call, expected) in [
            (Call::get(&feed), format!("ListScripts {{ {of} }}")),
            (Call::get(&feed).key(READ_ONLY_KEY), format!("ListScripts {{ {of} }}")),
            (
                Call::new("POST", &feed).body(id),
                format!("CreateScript {{ {of}, {body}, upsert: false }}"),
            ),
            (
                Call::new("POST", &feed).body(id).header("x-ms-documentdb-is-upsert", "True"),
                format!("CreateScript {{ {of}, {body}, upsert: true }}"),
            ),
            (Call::get(&one), format!("ReadScript({path})")),
            (Call::new("PUT", &one).body(id), format!("ReplaceScript {{ path: {path}, {body} }}")),
            (Call::new("DELETE", &one), format!("DeleteScript({path})")),
        ] {
            assert_eq!(operation(call).await, expected);
        }
        for (method, path) in [("PUT", &feed), ("DELETE", &feed), ("PATCH", &one)] {
            assert_eq!(Harness::new().send(Call::new(method, path)).await.status, 405);
        }
        // Nothing is created from nothing.
        assert_eq!(Harness::new().send(Call::new("POST", &feed)).await.status, 400);
        // Only stored procedures can be run, and not by those who may only read.
        let run = Call::new("POST", &one);
        if kind == "StoredProcedure" {
            let expected = format!("ExecuteProcedure {{ path: {path}, body: b\"[1]\" }}");
            assert_eq!(operation(run.clone().body("[1]")).await, expected);
            let expected = format!("ExecuteProcedure {{ path: {path}, body: b\"\" }}");
            assert_eq!(operation(run.clone()).await, expected);
            assert_eq!(Harness::new().send(run.key(READ_ONLY_KEY)).await.status, 403);
        } else {
            assert_eq!(Harness::new().send(run.body("[]")).await.status, 405);
        }
    }
}

#[tokio::test]
async fn both_signatures_of_a_delete_by_partition_key() {
    let delete = Call::new("POST", "/dbs/d/colls/c/operations/partitionkeydelete");
    for kind in ["colls", "partitionkey"] {
        let reply = Harness::new().send(delete.clone().signing(kind, "dbs/d/colls/c")).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
    }
}

#[tokio::test]
async fn other_verbs_and_paths_are_refused() {
    let harness = Harness::new();
    for (method, path) in [
        ("PUT", "/dbs/d"),
        ("POST", "/dbs/d"),
        ("DELETE", "/dbs"),
        ("DELETE", "/dbs/d/colls"),
        ("POST", "/dbs/d/colls/c"),
        ("DELETE", "/dbs/d/colls/c/docs"),
        ("POST", "/dbs/d/colls/c/docs/x"),
        ("POST", "/dbs/d/colls/c/pkranges"),
        ("POST", "/offers"),
        ("OPTIONS", "/dbs"),
        ("POST", "/"),
    ] {
        let mut call = Call::new(method, path).body("{}");
        if path == "/" {
            call = call.signing("", "");
        }
        let reply = harness.send(call).await;
        assert_eq!(reply.status, 405, "{method} {path}: {}", reply.text());
        assert_eq!(reply.json().get("code").as_str(), Some("MethodNotAllowed"));
    }
    for (path, status) in [("/nothing", 404), ("/dbs/d/nothing", 404), ("/dbs/%FF", 400)] {
        assert_eq!(harness.send(Call::get(path).unsigned()).await.status, status, "{path}");
    }
    let direct = harness.send(Call::get("//addresses/?$resolveFor=x").unsigned()).await;
    assert_eq!(direct.status, 400);
    assert!(direct.error().contains("ConnectionMode.Gateway"));
    assert!(harness.calls().is_empty());
}

/// A name with `%20` in it goes first; only when nothing has that name is the path decoded again.
#[tokio::test]
async fn paths_encoded_twice_are_understood() {
    let harness = Harness::answering(|request| match &request.operation {
        Operation::ReadCollection(path) if path.collection == "c c" => Ok(resource("{}")),
        _ => Err(protocol::Error::not_found()),
    });
    let call = Call::get("/dbs/d/colls/c%2520c").signing("colls", "dbs/d/colls/c c");
    assert_eq!(harness.send(call).await.status, 200);
    let names: Vec<String> = harness
        .calls()
        .into_iter()
        .map(|(_, request)| match request.operation {
            Operation::ReadCollection(path) => path.collection,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(names, ["c%20c", "c c"]);
}
