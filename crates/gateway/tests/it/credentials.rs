//! Every operation by every credential, as far as that is settled before the database is asked: keys,
//! nothing at all, and tokens that are none. What a good token may do is the engine's to say.

use std::{
    collections::HashSet,
    mem::{Discriminant, discriminant},
    time::Duration,
};

use bytes::Bytes;
use gateway::PUBLISHED_KEY;
use protocol::{
    Body, Code, Error, Operation, Principal, Request, Response,
    query::QueryFeed,
    rid::{DatabaseRid, PermissionRid, UserRid},
    token::Grant,
};

use crate::support::{Call, Harness, READ_ONLY_KEY, SECONDARY_KEY, resource};

/// How many operations there are; reading the account is one only for tokens.
const OPERATIONS: usize = 59;

/// Whether a key that may only read may do it. A new operation does not compile without a line.
#[expect(clippy::too_many_lines, reason = "a table")]
fn reader_may(operation: &Operation) -> bool {
    match operation {
        Operation::ReadAccount
        | Operation::ReadDatabase(_)
        | Operation::ListDatabases
        | Operation::ReadEncryptionKey(_)
        | Operation::ListEncryptionKeys(_)
        | Operation::ReadUser(_)
        | Operation::ListUsers(_)
        | Operation::ReadCollection(_)
        | Operation::ListCollections(_)
        | Operation::ListPartitionKeyRanges { .. }
        | Operation::ReadPartitionKeyRange { .. }
        | Operation::ReadDocument(_)
        | Operation::ListDocuments(_)
        | Operation::ReadChanges { .. }
        | Operation::ReadAttachment(_)
        | Operation::ListAttachments(_)
        | Operation::ReadMedia(_)
        | Operation::ListConflicts(_)
        | Operation::ReadConflict { .. }
        | Operation::ReadScript(_)
        | Operation::ListScripts { .. }
        | Operation::PlanQuery { .. }
        | Operation::ReadOffer(_)
        | Operation::ListOffers => true,
        // Who reads a permission gets a token, which may be one to write.
        Operation::Query { feed, .. } => !matches!(feed, QueryFeed::Permissions(_)),
        Operation::ReadPermission(_)
        | Operation::ListPermissions(_)
        | Operation::CreateDatabase { .. }
        | Operation::DeleteDatabase(_)
        | Operation::CreateEncryptionKey { .. }
        | Operation::ReplaceEncryptionKey { .. }
        | Operation::CreateUser { .. }
        | Operation::ReplaceUser { .. }
        | Operation::DeleteUser(_)
        | Operation::CreatePermission { .. }
        | Operation::ReplacePermission { .. }
        | Operation::DeletePermission(_)
        | Operation::CreateCollection { .. }
        | Operation::ReplaceCollection { .. }
        | Operation::DeleteCollection(_)
        | Operation::SplitPartition { .. }
        | Operation::MergePartitions { .. }
        | Operation::GivePartitionKey { .. }
        | Operation::CreateDocument { .. }
        | Operation::ReplaceDocument { .. }
        | Operation::PatchDocument { .. }
        | Operation::DeleteDocument(_)
        | Operation::DeleteByPartitionKey(_)
        | Operation::CreateAttachment { .. }
        | Operation::ReplaceAttachment { .. }
        | Operation::DeleteAttachment(_)
        | Operation::ReplaceMedia { .. }
        | Operation::ExecuteBatch { .. }
        | Operation::DeleteConflict { .. }
        | Operation::CreateScript { .. }
        | Operation::ReplaceScript { .. }
        | Operation::DeleteScript(_)
        | Operation::ExecuteProcedure { .. }
        | Operation::ReplaceOffer { .. } => false,
    }
}

