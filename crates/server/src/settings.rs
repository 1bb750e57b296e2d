//! The settings of `sheaf serve`, each declared once: as a flag, an environment variable and a key
//! of the configuration file, all of the same name.
//!
//! Every field is optional here, because "not given" must stay different from "given the default value":
//! in [`crate::config`], flags and environment override the file, and the file overrides the defaults.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use net::Network;
use serde::Deserialize;
use tools::keys::Secret;

use crate::{size::Size, span::Span};

/// Whether a request may be refused because the provisioned throughput is used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RateLimit {
    /// Every collection is limited; those without a throughput get the service's minimum
    Always,
    /// Collections and databases with a provisioned throughput are limited to it
    Provisioned,
    /// Nothing is limited
    Never,
}

/// Which table of request charges applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
pub(crate) enum Charges {
    /// Charges as the service computes them today
    #[serde(rename = "current")]
    Current,
    /// Charges as published in 2017
    #[value(name = "2017")]
    #[serde(rename = "2017")]
    Y2017,
}

/// Which set of service limits applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
pub(crate) enum Limits {
    /// The service's limits today
    #[serde(rename = "current")]
    Current,
    /// The limits of 2016
    #[value(name = "2016")]
    #[serde(rename = "2016")]
    Y2016,
    /// The limits of 2017
    #[value(name = "2017")]
    #[serde(rename = "2017")]
    Y2017,
}

/// The default consistency level of reads, which is also the strongest that a request may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Consistency {
    /// The latest write; reads cost double
    Strong,
    /// At most a number of writes or a time behind; reads cost double
    BoundedStaleness,
    /// Clients read their own writes
    Session,
    /// Writes in order, without some of the latest
    ConsistentPrefix,
    /// Writes in any order
    Eventual,
}

impl From<Consistency> for protocol::request::ConsistencyLevel {
    fn from(said: Consistency) -> Self {
        match said {
            Consistency::Strong => Self::Strong,
            Consistency::BoundedStaleness => Self::BoundedStaleness,
            Consistency::Session => Self::Session,
            Consistency::ConsistentPrefix => Self::ConsistentPrefix,
            Consistency::Eventual => Self::Eventual,
        }
    }
}

impl From<Limits> for engine::Limits {
    fn from(said: Limits) -> Self {
        match said {
            Limits::Current => Self::Current,
            Limits::Y2016 => Self::Y2016,
            Limits::Y2017 => Self::Y2017,
        }
    }
}

/// Who merges a query over several partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CrossPartition {
    /// Clients that show that they can; the server merges for the others
    Auto,
    /// Every client, as in the service
    Service,
    /// No client: the server merges every query
    Direct,
}

impl From<CrossPartition> for gateway::CrossPartition {
    fn from(said: CrossPartition) -> Self {
        match said {
            CrossPartition::Auto => Self::Auto,
            CrossPartition::Service => Self::Service,
            CrossPartition::Direct => Self::Direct,
        }
    }
}

/// Which protocols the port accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TlsMode {
    /// Plain HTTP and TLS on the same port
    Optional,
    /// TLS only
    Required,
    /// Plain HTTP only
    Off,
}

/// Who may read `/_sheaf/metrics`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum MetricsAccess {
    /// Clients on this machine
    Loopback,
    /// Any client that reaches the port
    Any,
    /// Nobody
    Off,
}

/// The format of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogFormat {
    /// One line for people
    Text,
    /// One JSON object per line
    Json,
}

/// The log level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogLevel {
    /// Problems that need action
    Error,
    /// Problems that may need action
    Warn,
    /// Starts, stops and other rare events
    Info,
    /// Every request, and connections that failed
    Debug,
}

