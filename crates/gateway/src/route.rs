//! Paths: from the text of a URL to the resource that it names, and to what its signature covers.
//!
//! Names and rids look alike here; the engine tells them apart. The gateway matches only the first
//! path segment of each pair, the type, in any case.

use std::borrow::Cow;

use protocol::{
    Code, Error,
    limits::DOCUMENT_ID_BYTES_MAX,
    request::{
        AttachmentPath, CollectionPath, DatabasePath, DocumentPath, EncryptionKeyPath,
        PermissionPath, ScriptKind, ScriptPath, UserPath,
    },
    rid::DatabaseRid,
};

use crate::percent;

/// Most segments in a path. The longest path, an attachment's, has eight.
const SEGMENTS_MAX: usize = 10;

/// The resource that a path names.
#[derive(Debug)]
pub(crate) struct Target<'a> {
    /// The resource or feed itself.
    pub(crate) resource: Resource,
    /// What a signature for the resource must cover.
    pub(crate) signed: Signed<'a>,
}

/// The resources and feeds that have an address.
#[derive(Debug)]
pub(crate) enum Resource {
    Account,
    Databases,
    Database(DatabasePath),
    EncryptionKeys(DatabasePath),
    EncryptionKey(EncryptionKeyPath),
    Users(DatabasePath),
    User(UserPath),
    Permissions(UserPath),
    Permission(PermissionPath),
    Collections(DatabasePath),
    Collection(CollectionPath),
    Documents(CollectionPath),
    Document(DocumentPath),
    Attachments(DocumentPath),
    Attachment(Box<AttachmentPath>),
    /// Media, identified by the rid of their attachment.
    Media(String),
    Conflicts(CollectionPath),
    Conflict(CollectionPath, String),
    Scripts(CollectionPath, ScriptKind),
    Script(ScriptPath),
    /// The deletion of all documents of a partition key.
    PartitionKeyDelete(CollectionPath),
    PartitionKeyRanges(CollectionPath),
    PartitionKeyRange(CollectionPath, String),
    /// An administrator's action on a range.
    RangeAction(CollectionPath, String, RangeAction),
    /// The partition key that an administrator gives to a collection without one.
    NewPartitionKey(CollectionPath),
    Offers,
    Offer(String),
}

/// The actions on a range.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RangeAction {
    Split,
    Merge,
}

/// The resource type and link that clients sign. SDKs differ, so there are alternatives, the
/// documented one first.
#[derive(Debug)]
pub(crate) struct Signed<'a> {
    /// Lower-case resource types.
    pub(crate) types: Vec<Cow<'a, str>>,
    /// Resource links.
    pub(crate) links: Vec<Cow<'a, str>>,
}

/// A path, or the part of one that names a resource.
struct Path<'a> {
    /// The path from its first segment on. What follows the last segment may be part of it.
    text: &'a str,
    /// Its segments as they stand in the URL.
    raw: Vec<&'a str>,
    /// Its segments decoded; `None` if nothing in them is encoded.
    names: Option<Vec<Cow<'a, str>>>,
}

impl<'a> Path<'a> {
    fn new(path_and_query: &'a str) -> Result<Self, Error> {
        let raw = segments(path_and_query)?;
        let names = decode_all(&raw)?;
        Ok(Self { text: path_and_query.trim_start_matches('/'), raw, names })
    }

    fn name(&self, at: usize) -> &str {
        self.names.as_ref().map_or(self.raw[at], |names| &names[at])
    }

    /// The first segments as they stand in the URL, joined.
    fn raw_link(&self, count: usize) -> Cow<'a, str> {
        let raw = &self.raw[..count];
        let length = raw.iter().map(|segment| segment.len() + 1).sum::<usize>().saturating_sub(1);
        match self.text.get(..length) {
            Some(text) => Cow::Borrowed(text),
            None => Cow::Owned(raw.join("/")),
        }
    }
}

/// Finds the target of a path as it stands in the URL: percent-encoded, and with the query string.
pub(crate) fn parse(path_and_query: &str) -> Result<Target<'_>, Error> {
    const ADMIN: &str = "_sheaf";
    let mut path = Path::new(path_and_query)?;
    match path.raw.as_slice() {
        [ADMIN, .., action] => {
            let action = *action;
            path.text = path.text[ADMIN.len()..].trim_start_matches('/');
            path.raw.pop();
            path.raw.remove(0);
            if let Some(names) = &mut path.names {
                names.pop();
                names.remove(0);
            }
            admin_action(&path, action)
        }
        _ => target(&path),
    }
}

