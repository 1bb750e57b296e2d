//! What a caller may add to any operation.

use value::partition_key::{Epk, PartitionKey};

use crate::{query::QueryOptions, rid::CollectionRid, session::SessionTokens, token::TokenMark};

/// How fresh a read must be, from the strongest to the weakest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the five levels of the service")]
pub enum ConsistencyLevel {
    Strong,
    BoundedStaleness,
    Session,
    ConsistentPrefix,
    Eventual,
}

impl ConsistencyLevel {
    /// Reads the wire name, in any case.
    pub fn parse(text: &str) -> Option<Self> {
        [
            Self::Strong,
            Self::BoundedStaleness,
            Self::Session,
            Self::ConsistentPrefix,
            Self::Eventual,
        ]
        .into_iter()
        .find(|level| level.name().eq_ignore_ascii_case(text))
    }

    /// The wire name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Strong => "Strong",
            Self::BoundedStaleness => "BoundedStaleness",
            Self::Session => "Session",
            Self::ConsistentPrefix => "ConsistentPrefix",
            Self::Eventual => "Eventual",
        }
    }
}

/// Whether a document's properties are indexed, against the collection's default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the three words of the service")]
pub enum IndexingDirective {
    #[default]
    Default,
    Include,
    Exclude,
}

/// What a caller may add to any operation.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Only if the stored etag is this one (or anything, for `*`).
    pub if_match: Option<String>,
    /// Only if the stored etag is not this one.
    pub if_none_match: Option<String>,
    /// The partition key that the caller named. `Some` of an empty list is the "empty" key.
    pub partition_key: Option<PartitionKey>,
    /// Only this physical partition.
    pub range_id: Option<String>,
    /// The collection of which the caller knows that partition.
    pub range_collection: Option<CollectionRid>,
    /// The caller does not recover when that partition has been split or merged: answer for what it
    /// held.
    pub keeps_old_ranges: bool,
    /// Only keys in this half-open range of effective partition keys.
    pub epk_range: Option<(Epk, Epk)>,
    /// Most items in a page; `None` lets the server decide.
    pub max_item_count: Option<u32>,
    /// Where an earlier page stopped.
    pub continuation: Option<String>,
    /// The consistency asked for, when it is not the account's.
    pub consistency: Option<ConsistencyLevel>,
    /// The writes that the caller has seen.
    pub session: Option<SessionTokens>,
    /// The collection the caller believes to be speaking to, by rid.
    pub intended_collection_rid: Option<String>,
    /// Leave the document out of the answer to a write.
    pub minimal_response: bool,
    /// Add quota and usage to the answer of a collection read.
    pub populate_quota: bool,
    /// Never tell of quota and usage: the caller may know a part of the collection only.
    pub hides_usage: bool,
    /// Show collections without a partition key as having none: the caller is too old to know the key
    /// that stands for it.
    pub hides_system_key: bool,
    /// Keep the `indexes` of included paths in a policy that replaces another: the caller is old enough
    /// to know them.
    pub keeps_legacy_indexes: bool,
    /// Add partition statistics to the answer of a collection read.
    pub populate_statistics: bool,
    /// Index this document or not.
    pub indexing_directive: IndexingDirective,
    /// Triggers to run before the write, by name or rid.
    pub pre_triggers: Vec<String>,
    /// Triggers to run after the write, in the same transaction.
    pub post_triggers: Vec<String>,
    /// Keep what scripts log, for the answer.
    pub enable_script_logging: bool,
    /// What concerns queries only.
    pub query: QueryOptions,
    /// What stands for the tokens of permissions in the answer; without it, permissions are shown
    /// without.
    pub token_mark: Option<TokenMark>,
}

impl Options {
    /// Whether a read must have seen what the caller's session has. The weaker levels promise less;
    /// the stronger ones promise more without any token, so it is not looked at.
    pub fn is_session_read(&self, default: ConsistencyLevel) -> bool {
        self.consistency.unwrap_or(default) == ConsistencyLevel::Session
    }
}
