//! Routes each operation to the module that carries it out.

use partition::charge::Meter;
use protocol::{
    Body, Code, Error, Meta, Operation, Options, Outcome, Request, Response, query::QueryFeed,
};
use query::{changes, execution, feeds};

use crate::{
    call::Call,
    collections, conflicts, databases,
    documents::{self, attachments, scripted::procedure, write::Write},
    encryption_keys::EncryptionKeys,
    family::requests::Requests as _,
    offers, ranges,
    reshape::{self, rekey::rekey},
    resource_queries,
    scripts::Scripts,
    users::{Users, permissions::Permissions},
};

/// Carries out an operation. A future is as large as the largest that it may await, and it is moved
/// when a request begins: what is asked often does not pay for what the others need.
pub(crate) async fn dispatch(
    call: Call,
    request: Request,
    meter: &mut Meter,
) -> Result<Response, Error> {
    let Request { operation, options } = request;
    match operation {
        Operation::ReadDocument(path) => documents::read(&call, &path, &options, meter).await,
        Operation::CreateDocument { collection, body, upsert } => {
            let write = Write::Create { collection: &collection, body: &body, upsert };
            Box::pin(write.run(call, &options, meter)).await
        }
        Operation::ReplaceDocument { path, body } => {
            let write = Write::Replace { path: &path, body: &body };
            Box::pin(write.run(call, &options, meter)).await
        }
        Operation::PatchDocument { path, patch } => {
            let write = Write::Patch { path: &path, patch: &patch };
            Box::pin(write.run(call, &options, meter)).await
        }
        Operation::DeleteDocument(path) => {
            let write = Write::Delete { path: &path };
            Box::pin(write.run(call, &options, meter)).await
        }
        Operation::Query { feed: QueryFeed::Documents(path), query } => {
            let (reading, view) = (&call.engine.reading, &call.view);
            Box::pin(execution::page(reading, view, &path, query, &options, meter)).await
        }
        operation => Box::pin(others(call, operation, options, meter)).await,
    }
}

