//! Permissions: create, read, replace, delete, list. Whoever is shown one is given a new token.

use std::sync::Arc;

use protocol::{
    Body, Code, Error, Meta, Options, Outcome, Owner, Response,
    continuation::Feed,
    limits::PERMISSIONS_MAX,
    request::{PermissionPath, UserPath},
    response::FeedKind,
    rid::PermissionRid,
};
use store::Batch;

use crate::{
    Inner,
    access::reach::is_same,
    catalog::{
        Catalog, Database,
        children::Child as _,
        user_rows,
        users::{Permission, Rights, User},
    },
    charge::Meter,
    control::{AsyncPlan, Change},
    feeds::{Page, require_match},
    random_u32,
    users::{self, conflict, definition, with_user},
};

/// A permission and the user that it belongs to.
struct Found {
    user: users::Found,
    permission: Arc<Permission>,
}

pub(crate) async fn create(
    engine: &Arc<Inner>,
    user: UserPath,
    (body, upsert): (&[u8], bool),
    options: Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    let (id, rights) = definition::permission(body)?;
    let create = Create { user, id, rights, upsert, options: options.clone() };
    let created = engine.change(create).await;
    let (outcome, found) = meter.metadata_write(created)?;
    Ok(answer(outcome, &found, &options))
}

struct Create {
    user: UserPath,
    id: String,
    rights: Rights,
    upsert: bool,
    options: Options,
}

impl AsyncPlan<(Outcome, Found)> for Create {
    async fn run(
        self,
        engine: &Arc<Inner>,
        catalog: Catalog,
    ) -> Result<Change<(Outcome, Found)>, Error> {
        let found = owner(&catalog, &self.user)?;
        let user = &found.user;
        // By rid too: a name must not take over another permission's links.
        let old = user.permission(&self.id);
        check_place(&catalog, &found, old, &self.rights).await?;
        if let Some(old) = old {
            if !self.upsert || old.id != self.id {
                return Err(conflict());
            }
            require_match(&self.options, old.version.etag)?;
            let permission = changed(engine, old, self.id, self.rights);
            let user = User::clone(user);
            return Ok(put(
                catalog,
                Batch::default(),
                &found.database,
                user,
                permission,
                Outcome::Ok,
            ));
        }
        if user.permissions.len() >= PERMISSIONS_MAX {
            let message = format!("A user may have at most {PERMISSIONS_MAX} permissions.");
            return Err(Error::new(Code::LimitReached, message));
        }
        let mut user = User::clone(user);
        let rid = |number| PermissionRid { user: user.rid, number };
        let number =
            Arc::make_mut(&mut user.permissions).take_number(|number| rid(number).to_string());
        let rid = rid(number);
        let mut batch = Batch::default();
        user_rows::put_next_permission(&mut batch, &user);
        let (id, rights, version) = (self.id, self.rights, engine.new_version());
        let permission = Permission { rid, id, version, rights, generation: new_generation() };
        Ok(put(catalog, batch, &found.database, user, permission, Outcome::Created))
    }
}

/// Refuses rights that another permission of the user has the place of, or that lie in another
/// database than the user.
async fn check_place(
    catalog: &Catalog,
    users::Found { database, user }: &users::Found,
    old: Option<&Arc<Permission>>,
    rights: &Rights,
) -> Result<(), Error> {
    let named = catalog.database(rights.link.database());
    if named.is_none_or(|named| named.rid != database.rid) {
        return Err(Error::bad_request(
            "The resource of a permission must be in the database of its user.",
        ));
    }
    for other in user.permissions.iter() {
        let is_other = old.is_none_or(|old| old.rid != other.rid);
        if is_other
            && other.rights.key == rights.key
            && is_same(catalog, &other.rights.link, &rights.link).await?
        {
            return Err(Error::new(
                Code::Conflict,
                "The user has a permission for this resource already.",
            ));
        }
    }
    Ok(())
}

/// The permission under a name, with rights. Only other rights make its tokens useless: who asks for
/// the same again wants a token, and others may have one.
fn changed(engine: &Inner, old: &Permission, id: String, rights: Rights) -> Permission {
    let is_same = old.rights == rights;
    let generation = if is_same { old.generation } else { new_generation() };
    Permission { rid: old.rid, id, version: engine.new_version(), rights, generation }
}

fn new_generation() -> u64 {
    u64::from(random_u32()) << 32 | u64::from(random_u32())
}

/// Puts a permission in its place, new or changed. The user's own version stays.
fn put(
    catalog: Catalog,
    mut batch: Batch,
    database: &Database,
    mut user: User,
    permission: Permission,
    outcome: Outcome,
) -> Change<(Outcome, Found)> {
    user_rows::put_permission(&mut batch, &permission);
    let permission = Arc::new(permission);
    Arc::make_mut(&mut user.permissions).insert(Arc::clone(&permission));
    let (catalog, user) = with_user(catalog, database.clone(), user);
    Change::new(batch, catalog, (outcome, Found { user, permission }))
}

