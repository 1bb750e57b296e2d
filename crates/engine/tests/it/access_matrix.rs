//! Every operation by every kind of token: exactly what is granted, and no more.
//!
//! The table below is kept apart from the engine's own: who changes one must change the other. A new
//! operation does not compile here before it has a number, and fails before it has a line.

use std::collections::HashSet;

use bytes::Bytes;
use protocol::{
    Code, Meta, Operation, Options, Principal, Proof,
    patch::Patch,
    query::{QueryFeed, QuerySource},
    request::{
        AttachmentPath, BatchMode, ChangeMode, DatabasePath, EncryptionKeyPath, MediaHead,
        ScriptKind, ScriptPath, ThroughputRequest,
    },
    rid::PermissionRid,
    token::Grant,
};
use value::partition_key::PartitionKey;

use crate::{
    support::{Database, batch_of, collection, document, keyed, resource, text},
    users::{holder, minting, permission, rights, user},
};

/// The tokens, a letter for each: on the database (All, Read), on the collection (All, Read), on a
/// partition key of it (All, Read, All while another key is named), on a document (All, Read), on a
/// stored procedure (All, Read), and on an attachment (All).
const TOKENS: &str = "DdCcKkWXxSsA";

/// In each place whether the token of that letter may: `.` it may, `1` it is for something else, `3` it
/// grants too little. Both are a 403; `0` is a token that is good for nothing (401).
const ACCOUNT: &str = "111111111111";
const DATABASE_READ: &str = "..1111111111";
const DATABASE_ALL: &str = ".31111111111";
const USERS: &str = "331111111111";
const WAY: &str = "............";
const COLLECTION_READ: &str = "....33311111";
const COLLECTION_ALL: &str = ".3.333311111";
const ADMINISTRATORS: &str = "333333311111";
const DOCUMENTS_READ: &str = "......311111";
const DOCUMENTS_ALL: &str = ".3.3.3311111";
const DOCUMENT_READ: &str = "......3..111";
const DOCUMENT_ALL: &str = ".3.3.33.3111";
const ATTACHMENT_READ: &str = "......3..11.";
const ATTACHMENT_ALL: &str = ".3.3.33.311.";
const MEDIA_READ: &str = ".........11.";
const MEDIA_ALL: &str = ".3.3.3..311.";
const SCRIPT_READ: &str = "....33311..1";
const SCRIPT_ALL: &str = ".3.333311.31";
const RUN: &str = ".3.3.3311.31";

/// How many numbers there are below.
const OPERATIONS: usize = 57;

