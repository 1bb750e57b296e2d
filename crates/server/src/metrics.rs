//! Figures for Prometheus, as the text that `/_sheaf/metrics` answers.
//!
//! Counters of requests are kept here; everything else is asked for at the moment of a scrape, so
//! that nothing has to be kept in step.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, PoisonError, RwLock, atomic::AtomicU64},
    time::Duration,
};

use net::{Closed, Room};
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric as _, text},
    metrics::{
        MetricType,
        counter::{ConstCounter, Counter},
        family::Family,
        gauge::{ConstGauge, Gauge},
        histogram::Histogram,
        info::Info,
    },
    registry::Registry,
};

use protocol::operator::{Operator, PartitionStatistics, Reshapes};
use store::Store;

/// Upper bounds of the latency histogram, in seconds: from a cached read to a slow query.
const LATENCY_BOUNDS: [f64; 14] = [
    0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 2.5, 10.0,
];

type OperationLabels = [(&'static str, &'static str); 1];
type Charge = Counter<f64, AtomicU64>;

/// All metrics of the process.
pub(crate) struct Metrics {
    registry: Registry,
    requests: Arc<Requests>,
}

impl Metrics {
    /// Metrics of this database. `started` is the time of the start since the epoch.
    pub(crate) fn new(
        operator: Arc<dyn Operator>,
        store: Arc<dyn Store>,
        room: Room,
        started: Duration,
    ) -> Self {
        let mut registry = Registry::with_prefix("sheaf");
        let requests = Arc::new(Requests::register(&mut registry));
        let build = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "The program that is running", build);
        let start: Gauge<f64, AtomicU64> = Gauge::default();
        start.set(started.as_secs_f64());
        let help = "Start time of the process, in seconds since the epoch";
        registry.register("process_start_time_seconds", help, start);
        registry.register_collector(Box::new(AtScrape { operator, store, room }));
        Self { registry, requests }
    }

    /// What counts requests.
    pub(crate) fn recorder(&self) -> Arc<dyn gateway::Recorder> {
        Arc::clone(&self.requests) as _
    }

    /// The page, in the OpenMetrics text format.
    pub(crate) fn page(&self) -> Result<String, fmt::Error> {
        let mut page = String::new();
        text::encode(&mut page, &self.registry)?;
        Ok(page)
    }
}

/// What is counted of requests.
struct Requests {
    total: Family<[(&'static str, String); 2], Counter>,
    duration: Family<OperationLabels, Histogram, fn() -> Histogram>,
    charge: Family<OperationLabels, Charge>,
    /// The figures of each operation and status that there was.
    known: RwLock<BTreeMap<(&'static str, u16), Arc<Figures>>>,
}

/// What is counted of an operation with one status. Their copies in the families count along.
struct Figures {
    total: Counter,
    duration: Histogram,
    charge: Charge,
}

impl Requests {
    fn register(registry: &mut Registry) -> Self {
        let requests = Self {
            total: Family::default(),
            duration: Family::new_with_constructor(|| Histogram::new(LATENCY_BOUNDS)),
            charge: Family::default(),
            known: RwLock::default(),
        };
        registry.register("requests", "Requests answered", requests.total.clone());
        let help = "Time from a request's head to its answer, in seconds";
        registry.register("request_duration_seconds", help, requests.duration.clone());
        registry.register("request_charge", "Request units charged", requests.charge.clone());
        requests
    }
}

impl Requests {
    /// What is counted of an operation with this status. Making the labels costs more than counting.
    fn figures(&self, operation: &'static str, status: u16) -> Arc<Figures> {
        let key = (operation, status);
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        known.unwrap_or_else(|| {
            let labels = [("operation", operation)];
            let with_status = [("operation", operation.to_owned()), ("status", status.to_string())];
            let figures = Arc::new(Figures {
                total: self.total.get_or_create(&with_status).clone(),
                duration: self.duration.get_or_create(&labels).clone(),
                charge: self.charge.get_or_create(&labels).clone(),
            });
            let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(known.entry(key).or_insert(figures))
        })
    }
}

impl gateway::Recorder for Requests {
    fn record(&self, operation: &'static str, status: u16, elapsed: Duration, charge: f64) {
        let figures = self.figures(operation, status);
        figures.total.inc();
        figures.duration.observe(elapsed.as_secs_f64());
        // A counter must not fall, whatever the charge may be.
        figures.charge.inc_by(charge.max(0.0));
    }
}

/// What is asked for at a scrape.
struct AtScrape {
    operator: Arc<dyn Operator>,
    store: Arc<dyn Store>,
    room: Room,
}

impl fmt::Debug for AtScrape {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("AtScrape")
    }
}

impl Collector for AtScrape {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        gauge(&mut encoder, "connections", "Open connections", self.room.taken() as f64)?;
        self.encode_refused(&mut encoder)?;
        self.encode_partitions(&mut encoder)?;
        self.encode_reshapes(&mut encoder)?;
        let free = self.operator.disk_free_bytes() as f64;
        gauge(&mut encoder, "disk_free_bytes", "Free space of the disk, zero in memory", free)?;
        let store = self.store.statistics();
        let micros = Duration::from_micros(store.commit_micros).as_secs_f64();
        counter(&mut encoder, "store_commit_groups", "Groups written", store.commit_groups as f64)?;
        let help = "Batches in those groups";
        counter(&mut encoder, "store_committed_batches", help, store.committed_batches as f64)?;
        let help = "Keys put or deleted by them";
        counter(&mut encoder, "store_keys_written", help, store.keys_written as f64)?;
        let help = "Keys looked up and entries scanned";
        counter(&mut encoder, "store_keys_read", help, store.keys_read as f64)?;
        let help = "Blocks read for them, cached or not";
        counter(&mut encoder, "store_blocks_read", help, store.blocks_read as f64)?;
        let help = "Blocks among them that were not cached";
        counter(&mut encoder, "store_blocks_loaded", help, store.blocks_loaded as f64)?;
        let help = "Reads that loaded blocks and took more than a millisecond";
        counter(&mut encoder, "store_slow_reads", help, store.slow_reads as f64)?;
        counter(&mut encoder, "store_commit_seconds", "Time spent in commits", micros)?;
        gauge(&mut encoder, "store_disk_bytes", "Bytes on disk", store.disk_bytes as f64)?;
        let help = "Memory of write buffers";
        gauge(&mut encoder, "store_write_buffer_bytes", help, store.write_buffer_bytes as f64)?;
        gauge(&mut encoder, "store_journals", "Journal files in use", store.journals as f64)?;
        let failed = f64::from(u8::from(self.operator.failure().is_some()));
        gauge(&mut encoder, "store_failed", "1 once the store refuses writes", failed)
    }
}

impl AtScrape {
    fn encode_refused(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let kind = ConstCounter::new(0.0).metric_type();
        let help = "Connections that were refused";
        let mut family = encoder.encode_descriptor("connections_refused", help, None, kind)?;
        for (closed, reason) in Closed::ALL {
            let count = self.room.gate().refused(closed) as f64;
            ConstCounter::new(count).encode(family.encode_family(&[("reason", reason)])?)?;
        }
        Ok(())
    }