/// The settings from one source: flags and environment, or the file.
#[derive(Args, Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Settings {
    /// Address to listen on; a name or an IP address [default: 127.0.0.1]
    #[arg(long, env = "SHEAF_HOST", value_name = "ADDRESS", help_heading = "Listening")]
    pub(crate) host: Option<String>,

    /// Port to listen on; 0 picks a free one [default: 8081]
    #[arg(long, env = "SHEAF_PORT", value_name = "PORT", help_heading = "Listening")]
    pub(crate) port: Option<u16>,

    /// Public endpoint, as `https://db.example`, for a server behind a proxy or a mapped port
    /// [default: the endpoint that the client used]
    #[arg(long, env = "SHEAF_ADVERTISE", value_name = "URL", help_heading = "Listening")]
    pub(crate) advertise: Option<String>,

    /// Networks of proxies whose Forwarded, X-Forwarded-Proto and X-Forwarded-Host headers count,
    /// separated by commas [default: none]
    #[arg(long, env = "SHEAF_TRUSTED_PROXIES", value_name = "NETWORKS")]
    #[arg(value_delimiter = ',', help_heading = "Listening")]
    pub(crate) trusted_proxies: Option<Vec<Network>>,

    /// Directory for the data; created if it does not exist [default: ./sheaf-data]
    #[arg(long, env = "SHEAF_DATA_DIR", value_name = "DIR", help_heading = "Storage")]
    pub(crate) data_dir: Option<PathBuf>,

    /// Keep everything in memory and nothing on disk
    #[arg(long, env = "SHEAF_IN_MEMORY", help_heading = "Storage")]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    #[arg(value_name = "BOOL", hide_possible_values = true)]
    pub(crate) in_memory: Option<bool>,

    /// Memory for cached rows and blocks of the store, in MiB [default: an eighth of the memory, from 16 to 512]
    #[arg(long, env = "SHEAF_CACHE_MB", value_name = "MIB", help_heading = "Storage")]
    pub(crate) cache_mb: Option<u32>,

    /// Free disk space below which no data may grow [default: 256MB, or a twentieth of a small disk]
    #[arg(long, env = "SHEAF_DISK_RESERVE", value_name = "SIZE", help_heading = "Storage")]
    pub(crate) disk_reserve: Option<Size>,

    /// Size at which a partition splits [default: 50GB; 10GB under the limits of 2016 and 2017]
    #[arg(long, env = "SHEAF_PARTITION_SIZE", value_name = "SIZE", help_heading = "Storage")]
    pub(crate) partition_size: Option<Size>,

    /// Maximum data of one partition key value [default: 20GB; 10GB under the limits of 2016 and 2017]
    #[arg(long, env = "SHEAF_LOGICAL_PARTITION_SIZE", help_heading = "Storage")]
    #[arg(value_name = "SIZE")]
    pub(crate) logical_partition_size: Option<Size>,

    /// Key of the account, instead of a key file; the flag is visible in the list of processes, so
    /// prefer the variable or the configuration file
    #[arg(long, env = "SHEAF_KEY", value_name = "KEY", hide_env_values = true)]
    #[arg(help_heading = "Access")]
    pub(crate) key: Option<Secret>,

    /// File with the account's keys [default: `keys` in the data directory, else the well-known key]
    #[arg(long, env = "SHEAF_KEY_FILE", value_name = "FILE", help_heading = "Access")]
    pub(crate) key_file: Option<PathBuf>,

    /// Accept the well-known key on an address that other machines can reach
    #[arg(long, env = "SHEAF_ALLOW_PUBLISHED_KEY", help_heading = "Access")]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    #[arg(value_name = "BOOL", hide_possible_values = true)]
    pub(crate) allow_published_key: Option<bool>,

    /// File that lists whose access tokens (Entra ID) are accepted, and what they may do
    #[arg(long, env = "SHEAF_TOKEN_ISSUERS", value_name = "FILE", help_heading = "Access")]
    pub(crate) token_issuers: Option<PathBuf>,

    /// Accept every access token: for development, on this machine only
    #[arg(long, env = "SHEAF_TRUST_ANY_TOKEN", help_heading = "Access")]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    #[arg(value_name = "BOOL", hide_possible_values = true)]
    pub(crate) trust_any_token: Option<bool>,

    /// Who may read /_sheaf/metrics without a key [default: loopback]
    #[arg(long, env = "SHEAF_METRICS", value_name = "WHO", help_heading = "Access")]
    pub(crate) metrics: Option<MetricsAccess>,

    /// Networks that may connect, as 10.0.0.0/8 or ::1, separated by commas [default: all]
    #[arg(long, env = "SHEAF_ALLOW_NETWORKS", value_name = "NETWORKS", help_heading = "Access")]
    #[arg(value_delimiter = ',')]
    pub(crate) allow_networks: Option<Vec<Network>>,

    /// Web pages that may use the database, as `https://app.example` or `*`, separated by commas
    /// [default: none]
    #[arg(long, env = "SHEAF_CORS_ORIGINS", value_name = "ORIGINS", help_heading = "Access")]
    #[arg(value_delimiter = ',')]
    pub(crate) cors_origins: Option<Vec<String>>,

    /// Whether the port accepts TLS, plain HTTP or both [default: optional]
    #[arg(long, env = "SHEAF_TLS", value_name = "MODE", help_heading = "TLS")]
    pub(crate) tls: Option<TlsMode>,

    /// Certificate chain in PEM [default: a generated, self-signed one]
    #[arg(long, env = "SHEAF_TLS_CERT", value_name = "FILE", help_heading = "TLS")]
    pub(crate) tls_cert: Option<PathBuf>,

    /// Private key of the certificate in PEM
    #[arg(long, env = "SHEAF_TLS_KEY", value_name = "FILE", help_heading = "TLS")]
    pub(crate) tls_key: Option<PathBuf>,

    /// Certificate authorities in PEM that must have signed a client's certificate; requires `tls = required`
    #[arg(long, env = "SHEAF_TLS_CLIENT_CA", value_name = "FILE", help_heading = "TLS")]
    pub(crate) tls_client_ca: Option<PathBuf>,

    /// When requests are refused with 429 [default: provisioned]
    #[arg(long, env = "SHEAF_RATE_LIMIT", value_name = "WHEN", help_heading = "Behaviour")]
    pub(crate) rate_limit: Option<RateLimit>,

    /// Table of request charges [default: current]
    #[arg(long, env = "SHEAF_CHARGES", value_name = "TABLE", help_heading = "Behaviour")]
    pub(crate) charges: Option<Charges>,

    /// Set of service limits [default: current]
    #[arg(long, env = "SHEAF_LIMITS", value_name = "SET", help_heading = "Behaviour")]
    pub(crate) limits: Option<Limits>,

    /// Maximum throughput of a collection or database [default: 1000000; 250000 under the limits of 2016]
    #[arg(long, env = "SHEAF_THROUGHPUT_MAX", value_name = "RU/S", help_heading = "Behaviour")]
    pub(crate) throughput_max: Option<u32>,

    /// Manual throughput of one partition [default: 10000]
    #[arg(
        long,
        env = "SHEAF_PARTITION_THROUGHPUT",
        value_name = "RU/S",
        help_heading = "Behaviour"
    )]
    pub(crate) partition_throughput: Option<u32>,

    /// The account's consistency level; requests may ask for a weaker one [default: session]
    #[arg(long, env = "SHEAF_CONSISTENCY", value_name = "LEVEL", help_heading = "Behaviour")]
    pub(crate) consistency: Option<Consistency>,

    /// Number of writes that a read may be behind, with bounded staleness [default: 100]
    #[arg(long, env = "SHEAF_MAX_STALENESS_PREFIX", value_name = "N", help_heading = "Behaviour")]
    pub(crate) max_staleness_prefix: Option<u32>,

    /// Time that a read may be behind, with bounded staleness [default: 5s]
    #[arg(long, env = "SHEAF_MAX_STALENESS_INTERVAL", help_heading = "Behaviour")]
    #[arg(value_name = "TIME")]
    pub(crate) max_staleness_interval: Option<Span>,

    /// Who merges queries over partitions [default: auto]
    #[arg(long, env = "SHEAF_CROSS_PARTITION", value_name = "WHO", help_heading = "Behaviour")]
    pub(crate) cross_partition: Option<CrossPartition>,

    /// How long collections keep all versions and deletes for the change feed, unless their own policy
    /// says so, from 1m to 365d [default: they do not]
    #[arg(long, env = "SHEAF_ALL_VERSIONS_RETENTION", help_heading = "Behaviour")]
    #[arg(value_name = "DURATION")]
    pub(crate) all_versions_retention: Option<Span>,

    /// Maximum number of connections; more are refused with 503 [default: 4096]
    #[arg(long, env = "SHEAF_MAX_CONNECTIONS", value_name = "N", help_heading = "Bounds")]
    pub(crate) max_connections: Option<u32>,

    /// Maximum number of connections from one address, 0 for no limit [default: half of max-connections, no
    /// limit for clients on this machine]
    #[arg(long, env = "SHEAF_MAX_CONNECTIONS_PER_CLIENT", value_name = "N")]
    #[arg(help_heading = "Bounds")]
    pub(crate) max_connections_per_client: Option<u32>,

    /// Maximum number of concurrent requests from one address, 0 for no limit; more are refused with 429
    /// [default: 1024, no limit for clients on this machine]
    #[arg(long, env = "SHEAF_MAX_REQUESTS_PER_CLIENT", value_name = "N")]
    #[arg(help_heading = "Bounds")]
    pub(crate) max_requests_per_client: Option<u32>,

    /// Requests without a valid signature in a minute after which an address is refused for a
    /// minute, 0 for never [default: 1000, never for clients on this machine]
    #[arg(long, env = "SHEAF_MAX_FAILURES_PER_CLIENT", value_name = "N")]
    #[arg(help_heading = "Bounds")]
    pub(crate) max_failures_per_client: Option<u32>,

    /// Largest request body; larger ones are refused with 413 [default: 4194304]
    #[arg(long, env = "SHEAF_MAX_BODY_BYTES", value_name = "BYTES", help_heading = "Bounds")]
    pub(crate) max_body_bytes: Option<u32>,

    /// Time limit for queries that cannot continue in another page [default: 60s]
    #[arg(long, env = "SHEAF_QUERY_TIMEOUT", value_name = "TIME", help_heading = "Bounds")]
    pub(crate) query_timeout: Option<Span>,

    /// Memory for all running queries together; one may use half of it [default: 256MB]
    #[arg(long, env = "SHEAF_QUERY_MEMORY", value_name = "SIZE", help_heading = "Bounds")]
    pub(crate) query_memory: Option<Size>,

    /// Number of scripts that run at a time, each in its own process [default: the number of processors, at least 8]
    #[arg(long, env = "SHEAF_SCRIPT_WORKERS", value_name = "N", help_heading = "Bounds")]
    pub(crate) script_workers: Option<u32>,

    /// Time for a TLS handshake or the head of a request [default: 10s]
    #[arg(long, env = "SHEAF_HEADER_TIMEOUT", value_name = "TIME", help_heading = "Bounds")]
    pub(crate) header_timeout: Option<Span>,

    /// Time without progress after which a request body or a response is given up [default: 30s]
    #[arg(long, env = "SHEAF_STALL_TIMEOUT", value_name = "TIME", help_heading = "Bounds")]
    pub(crate) stall_timeout: Option<Span>,

    /// Time a connection may stay open without a request [default: 5m]
    #[arg(long, env = "SHEAF_IDLE_TIMEOUT", value_name = "TIME", help_heading = "Bounds")]
    pub(crate) idle_timeout: Option<Span>,

    /// Time for running requests to finish when the server stops [default: 30s]
    #[arg(long, env = "SHEAF_SHUTDOWN_TIMEOUT", value_name = "TIME", help_heading = "Bounds")]
    pub(crate) shutdown_timeout: Option<Span>,

    /// File of the audit log, or `off` [default: `audit.log` in the data directory; off in memory]
    #[arg(long, env = "SHEAF_AUDIT_LOG", value_name = "FILE", help_heading = "Logging")]
    pub(crate) audit_log: Option<PathBuf>,

    /// Size at which a new audit log file begins [default: 16MB]
    #[arg(long, env = "SHEAF_AUDIT_LOG_SIZE", value_name = "SIZE", help_heading = "Logging")]
    pub(crate) audit_log_size: Option<Size>,

    /// Number of audit log files to keep [default: 5]
    #[arg(long, env = "SHEAF_AUDIT_LOG_FILES", value_name = "N", help_heading = "Logging")]
    pub(crate) audit_log_files: Option<u32>,

    /// Print only the ready line when the server has started
    #[arg(long, env = "SHEAF_QUIET", help_heading = "Logging")]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    #[arg(value_name = "BOOL", hide_possible_values = true)]
    pub(crate) quiet: Option<bool>,

    /// Format of the log lines on stderr [default: text]
    #[arg(long, env = "SHEAF_LOG_FORMAT", value_name = "FORMAT", help_heading = "Logging")]
    pub(crate) log_format: Option<LogFormat>,

    /// Read PORT, PROTOCOL and similar variables, as the newer emulator does
    #[arg(long, env = "SHEAF_EMULATOR_VARIABLES", help_heading = "Configuration")]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    #[arg(value_name = "BOOL", hide_possible_values = true)]
    pub(crate) emulator_variables: Option<bool>,

    /// How much is logged [default: info]
    #[arg(long, env = "SHEAF_LOG_LEVEL", value_name = "LEVEL", help_heading = "Logging")]
    pub(crate) log_level: Option<LogLevel>,
}

