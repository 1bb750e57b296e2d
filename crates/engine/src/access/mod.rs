//! What a caller may do: the one place that decides it, before any operation looks at a resource. Keys
//! and roles are asked of [`protocol::rights`]; the rest of this module is about resource tokens.
//!
//! A token names its permission, which is looked up here: without one, or with other rights than the
//! token was made for, it is good for nothing. What is about another resource is refused in the same
//! way whether that exists or not.
//!
//! - `link`: what a permission is about,
//! - `demand`: the table of operations and what each asks for,
//! - `reach`: how the two lie to each other,
//! - `same`: when two links mean one document,
//! - `confine`: keeping to one partition key,
//! - `pin`: keeping to what was looked at, whatever becomes of its name.

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

/// Refuses a request that its caller has no right to, and keeps others to what they have a right to.
pub(crate) async fn check(
    view: &View,
    principal: Principal,
    request: &mut Request,
) -> Result<(), Error> {
    // Whatever the protocol has checked before: it may have forgotten.
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
    // Who names no key is kept to that of the permission.
    let key = request.options.partition_key.as_ref().or(rights.key.as_ref());
    let place = reach(view, &rights.link, on, key).await?;
    // What is told beside a document tells of others.
    request.options.hides_usage = needs != Needs::Way;
    match (place, needs) {
        (Reach::Within | Reach::Above, Needs::Way) => {
            if place == Reach::Above || rights.key.is_some() {
                // They tell of other documents.
                request.options.hides_usage = true;
                request.options.populate_statistics = false;
            }
        }
        (Reach::Elsewhere | Reach::Above, _) => return Err(elsewhere()),
        (Reach::Within, Needs::Key) => return Err(too_little()),
        (Reach::Within, Needs::Mode(mode)) => {
            has(rights, mode)?;
            // What is no document belongs to all partition keys.
            if rights.key.is_some() {
                return Err(too_little());
            }
        }
        (Reach::Within, Needs::Documents(mode) | Needs::EveryDocument(mode)) => {
            has(rights, mode)?;
            check_triggers(rights, &request.options)?;
            match (&rights.key, &media) {
                (None, _) => {}
                // They are addressed without a partition key: their document has it.
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

/// Triggers may do more than write the one document: they take a permission on the collection, or on
/// a partition key of it, as procedures do.
fn check_triggers(rights: &Rights, options: &Options) -> Result<(), Error> {
    let has_triggers = !(options.pre_triggers.is_empty() && options.post_triggers.is_empty());
    match rights.link {
        Link::Document(_) | Link::Attachment(_) if has_triggers => Err(too_little()),
        _ => Ok(()),
    }
}

/// The rights that a token was made for, if they are still there.
fn rights(catalog: &Catalog, Grant { permission, generation }: Grant) -> Option<&Rights> {
    let database = catalog.databases.get(&permission.user.database.0)?;
    let user = database.users.numbered(permission.user.number.into())?;
    let permission = user.permissions.numbered(permission.number)?;
    let is_current = permission.generation == generation;
    // A name may have come to mean another database.
    let is_inside = catalog.database(permission.rights.link.database())?.rid == database.rid;
    (is_current && is_inside).then_some(&permission.rights)
}

fn has(rights: &Rights, mode: Mode) -> Result<(), Error> {
    if rights.mode >= mode { Ok(()) } else { Err(too_little()) }
}

/// A token whose permission is gone, or is another one now.
fn no_longer_good() -> Error {
    Error::new(
        Code::Unauthorized,
        "The input authorization token can't serve the request: its permission no longer exists, or \
         has changed. Read the permission for a new token.",
    )
}

/// A token of another resource. It does not say whether what was asked for exists.
fn elsewhere() -> Error {
    Error::new(
        Code::Forbidden,
        "The input authorization token can't serve the request: its permission is not for this \
         resource.",
    )
}

/// The service's words for a token that does not grant enough.
fn too_little() -> Error {
    Error::new(
        Code::Forbidden,
        "Insufficient permissions provided in the authorization header for the corresponding \
         request. Please retry with another authorization header.",
    )
}
