//! Decodes target, method and headers into an operation.
//!
//! The operation comes without its body, so that the gateway can refuse a request before it reads
//! the body.

use bytes::Bytes;
use hyper::{Method, http::request::Parts};
use protocol::{
    Code, Error, Operation, Options,
    autoscale::Autoscale,
    etag::strip_quotes,
    patch::Patch,
    request::{MediaHead, Migration, ScriptKind, ThroughputRequest},
};

use crate::{
    batch, changes,
    headers::{Filtered, Lookup, flag, integer, text},
    query::{self, Kind},
    route::{RangeAction, Resource},
    version::Version,
};

const GET: Method = Method::GET;
const POST: Method = Method::POST;
const PUT: Method = Method::PUT;
const PATCH: Method = Method::PATCH;
const DELETE: Method = Method::DELETE;

/// The operation that a request asks for, without its body.
#[expect(clippy::too_many_lines, reason = "a table")]
pub(crate) fn operation(
    resource: Resource,
    parts: &Parts,
    headers: &Filtered<'_>,
    version: Version,
    options: &mut Options,
) -> Result<Operation, Error> {
    let method = &parts.method;
    let resource = match Kind::read(method, headers)? {
        Kind::Plain => resource,
        Kind::Batch => return batch::operation(resource, &parts.headers),
        Kind::Plan => return query::plan(resource),
        // For a resource without a feed to query, the match on verbs below refuses the request.
        Kind::Query => match query::query(resource) {
            Ok(operation) => return Ok(operation),
            // The body of a query is not a list of arguments.
            Err(Resource::Script(_)) => return Err(method_not_allowed()),
            Err(resource) => resource,
        },
    };
    // A HEAD is a GET; the encoder drops the body.
    let method = if *method == Method::HEAD { &GET } else { method };
    let body = Bytes::new();
    let upsert = || is_upsert(headers);
    Ok(match (resource, method) {
        (Resource::Databases, &GET) => Operation::ListDatabases,
        (Resource::Databases, &POST) => {
            let (upsert, throughput) = (upsert()?, throughput(headers)?);
            Operation::CreateDatabase { body, upsert, throughput }
        }
        (Resource::Database(path), &GET) => Operation::ReadDatabase(path),
        (Resource::Database(path), &DELETE) => Operation::DeleteDatabase(path),
        (Resource::EncryptionKeys(path), &GET) => Operation::ListEncryptionKeys(path),
        (Resource::EncryptionKeys(database), &POST) => {
            Operation::CreateEncryptionKey { database, body, upsert: upsert()? }
        }
        // A key cannot be deleted: what it encrypted could never be read again.
        (Resource::EncryptionKey(path), &GET) => Operation::ReadEncryptionKey(path),
        (Resource::EncryptionKey(path), &PUT) => Operation::ReplaceEncryptionKey { path, body },
        (Resource::Users(path), &GET) => Operation::ListUsers(path),
        (Resource::Users(database), &POST) => {
            Operation::CreateUser { database, body, upsert: upsert()? }
        }
        (Resource::User(path), &GET) => Operation::ReadUser(path),
        (Resource::User(path), &PUT) => Operation::ReplaceUser { path, body },
        (Resource::User(path), &DELETE) => Operation::DeleteUser(path),
        (Resource::Permissions(path), &GET) => Operation::ListPermissions(path),
        (Resource::Permissions(user), &POST) => {
            Operation::CreatePermission { user, body, upsert: upsert()? }
        }
        (Resource::Permission(path), &GET) => Operation::ReadPermission(path),
        (Resource::Permission(path), &PUT) => Operation::ReplacePermission { path, body },
        (Resource::Permission(path), &DELETE) => Operation::DeletePermission(path),
        (Resource::Collections(path), &GET) => Operation::ListCollections(path),
        (Resource::Collections(database), &POST) => Operation::CreateCollection {
            database,
            body,
            upsert: upsert()?,
            throughput: throughput(headers)?,
            partition_key_optional: version.allows_no_partition_key(),
        },
        (Resource::Collection(path), &GET) => Operation::ReadCollection(path),
        (Resource::Collection(path), &PUT) => Operation::ReplaceCollection { path, body },
        (Resource::Collection(path), &DELETE) => Operation::DeleteCollection(path),
        (Resource::Documents(collection), &GET) => match changes::asked(&parts.headers, options)? {
            Some((mode, since)) => Operation::ReadChanges { collection, mode, since },
            None => Operation::ListDocuments(collection),
        },
        (Resource::Documents(collection), &POST) => {
            Operation::CreateDocument { collection, body, upsert: upsert()? }
        }
        (Resource::Document(path), &GET) => Operation::ReadDocument(path),
        (Resource::Document(path), &PUT) => Operation::ReplaceDocument { path, body },
        (Resource::Document(path), &DELETE) => Operation::DeleteDocument(path),
        // SDKs send many content types here, or none: the body itself tells.
        (Resource::Document(path), &PATCH) => {
            Operation::PatchDocument { path, patch: Patch::default() }
        }
        (Resource::Attachments(path), &GET) => Operation::ListAttachments(path),
        (Resource::Attachments(document), &POST) => {
            let media = new_media(headers)?;
            Operation::CreateAttachment { document, body, media, upsert: upsert()? }
        }
        (Resource::Attachment(path), &GET) => Operation::ReadAttachment(*path),
        (Resource::Attachment(path), &PUT) => Operation::ReplaceAttachment { path: *path, body },
        (Resource::Attachment(path), &DELETE) => Operation::DeleteAttachment(*path),
        (Resource::Media(media), &GET) => Operation::ReadMedia(media),
        (Resource::Media(media), &PUT) => {
            Operation::ReplaceMedia { media, head: media_head(headers)?, body }
        }
        (Resource::Conflicts(path), &GET) => Operation::ListConflicts(path),
        (Resource::Conflict(collection, conflict), &GET) => {
            Operation::ReadConflict { collection, conflict }
        }
        (Resource::Conflict(collection, conflict), &DELETE) => {
            Operation::DeleteConflict { collection, conflict }
        }
        (Resource::Scripts(collection, kind), &GET) => Operation::ListScripts { collection, kind },
        (Resource::Scripts(collection, kind), &POST) => {
            Operation::CreateScript { collection, kind, body, upsert: upsert()? }
        }
        (Resource::Script(path), &GET) => Operation::ReadScript(path),
        (Resource::Script(path), &PUT) => Operation::ReplaceScript { path, body },
        (Resource::Script(path), &DELETE) => Operation::DeleteScript(path),
        (Resource::Script(path), &POST) if path.kind == ScriptKind::StoredProcedure => {
            Operation::ExecuteProcedure { path, body }
        }
        (Resource::PartitionKeyDelete(path), &POST) => Operation::DeleteByPartitionKey(path),
        // Here `If-None-Match` is the version of the whole feed that the reader has. It counts with
        // or without `A-IM`: SDKs read until they get a 304.
        (Resource::PartitionKeyRanges(path), &GET) => {
            let known = options.if_none_match.take().map(|etag| strip_quotes(&etag).to_owned());
            Operation::ListPartitionKeyRanges { path, known }
        }
        (Resource::PartitionKeyRange(path, range), &GET) => {
            Operation::ReadPartitionKeyRange { path, range }
        }
        (Resource::RangeAction(path, range, RangeAction::Split), &POST) => {
            Operation::SplitPartition { path, range }
        }
        (Resource::RangeAction(path, range, RangeAction::Merge), &POST) => {
            Operation::MergePartitions { path, range }
        }
        (Resource::NewPartitionKey(path), &POST) => Operation::GivePartitionKey { path, body },
        (Resource::Offers, &GET) => Operation::ListOffers,
        (Resource::Offer(offer), &GET) => Operation::ReadOffer(offer),
        (Resource::Offer(offer), &PUT) => {
            Operation::ReplaceOffer { offer, body, migration: migration(headers)? }
        }
        _ => return Err(method_not_allowed()),
    })
}

