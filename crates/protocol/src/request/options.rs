//! Options that apply to any operation.

use value::partition_key::{Epk, PartitionKey};

use crate::{query::QueryOptions, rid::CollectionRid, session::SessionTokens, token::TokenMark};

/// The consistency of a read, from strongest to weakest.
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
    /// Parses the wire name, ignoring case.
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

/// Whether a document is indexed, overriding the collection's default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the three words of the service")]
pub enum IndexingDirective {
    #[default]
    Default,
    Include,
    Exclude,
}

/// Options that apply to any operation.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Only if the stored etag is this one (or anything, for `*`).
    pub if_match: Option<String>,
    /// Only if the stored etag is not this one.
    pub if_none_match: Option<String>,
    /// The partition key given by the caller. `Some` of an empty list is the "empty" key.
    pub partition_key: Option<PartitionKey>,
    /// Only this physical partition.
    pub range_id: Option<String>,
    /// The collection to which the caller thinks that partition belongs.
    pub range_collection: Option<CollectionRid>,
    /// Answer for the area of a partition that was split or merged, because the caller does not
    /// recover from that by itself.
    pub keeps_old_ranges: bool,
    /// Only keys in this half-open range of effective partition keys.
    pub epk_range: Option<(Epk, Epk)>,
    /// The most items in a page; `None` lets the server decide.
    pub max_item_count: Option<u32>,
    /// Where an earlier page stopped.
    pub continuation: Option<String>,
    /// The requested consistency, if it is not the account's.
    pub consistency: Option<ConsistencyLevel>,
    /// The writes that the caller has seen.
    pub session: Option<SessionTokens>,
    /// The rid of the collection that the caller thinks it is addressing.
    pub intended_collection_rid: Option<String>,
    /// Omit the document from the response to a write.
    pub minimal_response: bool,
    /// Add quota and usage to the response of a collection read.
    pub populate_quota: bool,
    /// Never return quota and usage, because the caller may only know a part of the collection.
    pub hides_usage: bool,
    /// Show collections without a partition key as having none, because the caller is too old to
    /// know the key that stands for it.
    pub hides_system_key: bool,
    /// Keep the `indexes` of included paths in a replaced policy, because the caller is old enough
    /// to know them.
    pub keeps_legacy_indexes: bool,
    /// Add partition statistics to the response of a collection read.
    pub populate_statistics: bool,
    /// Whether to index this document.
    pub indexing_directive: IndexingDirective,
    /// Triggers to run before the write, by name or rid.
    pub pre_triggers: Vec<String>,
    /// Triggers to run after the write, in the same transaction.
    pub post_triggers: Vec<String>,
    /// Return what scripts log.
    pub enable_script_logging: bool,
    /// Options for queries only.
    pub query: QueryOptions,
    /// The placeholder for permissions' tokens in the response; without it, permissions are shown
    /// without tokens.
    pub token_mark: Option<TokenMark>,
}

impl Options {
    /// Whether a read must have seen what the caller's session has. The weaker levels promise less,
    /// and the stronger ones promise more without a token, so both ignore it.
    pub fn is_session_read(&self, default: ConsistencyLevel) -> bool {
        self.consistency.unwrap_or(default) == ConsistencyLevel::Session
    }
}
