//! The configuration of a server: flags and environment override the file, which overrides the
//! defaults. It is validated once, here, so that the rest of the program gets valid values only.

mod emulator;

use std::{fs, num::NonZero, path::Path, path::PathBuf, time::Duration};

use net::{ClientLimits, Limit, Network};
use tools::{
    Failure,
    keys::{Choice, Secret, Source},
};

use crate::{
    audit::AuditSettings,
    cli::ServeArgs,
    cors::Origin,
    issuers::Tokens,
    memory,
    proxies::Proxies,
    settings::{
        Charges, Consistency, CrossPartition, Limits, LogFormat, LogLevel, MetricsAccess,
        RateLimit, Settings, TlsMode,
    },
    size::Size,
    span::Span,
};

/// The port of the emulators.
const PORT: u16 = 8081;

/// Everything that `sheaf serve` needs to know.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    /// Name or address to listen on; `None` for the loopback addresses.
    pub(crate) host: Option<String>,
    /// Port to listen on; zero for any.
    pub(crate) port: u16,
    /// The advertised endpoint; `None` for the one that the client used.
    pub(crate) advertise: Option<gateway::Endpoint>,
    /// Trusted proxies.
    pub(crate) trusted_proxies: Proxies,
    /// The data directory; `None` keeps the data in memory.
    pub(crate) data_dir: Option<PathBuf>,
    /// Size of the store's block cache.
    pub(crate) cache_bytes: u64,
    /// Free space below which no data may grow; `None` for a default that suits the disk.
    pub(crate) disk_reserve_bytes: Option<u64>,
    /// Where the keys are stored.
    pub(crate) keys: Source,
    /// Whether the published key may be used on an address that other machines can reach.
    pub(crate) allows_published_key: bool,
    /// Whose access tokens are accepted.
    pub(crate) tokens: Tokens,
    /// Who may read the metrics.
    pub(crate) metrics: MetricsAccess,
    /// Networks that may connect; `None` for all.
    pub(crate) allow_networks: Option<Vec<Network>>,
    /// Web pages that may use the database.
    pub(crate) cors_origins: Vec<Origin>,
    /// Whether the port accepts TLS, plain HTTP or both.
    pub(crate) tls: TlsMode,
    /// Certificate and key files; `None` for a generated certificate.
    pub(crate) tls_files: Option<(PathBuf, PathBuf)>,
    /// Authorities for client certificates; `None` requests none from clients.
    pub(crate) tls_client_ca: Option<PathBuf>,
    /// When to refuse with 429.
    pub(crate) rate_limit: RateLimit,
    /// Table of charges.
    pub(crate) charges: Charges,
    /// Set of limits.
    pub(crate) limits: Limits,
    /// Maximum throughput of a collection or database.
    pub(crate) throughput_max: u32,
    /// Manual throughput that one partition carries.
    pub(crate) partition_throughput: u32,
    /// How much may be stored.
    pub(crate) sizes: engine::Sizes,
    /// The account's consistency level.
    pub(crate) consistency: Consistency,
    /// How far a read may be behind, with bounded staleness.
    pub(crate) staleness: gateway::Staleness,
    /// Who merges queries over several partitions.
    pub(crate) cross_partition: CrossPartition,
    /// Maximum number of connections.
    pub(crate) connections_max: u32,
    /// Limits for each client.
    pub(crate) client_limits: ClientLimits,
    /// Largest request body.
    pub(crate) body_bytes_max: u32,
    /// Time for a handshake or a request head.
    pub(crate) header_timeout: Duration,
    /// How long all versions are kept if the container's policy does not say so.
    pub(crate) all_versions_retention: Option<Duration>,
    /// Time limit for a query that cannot be continued.
    pub(crate) query_timeout: Duration,
    /// Memory that all queries may hold together.
    pub(crate) query_memory: usize,
    /// Number of scripts that run at a time.
    pub(crate) script_workers: u32,
    /// Time without progress of a request or response body.
    pub(crate) stall_timeout: Duration,
    /// Time that a connection may be idle.
    pub(crate) idle_timeout: Duration,
    /// Time for the last requests at shutdown.
    pub(crate) shutdown_timeout: Duration,
    /// The audit log; `None` turns it off.
    pub(crate) audit: Option<AuditSettings>,
    /// Whether to print only the ready line.
    pub(crate) is_quiet: bool,
    /// Log lines about emulator variables that were read or have no equivalent.
    pub(crate) notes: Vec<String>,
    /// Format of log lines.
    pub(crate) log_format: LogFormat,
    /// Log level.
    pub(crate) log_level: LogLevel,
}

