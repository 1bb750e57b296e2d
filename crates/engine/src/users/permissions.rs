//! The permissions of a user. Every answer with a permission contains a new token.

use std::sync::Arc;

use bytes::Bytes;
use catalog::{
    Catalog, Database, Version,
    children::Children,
    user_bodies,
    users::{Permission, Rights, User},
};
use protocol::{
    Code, Error, Options, Owner,
    continuation::Feed,
    limits::PERMISSIONS_MAX,
    request::{PermissionPath, UserPath},
    response::FeedKind,
    rid::{PermissionRid, UserRid},
};
use query::served::View;

use crate::{
    access::reach::is_same,
    family::{Family, Parent},
    random_u32,
};

/// The permissions of this user.
pub(crate) struct Permissions(pub(crate) UserPath);

/// A user and the database that it belongs to.
pub(crate) struct Holder {
    database: Arc<Database>,
    user: Arc<User>,
}

impl Parent for Holder {
    fn owner(&self) -> Arc<Owner> {
        let name_path = format!("dbs/{}/users/{}", self.database.id, self.user.id);
        Arc::new(Owner { name_path, rid: self.user.rid.to_string() })
    }

    fn rid_bytes(&self) -> Vec<u8> {
        self.user.rid.bytes().to_vec()
    }

    fn store(&self, catalog: &mut Catalog) {
        if let Some(database) = catalog.database_mut(self.database.rid) {
            Arc::make_mut(&mut database.users).insert(Arc::clone(&self.user));
        }
    }
}

impl Family for Permissions {
    type Path = PermissionPath;
    type Parent = Holder;
    type Child = Permission;
    type Draft = (String, Rights);

    /// An unchanged answer would lack the token, and a new token is the reason to ask.
    const CAN_BE_UNCHANGED: bool = false;

    fn of(path: PermissionPath) -> (Self, String) {
        (Self(path.user), path.permission)
    }

    fn feed(&self) -> (Feed, FeedKind) {
        (Feed::Permissions, FeedKind::Permissions)
    }

    fn limit(&self) -> (usize, &'static str, &'static str) {
        (PERMISSIONS_MAX, "user", "permissions")
    }

    fn parent(&self, catalog: &Catalog, _: &Options) -> Result<Holder, Error> {
        let holder = || {
            let database = catalog.database(&self.0.database)?;
            let user = database.users.find(&self.0.user)?;
            Some(Holder { database: Arc::clone(database), user: Arc::clone(user) })
        };
        holder().ok_or_else(Error::owner_not_found)
    }

    fn parent_rid(&self, holder: &Holder) -> UserRid {
        holder.user.rid
    }

    fn children<'a>(&self, holder: &'a Holder) -> &'a Children<Permission> {
        &holder.user.permissions
    }

    fn children_mut<'a>(&self, holder: &'a mut Holder) -> &'a mut Children<Permission> {
        Arc::make_mut(&mut Arc::make_mut(&mut holder.user).permissions)
    }

    fn parse(&self, body: &[u8]) -> Result<(String, Rights), Error> {
        user_bodies::permission(body)
    }

    fn id((id, _): &(String, Rights)) -> &str {
        id
    }

    /// Only a change of rights invalidates old tokens: a client that repeats the same rights wants
    /// a token, and others may still use theirs.
    fn make(
        (id, rights): (String, Rights),
        rid: PermissionRid,
        version: Version,
        old: Option<&Permission>,
    ) -> Permission {
        let generation = match old {
            Some(old) if old.rights.grants_as(&rights) => old.generation,
            _ => u64::from(random_u32()) << 32 | u64::from(random_u32()),
        };
        Permission { rid, id, version, rights, generation }
    }

    fn to_json(permission: &Permission, options: &Options) -> Bytes {
        permission.to_json(options.token_mark)
    }

    /// Refuses rights on a resource and key that another permission of the user already has. The
    /// resource need not exist; in another database than the user's it grants nothing.
    async fn check(
        &self,
        view: &View,
        Holder { user, .. }: &Holder,
        old: Option<&Arc<Permission>>,
        (_, rights): &(String, Rights),
    ) -> Result<(), Error> {
        for other in user.permissions.iter() {
            let is_other = old.is_none_or(|old| old.rid != other.rid);
            if is_other
                && other.rights.key == rights.key
                && is_same(view, &other.rights.link, &rights.link).await?
            {
                return Err(Error::new(
                    Code::Conflict,
                    "The user already has a permission for this resource.",
                ));
            }
        }
        Ok(())
    }
}
