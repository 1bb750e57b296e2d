//! Every operation by every key and every role, asked of the engine itself: what a protocol in front of
//! it forgets to check is refused here.
//!
//! The table below is kept apart from the one in `protocol::rights`: who changes one must change the
//! other. `access_matrix` has the same for resource tokens.

use protocol::{
    Code, Meta, Operation, Principal,
    Role::{Contributor, Owner, Reader},
    query::QueryFeed,
};

use crate::{
    access_matrix::{database, operations, options},
    support::Database,
};

/// In the order of the letters below: a key, a read-only key, and the three roles.
fn principals() -> [Principal; 5] {
    [
        Principal::of_key(),
        Principal::of_read_only_key(),
        Principal::of_role(Reader),
        Principal::of_role(Contributor),
        Principal::of_role(Owner),
    ]
}

/// `.` it may, `3` the key may not, `g` the role does not grant it, `s` access tokens never do.
const EVERYBODY: &str = ".....";
const WRITERS: &str = ".3g..";
const OWNERS: &str = ".3ss.";

#[expect(clippy::too_many_lines, reason = "a table")]
fn expected(operation: &Operation) -> &'static str {
    match operation {
        Operation::ReadAccount
        | Operation::ReadDatabase(_)
        | Operation::ListDatabases
        | Operation::ReadEncryptionKey(_)
        | Operation::ListEncryptionKeys(_)
        | Operation::ReadUser(_)
        | Operation::ListUsers(_)
        | Operation::ReadCollection(_)
        | Operation::ListCollections(_)
        | Operation::ListPartitionKeyRanges { .. }
        | Operation::ReadPartitionKeyRange { .. }
        | Operation::ReadDocument(_)
        | Operation::ListDocuments(_)
        | Operation::ReadChanges { .. }
        | Operation::ReadAttachment(_)
        | Operation::ListAttachments(_)
        | Operation::ReadMedia(_)
        | Operation::ListConflicts(_)
        | Operation::ReadConflict { .. }
        | Operation::ReadScript(_)
        | Operation::ListScripts { .. }
        | Operation::PlanQuery { .. }
        | Operation::ReadOffer(_)
        | Operation::ListOffers => EVERYBODY,
        Operation::Query { feed, .. } => match feed {
            QueryFeed::Permissions(_) => OWNERS,
            _ => EVERYBODY,
        },
        Operation::CreateDocument { .. }
        | Operation::ReplaceDocument { .. }
        | Operation::PatchDocument { .. }
        | Operation::DeleteDocument(_)
        | Operation::DeleteByPartitionKey(_)
        | Operation::CreateAttachment { .. }
        | Operation::ReplaceAttachment { .. }
        | Operation::DeleteAttachment(_)
        | Operation::ReplaceMedia { .. }
        | Operation::ExecuteBatch { .. }
        | Operation::ExecuteProcedure { .. }
        | Operation::DeleteConflict { .. } => WRITERS,
        Operation::CreateDatabase { .. }
        | Operation::DeleteDatabase(_)
        | Operation::CreateEncryptionKey { .. }
        | Operation::ReplaceEncryptionKey { .. }
        | Operation::CreateUser { .. }
        | Operation::ReplaceUser { .. }
        | Operation::DeleteUser(_)
        | Operation::CreatePermission { .. }
        | Operation::ReadPermission(_)
        | Operation::ReplacePermission { .. }
        | Operation::DeletePermission(_)
        | Operation::ListPermissions(_)
        | Operation::CreateCollection { .. }
        | Operation::ReplaceCollection { .. }
        | Operation::DeleteCollection(_)
        | Operation::SplitPartition { .. }
        | Operation::MergePartitions { .. }
        | Operation::GivePartitionKey { .. }
        | Operation::CreateScript { .. }
        | Operation::ReplaceScript { .. }
        | Operation::DeleteScript(_)
        | Operation::ReplaceOffer { .. } => OWNERS,
    }
}

/// The answer as one letter; what is refused tells nothing of the resource.
async fn answer(db: &Database, who: &Principal, operation: &Operation) -> char {
    let Err(error) = db.call_as(who, operation.clone(), options(r#"["a"]"#)).await else {
        return '.';
    };
    let letter = match error.code {
        Code::Unauthorized => '0',
        Code::Forbidden => '3',
        Code::ActionNotGranted => 'g',
        Code::ActionNotSupported => 's',
        // It was let in, and refused for its body or its etag.
        _ => return '.',
    };
    assert_eq!(*error.meta, Meta::default());
    letter
}

#[tokio::test]
async fn every_operation_by_every_key_and_role() {
    let (db, media) = database().await;
    for (operation, _) in operations(&media) {
        let mut answers = String::new();
        for who in principals() {
            answers.push(answer(&db, &who, &operation).await);
        }
        assert_eq!(answers, expected(&operation), "{operation:?}");
    }
}
