//! From target, method and headers to an operation.
//!
//! The operation is made without its body: everything that can be refused is refused before a
//! body is read.

use bytes::Bytes;
use hyper::{HeaderMap, Method};
use protocol::{
    Code, Error, Operation, Options,
    etag::strip_quotes,
    request::{
        AttachmentPath, CollectionPath, DatabasePath, DocumentPath, EncryptionKeyPath, MediaHead,
        Migration, PermissionPath, ScriptKind, ScriptPath, ThroughputRequest, UserPath,
    },
};

use crate::{
    batch, changes,
    headers::{flag, integer, text},
    query::{self, Kind},
    route::{RangeAction, Resource},
    version::Version,
};

/// The operation that a request asks for, its body still missing.
#[expect(clippy::too_many_lines, reason = "a table")]
pub(crate) fn operation(
    resource: Resource,
    method: &Method,
    headers: &HeaderMap,
    version: Version,
    options: &mut Options,
) -> Result<Operation, Error> {
    let resource = match Kind::read(method, headers)? {
        Kind::Plain => resource,
        Kind::Batch => return batch::operation(resource, headers),
        Kind::Plan { is_text } => return query::plan(resource, is_text),
        // What has no feed to query refuses the verb below.
        Kind::Query { is_text } => match query::query(resource, is_text) {
            Ok(operation) => return Ok(operation),
            // A query is not a list of arguments.
            Err(Resource::Script(_)) => return Err(method_not_allowed()),
            Err(resource) => resource,
        },
    };
    // A HEAD is a GET whose body is left out in the end.
    let method = if *method == Method::HEAD { &Method::GET } else { method };
    match resource {
        Resource::Account => Err(method_not_allowed()),
        Resource::Databases => databases(method, headers),
        Resource::Database(path) => database(path, method),
        Resource::EncryptionKeys(path) => encryption_keys(path, method, headers),
        Resource::EncryptionKey(path) => encryption_key(path, method),
        Resource::Users(path) => users(path, method, headers),
        Resource::User(path) => user(path, method),
        Resource::Permissions(path) => permissions(path, method, headers),
        Resource::Permission(path) => permission(path, method),
        Resource::Collections(path) => collections(path, method, headers, version),
        Resource::Collection(path) => collection(path, method),
        Resource::Documents(path) => documents(path, method, headers, options),
        Resource::Document(path) => document(path, method),
        Resource::Attachments(path) => attachments(path, method, headers),
        Resource::Attachment(path) => attachment(*path, method),
        Resource::Media(media) => match *method {
            Method::GET => Ok(Operation::ReadMedia(media)),
            Method::PUT => {
                let head = media_head(headers)?;
                Ok(Operation::ReplaceMedia { media, head, body: Bytes::new() })
            }
            _ => Err(method_not_allowed()),
        },
        Resource::Conflicts(path) => match *method {
            Method::GET => Ok(Operation::ListConflicts(path)),
            _ => Err(method_not_allowed()),
        },
        Resource::Conflict(collection, conflict) => match *method {
            Method::GET => Ok(Operation::ReadConflict { collection, conflict }),
            Method::DELETE => Ok(Operation::DeleteConflict { collection, conflict }),
            _ => Err(method_not_allowed()),
        },
        Resource::Scripts(path, kind) => scripts(path, kind, method, headers),
        Resource::Script(path) => script(path, method),
        Resource::PartitionKeyDelete(path) => match *method {
            Method::POST => Ok(Operation::DeleteByPartitionKey(path)),
            _ => Err(method_not_allowed()),
        },
        Resource::PartitionKeyRanges(path) => ranges(path, method, options),
        Resource::PartitionKeyRange(path, range) => match *method {
            Method::GET => Ok(Operation::ReadPartitionKeyRange { path, range }),
            _ => Err(method_not_allowed()),
        },
        Resource::RangeAction(path, range, action) => match (method, action) {
            (&Method::POST, RangeAction::Split) => Ok(Operation::SplitPartition { path, range }),
            (&Method::POST, RangeAction::Merge) => Ok(Operation::MergePartitions { path, range }),
            _ => Err(method_not_allowed()),
        },
        Resource::NewPartitionKey(path) => match *method {
            Method::POST => Ok(Operation::GivePartitionKey { path, body: Bytes::new() }),
            _ => Err(method_not_allowed()),
        },
        Resource::Offers => match *method {
            Method::GET => Ok(Operation::ListOffers),
            _ => Err(method_not_allowed()),
        },
        Resource::Offer(offer) => match *method {
            Method::GET => Ok(Operation::ReadOffer(offer)),
            Method::PUT => {
                let migration = migration(headers)?;
                Ok(Operation::ReplaceOffer { offer, body: Bytes::new(), migration })
            }
            _ => Err(method_not_allowed()),
        },
    }
}

