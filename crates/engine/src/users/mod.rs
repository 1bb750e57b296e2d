//! The users of a database. Their permissions are in `permissions`; `catalog::user_bodies` parses
//! bodies.

pub(crate) mod permissions;

use std::sync::Arc;

use bytes::Bytes;
use catalog::{Catalog, Database, Version, children::Children, user_bodies, users::User};
use protocol::{
    Error, Options,
    continuation::Feed,
    limits::USERS_MAX,
    request::{DatabasePath, UserPath},
    response::FeedKind,
    rid::{DatabaseRid, UserRid},
};

use crate::family::Family;

/// The users of this database.
pub(crate) struct Users(pub(crate) DatabasePath);

impl Family for Users {
    type Path = UserPath;
    type Parent = Arc<Database>;
    type Child = User;
    /// The name.
    type Draft = String;

    fn of(path: UserPath) -> (Self, String) {
        (Self(path.database), path.user)
    }

    fn feed(&self) -> (Feed, FeedKind) {
        (Feed::Users, FeedKind::Users)
    }

    fn limit(&self) -> (usize, &'static str, &'static str) {
        (USERS_MAX, "database", "users")
    }

    fn parent(&self, catalog: &Catalog, _: &Options) -> Result<Arc<Database>, Error> {
        catalog.database(&self.0).cloned().ok_or_else(Error::owner_not_found)
    }

    fn parent_rid(&self, database: &Arc<Database>) -> DatabaseRid {
        database.rid
    }

    fn children<'a>(&self, database: &'a Arc<Database>) -> &'a Children<User> {
        &database.users
    }

    fn children_mut<'a>(&self, database: &'a mut Arc<Database>) -> &'a mut Children<User> {
        Arc::make_mut(&mut Arc::make_mut(database).users)
    }

    fn parse(&self, body: &[u8]) -> Result<String, Error> {
        user_bodies::user(body)
    }

    fn id(draft: &String) -> &str {
        draft
    }

    fn make(id: String, rid: UserRid, version: Version, old: Option<&User>) -> User {
        let permissions = old.map(|old| Arc::clone(&old.permissions)).unwrap_or_default();
        User { rid, id, version, permissions }
    }

    fn to_json(user: &User, _: &Options) -> Bytes {
        user.to_json()
    }
}