/// The error for a verb that a resource does not support, in the service's wording.
pub(crate) fn method_not_allowed() -> Error {
    Error::new(Code::MethodNotAllowed, "The requested verb is not supported.")
}

/// The head of the media if the body of a new attachment is media; `None` if it is a description.
fn new_media(headers: &impl Lookup) -> Result<Option<MediaHead>, Error> {
    // A JSON file can be media, too; only media have a slug.
    let is_description =
        text(headers, "slug")?.is_none() && text(headers, "content-type")?.is_none_or(is_json);
    if is_description { Ok(None) } else { media_head(headers).map(Some) }
}

fn is_json(content_type: &str) -> bool {
    let name = content_type.split(';').next().unwrap_or_default().trim();
    name.eq_ignore_ascii_case("application/json")
}

fn media_head(headers: &impl Lookup) -> Result<MediaHead, Error> {
    let slug = text(headers, "slug")?.map(str::to_owned);
    let content_type = text(headers, "content-type")?.unwrap_or("application/octet-stream");
    Ok(MediaHead { slug, content_type: content_type.to_owned() })
}

fn is_upsert(headers: &impl Lookup) -> Result<bool, Error> {
    flag(headers, "x-ms-documentdb-is-upsert")
}

fn throughput(headers: &impl Lookup) -> Result<ThroughputRequest, Error> {
    let autoscale = text(headers, "x-ms-cosmos-offer-autopilot-settings")?;
    Ok(ThroughputRequest {
        manual: integer(headers, "x-ms-offer-throughput")?,
        autoscale: autoscale.map(Autoscale::parse).transpose()?,
        level: text(headers, "x-ms-offer-type")?.map(str::to_owned),
    })
}

fn migration(headers: &impl Lookup) -> Result<Option<Migration>, Error> {
    let autoscale = "x-ms-cosmos-migrate-offer-to-autopilot";
    let manual = "x-ms-cosmos-migrate-offer-to-manual-throughput";
    match (flag(headers, autoscale)?, flag(headers, manual)?) {
        (false, false) => Ok(None),
        (true, false) => Ok(Some(Migration::ToAutoscale)),
        (false, true) => Ok(Some(Migration::ToManual)),
        (true, true) => Err(Error::bad_request(format!(
            "The headers '{autoscale}' and '{manual}' cannot both be true."
        ))),
    }
}
