//! Which module does what is asked.

use std::sync::Arc;

use partition::charge::Meter;
use protocol::{Body, Error, Meta, Operation, Outcome, Request, Response, query::QueryFeed};
use query::{changes, execution, feeds};

use crate::{
    Inner, collections, conflicts, databases,
    documents::{self, attachments, scripted::procedure, write::Write},
    encryption_keys::EncryptionKeys,
    family::requests::Requests as _,
    offers, ranges,
    reshape::{self, rekey::rekey},
    resource_queries,
    scripts::Scripts,
    users::{Users, permissions::Permissions},
};

/// One line per operation; the work is in the modules.
#[expect(clippy::too_many_lines, reason = "a table")]
pub(crate) async fn dispatch(
    engine: &Arc<Inner>,
    request: Request,
    meter: &mut Meter,
) -> Result<Response, Error> {
    let Request { operation, options } = request;
    match operation {
        // Whoever has come so far is let in.
        Operation::ReadAccount => Ok(admitted()),
        Operation::CreateDatabase { body, upsert, throughput } => {
            databases::create(engine, &body, upsert, throughput, meter).await
        }
        Operation::ReadDatabase(path) => databases::read(engine, &path, &options, meter),
        Operation::DeleteDatabase(path) => databases::delete(engine, path, options, meter).await,
        Operation::ListDatabases => databases::list(engine, &options, meter),
        Operation::CreateCollection {
            database,
            body,
            upsert,
            throughput,
            partition_key_optional,
        } => {
            let create =
                collections::Create { database, throughput, upsert, partition_key_optional };
            collections::create(engine, create, &body, &options, meter).await
        }
        Operation::ReadCollection(path) => collections::read(engine, &path, &options, meter).await,
        Operation::ReplaceCollection { path, body } => {
            collections::replace(engine, path, &body, options, meter).await
        }
        Operation::DeleteCollection(path) => {
            collections::delete(engine, path, options, meter).await
        }
        Operation::ListCollections(path) => collections::list(engine, &path, &options, meter),
        Operation::ListPartitionKeyRanges { path, known } => {
            ranges::list(engine, &path, known.as_deref(), &options, meter)
        }
        Operation::ReadPartitionKeyRange { path, range } => {
            ranges::read(engine, &path, &range, &options, meter)
        }
        Operation::SplitPartition { path, range } => reshape::split(engine, &path, &range).await,
        Operation::MergePartitions { path, range } => reshape::merge(engine, &path, &range).await,
        Operation::GivePartitionKey { path, body } => rekey(engine, &path, &body, &options).await,
        Operation::CreateDocument { collection, body, upsert } => {
            let write = Write::Create { collection: &collection, body: &body, upsert };
            write.run(engine, &options, meter).await
        }
        Operation::ReadDocument(path) => documents::read(engine, &path, &options, meter).await,
        Operation::ReplaceDocument { path, body } => {
            Write::Replace { path: &path, body: &body }.run(engine, &options, meter).await
        }
        Operation::PatchDocument { path, patch } => {
            Write::Patch { path: &path, patch: &patch }.run(engine, &options, meter).await
        }
        Operation::DeleteDocument(path) => {
            Write::Delete { path: &path }.run(engine, &options, meter).await
        }
        Operation::DeleteByPartitionKey(path) => {
            documents::clear::run(engine, &path, &options, meter).await
        }
        Operation::ListDocuments(path) => feeds::documents(engine, &path, &options, meter).await,
        Operation::CreateEncryptionKey { database, body, upsert } => {
            EncryptionKeys(database).create(engine, (&body, upsert), options, meter).await
        }
        Operation::ReadEncryptionKey(path) => EncryptionKeys::read(engine, path, &options, meter),
        Operation::ReplaceEncryptionKey { path, body } => {
            EncryptionKeys::replace(engine, path, &body, options, meter).await
        }
        Operation::ListEncryptionKeys(path) => EncryptionKeys(path).list(engine, &options, meter),
        Operation::CreateUser { database, body, upsert } => {
            Users(database).create(engine, (&body, upsert), options, meter).await
        }
        Operation::ReadUser(path) => Users::read(engine, path, &options, meter),
        Operation::ReplaceUser { path, body } => {
            Users::replace(engine, path, &body, options, meter).await
        }
        Operation::DeleteUser(path) => Users::delete(engine, path, options, meter).await,
        Operation::ListUsers(path) => Users(path).list(engine, &options, meter),
        Operation::CreatePermission { user, body, upsert } => {
            Permissions(user).create(engine, (&body, upsert), options, meter).await
        }
        Operation::ReadPermission(path) => Permissions::read(engine, path, &options, meter),
        Operation::ReplacePermission { path, body } => {
            Permissions::replace(engine, path, &body, options, meter).await
        }
        Operation::DeletePermission(path) => {
            Permissions::delete(engine, path, options, meter).await
        }
        Operation::ListPermissions(path) => Permissions(path).list(engine, &options, meter),
        Operation::CreateAttachment { document, body, media, upsert } => {
            let write = attachments::Write::create(&body, media, upsert)?;
            write.run(engine, &document, &options, meter).await
        }
        Operation::ReadAttachment(path) => attachments::read(engine, &path, &options, meter).await,
        Operation::ReplaceAttachment { path, body } => {
            let write = attachments::Write::replace(&path.attachment, &body)?;
            write.run(engine, &path.document, &options, meter).await
        }
        Operation::DeleteAttachment(path) => {
            let write = attachments::Write::delete(&path.attachment);
            write.run(engine, &path.document, &options, meter).await
        }
        Operation::ListAttachments(path) => attachments::list(engine, &path, &options, meter).await,
        Operation::ReadMedia(media) => {
            attachments::media::read(engine, &media, &options, meter).await
        }
        Operation::ReplaceMedia { media, head, body } => {
            attachments::media::replace(engine, &media, head, body, options, meter).await
        }
        Operation::ListConflicts(path) => conflicts::list(engine, &path, &options, meter),
        Operation::ReadConflict { collection, .. }
        | Operation::DeleteConflict { collection, .. } => {
            conflicts::find(engine, &collection, &options, meter)
        }
        Operation::ReadChanges { collection, mode, since } => {
            changes::page(engine, &collection, mode, since, &options, meter).await
        }
        Operation::ExecuteBatch { collection, operations, mode } => {
            documents::batch::run(engine, &collection, operations, mode, &options, meter).await
        }
        Operation::CreateScript { collection, kind, body, upsert } => {
            Scripts(collection, kind).create(engine, (&body, upsert), options, meter).await
        }
        Operation::ReadScript(path) => Scripts::read(engine, path, &options, meter),
        Operation::ReplaceScript { path, body } => {
            Scripts::replace(engine, path, &body, options, meter).await
        }
        Operation::DeleteScript(path) => Scripts::delete(engine, path, options, meter).await,
        Operation::ListScripts { collection, kind } => {
            Scripts(collection, kind).list(engine, &options, meter)
        }
        Operation::ExecuteProcedure { path, body } => {
            procedure::execute(engine, &path, &body, &options, meter).await
        }
        Operation::Query { feed: QueryFeed::Documents(path), query } => {
            execution::page(&engine.reading, &path, query, &options, meter).await
        }
        Operation::Query { feed, query } => {
            resource_queries::page(engine, &feed, query, &options, meter).await
        }
        Operation::PlanQuery { collection, query } => {
            execution::plan(&engine.reading, &collection, query, &options, meter).await
        }
        Operation::ReadOffer(offer) => offers::read(engine, &offer, &options, meter),
        Operation::ReplaceOffer { offer, body, migration } => {
            offers::replace(engine, offer, &body, migration, options, meter).await
        }
        Operation::ListOffers => offers::list(engine, &options, meter),
    }
}

fn admitted() -> Response {
    let (outcome, body) = (Outcome::Ok, Body::Empty);
    Response { outcome, body, etag: None, continuation: None, meta: Meta::default() }
}
