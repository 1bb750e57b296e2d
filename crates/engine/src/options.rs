//! Settings of a database.

use std::{sync::Arc, time::Duration};

use partition::{STORE_PATIENCE, charge::Charges};
use protocol::{limits::PARTITION_THROUGHPUT_MAX, request::ConsistencyLevel};
use query::reading::Rules;

use catalog::limits::{Limits, Sizes};

use partition::disk::Disk;

/// When a partition's throughput is enforced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RateLimit {
    /// Always, with the default throughput where the client asked for none.
    Always,
    /// Only where the client asked for throughput.
    #[default]
    Provisioned,
    /// Never.
    Never,
}

/// The settings of a database.
#[derive(Clone, Debug)]
pub struct Options {
    /// The price list.
    pub charges: Charges,
    /// When throughput is enforced.
    pub rate_limit: RateLimit,
    /// Which service's limits apply.
    pub limits: Limits,
    /// The highest throughput of a collection or database, if it differs from those limits.
    pub throughput_max: Option<u32>,
    /// The manual throughput that one physical partition carries, in request units per second.
    pub partition_throughput: u32,
    /// How much may be stored: by default [`Sizes::of`] those limits.
    pub sizes: Sizes,
    /// The account's consistency level: the default for requests.
    pub default_consistency: ConsistencyLevel,
    /// How long a page of a query may take before it is cut short and continued.
    pub page_time: Duration,
    /// How long a write waits for other writers of its partition key.
    pub key_patience: Duration,
    /// How long an answer waits for the store to confirm what it depends on.
    pub store_patience: Duration,
    /// Bytes of memory that all running queries may hold together. One of them may hold half.
    pub query_memory: usize,
    /// How long a query that cannot be continued may take.
    pub query_timeout: Duration,
    /// The processes that run users' scripts.
    pub scripts: script::PoolOptions,
    /// How often the sweep looks for expired documents.
    pub sweep_interval: Duration,
    /// How long collections keep all versions, unless their own policy says otherwise; `None` if
    /// they do not keep them.
    pub all_versions_retention: Option<Duration>,
    /// Whether the disk has room. The caller of this crate measures and updates it.
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
    /// The rules that readers use.
    pub(crate) fn rules(&self) -> Rules {
        Rules {
            default_consistency: self.default_consistency,
            page_time: self.page_time,
            query_timeout: self.query_timeout,
            all_versions_retention: self.all_versions_retention,
        }
    }
}
