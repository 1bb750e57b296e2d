//! `sheaf serve`: puts the parts together, runs them until told to stop, takes them apart.

use std::{
    io::{self, Write as _},
    net::SocketAddr,
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::available_parallelism,
    time::Duration,
};

use anyhow::Context as _;
use gateway::Gateway;
use tokio::{sync::watch, task::JoinHandle};

use crate::{
    admin::Admin,
    app::App,
    audit::{Audit, Line},
    backup::Backups,
    certificate::Certificate,
    cli::ServeArgs,
    clock::MachineClock,
    config::Config,
    cors::Cors,
    data_dir::DataDir,
    database::Database,
    descriptors, disk,
    failure::Failure,
    issuers::{self, Tokens},
    keys,
    live::{LiveCertificate, LiveIssuers, LiveKeys},
    logging,
    metrics::Metrics,
    net::{self, Acceptor, BodyBudget, Gate, Listener, Room, Timeouts, Tls},
    reload::{self, Reload},
    settings::TlsMode,
    signals::{Hangups, Signals},
};

/// How long threads that hang in the operating system may delay the end of the process.
const LAST_WAIT: Duration = Duration::from_secs(1);

/// Runs the server to its end.
pub(crate) fn run(args: ServeArgs) -> Result<ExitCode, Failure> {
    let config = Config::load(args)?;
    logging::start(config.log_format, config.log_level);
    let threads = available_parallelism().map_or(2, |cores| cores.get().max(2));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .enable_all()
        .build()
        .map_err(Failure::start)?;
    let outcome = runtime.block_on(Box::pin(serve(config)));
    runtime.shutdown_timeout(LAST_WAIT);
    outcome.map(|()| ExitCode::SUCCESS)
}

async fn serve(config: Config) -> Result<(), Failure> {
    let signals = Signals::install().map_err(Failure::start)?;
    let hangups = Hangups::install().map_err(Failure::start)?;
    let source = keys::Source::new(config.key_file.as_deref(), config.data_dir.as_deref());
    let keys = source.load()?;
    let addresses = resolve(&config).await?;
    keys.check_exposure(&addresses, config.allows_published_key)?;
    issuers::check_exposure(&config.tokens, &addresses, &config.cors_origins)?;
    keys.warn_of_pages(&config.cors_origins);
    // The port first: of two servers started by mistake, the second then leaves no trace.
    let listener = bind(&addresses).await?;
    let directory = config.data_dir.as_deref().map(DataDir::create).transpose();
    let directory = directory.map_err(Failure::start)?;
    let audit = config.audit.as_ref().map(Audit::open).transpose().map_err(Failure::start)?;
    let audit = Arc::new(audit.unwrap_or_default());
    let (tls, certificate) = tls(&config, directory.as_ref()).map_err(Failure::start)?;
    let database = Database::open(&config, directory.as_ref()).await.map_err(Failure::start)?;
    let database = Arc::new(database);

    let stop = Stop::new();
    if let Some(directory) = &directory {
        let reserve = config.disk_reserve_bytes;
        let watch = disk::Watch::new(Arc::clone(database.disk()), reserve, &directory.store());
        watch.look();
        tokio::spawn(watch.run(stop.receiver()));
    }
    let room = Room::new(
        descriptors::connections_max(config.connections_max),
        Gate::new(config.allow_networks.clone(), config.client_limits),
    );
    let metrics = Metrics::new(Arc::clone(&database), room.clone(), MachineClock.since_epoch());
    let backups = Backups::new(Arc::clone(&database), config.data_dir.as_deref());
    let app = app(&config, keys.keys, Arc::clone(&database), metrics, &stop, (&backups, &audit));
    let is_allowed = config.allows_published_key;
    let keys = LiveKeys { source, gateway: Arc::clone(&app.gateway), addresses, is_allowed };
    let issuers = tokens(&config, &app.gateway).map_err(Failure::start)?;
    let keys = Some(Arc::new(keys) as Arc<dyn Reload>);
    let targets = [keys, certificate, issuers].into_iter().flatten();
    tokio::spawn(reload::run(targets.collect(), hangups, Arc::clone(&audit), stop.receiver()));
    let endpoint = endpoint(&tls, listener.address());
    // Before the first request can have a line.
    audit.changed(Line::server("server_started", &endpoint));
    let budget = BodyBudget::new(u64::from(config.body_bytes_max));
    let served =
        tokio::spawn(listener.run(app, tls, timeouts(&config), room, budget, stop.receiver()));
    announce(&endpoint);
    stop_on_signal(signals, stop, served).await;
    backups.stop().await;
    audit.changed(Line::server("server_stopped", &endpoint));
    audit.close();
    database.close().await.map_err(Failure::start)?;
    // Only now may another process take the directory.
    drop(directory);
    tracing::info!("stopped");
    Ok(())
}

/// Waits for a signal, then for the connections to end.
async fn stop_on_signal(mut signals: Signals, stop: Stop, served: JoinHandle<usize>) {
    signals.received().await;
    tracing::info!("stopping");
    signals.exit_on_next();
    stop.begin();
    match served.await {
        Ok(0) => {}
        Ok(connections) => tracing::warn!(connections, "left connections that did not end in time"),
        Err(error) => tracing::error!(%error, "the listener failed"),
    }
}

/// The two places that hear of the end.
struct Stop {
    sender: watch::Sender<bool>,
    is_draining: Arc<AtomicBool>,
}