/// A call for every operation.
#[expect(clippy::too_many_lines, reason = "a table")]
fn calls() -> Vec<Call> {
    let (d, c) = ("/dbs/d", "/dbs/d/colls/c");
    let feeds = [
        "/dbs".to_owned(),
        "/offers".to_owned(),
        format!("{d}/users"),
        format!("{d}/users/u/permissions"),
        format!("{d}/clientencryptionkeys"),
        format!("{d}/colls"),
        format!("{c}/docs"),
        format!("{c}/sprocs"),
        format!("{c}/docs/x/attachments"),
        format!("{c}/conflicts"),
        format!("{c}/pkranges"),
    ];
    let resources = [
        d.to_owned(),
        "/offers/AAAA".to_owned(),
        format!("{d}/users/u"),
        format!("{d}/users/u/permissions/p"),
        format!("{d}/clientencryptionkeys/k"),
        c.to_owned(),
        format!("{c}/docs/x"),
        format!("{c}/sprocs/s"),
        format!("{c}/docs/x/attachments/a"),
        format!("{c}/conflicts/y"),
        format!("{c}/pkranges/0"),
        "/media/AAAA".to_owned(),
    ];
    let mut calls = Vec::new();
    for feed in feeds {
        calls.push(Call::get(&*feed));
        let query = Call::post(&*feed).header("content-type", "application/query+json");
        calls.push(query.body(r#"{"query":"SELECT * FROM c"}"#));
        if !["/offers", "/dbs/d/colls/c/conflicts", "/dbs/d/colls/c/pkranges"].contains(&&*feed) {
            calls.push(Call::post(&*feed));
        }
    }
    for resource in resources {
        calls.push(Call::get(&*resource));
        let has = |kinds: &[&str]| kinds.iter().any(|kind| resource.contains(kind));
        if resource != d && !has(&["pkranges", "conflicts"]) {
            calls.push(Call::new("PUT", &*resource).body(r#"{"id":"a"}"#));
        }
        if !has(&["pkranges", "offers", "clientencryptionkeys", "media"]) {
            calls.push(Call::new("DELETE", &*resource));
        }
    }
    let docs = format!("{c}/docs");
    calls.push(Call::new("PATCH", format!("{c}/docs/x")).body(r#"[{"op":"remove","path":"/a"}]"#));
    calls.push(Call::get(&*docs).header("A-IM", "Incremental feed"));
    let batch = Call::post(&*docs).header("x-ms-cosmos-is-batch-request", "true");
    calls.push(batch.body(r#"[{"operationType":"Read","id":"a"}]"#));
    let plan = Call::post(&*docs).header("x-ms-cosmos-is-query-plan-request", "true");
    calls.push(plan.body(r#"{"query":"SELECT * FROM c"}"#));
    calls.push(Call::new("POST", format!("{c}/sprocs/s")).body("[]"));
    let clear = Call::new("POST", format!("{c}/operations/partitionkeydelete"));
    calls.push(clear.signing("colls", "dbs/d/colls/c"));
    for action in ["split", "merge"] {
        let call = Call::new("POST", format!("/_sheaf{c}/pkranges/0/{action}"));
        calls.push(call.signing("pkranges", "dbs/d/colls/c/pkranges/0"));
    }
    let give = Call::new("POST", format!("/_sheaf{c}/partition")).body("{}");
    calls.push(give.signing("colls", "dbs/d/colls/c"));
    calls
}

fn grant() -> Grant {
    let user = UserRid { database: DatabaseRid(7), number: 1 };
    Grant { permission: PermissionRid { user, number: 1 }, generation: 1 }
}

/// A service that marks where a token belongs.
#[expect(clippy::unnecessary_wraps, reason = "the form of every answer")]
fn minting(request: &Request) -> Result<Response, Error> {
    let text = match (&request.operation, request.options.token_mark) {
        (Operation::ReadPermission(_), Some(mark)) => mark.text(grant()),
        _ => "{}".to_owned(),
    };
    Ok(Response { body: Body::Resource(Bytes::from(text)), ..resource("{}") })
}

/// A token that is good, and one that has expired.
async fn tokens() -> (Harness, String, String) {
    let read = Call::get("/dbs/d/users/u/permissions/p");
    let harness = Harness::answering(minting);
    let good = harness.send(read.clone()).await.text().to_owned();
    let earlier = Harness::earlier(Duration::from_mins(10), minting);
    let brief = read.header("x-ms-documentdb-expiry-seconds", "10");
    let expired = earlier.send(brief).await.text().to_owned();
    harness.calls();
    (harness, good, expired)
}

fn with(call: &Call, token: &str) -> Call {
    call.clone().unsigned().header("authorization", token)
}

#[tokio::test]
async fn every_operation_by_every_key() {
    let harness = Harness::new();
    let mut seen: HashSet<Discriminant<Operation>> =
        HashSet::from([discriminant(&Operation::ReadAccount)]);
    for call in calls() {
        for key in [PUBLISHED_KEY, SECONDARY_KEY] {
            let reply = harness.send(call.clone().key(key)).await;
            assert_eq!(reply.status, 200, "{call:?}: {}", reply.text());
            let (principal, request) = harness.one_call();
            assert_eq!(principal, Principal::of_key());
            seen.insert(discriminant(&request.operation));
            if key == SECONDARY_KEY {
                let may = reader_may(&request.operation);
                let reply = harness.send(call.clone().key(READ_ONLY_KEY)).await;
                assert_eq!(reply.status, if may { 200 } else { 403 }, "{call:?}");
                assert_eq!(harness.calls().len(), usize::from(may));
            }
        }
    }
    assert_eq!(seen.len(), OPERATIONS);
}

/// Whoever has no credential is told the same of everything, and the database is not asked.
#[tokio::test]
async fn every_operation_without_a_credential() {
    let (harness, good, expired) = tokens().await;
    let mut tampered = good.clone();
    tampered.replace_range(30..31, if &good[30..31] == "A" { "B" } else { "A" });
    let cut = &good[..good.len() - 8];
    let account = Call::get("/").signing("", "");
    for call in calls().iter().chain([&account]) {
        for (bad, status) in [
            (call.clone().unsigned(), 401),
            (with(call, ""), 401),
            (with(call, "type=resource"), 401),
            (with(call, "type=resource&ver=1&sig=;;"), 401),
            (with(call, "type=resource&ver=1&sig=AAAA;AAAA;"), 401),
            (with(call, "type=other&ver=1&sig=AAAA"), 401),
            (with(call, &good.replace("resource", "master")), 401),
            (with(call, &tampered), 401),
            (with(call, cut), 401),
            (with(call, &expired), 403),
            (call.clone().key("d3Jvbmc="), 401),
        ] {
            let reply = harness.send(bad.clone()).await;
            assert_eq!(reply.status, status, "{bad:?}: {}", reply.text());
            assert!(harness.calls().is_empty());
            assert_eq!(reply.header("x-ms-alt-content-path"), None);
        }
        let reply = harness.send(with(call, &good)).await;
        assert_eq!(reply.status, 200, "{call:?}: {}", reply.text());
        assert_eq!(harness.one_call().0, Principal::of_token(grant()));
    }
}

/// What the engine says of a token counts for the account, too.
#[tokio::test]
async fn a_revoked_token_does_not_see_the_account() {
    let (_, good, _) = tokens().await;
    let harness = Harness::answering(|_| Err(Error::new(Code::Unauthorized, "gone")));
    let reply = harness.send(with(&Call::get("/"), &good)).await;
    assert_eq!(reply.status, 401);
    assert!(matches!(harness.one_call().1.operation, Operation::ReadAccount));
}

/// What administrators ask beside the protocol takes a key.
/// Whoever knows the published key can make tokens: a web page, too, under its own name.
#[tokio::test]
async fn a_token_by_the_published_key_needs_a_name_of_the_server() {
    let (harness, good, _) = tokens().await;
    let call = with(&Call::get("/dbs/d/colls/c/docs/x"), &good);
    assert_eq!(harness.send(call.clone()).await.status, 200);
    let foreign = harness.send(call.header("host", "evil.example")).await;
    assert_eq!(foreign.status, 403, "{}", foreign.text());
    assert_eq!(harness.calls().len(), 1);
}

#[tokio::test]
async fn a_token_is_not_for_administration() {
    let (harness, good, _) = tokens().await;
    for call in [Call::get("/_sheaf/x"), Call::new("POST", "/_sheaf/x")] {
        let parts = with(&call, &good).request(()).into_parts().0;
        let refused = harness.gateway.check_signature("http", &parts, "x").expect_err("a token");
        assert_eq!(refused.status(), 403);
        let parts = call.signing("x", "").request(()).into_parts().0;
        assert!(harness.gateway.check_signature("http", &parts, "x").is_ok());
    }
}

#[tokio::test]
async fn tokens_have_the_life_that_is_asked_for() {
    let permission = Call::get("/dbs/d/users/u/permissions/p");
    let document = Call::get("/dbs/d/colls/c/docs/x");
    let harness = Harness::answering(minting);
    let earlier = Harness::earlier(Duration::from_mins(10), minting);
    for (seconds, is_good) in [("10", false), ("600", false), ("601", true), ("86400", true)] {
        let call = permission.clone().header("x-ms-documentdb-expiry-seconds", seconds);
        let token = earlier.send(call).await.text().to_owned();
        let status = harness.send(with(&document, &token)).await.status;
        assert_eq!(status, if is_good { 200 } else { 403 }, "{seconds}");
    }
    for bad in ["9", "86401", "-10", "1.5", "an hour"] {
        let call = permission.clone().header("x-ms-documentdb-expiry-seconds", bad);
        assert_eq!(harness.send(call).await.status, 400, "{bad}");
    }
}