/// Finds the target of an administrator's action: `/_sheaf/dbs/../colls/../pkranges/../split`.
/// Clients sign the path of the resource.
fn admin_action<'a>(path: &Path<'a>, action: &str) -> Result<Target<'a>, Error> {
    let Target { resource, signed } = target(path)?;
    let resource = match (resource, action) {
        (Resource::PartitionKeyRange(path, range), "split") => {
            Resource::RangeAction(path, range, RangeAction::Split)
        }
        (Resource::PartitionKeyRange(path, range), "merge") => {
            Resource::RangeAction(path, range, RangeAction::Merge)
        }
        (Resource::Collection(path), "partition") => Resource::NewPartitionKey(path),
        _ => return Err(unknown()),
    };
    Ok(Target { resource, signed })
}

/// Finds the target of a path that was encoded twice; `None` if it was not. Some clients encode
/// links that they got encoded. A name that really contains `%20` takes precedence; the caller
/// takes care of that.
pub(crate) fn parse_twice(path_and_query: &str) -> Option<Target<'_>> {
    if !path_and_query.contains("%25") {
        return None;
    }
    let path = Path::new(path_and_query).ok()?;
    let once = path.names?;
    let again = |name: &Cow<'_, str>| decode(name).map(|name| Cow::Owned(name.into_owned()));
    let twice = once.iter().map(again).collect::<Result<Vec<_>, _>>().ok()?;
    if once == twice { None } else { target(&Path { names: Some(twice), ..path }).ok() }
}

/// Finds the target of a path, given its segments both decoded and as they stand in the URL.
fn target<'a>(path: &Path<'a>) -> Result<Target<'a>, Error> {
    let is_upper = |kind: &str| kind.bytes().any(|byte| byte.is_ascii_uppercase());
    let count = path.raw.len();
    // Most clients write the types in lower case, and most names need no encoding.
    if path.names.is_none() && !path.raw.iter().step_by(2).any(|kind| is_upper(kind)) {
        let resource = resource(&path.raw)?;
        return Ok(Target { resource, signed: signed(&path.raw, path) });
    }
    let lowered: Vec<Cow<'_, str>> = (0..count)
        .map(|at| match path.name(at) {
            kind if at % 2 == 0 && is_upper(kind) => Cow::Owned(kind.to_ascii_lowercase()),
            name => Cow::Borrowed(name),
        })
        .collect();
    let shape: Vec<&str> = lowered.iter().map(Cow::as_ref).collect();
    Ok(Target { resource: resource(&shape)?, signed: signed(&shape, path) })
}

/// Splits a path into segments, without the query string: no resource takes one.
///
/// COMPAT: .NET does not escape a question mark in the id of a document, so there it is part of the
/// id.
fn segments(path_and_query: &str) -> Result<Vec<&str>, Error> {
    let Some((path, _)) = path_and_query.split_once('?') else { return split(path_and_query) };
    let mut segments = split(path)?;
    if let [dbs, _, colls, _, docs, id] = segments.as_mut_slice()
        && dbs.eq_ignore_ascii_case("dbs")
        && colls.eq_ignore_ascii_case("colls")
        && docs.eq_ignore_ascii_case("docs")
        && path.ends_with(*id)
    {
        *id = path_and_query[path.len() - id.len()..].trim_end_matches('/');
    }
    Ok(segments)
}

/// Splits a path at its slashes. Python ends its paths with one, and the account's own links begin
/// with two. An empty segment in between is an empty name; it is refused, since dropping it would
/// give its neighbours another meaning.
fn split(path: &str) -> Result<Vec<&str>, Error> {
    let path = path.trim_matches('/');
    if path.is_empty() {
        return Ok(Vec::new());
    }
    let mut segments = Vec::with_capacity(SEGMENTS_MAX);
    let mut rest = path.as_bytes();
    let mut has_empty = false;
    loop {
        if segments.len() == SEGMENTS_MAX {
            return Err(Error::bad_request("The request path has too many segments."));
        }
        let end = rest.iter().position(|byte| *byte == b'/');
        let start = path.len() - rest.len();
        let length = end.unwrap_or(rest.len());
        has_empty |= length == 0;
        segments.push(&path[start..start + length]);
        match end {
            Some(end) => rest = &rest[end + 1..],
            None => break,
        }
    }
    if has_empty {
        return Err(Error::bad_request("The request path has an empty segment."));
    }
    Ok(segments)
}