impl Config {
    /// Completes the flags with the file and the defaults, and checks the result.
    pub(crate) fn load(args: ServeArgs) -> Result<Self, Failure> {
        let file = match &args.config {
            Some(path) => read_file(path)?,
            None => Settings::default(),
        };
        let said = args.settings;
        let keys = Choice::new(
            said.key.clone().map(|key| (key, said.origin("key"))),
            said.key_file.clone().map(|path| (path, said.origin("key_file"))),
        )?;
        let mut said = said.into_inner().over(file);
        // A key from a flag or variable overrides a key file in the settings, and vice versa.
        match keys {
            Choice::Key(..) => said.key_file = None,
            Choice::File(..) => said.key = None,
            Choice::Neither => {}
        }
        let mut emulator = emulator::read(std::env::vars_os(), &said).map_err(Failure::usage)?;
        if said.key.is_some() {
            emulator.settings.key_file = None;
        }
        let config = Self::resolve(said.over(emulator.settings))?;
        let keys = config.keys.clone().with_fallback(emulator.keys);
        Ok(Self { keys, notes: emulator.notes, ..config })
    }

    fn resolve(said: Settings) -> Result<Self, Failure> {
        let is_in_memory = said.in_memory.unwrap_or(false);
        let data_dir = said.data_dir.unwrap_or_else(|| PathBuf::from("./sheaf-data"));
        let seconds = |span: Option<Span>, default: u64| {
            span.map_or_else(|| Duration::from_secs(default), |span| span.0)
        };
        let limits = said.limits.unwrap_or(Limits::Current);
        let connections_max = at_least("max-connections", said.max_connections, 4096, 1)?;
        let data_dir = (!is_in_memory).then_some(data_dir);
        let audit_bytes = said.audit_log_size.map_or(16 << 20, |size| size.0);
        let audit = audit(said.audit_log, data_dir.as_deref(), audit_bytes, said.audit_log_files)?;
        Ok(Self {
            host: said.host,
            port: said.port.unwrap_or(PORT),
            advertise: advertise(said.advertise.as_deref())?,
            trusted_proxies: Proxies::new(said.trusted_proxies.unwrap_or_default()),
            keys: keys(said.key, said.key_file, data_dir.as_deref())?,
            data_dir,
            cache_bytes: said.cache_mb.map_or_else(
                || default_cache(memory::available_bytes()),
                |mebibytes| u64::from(mebibytes) << 20,
            ),
            disk_reserve_bytes: said.disk_reserve.map(|size| size.0),
            allows_published_key: said.allow_published_key.unwrap_or(false),
            tokens: tokens(said.token_issuers, said.trust_any_token)?,
            metrics: said.metrics.unwrap_or(MetricsAccess::Loopback),
            allow_networks: said.allow_networks,
            cors_origins: cors_origins(said.cors_origins)?,
            tls: said.tls.unwrap_or(TlsMode::Optional),
            tls_files: pair(said.tls_cert, said.tls_key)?,
            tls_client_ca: client_ca(said.tls_client_ca, said.tls)?,
            rate_limit: said.rate_limit.unwrap_or(RateLimit::Provisioned),
            charges: said.charges.unwrap_or(Charges::Current),
            limits,
            throughput_max: throughput_max(limits, said.throughput_max)?,
            partition_throughput: partition_throughput(said.partition_throughput)?,
            sizes: sizes(limits, said.partition_size, said.logical_partition_size)?,
            consistency: said.consistency.unwrap_or(Consistency::Session),
            staleness: staleness(said.max_staleness_prefix, said.max_staleness_interval)?,
            cross_partition: said.cross_partition.unwrap_or(CrossPartition::Auto),
            connections_max,
            client_limits: ClientLimits {
                connections: limit(said.max_connections_per_client, (connections_max / 2).max(1)),
                requests: limit(said.max_requests_per_client, 1024),
                failures: limit(said.max_failures_per_client, 1000),
            },
            body_bytes_max: at_least("max-body-bytes", said.max_body_bytes, 4 << 20, 1024)?,
            header_timeout: seconds(said.header_timeout, 10),
            all_versions_retention: retention(said.all_versions_retention)?,
            query_timeout: seconds(said.query_timeout, 60),
            query_memory: query_memory(said.query_memory)?,
            script_workers: script_workers(said.script_workers)?,
            stall_timeout: seconds(said.stall_timeout, 30),
            // Longer than the idle time of the SDKs' own pools, so that they close first and never
            // use a connection that the server is just closing.
            idle_timeout: seconds(said.idle_timeout, 300),
            shutdown_timeout: seconds(said.shutdown_timeout, 30),
            audit,
            is_quiet: said.quiet.unwrap_or(false),
            notes: Vec::new(),
            log_format: said.log_format.unwrap_or(LogFormat::Text),
            log_level: said.log_level.unwrap_or(LogLevel::Info),
        })
    }
}