    fn encode_reshapes(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let Reshapes { splits, merges, longest_pause } = self.operator.reshapes();
        counter(encoder, "partition_splits", "Partitions that were split", splits as f64)?;
        counter(encoder, "partition_merges", "Pairs that were merged", merges as f64)?;
        let help = "Longest pause of writes for a split or merge";
        gauge(encoder, "partition_pause_seconds_max", help, longest_pause.as_secs_f64())
    }

    fn encode_partitions(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        type Figure = fn(&PartitionStatistics) -> f64;
        let gauges: [(&str, &str, Figure); 8] = [
            ("partition_documents", "Documents of a partition", |p| p.documents as f64),
            ("partition_bytes", "Bytes of its documents", |p| p.bytes as f64),
            ("partition_index_bytes", "Bytes of its index", |p| p.index_bytes as f64),
            ("partition_lsn", "Its last published transaction", |p| p.lsn as f64),
            ("partition_queued", "Writes waiting for their commit", |p| p.queued as f64),
            ("partition_request_units_used", "Spent in the last whole second", |p| {
                p.used_per_second
            }),
            (
                "partition_request_units_reserved",
                "Provisioned per second for it, or for the whole database if shared",
                |p| p.reserved_per_second,
            ),
            // Which key it is would be a new series with every key: the page of partitions names it.
            (
                "partition_hottest_key_units",
                "Request units per second of its hottest logical key",
                |p| p.hottest.first().map_or(0.0, |hot| hot.units_per_second),
            ),
        ];
        let counters: [(&str, &str, Figure); 2] = [
            ("partition_requests_admitted", "Requests that it served", |p| p.admitted as f64),
            ("partition_requests_throttled", "Requests that it refused with 429", |p| {
                p.throttled as f64
            }),
        ];
        let gauges = gauges.map(|figure| (figure, ConstGauge::new(0.0).metric_type()));
        let counters = counters.map(|figure| (figure, ConstCounter::new(0.0).metric_type()));
        let partitions = self.operator.partitions();
        for ((name, help, figure), kind) in gauges.into_iter().chain(counters) {
            let mut family = encoder.encode_descriptor(name, help, None, kind)?;
            for partition in &partitions {
                let labels = [
                    ("database", partition.database.clone()),
                    ("collection", partition.collection.clone()),
                    ("range", partition.range_id.to_string()),
                ];
                let (value, family) = (figure(partition), family.encode_family(&labels)?);
                match kind {
                    MetricType::Counter => ConstCounter::new(value).encode(family)?,
                    _ => ConstGauge::new(value).encode(family)?,
                }
            }
        }
        Ok(())
    }
}

fn gauge(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: f64) -> fmt::Result {
    let gauge = ConstGauge::new(value);
    gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)
}

fn counter(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: f64) -> fmt::Result {
    let counter = ConstCounter::new(value);
    counter.encode(encoder.encode_descriptor(name, help, None, counter.metric_type())?)
}