/// Where the operation wants its body; `None` if it has none.
pub(crate) fn body_of(operation: &mut Operation) -> Option<&mut Bytes> {
    match operation {
        Operation::CreateDatabase { body, .. }
        | Operation::CreateEncryptionKey { body, .. }
        | Operation::ReplaceEncryptionKey { body, .. }
        | Operation::CreateUser { body, .. }
        | Operation::ReplaceUser { body, .. }
        | Operation::CreatePermission { body, .. }
        | Operation::ReplacePermission { body, .. }
        | Operation::CreateCollection { body, .. }
        | Operation::ReplaceCollection { body, .. }
        | Operation::GivePartitionKey { body, .. }
        | Operation::CreateDocument { body, .. }
        | Operation::ReplaceDocument { body, .. }
        | Operation::PatchDocument { body, .. }
        | Operation::CreateAttachment { body, .. }
        | Operation::ReplaceAttachment { body, .. }
        | Operation::ReplaceMedia { body, .. }
        | Operation::ExecuteBatch { body, .. }
        | Operation::CreateScript { body, .. }
        | Operation::ReplaceScript { body, .. }
        | Operation::ExecuteProcedure { body, .. }
        | Operation::ReplaceOffer { body, .. } => Some(body),
        Operation::Query { body, .. } | Operation::PlanQuery { body, .. } => {
            Some(&mut body.content)
        }
        _ => None,
    }
}

/// The service's words for a verb that a resource does not know.
pub(crate) fn method_not_allowed() -> Error {
    Error::new(Code::MethodNotAllowed, "The requested verb is not supported.")
}

fn databases(method: &Method, headers: &HeaderMap) -> Result<Operation, Error> {
    match *method {
        Method::GET => Ok(Operation::ListDatabases),
        Method::POST => Ok(Operation::CreateDatabase {
            body: Bytes::new(),
            upsert: is_upsert(headers)?,
            throughput: throughput(headers)?,
        }),
        _ => Err(method_not_allowed()),
    }
}

fn database(path: DatabasePath, method: &Method) -> Result<Operation, Error> {
    match *method {
        Method::GET => Ok(Operation::ReadDatabase(path)),
        Method::DELETE => Ok(Operation::DeleteDatabase(path)),
        _ => Err(method_not_allowed()),
    }
}

fn encryption_keys(
    database: DatabasePath,
    method: &Method,
    headers: &HeaderMap,
) -> Result<Operation, Error> {
    match *method {
        Method::GET => Ok(Operation::ListEncryptionKeys(database)),
        Method::POST => Ok(Operation::CreateEncryptionKey {
            database,
            body: Bytes::new(),
            upsert: is_upsert(headers)?,
        }),
        _ => Err(method_not_allowed()),
    }
}

/// A key is never deleted: what it encrypted could not be read any more.
fn encryption_key(path: EncryptionKeyPath, method: &Method) -> Result<Operation, Error> {
    match *method {
        Method::GET => Ok(Operation::ReadEncryptionKey(path)),
        Method::PUT => Ok(Operation::ReplaceEncryptionKey { path, body: Bytes::new() }),
        _ => Err(method_not_allowed()),
    }
}

