//! What keys and roles may do. The table below lists every operation without a default case, so a
//! new operation does not compile until its rights are decided.
//!
//! The service calls [`check`] for every request. A protocol may call it earlier, to refuse a
//! request before it reads the body: that saves work, but protects nothing.

use crate::{
    error::{Code, Error},
    principal::{Principal, Proof, Role},
    query::QueryFeed,
    request::Operation,
};

/// What an operation does, as far as rights depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Only reads.
    Reads,
    /// May change documents and what belongs to them.
    ChangesData,
    /// May change the account's resources, or shows tokens that allow more than reading.
    Controls,
}

impl Operation {
    /// What the operation does, as far as rights depend on it.
    #[expect(clippy::too_many_lines, reason = "a table")]
    pub fn effect(&self) -> Effect {
        match self {
            Self::ReadAccount
            | Self::ReadDatabase(_)
            | Self::ListDatabases
            | Self::ReadEncryptionKey(_)
            | Self::ListEncryptionKeys(_)
            | Self::ReadUser(_)
            | Self::ListUsers(_)
            | Self::ReadCollection(_)
            | Self::ListCollections(_)
            | Self::ListPartitionKeyRanges { .. }
            | Self::ReadPartitionKeyRange { .. }
            | Self::ReadDocument(_)
            | Self::ListDocuments(_)
            | Self::ReadChanges { .. }
            | Self::ReadAttachment(_)
            | Self::ListAttachments(_)
            | Self::ReadMedia(_)
            | Self::ListConflicts(_)
            | Self::ReadConflict { .. }
            | Self::ReadScript(_)
            | Self::ListScripts { .. }
            | Self::PlanQuery { .. }
            | Self::ReadOffer(_)
            | Self::ListOffers => Effect::Reads,

            Self::Query { feed, .. } => effect_of_query(feed),

            Self::CreateDocument { .. }
            | Self::ReplaceDocument { .. }
            | Self::PatchDocument { .. }
            | Self::DeleteDocument(_)
            | Self::DeleteByPartitionKey(_)
            | Self::CreateAttachment { .. }
            | Self::ReplaceAttachment { .. }
            | Self::DeleteAttachment(_)
            | Self::ReplaceMedia { .. }
            | Self::ExecuteBatch { .. }
            | Self::ExecuteProcedure { .. }
            | Self::DeleteConflict { .. } => Effect::ChangesData,

            // The response contains tokens, which may grant more than reading.
            Self::ReadPermission(_)
            | Self::ListPermissions(_)
            | Self::CreateDatabase { .. }
            | Self::DeleteDatabase(_)
            | Self::CreateEncryptionKey { .. }
            | Self::ReplaceEncryptionKey { .. }
            | Self::CreateUser { .. }
            | Self::ReplaceUser { .. }
            | Self::DeleteUser(_)
            | Self::CreatePermission { .. }
            | Self::ReplacePermission { .. }
            | Self::DeletePermission(_)
            | Self::CreateCollection { .. }
            | Self::ReplaceCollection { .. }
            | Self::DeleteCollection(_)
            | Self::SplitPartition { .. }
            | Self::MergePartitions { .. }
            | Self::GivePartitionKey { .. }
            | Self::CreateScript { .. }
            | Self::ReplaceScript { .. }
            | Self::DeleteScript(_)
            | Self::ReplaceOffer { .. } => Effect::Controls,
        }
    }

    /// Whether a read-only credential may run it.
    pub fn is_read(&self) -> bool {
        self.effect() == Effect::Reads
    }

    /// Whether it changes databases, collections, throughput and the like, or shows tokens.
    pub fn is_control(&self) -> bool {
        self.effect() == Effect::Controls
    }
}

/// A query has the effect of listing the same feed.
fn effect_of_query(feed: &QueryFeed) -> Effect {
    match feed {
        QueryFeed::Databases
        | QueryFeed::Collections(_)
        | QueryFeed::Documents(_)
        | QueryFeed::PartitionKeyRanges(_)
        | QueryFeed::Offers
        | QueryFeed::Scripts(..)
        | QueryFeed::EncryptionKeys(_)
        | QueryFeed::Users(_)
        | QueryFeed::Attachments(_)
        | QueryFeed::Conflicts(_) => Effect::Reads,
        QueryFeed::Permissions(_) => Effect::Controls,
    }
}

/// Fails if the caller's key or role does not allow the operation. The rights of a resource token
/// depend on its permission, which only the service can look up.
pub fn check(principal: Principal, operation: &Operation) -> Result<(), Error> {
    match (principal.proof(), operation.effect()) {
        (Proof::Key | Proof::Role(Role::Owner) | Proof::Token(_), _)
        | (Proof::ReadOnlyKey | Proof::Role(_), Effect::Reads)
        | (Proof::Role(Role::Contributor), Effect::ChangesData) => Ok(()),
        (Proof::ReadOnlyKey, Effect::ChangesData | Effect::Controls) => Err(read_only()),
        (Proof::Role(Role::Reader), Effect::ChangesData) => Err(not_granted(operation.name())),
        (Proof::Role(Role::Reader | Role::Contributor), Effect::Controls) => {
            Err(not_supported(operation.name()))
        }
    }
}

/// Fails for a read-only key. For requests that write, whatever their operation turns out to be.
pub fn check_may_write(principal: Principal) -> Result<(), Error> {
    match principal.proof() {
        Proof::ReadOnlyKey => Err(read_only()),
        Proof::Key | Proof::Role(_) | Proof::Token(_) => Ok(()),
    }
}

fn read_only() -> Error {
    Error::new(Code::Forbidden, "The authorization token was signed with a read-only key.")
}

/// The service's error for an operation that no access token may run.
fn not_supported(action: &str) -> Error {
    Error::new(
        Code::ActionNotSupported,
        format!(
            "Request blocked by Auth: the action {action} cannot be authorized by an access token \
             in the data plane. Use a key of the account."
        ),
    )
}

/// The service's error for an access token whose holder's role is not sufficient.
fn not_granted(action: &str) -> Error {
    Error::new(
        Code::ActionNotGranted,
        format!(
            "Request blocked by Auth: the principal does not have required RBAC permissions to \
             perform the action {action}. Learn more: https://aka.ms/cosmos-native-rbac."
        ),
    )
}