fn read_file(path: &Path) -> Result<Settings, Failure> {
    let text = fs::read_to_string(path).map_err(|error| {
        Failure::usage(format!("cannot read the configuration file `{}`: {error}", path.display()))
    })?;
    parse(&text).map_err(|error| {
        Failure::usage(format!("configuration file `{}`: {error}", path.display()))
    })
}

fn advertise(said: Option<&str>) -> Result<Option<gateway::Endpoint>, Failure> {
    let parse = |text| gateway::Endpoint::parse(text);
    said.map(parse).transpose().map_err(|error| Failure::usage(format!("`advertise`: {error}")))
}

/// Parses the text of a configuration file. The error names the line and the setting.
fn parse(text: &str) -> Result<Settings, String> {
    toml::from_str(text).map_err(|error| {
        // The full error would print the line, which may contain the key.
        let start = error.span().map_or(0, |span| span.start.min(text.len()));
        let before = text.get(..start).unwrap_or_default();
        let line = before.rfind('\n').map_or(0, |at| at + 1);
        if text.get(line..).is_some_and(|line| line.trim_start().starts_with("key")) {
            return format!("line {}: {}", before.matches('\n').count() + 1, error.message());
        }
        error.to_string().trim_end().to_owned()
    })
}

fn pair(
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
) -> Result<Option<(PathBuf, PathBuf)>, Failure> {
    match (certificate, key) {
        (Some(certificate), Some(key)) => Ok(Some((certificate, key))),
        (None, None) => Ok(None),
        (Some(_), None) => Err(Failure::usage(
            "`tls-cert` is given without `tls-key`: give the certificate's private key too",
        )),
        (None, Some(_)) => Err(Failure::usage(
            "`tls-key` is given without `tls-cert`: give the key's certificate too",
        )),
    }
}

/// Clients without TLS cannot send a certificate, so this requires TLS for all.
fn client_ca(path: Option<PathBuf>, tls: Option<TlsMode>) -> Result<Option<PathBuf>, Failure> {
    if path.is_some() && tls != Some(TlsMode::Required) {
        return Err(Failure::usage(
            "`tls-client-ca` is given, but clients without TLS need no certificate: set `tls` to \
             `required` too",
        ));
    }
    Ok(path)
}