impl Stop {
    fn new() -> Self {
        Self { sender: watch::Sender::new(false), is_draining: Arc::default() }
    }

    fn receiver(&self) -> watch::Receiver<bool> {
        self.sender.subscribe()
    }

    fn begin(&self) {
        self.is_draining.store(true, Ordering::Relaxed);
        self.sender.send_replace(true);
    }
}

async fn resolve(config: &Config) -> Result<Vec<SocketAddr>, Failure> {
    let host = &config.host;
    let addresses = net::resolve(host, config.port).await.unwrap_or_default();
    if addresses.is_empty() {
        return Err(Failure::usage(format!(
            "`{host}` is no address of this machine: use an IP address, or a name that resolves"
        )));
    }
    Ok(addresses)
}

async fn bind(addresses: &[SocketAddr]) -> Result<Listener, Failure> {
    Listener::bind(addresses).await.map_err(|error| {
        let address = addresses[0];
        let hint = match error.kind() {
            io::ErrorKind::AddrInUse => ": stop what uses it, or choose another with --port",
            io::ErrorKind::PermissionDenied => ": choose a port above 1023 with --port",
            io::ErrorKind::AddrNotAvailable => ": choose an address of this machine with --host",
            _ => "",
        };
        Failure::start(anyhow::anyhow!("cannot listen on {address} ({error}){hint}"))
    })
}

/// What the port answers to, and the certificate to be read again when its files change.
fn tls(
    config: &Config,
    directory: Option<&DataDir>,
) -> anyhow::Result<(Tls, Option<Arc<dyn Reload>>)> {
    if config.tls == TlsMode::Off {
        return Ok((Tls::Off, None));
    }
    let now = MachineClock.since_epoch();
    let acceptor = |certificate: anyhow::Result<Certificate>| {
        let certificate = certificate?.with_client_ca(config.tls_client_ca.clone());
        let acceptor = Acceptor::new(certificate.acceptor()?);
        anyhow::Ok((certificate, acceptor))
    };
    let made = match (&config.tls_files, directory) {
        (Some((certificate, key)), _) => acceptor(Ok(Certificate::of_files(certificate, key))),
        (None, None) => acceptor(Certificate::temporary(&config.host, now)),
        (None, Some(directory)) => {
            acceptor(Certificate::kept_in(&directory.tls(), &config.host, now)).with_context(|| {
                format!("delete `{}` to have another made", directory.tls().display())
            })
        }
    };
    let (certificate, acceptor) = made.context("TLS cannot be offered (--tls off does without)")?;
    let live = LiveCertificate { certificate, acceptor: acceptor.clone() };
    let tls = match config.tls {
        TlsMode::Required => Tls::Required(acceptor),
        TlsMode::Optional | TlsMode::Off => Tls::Optional(acceptor),
    };
    Ok((tls, Some(Arc::new(live))))
}

/// Has the gateway take access tokens; gives the file to be read again when it changes.
fn tokens(config: &Config, gateway: &Arc<Gateway>) -> anyhow::Result<Option<Arc<dyn Reload>>> {
    match &config.tokens {
        Tokens::None => Ok(None),
        Tokens::Any => {
            gateway.set_issuers(gateway::Issuers::trusting_any());
            Ok(None)
        }
        Tokens::Issuers(path) => {
            gateway.set_issuers(issuers::load(path)?);
            let live = LiveIssuers { path: path.clone(), gateway: Arc::clone(gateway) };
            Ok(Some(Arc::new(live)))
        }
    }
}

fn app(
    config: &Config,
    keys: gateway::Keys,
    database: Arc<Database>,
    metrics: Metrics,
    stop: &Stop,
    (backups, audit): (&Arc<Backups>, &Arc<Audit>),
) -> App {
    let settings = gateway::Settings {
        keys,
        default_consistency: config.consistency.into(),
        staleness: config.staleness,
        cross_partition: config.cross_partition.into(),
        limits: gateway::Limits { body_bytes_max: config.body_bytes_max as usize },
        ..gateway::Settings::default()
    };
    let clock = Arc::new(MachineClock);
    let gateway = Gateway::new(database.service(), settings, metrics.recorder(), clock);
    let gateway = Arc::new(gateway);
    let is_draining = Arc::clone(&stop.is_draining);
    let admin = Admin { database, metrics, metrics_access: config.metrics, is_draining };
    let cors = Cors::new(config.cors_origins.clone());
    let (backups, audit) = (Arc::clone(backups), Arc::clone(audit));
    App { gateway, admin, backups, cors, audit }
}

fn timeouts(config: &Config) -> Timeouts {
    Timeouts {
        header: config.header_timeout,
        stall: config.stall_timeout,
        idle: config.idle_timeout,
        shutdown: config.shutdown_timeout,
    }
}

fn endpoint(tls: &Tls, address: SocketAddr) -> String {
    let scheme = if matches!(tls, Tls::Required(_)) { "https" } else { "http" };
    format!("{scheme}://{address}/")
}

/// Says, to whoever started the server, that it accepts requests, and where.
fn announce(endpoint: &str) {
    tracing::info!(endpoint, version = env!("CARGO_PKG_VERSION"), "accepting requests");
    let mut stdout = io::stdout().lock();
    // A closed stdout means that nobody waits for the line.
    let _ = writeln!(stdout, "ready endpoint={endpoint}").and_then(|()| stdout.flush());
}