#[expect(clippy::too_many_lines, reason = "a table")]
fn number(operation: &Operation) -> usize {
    match operation {
        Operation::ReadAccount => 0,
        Operation::CreateDatabase { .. } => 1,
        Operation::ReadDatabase(_) => 2,
        Operation::DeleteDatabase(_) => 3,
        Operation::ListDatabases => 4,
        Operation::CreateEncryptionKey { .. } => 5,
        Operation::ReadEncryptionKey(_) => 6,
        Operation::ReplaceEncryptionKey { .. } => 7,
        Operation::ListEncryptionKeys(_) => 8,
        Operation::CreateUser { .. } => 9,
        Operation::ReadUser(_) => 10,
        Operation::ReplaceUser { .. } => 11,
        Operation::DeleteUser(_) => 12,
        Operation::ListUsers(_) => 13,
        Operation::CreatePermission { .. } => 14,
        Operation::ReadPermission(_) => 15,
        Operation::ReplacePermission { .. } => 16,
        Operation::DeletePermission(_) => 17,
        Operation::ListPermissions(_) => 18,
        Operation::CreateCollection { .. } => 19,
        Operation::ReadCollection(_) => 20,
        Operation::ReplaceCollection { .. } => 21,
        Operation::DeleteCollection(_) => 22,
        Operation::ListCollections(_) => 23,
        Operation::ListPartitionKeyRanges { .. } => 24,
        Operation::ReadPartitionKeyRange { .. } => 25,
        Operation::SplitPartition { .. } => 26,
        Operation::MergePartitions { .. } => 27,
        Operation::GivePartitionKey { .. } => 28,
        Operation::CreateDocument { .. } => 29,
        Operation::ReadDocument(_) => 30,
        Operation::ReplaceDocument { .. } => 31,
        Operation::PatchDocument { .. } => 32,
        Operation::DeleteDocument(_) => 33,
        Operation::DeleteByPartitionKey(_) => 34,
        Operation::ListDocuments(_) => 35,
        Operation::ReadChanges { .. } => 36,
        Operation::CreateAttachment { .. } => 37,
        Operation::ReadAttachment(_) => 38,
        Operation::ReplaceAttachment { .. } => 39,
        Operation::DeleteAttachment(_) => 40,
        Operation::ListAttachments(_) => 41,
        Operation::ReadMedia(_) => 42,
        Operation::ReplaceMedia { .. } => 43,
        Operation::ExecuteBatch { .. } => 44,
        Operation::ListConflicts(_) => 45,
        Operation::ReadConflict { .. } => 46,
        Operation::DeleteConflict { .. } => 47,
        Operation::CreateScript { .. } => 48,
        Operation::ReadScript(_) => 49,
        Operation::ReplaceScript { .. } => 50,
        Operation::DeleteScript(_) => 51,
        Operation::ListScripts { .. } => 52,
        Operation::ExecuteProcedure { .. } => 53,
        Operation::Query { feed, .. } => {
            // As many lines as there are feeds.
            match feed {
                QueryFeed::Databases
                | QueryFeed::Collections(_)
                | QueryFeed::Documents(_)
                | QueryFeed::PartitionKeyRanges(_)
                | QueryFeed::Offers
                | QueryFeed::Scripts(..)
                | QueryFeed::EncryptionKeys(_)
                | QueryFeed::Users(_)
                | QueryFeed::Permissions(_)
                | QueryFeed::Attachments(_)
                | QueryFeed::Conflicts(_) => 54,
            }
        }
        Operation::PlanQuery { .. } => 55,
        Operation::ReadOffer(_) | Operation::ReplaceOffer { .. } | Operation::ListOffers => 56,
    }
}