/// The source of the keys: a given key, a file, or the data directory.
fn keys(
    key: Option<Secret>,
    file: Option<PathBuf>,
    data_dir: Option<&Path>,
) -> Result<Source, Failure> {
    match (key, file) {
        (Some(_), Some(_)) => {
            Err(Failure::usage("`key` and `key-file` are both given: give only one of them"))
        }
        (Some(key), None) => Ok(Source::given(key)),
        (None, file) => Ok(Source::new(file.as_deref(), data_dir)),
    }
}

/// Whose access tokens are accepted. Trusting everybody and naming issuers exclude each other.
fn tokens(file: Option<PathBuf>, trusts_any: Option<bool>) -> Result<Tokens, Failure> {
    match (file, trusts_any.unwrap_or(false)) {
        (None, false) => Ok(Tokens::None),
        (Some(path), false) => Ok(Tokens::Issuers(path)),
        (None, true) => Ok(Tokens::Any),
        (Some(_), true) => Err(Failure::usage(
            "`trust-any-token` accepts every token, so `token-issuers` has no effect: give only one \
             of them",
        )),
    }
}

/// The location of the audit log. `off` disables it; a file of that name is `./off`.
fn audit(
    said: Option<PathBuf>,
    data_dir: Option<&Path>,
    bytes_max: u64,
    files: Option<u32>,
) -> Result<Option<AuditSettings>, Failure> {
    const BYTES_MIN: u64 = 64 << 10;
    if bytes_max < BYTES_MIN {
        return Err(Failure::usage(format!(
            "`audit-log-size` is {bytes_max} bytes: use 64KB or more"
        )));
    }
    let files_max = at_least("audit-log-files", files, 5, 1)?;
    let own = data_dir.map(|directory| directory.join("audit.log"));
    let path = said.or(own).filter(|path| path != Path::new("off"));
    Ok(path.map(|path| AuditSettings { path, bytes_max, files_max }))
}

/// An explicit limit applies to all clients. The default exempts clients on this machine, for tests
/// and tools.
fn limit(said: Option<u32>, default: u32) -> Limit {
    Limit { max: said.unwrap_or(default), spares_loopback: said.is_none() }
}

fn cors_origins(said: Option<Vec<String>>) -> Result<Vec<Origin>, Failure> {
    let said = said.unwrap_or_default();
    said.iter().map(|text| Origin::parse(text).map_err(Failure::usage)).collect()
}

/// The maximum of the chosen limits by default. Throughput creates partitions at once, so it is
/// bounded.
fn throughput_max(limits: Limits, said: Option<u32>) -> Result<u32, Failure> {
    let most = said.unwrap_or_else(|| engine::Limits::from(limits).throughput_max());
    if !(1_000..=10_000_000).contains(&most) {
        return Err(Failure::usage(format!("`throughput-max` is {most}: use 1000 to 10000000")));
    }
    Ok(most)
}

/// What a partition carried in 2016 and 2017, and the most it carries today.
const PARTITION_THROUGHPUT: u32 = 10_000;

/// The throughput of one partition. Less creates more partitions at once, so it is bounded.
fn partition_throughput(said: Option<u32>) -> Result<u32, Failure> {
    let each = said.unwrap_or(PARTITION_THROUGHPUT);
    if !(1_000..=PARTITION_THROUGHPUT).contains(&each) {
        return Err(Failure::usage(format!(
            "`partition-throughput` is {each}: use 1000 to {PARTITION_THROUGHPUT}"
        )));
    }
    Ok(each)
}

/// Minimum memory for all queries together.
const QUERY_MEMORY_MIN: usize = 8 << 20;

/// Number of scripts that run at a time on the smallest machine.
const SCRIPT_WORKERS_MIN: u32 = 8;