/// Carries out an operation on anything but one document, and no query over documents. One line per
/// operation; the work is in the modules.
#[expect(clippy::too_many_lines, reason = "a table")]
async fn others(
    call: Call,
    operation: Operation,
    options: Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    match operation {
        // The access check has already admitted the caller.
        Operation::ReadAccount => Ok(admitted()),
        Operation::CreateDatabase { body, upsert, throughput } => {
            databases::create(&call.leave(), &body, upsert, throughput, meter).await
        }
        Operation::ReadDatabase(path) => databases::read(&call, &path, &options, meter),
        Operation::DeleteDatabase(path) => {
            databases::delete(&call.leave(), path, options, meter).await
        }
        Operation::ListDatabases => databases::list(&call, &options, meter),
        Operation::CreateCollection {
            database,
            body,
            upsert,
            throughput,
            partition_key_optional,
        } => {
            let create =
                collections::Create { database, throughput, upsert, partition_key_optional };
            collections::create(&call.leave(), create, &body, &options, meter).await
        }
        Operation::ReadCollection(path) => collections::read(&call, &path, &options, meter).await,
        Operation::ReplaceCollection { path, body } => {
            collections::replace(&call.leave(), path, &body, options, meter).await
        }
        Operation::DeleteCollection(path) => {
            collections::delete(&call.leave(), path, options, meter).await
        }
        Operation::ListCollections(path) => collections::list(&call, &path, &options, meter),
        Operation::ListPartitionKeyRanges { path, known } => {
            ranges::list(&call, &path, known.as_deref(), &options, meter)
        }
        Operation::ReadPartitionKeyRange { path, range } => {
            ranges::read(&call, &path, &range, &options, meter)
        }
        Operation::SplitPartition { path, range } => {
            reshape::split(&call.leave(), &path, &range).await
        }
        Operation::MergePartitions { path, range } => {
            reshape::merge(&call.leave(), &path, &range).await
        }
        Operation::GivePartitionKey { path, body } => {
            rekey(&call.leave(), &path, &body, &options).await
        }
        Operation::ReadDocument(_)
        | Operation::CreateDocument { .. }
        | Operation::ReplaceDocument { .. }
        | Operation::PatchDocument { .. }
        | Operation::DeleteDocument(_)
        | Operation::Query { feed: QueryFeed::Documents(_), .. } => {
            Err(Error::new(Code::Internal, "an operation on documents took the long way"))
        }
        Operation::DeleteByPartitionKey(path) => {
            documents::clear::run(call, &path, &options, meter).await
        }
        Operation::ListDocuments(path) => {
            feeds::documents(&call.engine, &call.view, &path, &options, meter).await
        }
        Operation::CreateEncryptionKey { database, body, upsert } => {
            EncryptionKeys(database).create(call, (&body, upsert), options, meter).await
        }
        Operation::ReadEncryptionKey(path) => EncryptionKeys::read(&call, path, &options, meter),
        Operation::ReplaceEncryptionKey { path, body } => {
            EncryptionKeys::replace(call, path, &body, options, meter).await
        }
        Operation::ListEncryptionKeys(path) => EncryptionKeys(path).list(&call, &options, meter),
        Operation::CreateUser { database, body, upsert } => {
            Users(database).create(call, (&body, upsert), options, meter).await
        }
        Operation::ReadUser(path) => Users::read(&call, path, &options, meter),
        Operation::ReplaceUser { path, body } => {
            Users::replace(call, path, &body, options, meter).await
        }
        Operation::DeleteUser(path) => Users::delete(&call.leave(), path, options, meter).await,
        Operation::ListUsers(path) => Users(path).list(&call, &options, meter),
        Operation::CreatePermission { user, body, upsert } => {
            Permissions(user).create(call, (&body, upsert), options, meter).await
        }
        Operation::ReadPermission(path) => Permissions::read(&call, path, &options, meter),
        Operation::ReplacePermission { path, body } => {
            Permissions::replace(call, path, &body, options, meter).await
        }
        Operation::DeletePermission(path) => {
            Permissions::delete(&call.leave(), path, options, meter).await
        }
        Operation::ListPermissions(path) => Permissions(path).list(&call, &options, meter),
        Operation::CreateAttachment { document, body, media, upsert } => {
            let write = attachments::Write::create(&body, media, upsert)?;
            write.run(call, &document, &options, meter).await
        }
        Operation::ReadAttachment(path) => attachments::read(&call, &path, &options, meter).await,
        Operation::ReplaceAttachment { path, body } => {
            let write = attachments::Write::replace(&path.attachment, &body)?;
            write.run(call, &path.document, &options, meter).await
        }
        Operation::DeleteAttachment(path) => {
            let write = attachments::Write::delete(&path.attachment);
            write.run(call, &path.document, &options, meter).await
        }
        Operation::ListAttachments(path) => attachments::list(&call, &path, &options, meter).await,
        Operation::ReadMedia(media) => {
            attachments::media::read(&call, &media, &options, meter).await
        }
        Operation::ReplaceMedia { media, head, body } => {
            attachments::media::replace(call, &media, head, body, options, meter).await
        }
        Operation::ListConflicts(path) => conflicts::list(&call, &path, &options, meter),
        Operation::ReadConflict { collection, .. }
        | Operation::DeleteConflict { collection, .. } => {
            conflicts::find(&call, &collection, &options, meter)
        }
        Operation::ReadChanges { collection, mode, since } => {
            changes::page(&call.engine, &call.view, &collection, mode, since, &options, meter).await
        }
        Operation::ExecuteBatch { collection, operations, mode } => {
            documents::batch::run(call, &collection, operations, mode, &options, meter).await
        }
        Operation::CreateScript { collection, kind, body, upsert } => {
            Scripts(collection, kind).create(call, (&body, upsert), options, meter).await
        }
        Operation::ReadScript(path) => Scripts::read(&call, path, &options, meter),
        Operation::ReplaceScript { path, body } => {
            Scripts::replace(call, path, &body, options, meter).await
        }
        Operation::DeleteScript(path) => Scripts::delete(&call.leave(), path, options, meter).await,
        Operation::ListScripts { collection, kind } => {
            Scripts(collection, kind).list(&call, &options, meter)
        }
        Operation::ExecuteProcedure { path, body } => {
            procedure::execute(call, &path, &body, &options, meter).await
        }
        Operation::Query { feed, query } => {
            resource_queries::page(&call, &feed, query, &options, meter).await
        }
        Operation::PlanQuery { collection, query } => {
            execution::plan(&call.engine, &call.view, &collection, query, &options, meter).await
        }
        Operation::ReadOffer(offer) => offers::read(&call, &offer, &options, meter),
        Operation::ReplaceOffer { offer, body, migration } => {
            offers::replace(&call.leave(), offer, &body, migration, options, meter).await
        }
        Operation::ListOffers => offers::list(&call, &options, meter),
    }
}

fn admitted() -> Response {
    let (outcome, body) = (Outcome::Ok, Body::Empty);
    Response { outcome, body, etag: None, continuation: None, meta: Meta::default() }
}