impl Settings {
    /// These settings, with unset ones taken from `lower`.
    pub(crate) fn over(self, lower: Self) -> Self {
        Self {
            host: self.host.or(lower.host),
            port: self.port.or(lower.port),
            advertise: self.advertise.or(lower.advertise),
            trusted_proxies: self.trusted_proxies.or(lower.trusted_proxies),
            data_dir: self.data_dir.or(lower.data_dir),
            in_memory: self.in_memory.or(lower.in_memory),
            cache_mb: self.cache_mb.or(lower.cache_mb),
            disk_reserve: self.disk_reserve.or(lower.disk_reserve),
            partition_size: self.partition_size.or(lower.partition_size),
            logical_partition_size: self.logical_partition_size.or(lower.logical_partition_size),
            key: self.key.or(lower.key),
            key_file: self.key_file.or(lower.key_file),
            allow_published_key: self.allow_published_key.or(lower.allow_published_key),
            token_issuers: self.token_issuers.or(lower.token_issuers),
            trust_any_token: self.trust_any_token.or(lower.trust_any_token),
            metrics: self.metrics.or(lower.metrics),
            allow_networks: self.allow_networks.or(lower.allow_networks),
            cors_origins: self.cors_origins.or(lower.cors_origins),
            tls: self.tls.or(lower.tls),
            tls_cert: self.tls_cert.or(lower.tls_cert),
            tls_key: self.tls_key.or(lower.tls_key),
            tls_client_ca: self.tls_client_ca.or(lower.tls_client_ca),
            rate_limit: self.rate_limit.or(lower.rate_limit),
            charges: self.charges.or(lower.charges),
            limits: self.limits.or(lower.limits),
            throughput_max: self.throughput_max.or(lower.throughput_max),
            partition_throughput: self.partition_throughput.or(lower.partition_throughput),
            consistency: self.consistency.or(lower.consistency),
            max_staleness_prefix: self.max_staleness_prefix.or(lower.max_staleness_prefix),
            max_staleness_interval: self.max_staleness_interval.or(lower.max_staleness_interval),
            cross_partition: self.cross_partition.or(lower.cross_partition),
            max_connections: self.max_connections.or(lower.max_connections),
            max_connections_per_client: self
                .max_connections_per_client
                .or(lower.max_connections_per_client),
            max_requests_per_client: self.max_requests_per_client.or(lower.max_requests_per_client),
            max_failures_per_client: self.max_failures_per_client.or(lower.max_failures_per_client),
            max_body_bytes: self.max_body_bytes.or(lower.max_body_bytes),
            all_versions_retention: self.all_versions_retention.or(lower.all_versions_retention),
            query_timeout: self.query_timeout.or(lower.query_timeout),
            query_memory: self.query_memory.or(lower.query_memory),
            script_workers: self.script_workers.or(lower.script_workers),
            header_timeout: self.header_timeout.or(lower.header_timeout),
            stall_timeout: self.stall_timeout.or(lower.stall_timeout),
            idle_timeout: self.idle_timeout.or(lower.idle_timeout),
            shutdown_timeout: self.shutdown_timeout.or(lower.shutdown_timeout),
            audit_log: self.audit_log.or(lower.audit_log),
            audit_log_size: self.audit_log_size.or(lower.audit_log_size),
            audit_log_files: self.audit_log_files.or(lower.audit_log_files),
            quiet: self.quiet.or(lower.quiet),
            emulator_variables: self.emulator_variables.or(lower.emulator_variables),
            log_format: self.log_format.or(lower.log_format),
            log_level: self.log_level.or(lower.log_level),
        }
    }
}