/// Decodes all segments; `None` if nothing is encoded.
fn decode_all<'a>(segments: &[&'a str]) -> Result<Option<Vec<Cow<'a, str>>>, Error> {
    let mut names = None;
    for (at, segment) in segments.iter().enumerate() {
        let name = decode(segment)?;
        if matches!(name, Cow::Owned(_)) && names.is_none() {
            let mut before = Vec::with_capacity(segments.len());
            before.extend(segments[..at].iter().copied().map(Cow::Borrowed));
            names = Some(before);
        }
        if let Some(names) = &mut names {
            names.push(name);
        }
    }
    Ok(names)
}

/// Decodes one segment once. Anything that still looks encoded is part of the name.
fn decode(segment: &str) -> Result<Cow<'_, str>, Error> {
    let name = percent::decode(segment)
        .ok_or_else(|| Error::bad_request("The request path is not UTF-8."))?;
    if name.len() > DOCUMENT_ID_BYTES_MAX {
        return Err(Error::bad_request("The request path has a segment that is too long."));
    }
    if name.as_bytes().contains(&0) {
        return Err(Error::bad_request("The request path contains a NUL character."));
    }
    Ok(name)
}

fn resource(shape: &[&str]) -> Result<Resource, Error> {
    Ok(match shape {
        [] => Resource::Account,
        ["dbs"] => Resource::Databases,
        ["dbs", db] => Resource::Database(database(db)),
        ["dbs", db, "clientencryptionkeys"] => Resource::EncryptionKeys(database(db)),
        ["dbs", db, "clientencryptionkeys", key] => Resource::EncryptionKey(EncryptionKeyPath {
            database: database(db),
            key: (*key).to_owned(),
        }),
        ["dbs", db, "users"] => Resource::Users(database(db)),
        ["dbs", db, "users", name] => Resource::User(user(db, name)),
        ["dbs", db, "users", name, "permissions"] => Resource::Permissions(user(db, name)),
        ["dbs", db, "users", name, "permissions", permission] => {
            let permission = (*permission).to_owned();
            Resource::Permission(PermissionPath { user: user(db, name), permission })
        }
        ["dbs", db, "colls"] => Resource::Collections(database(db)),
        ["dbs", db, "colls", coll] => Resource::Collection(collection(db, coll)),
        ["dbs", db, "colls", coll, "docs"] => Resource::Documents(collection(db, coll)),
        ["dbs", db, "colls", coll, "docs", doc] => Resource::Document(document(db, coll, doc)),
        ["dbs", db, "colls", coll, "docs", doc, "attachments"] => {
            Resource::Attachments(document(db, coll, doc))
        }
        ["dbs", db, "colls", coll, "docs", doc, "attachments", attachment] => {
            let attachment = (*attachment).to_owned();
            let document = document(db, coll, doc);
            Resource::Attachment(Box::new(AttachmentPath { document, attachment }))
        }
        ["media", media] => Resource::Media((*media).to_owned()),
        ["dbs", db, "colls", coll, "conflicts"] => Resource::Conflicts(collection(db, coll)),
        ["dbs", db, "colls", coll, "conflicts", conflict] => {
            Resource::Conflict(collection(db, coll), (*conflict).to_owned())
        }
        ["dbs", db, "colls", coll, "pkranges"] => {
            Resource::PartitionKeyRanges(collection(db, coll))
        }
        ["dbs", db, "colls", coll, "pkranges", range] => {
            Resource::PartitionKeyRange(collection(db, coll), (*range).to_owned())
        }
        ["dbs", db, "colls", coll, "operations", operation]
            if operation.eq_ignore_ascii_case("partitionkeydelete") =>
        {
            Resource::PartitionKeyDelete(collection(db, coll))
        }
        ["offers"] => Resource::Offers,
        ["offers", offer] => Resource::Offer((*offer).to_owned()),
        ["offers", ..] => return Err(no_offer()),
        ["addresses", ..] => return Err(direct_mode()),
        _ => match scripts(shape) {
            Some(resource) => resource,
            None => return Err(unknown()),
        },
    })
}

