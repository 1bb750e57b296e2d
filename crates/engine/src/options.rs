//! How a database is set up.

use std::{sync::Arc, time::Duration};

use partition::{STORE_PATIENCE, charge::Charges};
use protocol::{limits::PARTITION_THROUGHPUT_MAX, request::ConsistencyLevel};
use query::reading::Rules;

use catalog::limits::{Limits, Sizes};

use partition::disk::Disk;

/// When a partition's throughput is enforced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RateLimit {
    /// Always, with the default throughput where none was asked for.
    Always,
    /// Only where throughput was asked for.
    #[default]
    Provisioned,
    /// Never.
    Never,
}

/// How a database is set up.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which price list.
    pub charges: Charges,
    /// When throughput is enforced.
    pub rate_limit: RateLimit,
    /// Whose limits apply.
    pub limits: Limits,
    /// The most throughput that a collection or database may have, if not what those limits say.
    pub throughput_max: Option<u32>,
    /// The manual throughput that one physical partition carries, in request units per second.
    pub partition_throughput: u32,
    /// How much may be stored: [`Sizes::of`] those limits, unless the operator says otherwise.
    pub sizes: Sizes,
    /// The account's consistency level: what a request without one gets.
    pub default_consistency: ConsistencyLevel,
    /// How long a page of a query may take before it is cut short and continued.
    pub page_time: Duration,
    /// How long a write waits for others to be done with its partition key.
    pub key_patience: Duration,
    /// How long an answer waits for the store to confirm what it depends on.
    pub store_patience: Duration,
    /// Bytes that all queries may hold together while they work. One of them may hold half.
    pub query_memory: usize,
    /// How long a query may take that cannot be continued.
    pub query_timeout: Duration,
    /// The processes that run users' scripts.
    pub scripts: script::PoolOptions,
    /// How often it is looked for documents that have expired and are still stored.
    pub sweep_interval: Duration,
    /// For how long collections keep all versions whose own policy does not say; `None` if they do
    /// not.
    pub all_versions_retention: Option<Duration>,
    /// Whether the disk has room. Somebody outside looks at it, and notes here what is there.
    pub disk: Arc<Disk>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            charges: Charges::default(),
            rate_limit: RateLimit::default(),
            limits: Limits::default(),
            throughput_max: None,
            partition_throughput: PARTITION_THROUGHPUT_MAX,
            sizes: Sizes::of(Limits::default()),
            default_consistency: ConsistencyLevel::Session,
            page_time: Duration::from_secs(5),
            key_patience: Duration::from_secs(10),
            store_patience: STORE_PATIENCE,
            query_memory: 256 << 20,
            query_timeout: Duration::from_mins(1),
            scripts: script::PoolOptions {
                program: "sheaf".into(),
                arguments: vec!["script-worker".into()],
                workers: 2,
                waiting_max: 256,
            },
            sweep_interval: Duration::from_secs(1),
            all_versions_retention: None,
            disk: Arc::default(),
        }
    }
}

impl From<&Options> for catalog::throughput::Rules {
    fn from(options: &Options) -> Self {
        let Options { limits, throughput_max, .. } = *options;
        Self { limits, most: throughput_max.unwrap_or_else(|| limits.throughput_max()) }
    }
}

impl Options {
    /// What readers go by.
    pub(crate) fn rules(&self) -> Rules {
        Rules {
            default_consistency: self.default_consistency,
            page_time: self.page_time,
            query_timeout: self.query_timeout,
            all_versions_retention: self.all_versions_retention,
        }
    }
}
