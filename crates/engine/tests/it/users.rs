//! Users and permissions as resources, and the tokens that are made of them.

use bytes::Bytes;
use engine::verify;
use protocol::{
    Code, Context, Error, Operation, Options, Outcome, Principal, Request, Response, Service,
    query::QueryFeed,
    request::{DatabasePath, PermissionPath, UserPath},
    rid::{PermissionRid, UserRid},
    token::TokenMark,
};
use value::{Value, json};

use crate::stores::new_store;
use crate::{
    durability::{on_disk, open},
    support::{Database, items, resource, text},
};

/// What stands for tokens in the answers of these tests.
const MARK: u128 = 1;

/// Who holds the token of a permission that was shown.
pub(crate) fn holder(permission: &Value) -> Principal {
    let grant = TokenMark::new(MARK).read(&text(permission.get("_token")));
    Principal::of_token(grant.expect("a mark"))
}

pub(crate) fn minting() -> Options {
    Options { token_mark: Some(TokenMark::new(MARK)), ..Options::default() }
}

fn database() -> DatabasePath {
    DatabasePath("db".to_owned())
}

pub(crate) fn user(name: &str) -> UserPath {
    UserPath { database: database(), user: name.to_owned() }
}

pub(crate) fn permission(user_name: &str, name: &str) -> PermissionPath {
    PermissionPath { user: user(user_name), permission: name.to_owned() }
}