/// The number of processors by default. Each script may take tens of megabytes.
fn script_workers(said: Option<u32>) -> Result<u32, Failure> {
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    // At least this many even with fewer processors: a few scripts in endless loops must not block
    // all others.
    let usual = u32::try_from(processors).unwrap_or(u32::MAX).clamp(SCRIPT_WORKERS_MIN, 256);
    let workers = said.unwrap_or(usual);
    if !(1..=256).contains(&workers) {
        return Err(Failure::usage(format!("`script-workers` is {workers}: use 1 to 256")));
    }
    Ok(workers)
}

/// Memory for queries. Less than the minimum would refuse ordinary queries.
fn query_memory(said: Option<Size>) -> Result<usize, Failure> {
    let bytes = said.map_or(256 << 20, |size| size.0);
    let memory = usize::try_from(bytes).ok().filter(|bytes| *bytes >= QUERY_MEMORY_MIN);
    memory
        .ok_or_else(|| Failure::usage(format!("`query-memory` is {bytes} bytes: use 8MB or more")))
}

/// The sizes of the chosen limits by default. A key never spans partitions, so it must fit into
/// one.
fn sizes(
    limits: Limits,
    partition: Option<Size>,
    logical: Option<Size>,
) -> Result<engine::Sizes, Failure> {
    let mut sizes = engine::Sizes::of(limits.into());
    sizes.partition = partition.map_or(sizes.partition, |size| size.0);
    sizes.logical_partition = logical.map_or(sizes.logical_partition, |size| size.0);
    if sizes.logical_partition > sizes.partition {
        return Err(Failure::usage(format!(
            "`logical-partition-size` is {} bytes and `partition-size` {} bytes: a partition key \
             value must fit into one partition, so make the first no larger than the second",
            sizes.logical_partition, sizes.partition
        )));
    }
    Ok(sizes)
}

/// Container policies count in minutes, and so does this setting.
fn retention(said: Option<Span>) -> Result<Option<Duration>, Failure> {
    match said.map(|said| said.0) {
        Some(span) if span < Duration::from_mins(1) => {
            Err(Failure::usage(format!("`all-versions-retention` is {span:?}: use 1m to 365d")))
        }
        span => Ok(span),
    }
}

/// Checks the service's ranges for an account with one region.
fn staleness(prefix: Option<u32>, interval: Option<Span>) -> Result<gateway::Staleness, Failure> {
    let default = gateway::Staleness::default();
    let prefix = prefix.unwrap_or(default.prefix_max);
    if !(10..=i32::MAX.cast_unsigned()).contains(&prefix) {
        return Err(Failure::usage(format!(
            "`max-staleness-prefix` is {prefix}: use 10 to 2147483647"
        )));
    }
    let interval =
        interval.map_or_else(|| Duration::from_secs(default.interval_seconds_max), |it| it.0);
    let seconds = interval.as_secs();
    if !(5..=86_400).contains(&seconds) || interval.subsec_nanos() > 0 {
        return Err(Failure::usage(format!(
            "`max-staleness-interval` is {interval:?}: use 5s to 24h, in whole seconds"
        )));
    }
    Ok(gateway::Staleness { prefix_max: prefix, interval_seconds_max: seconds })
}

fn at_least(name: &str, said: Option<u32>, default: u32, least: u32) -> Result<u32, Failure> {
    let value = said.unwrap_or(default);
    if value < least {
        return Err(Failure::usage(format!("`{name}` is {value}: use {least} or more")));
    }
    Ok(value)
}

/// The memory for caches, if nobody says how much: an eighth of what there is. The rest is for write
/// buffers, requests and whatever else runs there, and the system keeps files in what nobody uses.
///
/// More than half a gigabyte is only taken by those who ask for it: it may be a developer's machine.
fn default_cache(available: Option<u64>) -> u64 {
    available.map_or(64 << 20, |bytes| (bytes / 8).clamp(16 << 20, 512 << 20))
}

#[cfg(test)]
mod tests;