fn owner(catalog: &Catalog, path: &UserPath) -> Result<users::Found, Error> {
    users::find(catalog, path).map_err(|_| Error::owner_not_found())
}

fn find(catalog: &Catalog, path: &PermissionPath) -> Result<Found, Error> {
    let user = owner(catalog, &path.user)?;
    let permission = user.user.permission(&path.permission).ok_or_else(Error::not_found)?;
    let permission = Arc::clone(permission);
    Ok(Found { user, permission })
}

/// There is no "not modified" here: the token would be missing, and a new one is what is asked for.
pub(crate) fn read(
    engine: &Inner,
    path: &PermissionPath,
    options: &Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    meter.metadata_read();
    let found = find(&engine.catalog(), path)?;
    Ok(answer(Outcome::Ok, &found, options))
}

pub(crate) async fn replace(
    engine: &Arc<Inner>,
    path: PermissionPath,
    body: &[u8],
    options: Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    let (id, rights) = definition::permission(body)?;
    let replaced = engine.change(Replace { path, id, rights, options: options.clone() }).await;
    let (outcome, found) = meter.metadata_write(replaced)?;
    Ok(answer(outcome, &found, &options))
}

struct Replace {
    path: PermissionPath,
    id: String,
    rights: Rights,
    options: Options,
}

impl AsyncPlan<(Outcome, Found)> for Replace {
    async fn run(
        self,
        engine: &Arc<Inner>,
        catalog: Catalog,
    ) -> Result<Change<(Outcome, Found)>, Error> {
        let Found { user: found, permission: old } = find(&catalog, &self.path)?;
        require_match(&self.options, old.version.etag)?;
        // It may be given another name, but not another's.
        let user = &found.user;
        if user.permission(&self.id).is_some_and(|other| other.rid != old.rid) {
            return Err(conflict());
        }
        check_place(&catalog, &found, Some(&old), &self.rights).await?;
        let permission = changed(engine, &old, self.id, self.rights);
        let user = User::clone(user);
        Ok(put(catalog, Batch::default(), &found.database, user, permission, Outcome::Ok))
    }
}

pub(crate) async fn delete(
    engine: &Arc<Inner>,
    path: PermissionPath,
    options: Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    let deleted = engine.change(Delete { path, options }).await;
    let found = meter.metadata_write(deleted)?;
    let meta = Meta { owner: Some(found.owner()), ..Meta::default() };
    let (outcome, body) = (Outcome::Deleted, Body::Empty);
    Ok(Response { outcome, body, etag: None, continuation: None, meta })
}

struct Delete {
    path: PermissionPath,
    options: Options,
}

impl AsyncPlan<Found> for Delete {
    async fn run(self, _engine: &Arc<Inner>, catalog: Catalog) -> Result<Change<Found>, Error> {
        let Found { user: found, permission } = find(&catalog, &self.path)?;
        require_match(&self.options, permission.version.etag)?;
        let mut batch = Batch::default();
        user_rows::delete_permission(&mut batch, &permission);
        let mut user = User::clone(&found.user);
        Arc::make_mut(&mut user.permissions).remove(&permission);
        let (catalog, user) = with_user(catalog, Database::clone(&found.database), user);
        Ok(Change::new(batch, catalog, Found { user, permission }))
    }
}

pub(crate) fn list(
    engine: &Inner,
    path: &UserPath,
    options: &Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    meter.metadata_read();
    let found = owner(&engine.catalog(), path)?;
    let user = &found.user;
    let items = user.permissions.iter().map(|permission| (permission.number(), permission));
    let print = |permission: &Arc<Permission>| permission.to_json(&options.tokens);
    let page = Page::take(Feed::Permissions, &user.rid.bytes(), options, items, print)?;
    let meta = Meta { owner: Some(owner_of(&found)), ..Meta::default() };
    Ok(page.answer(user.rid.to_string(), FeedKind::Permissions, meta))
}

impl Found {
    fn owner(&self) -> Owner {
        owner_of(&self.user)
    }
}

fn owner_of(users::Found { database, user }: &users::Found) -> Owner {
    let name_path = format!("dbs/{}/users/{}", database.id, user.id);
    Owner { name_path, rid: user.rid.to_string() }
}

fn answer(outcome: Outcome, found: &Found, options: &Options) -> Response {
    let permission = &found.permission;
    Response {
        outcome,
        body: Body::Resource(permission.to_json(&options.tokens)),
        etag: Some(permission.version.etag.to_string()),
        continuation: None,
        meta: Meta { owner: Some(found.owner()), ..Meta::default() },
    }
}