pub(crate) fn rights(id: &str, mode: &str, resource: &str, key: Option<&str>) -> Bytes {
    let key = key.map(|key| format!(r#","resourcePartitionKey":{key}"#)).unwrap_or_default();
    let body = format!(r#"{{"id":"{id}","permissionMode":"{mode}","resource":"{resource}"{key}}}"#);
    Bytes::from(body)
}

impl Database {
    pub(crate) async fn user(&self, id: &str, upsert: bool) -> Result<Response, Error> {
        let body = Bytes::from(format!(r#"{{"id":"{id}"}}"#));
        let create = Operation::CreateUser { database: database(), body, upsert };
        self.call(create, Options::default()).await
    }

    pub(crate) async fn permit(&self, user_name: &str, body: Bytes) -> Result<Response, Error> {
        let user = user(user_name);
        self.call(Operation::CreatePermission { user, body, upsert: false }, minting()).await
    }

    /// A request by somebody else than the account's owner.
    pub(crate) async fn call_as(
        &self,
        principal: &Principal,
        operation: Operation,
        options: Options,
    ) -> Result<Response, Error> {
        let context = Context::new(*principal, 1);
        self.engine.call(&context, Request { operation, options }).await
    }
}

async fn start() -> Database {
    let db = Database::memory().await.with_collection(400).await;
    db.user("u", false).await.expect("a user");
    db
}

#[tokio::test]
async fn the_life_of_a_user() {
    let db = Database::memory().await.with_collection(400).await;
    let created = db.user("u", false).await.expect("created");
    assert_eq!(created.outcome, Outcome::Created);
    assert_eq!(created.meta.owner.as_ref().expect("an owner").name_path, "dbs/db");
    let shown = resource(&created);
    let rid = text(shown.get("_rid"));
    let owner = UserRid::parse(&rid).expect("a user's rid").database;
    assert_eq!(text(shown.get("_self")), format!("dbs/{owner}/users/{rid}/"));
    assert_eq!(text(shown.get("_permissions")), "permissions/");
    for name in ["u", &rid] {
        let read = db.call(Operation::ReadUser(user(name)), Options::default()).await;
        assert_eq!(json::print(&resource(&read.expect("read"))), json::print(&shown));
        let taken = db.user(name, false).await.expect_err("taken");
        assert_eq!(taken.code, Code::Conflict);
    }
    let etag = created.etag.expect("an etag");
    let known = Options { if_none_match: Some(etag.clone()), ..Options::default() };
    let unchanged = db.call(Operation::ReadUser(user("u")), known).await.expect("read");
    assert_eq!(unchanged.outcome, Outcome::NotModified);
    // Under another name it is the same one.
    let known = Options { if_match: Some(etag), ..Options::default() };
    let body = Bytes::from_static(br#"{"id":"v"}"#);
    let replace = Operation::ReplaceUser { path: user("u"), body };
    let replaced = db.call(replace.clone(), known.clone()).await.expect("replaced");
    assert_eq!(text(resource(&replaced).get("_rid")), rid);
    let gone = db.call(replace, known).await.expect_err("renamed");
    assert_eq!(gone.code, Code::NotFound);
    let upserted = db.user("v", true).await.expect("upserted");
    assert_eq!((upserted.outcome, text(resource(&upserted).get("_rid"))), (Outcome::Ok, rid));
    db.user("w", true).await.expect("another");
    let list = db.call(Operation::ListUsers(database()), Options::default()).await.expect("a feed");
    let names: Vec<String> = items(&list).iter().map(|user| text(user.get("id"))).collect();
    assert_eq!(names, ["v", "w"]);
    let deleted = db.call(Operation::DeleteUser(user("v")), Options::default()).await;
    assert_eq!(deleted.expect("deleted").outcome, Outcome::Deleted);
    let gone = db.call(Operation::ReadUser(user("v")), Options::default()).await;
    assert_eq!(gone.expect_err("deleted").code, Code::NotFound);
    let other = UserPath { database: DatabasePath("nowhere".to_owned()), user: "u".to_owned() };
    let gone = db.call(Operation::ReadUser(other), Options::default()).await;
    assert_eq!(gone.expect_err("no database").code, Code::OwnerNotFound);
}

#[tokio::test]
async fn the_life_of_a_permission() {
    let db = start().await;
    let body = rights("p", "read", "dbs/db/colls/c", Some(r#"["a"]"#));
    let created = db.permit("u", body.clone()).await.expect("created");
    assert_eq!(created.outcome, Outcome::Created);
    let shown = resource(&created);
    let rid = text(shown.get("_rid"));
    let owner = PermissionRid::parse(&rid).expect("a permission's rid").user;
    let link = format!("dbs/{}/users/{owner}/permissions/{rid}/", owner.database);
    assert_eq!(text(shown.get("_self")), link);
    assert_eq!(text(shown.get("permissionMode")), "read", "as it was written");
    assert_eq!(text(shown.get("resource")), "dbs/db/colls/c");
    assert_eq!(json::print(shown.get("resourcePartitionKey")), r#"["a"]"#);
    let token = text(shown.get("_token"));
    let grant = TokenMark::new(MARK).read(&token).expect("a mark");
    assert_eq!(grant.permission.to_string(), rid);
    // Each reader gets a new token; nobody gets a bare "not modified".
    let mut options = minting();
    options.if_none_match = created.etag.clone();
    let read = db.call(Operation::ReadPermission(permission("u", &rid)), options).await;
    assert_eq!(text(resource(&read.expect("read")).get("_token")), token);
    let read = db.call(Operation::ReadPermission(permission("u", "p")), Options::default()).await;
    assert!(resource(&read.expect("read")).get("_token").is_undefined(), "nobody makes tokens");

    let list = db.call(Operation::ListPermissions(user("u")), minting()).await.expect("a feed");
    assert_eq!(text(items(&list)[0].get("_token")), token);
    let content = Bytes::from_static(br#"{"query":"SELECT VALUE p._token FROM p"}"#);
    let feed = QueryFeed::Permissions(user("u"));
    let source = gateway::read::query(&content, false).expect("a query");
    let query = Operation::Query { feed, query: source };
    let rows = items(&db.call(query, minting()).await.expect("rows"));
    assert_eq!(rows, [Value::from(token.clone())]);

    // The same rights again keep their tokens; others make new ones.
    let path = permission("u", "p");
    let replace = |body| Operation::ReplacePermission { path: path.clone(), body };
    let mut tokens = vec![token];
    for (body, is_new) in [
        (body.clone(), false),
        (rights("p", "All", "dbs/db/colls/c", Some(r#"["a"]"#)), true),
        (rights("p", "all", "dbs/db/colls/c", Some(r#"["b"]"#)), true),
        (rights("p", "All", "dbs/db", None), true),
        (rights("p", "All", "dbs/db", None), false),
        (body, true),
    ] {
        let replaced = db.call(replace(body), minting()).await.expect("replaced");
        let token = text(resource(&replaced).get("_token"));
        assert_eq!(tokens.last() != Some(&token), is_new, "{token}");
        if is_new {
            assert!(!tokens.contains(&token), "what was does not come back: {token}");
            tokens.push(token);
        }
    }
    let renamed = replace(rights("q", "All", "dbs/db", None));
    db.call(renamed, minting()).await.expect("renamed");
    let path = permission("u", "q");
    let deleted = db.call(Operation::DeletePermission(path.clone()), Options::default()).await;
    assert_eq!(deleted.expect("deleted").outcome, Outcome::Deleted);
    let gone = db.call(Operation::ReadPermission(path), Options::default()).await;
    assert_eq!(gone.expect_err("deleted").code, Code::NotFound);
}

#[tokio::test]
async fn one_permission_for_each_resource_and_key() {
    let db = start().await;
    let read = db.call(Operation::ReadDatabase(database()), Options::default()).await;
    let rid = text(resource(&read.expect("read")).get("_rid"));
    let by_rid = format!("dbs/{rid}/colls/c/");
    db.permit("u", rights("p", "Read", "dbs/db/colls/c", None)).await.expect("the first");
    db.user("other", false).await.expect("a user");
    for (user_name, id, resource, key, code) in [
        ("u", "p", "dbs/db/colls/d", None, Some(Code::Conflict)),
        ("u", "q", "dbs/db/colls/c", None, Some(Code::Conflict)),
        ("u", "q", "/DBS/db/colls/c/", None, Some(Code::Conflict)),
        ("u", "q", by_rid.as_str(), None, Some(Code::Conflict)),
        ("u", "far", "dbs/elsewhere/colls/c", None, None),
        ("nobody", "q", "dbs/db/colls/c", None, Some(Code::OwnerNotFound)),
        ("u", "q", "dbs/db/colls/c", Some(r#"["a"]"#), None),
        ("u", "r", "dbs/db/colls/c", Some(r#""a""#), Some(Code::Conflict)),
        ("u", "r", "dbs/db/colls/c", Some(r#"["b"]"#), None),
        ("other", "p", "dbs/db/colls/c", None, None),
    ] {
        let made = db.permit(user_name, rights(id, "All", resource, key)).await;
        assert_eq!(made.err().map(|error| error.code), code, "{user_name} {id} {resource}");
    }
    let body = rights("r", "All", "dbs/db/colls/c", None);
    let taken = Operation::ReplacePermission { path: permission("u", "r"), body };
    assert_eq!(db.call(taken, minting()).await.expect_err("taken").code, Code::Conflict);
}

#[tokio::test]
async fn they_are_there_after_a_restart() {
    let (dir, db) = on_disk().await;
    let db = db.with_collection(400).await;
    for number in 0..300 {
        db.user(&format!("u{number}"), false).await.expect("a user");
    }
    let key = Some(r#"["a",null,{},1.5]"#);
    let body = rights("p", "All", "dbs/db/colls/c", key);
    let made = resource(&db.permit("u7", body).await.expect("a permission"));
    db.permit("u7", rights("q", "Read", "dbs/db", None)).await.expect("a permission");
    for name in ["u8", "u299"] {
        db.call(Operation::DeleteUser(user(name)), Options::default()).await.expect("deleted");
    }
    let delete = Operation::DeletePermission(permission("u7", "q"));
    db.call(delete, Options::default()).await.expect("deleted");
    db.engine.close().await.expect("closed");
    drop(db);

    let db = Database::open(open(dir.path())).await;
    let mut options = Options { max_item_count: Some(100), ..Options::default() };
    let mut names = Vec::new();
    loop {
        let page = db.call(Operation::ListUsers(database()), options.clone()).await.expect("users");
        names.extend(items(&page).iter().map(|user| text(user.get("id"))));
        match page.continuation {
            Some(token) => options.continuation = Some(token),
            None => break,
        }
    }
    let left = (0..299).filter(|number| *number != 8).map(|number| format!("u{number}"));
    assert_eq!(names, left.collect::<Vec<_>>());
    let read = Operation::ReadPermission(permission("u7", "p"));
    let read = db.call(read, minting()).await.expect("read");
    assert_eq!(json::print(&resource(&read)), json::print(&made));
    // Numbers are not given twice: an old token must not fit a new permission.
    let next = db.permit("u7", rights("q", "Read", "dbs/db", None)).await.expect("a permission");
    let rid = PermissionRid::parse(&text(resource(&next).get("_rid"))).expect("a rid");
    assert_eq!(rid.number, 3);
    let user = resource(&db.user("u299", false).await.expect("a user"));
    assert_eq!(UserRid::parse(&text(user.get("_rid"))).expect("a rid").number, 301);

    let gone = Operation::DeleteDatabase(database());
    db.call(gone, Options::default()).await.expect("deleted");
    db.engine.close().await.expect("closed");
    drop(db);
    assert!(verify(open(dir.path())).await.expect("readable").is_clean());
}

#[tokio::test]
async fn deleting_a_database_deletes_its_users() {
    let store = new_store();
    let db = Database::open(store.clone()).await.with_collection(400).await;
    db.user("u", false).await.expect("a user");
    db.permit("u", rights("p", "All", "dbs/db", None)).await.expect("a permission");
    db.call(Operation::DeleteDatabase(database()), Options::default()).await.expect("deleted");
    db.create_database("db").await;
    let users = db.call(Operation::ListUsers(database()), Options::default()).await.expect("users");
    assert!(items(&users).is_empty());
}
