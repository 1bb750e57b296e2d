//! Access control: decides what a caller may do, before any operation looks at a resource.
//! [`protocol::rights`] checks keys and roles; the rest of this module is about resource tokens.
//!
//! A token names its permission, which is looked up here. If the permission is gone, or has other
//! rights than the token was made for, the token is useless. A request for another resource is
//! refused in the same way whether that resource exists or not.
//!
//! - `link`: what a permission is on,
//! - `demand`: the table of operations and what each needs,
//! - `reach`: how the two relate,
//! - `same`: when two links mean one document,
//! - `confine`: confines requests to one partition key,
//! - `pin`: keeps a request on the resource that was checked, whatever its name comes to mean.

mod confine;
mod demand;
mod pin;
pub(crate) mod reach;
mod same;

use catalog::{
    Catalog,
    link::Link,
    users::{Mode, Rights},
};
use protocol::{Code, Error, Options, Principal, Proof, Request, rights as account, token::Grant};
use query::served::View;

use crate::access::{
    demand::{Needs, On, demand},
    pin::pin,
    reach::{Reach, of_media, reach},
};

/// Refuses a request that its caller has no right to, and narrows others to what the caller may
/// reach.
pub(crate) async fn check(
    view: &View,
    principal: Principal,
    request: &mut Request,
) -> Result<(), Error> {
    // The protocol should have checked this already; check again in case it forgot.
    account::check(principal, &request.operation)?;
    let grant = match principal.proof() {
        Proof::Key | Proof::ReadOnlyKey | Proof::Role(_) => return Ok(()),
        Proof::Token(grant) => grant,
    };
    let catalog = &view.catalog;
    let rights = rights(catalog, grant).ok_or_else(no_longer_good)?;
    let (on, needs) = demand(&request.operation);
    if needs == Needs::Nothing {
        return Ok(());
    }
    let media = if let On::Media(name) = on { of_media(name) } else { None };
    let on = media.as_ref().map_or(on, On::Attachment);
    // A request without a key gets the permission's.
    let key = request.options.partition_key.as_ref().or(rights.key.as_ref());
    let place = reach(view, &rights.link, on, key).await?;
    // Usage figures in an answer reveal other documents.
    request.options.hides_usage = needs != Needs::Way;
    match (place, needs) {
        (Reach::Within | Reach::Above, Needs::Way) => {
            if place == Reach::Above || rights.key.is_some() {
                // Usage figures reveal other documents.
                request.options.hides_usage = true;
                request.options.populate_statistics = false;
            }
        }
        (Reach::Elsewhere | Reach::Above, _) => return Err(elsewhere()),
        (Reach::Within, Needs::Key) => return Err(too_little()),
        (Reach::Within, Needs::Mode(mode)) => {
            has(rights, mode)?;
            // Anything that is not a document belongs to all partition keys.
            if rights.key.is_some() {
                return Err(too_little());
            }
        }
        (Reach::Within, Needs::Documents(mode) | Needs::EveryDocument(mode)) => {
            has(rights, mode)?;
            check_triggers(rights, &request.options)?;
            match (&rights.key, &media) {
                (None, _) => {}
                // Requests for media have no partition key; their document has.
                (Some(key), Some(media)) => confine::check_media(view, media, key).await?,
                (Some(key), None) => {
                    let reads_many = matches!(needs, Needs::EveryDocument(_));
                    confine::confine(view, rights.link.collection(), key, reads_many, request)?;
                }
            }
        }
        (Reach::Within, Needs::Nothing) => {}
    }
    pin(catalog, &rights.link, request)
}

/// Refuses triggers without a permission on the collection or on one of its partition keys, as for
/// procedures: triggers may do more than write the one document.
fn check_triggers(rights: &Rights, options: &Options) -> Result<(), Error> {
    let has_triggers = !(options.pre_triggers.is_empty() && options.post_triggers.is_empty());
    match rights.link {
        Link::Document(_) | Link::Attachment(_) if has_triggers => Err(too_little()),
        _ => Ok(()),
    }
}

/// The rights that a token was made for, if its permission still grants them.
fn rights(catalog: &Catalog, Grant { permission, generation }: Grant) -> Option<&Rights> {
    let database = catalog.databases.get(&permission.user.database.0)?;
    let user = database.users.numbered(permission.user.number.into())?;
    let permission = user.permissions.numbered(permission.number)?;
    let is_current = permission.generation == generation;
    // The name may mean another database by now.
    let is_inside = catalog.database(permission.rights.link.database())?.rid == database.rid;
    (is_current && is_inside).then_some(&permission.rights)
}

fn has(rights: &Rights, mode: Mode) -> Result<(), Error> {
    if rights.mode >= mode { Ok(()) } else { Err(too_little()) }
}

/// The error for a token whose permission is gone or was replaced.
fn no_longer_good() -> Error {
    Error::new(
        Code::Unauthorized,
        "The input authorization token can't serve the request: its permission no longer exists, or \
         has changed. Read the permission for a new token.",
    )
}

/// The error for a token of another resource. It does not say whether the requested resource
/// exists.
fn elsewhere() -> Error {
    Error::new(
        Code::Forbidden,
        "The input authorization token can't serve the request: its permission is not for this \
         resource.",
    )
}

/// The error for a token that does not grant enough, in the service's words.
fn too_little() -> Error {
    Error::new(
        Code::Forbidden,
        "Insufficient permissions provided in the authorization header for the corresponding \
         request. Please retry with another authorization header.",
    )
}