/// Every operation, in a form that changes nothing: what would is stopped by an etag or a body that
/// is no good. What was refused for such a reason was let in.
#[expect(clippy::too_many_lines, reason = "a table")]
pub(crate) fn operations(media: &str) -> Vec<(Operation, &'static str)> {
    let database = || DatabasePath("db".to_owned());
    let bad = || Bytes::from_static(b"{}");
    let key = || EncryptionKeyPath { database: database(), key: "k".to_owned() };
    let attachment =
        || AttachmentPath { document: document("d"), attachment: "attached".to_owned() };
    let head = || MediaHead { slug: None, content_type: String::new() };
    let kind = ScriptKind::StoredProcedure;
    let script = || ScriptPath { collection: collection(), kind, script: "s".to_owned() };
    let source = || QuerySource::new("SELECT * FROM c");
    let query = |feed| Operation::Query { feed, query: source() };
    let path = collection;
    let read = Bytes::from_static(br#"[{"operationType":"Read","id":"d"}]"#);
    let range = || "0".to_owned();
    vec![
        (Operation::ReadAccount, WAY),
        (
            Operation::CreateDatabase {
                body: bad(),
                upsert: false,
                throughput: ThroughputRequest::default(),
            },
            ACCOUNT,
        ),
        (Operation::ListDatabases, ACCOUNT),
        (Operation::ReadOffer("AAAA".to_owned()), ACCOUNT),
        (
            Operation::ReplaceOffer { offer: "AAAA".to_owned(), body: bad(), migration: None },
            ACCOUNT,
        ),
        (Operation::ListOffers, ACCOUNT),
        (query(QueryFeed::Databases), ACCOUNT),
        (query(QueryFeed::Offers), ACCOUNT),
        (Operation::ReadDatabase(database()), DATABASE_READ),
        (Operation::DeleteDatabase(database()), DATABASE_ALL),
        (
            Operation::CreateEncryptionKey { database: database(), body: bad(), upsert: true },
            DATABASE_ALL,
        ),
        (Operation::ReadEncryptionKey(key()), DATABASE_READ),
        (Operation::ReplaceEncryptionKey { path: key(), body: bad() }, DATABASE_ALL),
        (Operation::ListEncryptionKeys(database()), DATABASE_READ),
        (query(QueryFeed::EncryptionKeys(database())), DATABASE_READ),
        (Operation::CreateUser { database: database(), body: bad(), upsert: true }, USERS),
        (Operation::ReadUser(user("u")), USERS),
        (Operation::ReplaceUser { path: user("u"), body: bad() }, USERS),
        (Operation::DeleteUser(user("u")), USERS),
        (Operation::ListUsers(database()), USERS),
        (query(QueryFeed::Users(database())), USERS),
        (Operation::CreatePermission { user: user("u"), body: bad(), upsert: true }, USERS),
        (Operation::ReadPermission(permission("u", "D")), USERS),
        (Operation::ReplacePermission { path: permission("u", "D"), body: bad() }, USERS),
        (Operation::DeletePermission(permission("u", "D")), USERS),
        (Operation::ListPermissions(user("u")), USERS),
        (query(QueryFeed::Permissions(user("u"))), USERS),
        (
            Operation::CreateCollection {
                database: database(),
                body: bad(),
                upsert: false,
                throughput: ThroughputRequest::default(),
                partition_key_optional: false,
            },
            DATABASE_ALL,
        ),
        (Operation::ListCollections(database()), DATABASE_READ),
        (query(QueryFeed::Collections(database())), DATABASE_READ),
        (Operation::ReadCollection(path()), WAY),
        (Operation::ReplaceCollection { path: path(), body: bad() }, COLLECTION_ALL),
        (Operation::DeleteCollection(path()), COLLECTION_ALL),
        (Operation::ListPartitionKeyRanges { path: path(), known: None }, WAY),
        (Operation::ReadPartitionKeyRange { path: path(), range: range() }, WAY),
        (query(QueryFeed::PartitionKeyRanges(path())), WAY),
        (Operation::SplitPartition { path: path(), range: "9".to_owned() }, ADMINISTRATORS),
        (Operation::MergePartitions { path: path(), range: range() }, ADMINISTRATORS),
        (Operation::GivePartitionKey { path: path(), body: bad() }, ADMINISTRATORS),
        (
            Operation::CreateDocument { collection: path(), body: bad(), upsert: true },
            DOCUMENTS_ALL,
        ),
        (Operation::ReadDocument(document("d")), DOCUMENT_READ),
        (Operation::ReplaceDocument { path: document("d"), body: bad() }, DOCUMENT_ALL),
        (Operation::PatchDocument { path: document("d"), patch: Patch::default() }, DOCUMENT_ALL),
        (Operation::DeleteDocument(document("d")), DOCUMENT_ALL),
        (Operation::ListDocuments(path()), DOCUMENTS_READ),
        (
            Operation::ReadChanges { collection: path(), mode: ChangeMode::Latest, since: None },
            DOCUMENTS_READ,
        ),
        (query(QueryFeed::Documents(path())), DOCUMENTS_READ),
        (Operation::PlanQuery { collection: path(), query: source() }, DOCUMENTS_READ),
        (
            Operation::ExecuteBatch {
                collection: path(),
                operations: batch_of(read.clone()),
                mode: BatchMode::Atomic,
            },
            DOCUMENTS_ALL,
        ),
        (
            Operation::ExecuteBatch {
                collection: path(),
                operations: batch_of(read),
                mode: BatchMode::Independent { stops_at_failure: false },
            },
            DOCUMENTS_ALL,
        ),
        (
            Operation::CreateAttachment {
                document: document("d"),
                body: bad(),
                media: None,
                upsert: true,
            },
            DOCUMENT_ALL,
        ),
        (Operation::ListAttachments(document("d")), DOCUMENT_READ),
        (query(QueryFeed::Attachments(document("d"))), DOCUMENT_READ),
        (Operation::ReadAttachment(attachment()), ATTACHMENT_READ),
        (Operation::ReplaceAttachment { path: attachment(), body: bad() }, ATTACHMENT_ALL),
        (Operation::DeleteAttachment(attachment()), ATTACHMENT_ALL),
        (Operation::ReadMedia(media.to_owned()), MEDIA_READ),
        (Operation::ReplaceMedia { media: media.to_owned(), head: head(), body: bad() }, MEDIA_ALL),
        (Operation::ListConflicts(path()), DOCUMENTS_READ),
        (query(QueryFeed::Conflicts(path())), DOCUMENTS_READ),
        (Operation::ReadConflict { collection: path(), conflict: "x".to_owned() }, DOCUMENTS_READ),
        (Operation::DeleteConflict { collection: path(), conflict: "x".to_owned() }, DOCUMENTS_ALL),
        (
            Operation::CreateScript { collection: path(), kind, body: bad(), upsert: true },
            COLLECTION_ALL,
        ),
        (Operation::ListScripts { collection: path(), kind }, COLLECTION_READ),
        (query(QueryFeed::Scripts(path(), kind)), COLLECTION_READ),
        (Operation::ReadScript(script()), SCRIPT_READ),
        (Operation::ReplaceScript { path: script(), body: bad() }, SCRIPT_ALL),
        (Operation::DeleteScript(script()), SCRIPT_ALL),
        (Operation::ExecuteProcedure { path: script(), body: bad() }, RUN),
        // Last, since it does what it says.
        (Operation::DeleteByPartitionKey(path()), DOCUMENTS_ALL),
    ]
}

/// A database with a document that has an attachment, and the name of its media.
pub(crate) async fn database() -> (Database, String) {
    let db = Database::memory().await.with_collection(400).await;
    db.create(r#"{"id":"d","pk":"a"}"#).await.expect("a document");
    let media = Some(MediaHead {
        slug: Some("attached".to_owned()),
        content_type: "text/plain".to_owned(),
    });
    let body = Bytes::from_static(b"words");
    let create =
        Operation::CreateAttachment { document: document("d"), body, media, upsert: false };
    let attached = db.call(create, keyed(r#"["a"]"#)).await.expect("an attachment");
    db.user("u", false).await.expect("a user");
    (db, text(resource(&attached).get("_rid")))
}

/// The tokens of [`TOKENS`], in their order.
async fn tokens(db: &Database) -> Vec<Principal> {
    let c = "dbs/db/colls/c";
    let mut holders = Vec::new();
    for (mode, resource, key) in [
        ("All", "dbs/db".to_owned(), None),
        ("Read", "dbs/db".to_owned(), None),
        ("All", c.to_owned(), None),
        ("Read", c.to_owned(), None),
        ("All", c.to_owned(), Some(r#"["a"]"#)),
        ("Read", c.to_owned(), Some(r#"["a"]"#)),
        ("All", c.to_owned(), Some(r#"["a"]"#)),
        ("All", format!("{c}/docs/d"), None),
        ("Read", format!("{c}/docs/d"), None),
        ("All", format!("{c}/sprocs/s"), None),
        ("Read", format!("{c}/sprocs/s"), None),
        ("All", format!("{c}/docs/d/attachments/attached"), None),
    ] {
        let name = holders.len().to_string();
        db.user(&name, false).await.expect("a user");
        let made = db.permit(&name, rights("p", mode, &resource, key)).await;
        holders.push(holder(&resource_of(made)));
    }
    holders
}

fn resource_of(made: Result<protocol::Response, protocol::Error>) -> value::Value {
    resource(&made.expect("a permission"))
}

/// Nothing is ever changed by who names this version.
pub(crate) fn options(key: &str) -> Options {
    let partition_key = PartitionKey::parse_header(key).ok();
    let if_match = Some("\"00000000-0000-0000-0000-000000000000\"".to_owned());
    Options { partition_key, if_match, ..minting() }
}

/// The answer as one letter; what is refused tells nothing of the resource.
async fn answer(db: &Database, who: &Principal, operation: &Operation, key: &str) -> char {
    match db.call_as(who, operation.clone(), options(key)).await {
        Err(error) if matches!(error.code, Code::Unauthorized | Code::Forbidden) => {
            assert_eq!(*error.meta, Meta::default());
            match error.code {
                Code::Unauthorized => '0',
                _ if error.message.contains("is not for this resource") => '1',
                _ => '3',
            }
        }
        _ => '.',
    }
}

#[tokio::test]
async fn every_operation_by_every_token() {
    let (db, media) = database().await;
    let holders = tokens(&db).await;
    for (operation, expected) in operations(&media) {
        let mut answers = String::new();
        for (letter, holder) in TOKENS.chars().zip(&holders) {
            let key = if letter == 'W' { r#"["b"]"# } else { r#"["a"]"# };
            answers.push(answer(&db, holder, &operation, key).await);
        }
        assert_eq!(answers, expected, "{TOKENS} {operation:?}");
    }
}

#[tokio::test]
async fn no_operation_is_missing() {
    let numbers: HashSet<usize> =
        operations("").iter().map(|(operation, _)| number(operation)).collect();
    let missing: Vec<usize> = (0..OPERATIONS).filter(|it| !numbers.contains(it)).collect();
    assert_eq!((missing, numbers.len()), (vec![], OPERATIONS));
    let is_query = |operation: &Operation| matches!(operation, Operation::Query { .. });
    assert_eq!(operations("").iter().filter(|(operation, _)| is_query(operation)).count(), 11);
}

/// Without a good permission all there is to see is a 401, and with one for something else a 403, whether
/// the resource exists or not.
#[tokio::test]
async fn tokens_of_something_else_and_of_nothing() {
    let (db, media) = database().await;
    let mut holders = Vec::new();
    for (name, resource) in [
        ("collection", "dbs/db/colls/other"),
        ("document", "dbs/db/colls/other/docs/d"),
        ("script", "dbs/db/colls/other/sprocs/s"),
        ("no such", "dbs/db/colls/none"),
    ] {
        let made = db.permit("u", rights(name, "All", resource, None)).await;
        holders.push((holder(&resource_of(made)), ('.', '1')));
    }
    // The permission is gone; its user is gone; it grants something else now; it never was.
    let gone = holder(&resource_of(db.permit("u", rights("gone", "All", "dbs/db", None)).await));
    db.call(Operation::DeletePermission(permission("u", "gone")), Options::default())
        .await
        .expect("deleted");
    db.user("v", false).await.expect("a user");
    let orphan = holder(&resource_of(db.permit("v", rights("p", "All", "dbs/db", None)).await));
    db.call(Operation::DeleteUser(user("v")), Options::default()).await.expect("deleted");
    db.user("w", false).await.expect("a user");
    let changed = holder(&resource_of(db.permit("w", rights("p", "All", "dbs/db", None)).await));
    let (path, body) = (permission("w", "p"), rights("p", "Read", "dbs/db", None));
    let replace = Operation::ReplacePermission { path, body };
    db.call(replace, Options::default()).await.expect("replaced");
    let Proof::Token(Grant { permission: real, .. }) = changed.proof() else { panic!("no token") };
    let invented = PermissionRid { number: 4711, ..real };
    let invented = Principal::of_token(Grant { permission: invented, generation: 1 });
    holders.extend([gone, orphan, changed, invented].map(|holder| (holder, ('0', '0'))));
    for (operation, _) in operations(&media) {
        for (holder, (account, all_else)) in &holders {
            let expected = if number(&operation) == 0 { *account } else { *all_else };
            let got = answer(&db, holder, &operation, r#"["a"]"#).await;
            assert_eq!(got, expected, "{operation:?} by {holder:?}");
        }
    }
}
