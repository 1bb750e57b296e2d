//! Logs: one line per event on stderr, so that stdout stays free for the ready line.
//!
//! No key, signature or document ever goes into a log line.

use std::io;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::{Layer, Registry, filter::Targets, layer::SubscriberExt as _};

use crate::settings::{LogFormat, LogLevel};

/// The crates that log at the requested level; other crates log warnings only.
const OURS: &[&str] = &[
    "sheaf",
    "gateway",
    "catalog",
    "engine",
    "net",
    "partition",
    "protocol",
    "query",
    "store",
    "store_lsm",
    "index",
    "sql",
    "script",
    "tools",
    "value",
];

/// Starts logging for the whole process.
pub(crate) fn start(format: LogFormat, level: LogLevel) {
    let level = match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
    };
    let filter = Targets::new()
        .with_default(level.min(LevelFilter::WARN))
        .with_targets(OURS.iter().map(|name| (*name, level)));
    let lines = tracing_subscriber::fmt::layer().with_writer(io::stderr);
    let layer: Box<dyn Layer<Registry> + Send + Sync> = match format {
        LogFormat::Text => lines.with_ansi(false).with_filter(filter).boxed(),
        LogFormat::Json => lines.json().flatten_event(true).with_filter(filter).boxed(),
    };
    // This fails only if a subscriber is already set, which then stays.
    let _ = tracing::subscriber::set_global_default(Registry::default().with(layer));
}