fn users(database: DatabasePath, method: &Method, headers: &HeaderMap) -> Result<Operation, Error> {
    match *method {
        Method::GET => Ok(Operation::ListUsers(database)),
        Method::POST => {
            let (body, upsert) = (Bytes::new(), is_upsert(headers)?);
            Ok(Operation::CreateUser { database, body, upsert })
        }
        _ => Err(method_not_allowed()),
    }
}

fn user(path: UserPath, method: &Method) -> Result<Operation, Error> {
    match *method {
        Method::GET => Ok(Operation::ReadUser(path)),
        Method::PUT => Ok(Operation::ReplaceUser { path, body: Bytes::new() }),
        Method::DELETE => Ok(Operation::DeleteUser(path)),
        _ => Err(method_not_allowed()),
    }
}

fn permissions(user: UserPath, method: &Method, headers: &HeaderMap) -> Result<Operation, Error> {
    match *method {
        Method::GET => Ok(Operation::ListPermissions(user)),
        Method::POST => {
            let (body, upsert) = (Bytes::new(), is_upsert(headers)?);
            Ok(Operation::CreatePermission { user, body, upsert })
        }
        _ => Err(method_not_allowed()),
    }
}

fn permission(path: PermissionPath, method: &Method) -> Result<Operation, Error> {
    match *method {
        Method::GET => Ok(Operation::ReadPermission(path)),
        Method::PUT => Ok(Operation::ReplacePermission { path, body: Bytes::new() }),
        Method::DELETE => Ok(Operation::DeletePermission(path)),
        _ => Err(method_not_allowed()),
    }
}

fn collections(
    database: DatabasePath,
    method: &Method,
    headers: &HeaderMap,
    version: Version,
) -> Result<Operation, Error> {
    match *method {
        Method::GET => Ok(Operation::ListCollections(database)),
        Method::POST => Ok(Operation::CreateCollection {
            database,
            body: Bytes::new(),
            upsert: is_upsert(headers)?,
            throughput: throughput(headers)?,
            partition_key_optional: version.allows_no_partition_key(),
        }),
        _ => Err(method_not_allowed()),
    }
}

fn collection(path: CollectionPath, method: &Method) -> Result<Operation, Error> {
    match *method {
        Method::GET => Ok(Operation::ReadCollection(path)),
        Method::PUT => Ok(Operation::ReplaceCollection { path, body: Bytes::new() }),
        Method::DELETE => Ok(Operation::DeleteCollection(path)),
        _ => Err(method_not_allowed()),
    }
}

fn documents(
    collection: CollectionPath,
    method: &Method,
    headers: &HeaderMap,
    options: &mut Options,
) -> Result<Operation, Error> {
    match *method {
        Method::GET => match changes::asked(headers, options)? {
            Some((mode, since)) => Ok(Operation::ReadChanges { collection, mode, since }),
            None => Ok(Operation::ListDocuments(collection)),
        },
        Method::POST => Ok(Operation::CreateDocument {
            collection,
            body: Bytes::new(),
            upsert: is_upsert(headers)?,
        }),
        _ => Err(method_not_allowed()),
    }
}

fn document(path: DocumentPath, method: &Method) -> Result<Operation, Error> {
    match *method {
        Method::GET => Ok(Operation::ReadDocument(path)),
        Method::PUT => Ok(Operation::ReplaceDocument { path, body: Bytes::new() }),
        Method::DELETE => Ok(Operation::DeleteDocument(path)),
        // SDKs name many content types here, or none: the body says what it is.
        Method::PATCH => Ok(Operation::PatchDocument { path, body: Bytes::new() }),
        _ => Err(method_not_allowed()),
    }
}

