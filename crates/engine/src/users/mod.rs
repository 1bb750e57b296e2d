//! Users: create, read, replace, delete, list. Their permissions are in `permissions`, what bodies may
//! say is in `definition`.

pub(crate) mod definition;
pub(crate) mod permissions;

use std::sync::Arc;

use protocol::{
    Body, Code, Error, Meta, Options, Outcome, Response,
    continuation::Feed,
    limits::USERS_MAX,
    request::{DatabasePath, UserPath},
    response::FeedKind,
    rid::UserRid,
};
use store::Batch;

use crate::{
    Inner,
    catalog::{Catalog, Database, children::Child as _, user_rows, users::User},
    charge::Meter,
    control::{AsyncPlan, Change},
    feeds::{Page, is_unchanged, require_match},
};

/// A user and the database that it belongs to.
struct Found {
    database: Arc<Database>,
    user: Arc<User>,
}

pub(crate) async fn create(
    engine: &Arc<Inner>,
    database: DatabasePath,
    (body, upsert): (&[u8], bool),
    options: Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    let id = definition::user(body)?;
    let created = engine.change(Create { database, id, upsert, options }).await;
    let (outcome, found) = meter.metadata_write(created)?;
    Ok(answer(outcome, &found))
}

struct Create {
    database: DatabasePath,
    id: String,
    upsert: bool,
    options: Options,
}

impl AsyncPlan<(Outcome, Found)> for Create {
    async fn run(
        self,
        engine: &Arc<Inner>,
        catalog: Catalog,
    ) -> Result<Change<(Outcome, Found)>, Error> {
        let database = catalog.database(&self.database).ok_or_else(Error::owner_not_found)?;
        let mut database = Database::clone(database);
        let version = engine.new_version();
        // By rid too: a name must not take over another user's links.
        if let Some(old) = database.user(&self.id).cloned() {
            if !self.upsert || old.id != self.id {
                return Err(conflict());
            }
            require_match(&self.options, old.version.etag)?;
            let user = User { version, ..User::clone(&old) };
            return Ok(put(catalog, Batch::default(), database, user, Outcome::Ok));
        }
        if database.users.len() >= USERS_MAX {
            let message = format!("A database may have at most {USERS_MAX} users.");
            return Err(Error::new(Code::LimitReached, message));
        }
        let owner = database.rid;
        // The numbers of a database's users are far from the end of 31 bits: each is a commit.
        let rid = |number: u64| UserRid {
            database: owner,
            number: u32::try_from(number).unwrap_or(u32::MAX >> 1),
        };
        let users = Arc::make_mut(&mut database.users);
        let rid = rid(users.take_number(|number| rid(number).to_string()));
        let mut batch = Batch::default();
        user_rows::put_next_user(&mut batch, &database);
        let user = User { rid, id: self.id, version, permissions: Arc::default() };
        Ok(put(catalog, batch, database, user, Outcome::Created))
    }
}

/// Puts a user in its place, new or changed. The database's own version stays.
fn put(
    catalog: Catalog,
    mut batch: Batch,
    database: Database,
    user: User,
    outcome: Outcome,
) -> Change<(Outcome, Found)> {
    user_rows::put_user(&mut batch, &user);
    let (catalog, found) = with_user(catalog, database, user);
    Change::new(batch, catalog, (outcome, found))
}

/// The catalog with this user in its place.
fn with_user(mut catalog: Catalog, mut database: Database, user: User) -> (Catalog, Found) {
    let user = Arc::new(user);
    Arc::make_mut(&mut database.users).insert(Arc::clone(&user));
    let database = Arc::new(database);
    catalog.insert_database(Arc::clone(&database));
    (catalog, Found { database, user })
}

fn find(catalog: &Catalog, path: &UserPath) -> Result<Found, Error> {
    let database = catalog.database(&path.database).ok_or_else(Error::owner_not_found)?;
    let user = database.user(&path.user).ok_or_else(Error::not_found)?;
    Ok(Found { database: Arc::clone(database), user: Arc::clone(user) })
}

pub(crate) fn read(
    engine: &Inner,
    path: &UserPath,
    options: &Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    meter.metadata_read();
    let found = find(&engine.catalog(), path)?;
    if is_unchanged(options, found.user.version.etag) {
        return Ok(Response { body: Body::Empty, ..answer(Outcome::NotModified, &found) });
    }
    Ok(answer(Outcome::Ok, &found))
}

pub(crate) async fn replace(
    engine: &Arc<Inner>,
    path: UserPath,
    body: &[u8],
    options: Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    let id = definition::user(body)?;
    let replaced = engine.change(Replace { path, id, options }).await;
    let (outcome, found) = meter.metadata_write(replaced)?;
    Ok(answer(outcome, &found))
}

struct Replace {
    path: UserPath,
    id: String,
    options: Options,
}

impl AsyncPlan<(Outcome, Found)> for Replace {
    async fn run(
        self,
        engine: &Arc<Inner>,
        catalog: Catalog,
    ) -> Result<Change<(Outcome, Found)>, Error> {
        let Found { database, user: old } = find(&catalog, &self.path)?;
        require_match(&self.options, old.version.etag)?;
        // It may be given another name, but not another's.
        if database.user(&self.id).is_some_and(|other| other.rid != old.rid) {
            return Err(conflict());
        }
        let user = User { id: self.id, version: engine.new_version(), ..User::clone(&old) };
        Ok(put(catalog, Batch::default(), Database::clone(&database), user, Outcome::Ok))
    }
}

pub(crate) async fn delete(
    engine: &Arc<Inner>,
    path: UserPath,
    options: Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    let deleted = engine.change(Delete { path, options }).await;
    let found = meter.metadata_write(deleted)?;
    Ok(Response { body: Body::Empty, etag: None, ..answer(Outcome::Deleted, &found) })
}

struct Delete {
    path: UserPath,
    options: Options,
}

impl AsyncPlan<Found> for Delete {
    async fn run(self, _engine: &Arc<Inner>, mut catalog: Catalog) -> Result<Change<Found>, Error> {
        let found = find(&catalog, &self.path)?;
        require_match(&self.options, found.user.version.etag)?;
        let mut batch = Batch::default();
        user_rows::delete_user(&mut batch, &found.user);
        let mut database = Database::clone(&found.database);
        Arc::make_mut(&mut database.users).remove(&found.user);
        catalog.insert_database(database.into());
        Ok(Change::new(batch, catalog, found))
    }
}

pub(crate) fn list(
    engine: &Inner,
    path: &DatabasePath,
    options: &Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    meter.metadata_read();
    let catalog = engine.catalog();
    let database = catalog.database(path).ok_or_else(Error::owner_not_found)?;
    let items = database.users.iter().map(|user| (user.number(), user));
    let print = |user: &Arc<User>| user.to_json();
    let page = Page::take(Feed::Users, &database.rid.bytes(), options, items, print)?;
    let meta = Meta { owner: Some(database.owner()), ..Meta::default() };
    Ok(page.answer(database.rid.to_string(), FeedKind::Users, meta))
}

fn answer(outcome: Outcome, Found { database, user }: &Found) -> Response {
    Response {
        outcome,
        body: Body::Resource(user.to_json()),
        etag: Some(user.version.etag.to_string()),
        continuation: None,
        meta: Meta { owner: Some(database.owner()), ..Meta::default() },
    }
}

fn conflict() -> Error {
    Error::new(Code::Conflict, "Resource with specified id or name already exists.")
}