/// Matches the scripts of a collection, or one of them.
fn scripts(shape: &[&str]) -> Option<Resource> {
    let ["dbs", db, "colls", coll, segment, rest @ ..] = shape else { return None };
    let kind = ScriptKind::ALL.into_iter().find(|kind| kind.segment() == *segment)?;
    let collection = collection(db, coll);
    match rest {
        [] => Some(Resource::Scripts(collection, kind)),
        [script] => {
            let script = (*script).to_owned();
            Some(Resource::Script(ScriptPath { collection, kind, script }))
        }
        _ => None,
    }
}

fn database(name: &str) -> DatabasePath {
    DatabasePath(name.to_owned())
}

fn collection(db: &str, coll: &str) -> CollectionPath {
    CollectionPath { database: database(db), collection: coll.to_owned() }
}

fn user(db: &str, name: &str) -> UserPath {
    UserPath { database: database(db), user: name.to_owned() }
}

fn document(db: &str, coll: &str, doc: &str) -> DocumentPath {
    DocumentPath { collection: collection(db, coll), document: doc.to_owned() }
}

/// The error for direct mode, in which clients ask for the addresses of replicas to speak a binary
/// protocol with them.
fn direct_mode() -> Error {
    Error::bad_request(
        "Direct mode is not supported: use gateway mode (ConnectionMode.Gateway in .NET, \
         .gatewayMode() in Java).",
    )
}

/// The error for a path below `/offers` that names no offer. Offers have no children, and their
/// links consist of rids.
fn no_offer() -> Error {
    Error::bad_request("The request path below '/offers' does not name an offer.")
}

fn unknown() -> Error {
    Error::new(Code::NotFound, "The request path does not name a resource.")
}

/// Returns what clients sign: a feed's owner or a resource's own link. A path with an odd number of
/// segments is a feed.
fn signed<'a>(shape: &[&str], path: &Path<'a>) -> Signed<'a> {
    // The segment itself where it is in lower case, so that the usual type is borrowed from the URL.
    let kind = |at: usize| match path.raw[at] {
        raw if raw == shape[at] => Cow::Borrowed(raw),
        _ => Cow::Owned(shape[at].to_owned()),
    };
    let count = shape.len();
    let (types, link_len) = match shape {
        // SDKs sign different types here, but always the collection's link.
        [.., "operations", _] => {
            (vec![Cow::Borrowed("colls"), Cow::Borrowed("partitionkey")], count - 2)
        }
        // COMPAT: JavaScript signs the read of a conflict with the type of users.
        [.., "conflicts", _] => (vec![Cow::Borrowed("conflicts"), Cow::Borrowed("users")], count),
        [] => (vec![Cow::Borrowed("")], 0),
        all if all.len().is_multiple_of(2) => (vec![kind(count - 2)], count),
        _ => (vec![kind(count - 1)], count - 1),
    };
    Signed { types, links: links(shape, path, link_len) }
}

/// The links that a client may have signed: the last rid in lower case if the path consists of
/// rids, the decoded path, and the path as it stands in the URL.
fn links<'a>(shape: &[&str], path: &Path<'a>, count: usize) -> Vec<Cow<'a, str>> {
    let is_by_rid = match shape {
        ["offers" | "media", ..] => true,
        ["dbs", database, ..] => DatabaseRid::parse(database).is_some(),
        _ => false,
    };
    let mut links = Vec::with_capacity(if is_by_rid { 3 } else { 2 });
    if is_by_rid && count > 0 {
        links.push(Cow::Owned(path.name(count - 1).to_lowercase()));
    }
    if let Some(names) = &path.names {
        links.push(Cow::Owned(names[..count].join("/")));
        if names[..count].iter().zip(&path.raw).all(|(name, raw)| name == raw) {
            return links;
        }
    }
    links.push(path.raw_link(count));
    links
}

#[cfg(test)]
mod tests;