fn attachments(
    document: DocumentPath,
    method: &Method,
    headers: &HeaderMap,
) -> Result<Operation, Error> {
    match *method {
        Method::GET => Ok(Operation::ListAttachments(document)),
        Method::POST => {
            // A JSON file may be media, too: only those have a slug.
            let is_description = text(headers, "slug")?.is_none()
                && text(headers, "content-type")?.is_none_or(is_json);
            let media = if is_description { None } else { Some(media_head(headers)?) };
            let upsert = is_upsert(headers)?;
            Ok(Operation::CreateAttachment { document, body: Bytes::new(), media, upsert })
        }
        _ => Err(method_not_allowed()),
    }
}

fn attachment(path: AttachmentPath, method: &Method) -> Result<Operation, Error> {
    match *method {
        Method::GET => Ok(Operation::ReadAttachment(path)),
        Method::PUT => Ok(Operation::ReplaceAttachment { path, body: Bytes::new() }),
        Method::DELETE => Ok(Operation::DeleteAttachment(path)),
        _ => Err(method_not_allowed()),
    }
}

fn is_json(content_type: &str) -> bool {
    let name = content_type.split(';').next().unwrap_or_default().trim();
    name.eq_ignore_ascii_case("application/json")
}

fn media_head(headers: &HeaderMap) -> Result<MediaHead, Error> {
    let slug = text(headers, "slug")?.map(str::to_owned);
    let content_type = text(headers, "content-type")?.unwrap_or("application/octet-stream");
    Ok(MediaHead { slug, content_type: content_type.to_owned() })
}

/// Whether the body is not JSON, but any bytes.
pub(crate) fn has_raw_body(operation: &Operation) -> bool {
    matches!(
        operation,
        Operation::CreateAttachment { media: Some(_), .. } | Operation::ReplaceMedia { .. }
    )
}

fn scripts(
    collection: CollectionPath,
    kind: ScriptKind,
    method: &Method,
    headers: &HeaderMap,
) -> Result<Operation, Error> {
    match *method {
        Method::GET => Ok(Operation::ListScripts { collection, kind }),
        Method::POST => Ok(Operation::CreateScript {
            collection,
            kind,
            body: Bytes::new(),
            upsert: is_upsert(headers)?,
        }),
        _ => Err(method_not_allowed()),
    }
}

fn script(path: ScriptPath, method: &Method) -> Result<Operation, Error> {
    match *method {
        Method::GET => Ok(Operation::ReadScript(path)),
        Method::PUT => Ok(Operation::ReplaceScript { path, body: Bytes::new() }),
        Method::DELETE => Ok(Operation::DeleteScript(path)),
        Method::POST if path.kind == ScriptKind::StoredProcedure => {
            Ok(Operation::ExecuteProcedure { path, body: Bytes::new() })
        }
        _ => Err(method_not_allowed()),
    }
}

/// Whether the operation does without a body: a stored procedure may have no arguments.
pub(crate) fn may_lack_body(operation: &Operation) -> bool {
    matches!(operation, Operation::ExecuteProcedure { .. })
}

/// Here `If-None-Match` is the version that the reader has of the whole feed. It counts with or
/// without `A-IM`: SDKs read until they are told 304.
fn ranges(
    path: CollectionPath,
    method: &Method,
    options: &mut Options,
) -> Result<Operation, Error> {
    match *method {
        Method::GET => {
            let known = options.if_none_match.take().map(|etag| strip_quotes(&etag).to_owned());
            Ok(Operation::ListPartitionKeyRanges { path, known })
        }
        _ => Err(method_not_allowed()),
    }
}

fn is_upsert(headers: &HeaderMap) -> Result<bool, Error> {
    flag(headers, "x-ms-documentdb-is-upsert")
}

fn throughput(headers: &HeaderMap) -> Result<ThroughputRequest, Error> {
    let owned = |name| Ok::<_, Error>(text(headers, name)?.map(str::to_owned));
    Ok(ThroughputRequest {
        manual: integer(headers, "x-ms-offer-throughput")?,
        autoscale: owned("x-ms-cosmos-offer-autopilot-settings")?,
        level: owned("x-ms-offer-type")?,
    })
}

fn migration(headers: &HeaderMap) -> Result<Option<Migration>, Error> {
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
