//! `sheaf serve`: sets up the parts, runs them until it is told to stop, and shuts them down.

use std::{
    io,
    net::{IpAddr, Ipv6Addr, SocketAddr},
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
use net::{Acceptor, BodyBudget, Gate, Listener, Room, Timeouts, Tls};
use tokio::{sync::watch, task::JoinHandle};
use tools::Failure;

use crate::{
    admin::Admin,
    app::App,
    audit::{Audit, Line},
    backup::Backups,
    certificate::{Certificate, PublicCertificate, machine_name},
    cli::ServeArgs,
    clock::MachineClock,
    config::Config,
    cors::Cors,
    data_dir::DataDir,
    database::Database,
    descriptors, disk,
    greeting::Greeting,
    http::Http,
    issuers::{self, Tokens},
    keys::{self, Place},
    live::{LiveCertificate, LiveIssuers, LiveKeys},
    logging,
    metrics::Metrics,
    reload::{self, Reload},
    settings::TlsMode,
    signals::{Hangups, Signals},
};

/// How long threads that are blocked in the operating system may delay the end of the process.
const LAST_WAIT: Duration = Duration::from_secs(1);

/// Runs the server until it stops.
pub(crate) fn run(args: ServeArgs) -> Result<ExitCode, Failure> {
    let config = Config::load(args)?;
    logging::start(config.log_format, config.log_level);
    for doubt in crate::doubts() {
        tracing::warn!("{doubt}");
    }
    for note in &config.notes {
        tracing::info!("{note}");
    }
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
    let source = config.keys.clone();
    let keys = keys::Loaded::read(&source)?;
    let addresses = resolve(&config).await?;
    keys.check_exposure(&addresses, config.allows_published_key)?;
    issuers::check_exposure(&config.tokens, &addresses, &config.cors_origins)?;
    keys.warn_of_pages(&config.cors_origins);
    // Bind the port first: if two servers are started by mistake, the second then changes nothing.
    let mut listener = bind(&addresses).await?;
    let has_ipv6 = config.host.is_none() && serve_ipv6(&mut listener, config.port).await;
    let directory = config.data_dir.as_deref().map(DataDir::create).transpose();
    let directory = directory.map_err(Failure::start)?;
    let audit = config.audit.as_ref().map(Audit::open).transpose().map_err(Failure::start)?;
    let audit = Arc::new(audit.unwrap_or_default());
    let (tls, live_certificate) = tls(&config, directory.as_ref()).map_err(Failure::start)?;
    let public = live_certificate.as_ref().map(|live| live.public.clone());
    let database = Database::open(&config, directory.as_ref()).await.map_err(Failure::start)?;

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
    let started = MachineClock.since_epoch();
    let metrics = Metrics::new(database.operator(), database.store(), room.clone(), started);
    let backups = Backups::new(database.files(), config.data_dir.as_deref());
    let key_place = keys.place().clone();
    let app = app(&config, keys.keys, &database, metrics, &stop, (&backups, &audit));
    let app = App { certificate: public, ..app };
    let is_allowed = config.allows_published_key;
    let keys = LiveKeys { source, gateway: Arc::clone(&app.gateway), addresses, is_allowed };
    let issuers = tokens(&config, &app.gateway).map_err(Failure::start)?;
    let keys = Some(Arc::new(keys) as Arc<dyn Reload>);
    let certificate = live_certificate.map(|live| live as Arc<dyn Reload>);
    let targets = [keys, certificate, issuers].into_iter().flatten();
    tokio::spawn(reload::run(targets.collect(), hangups, Arc::clone(&audit), stop.receiver()));
    let address = listener.address();
    let endpoint = endpoint(&tls, address);
    // Before any request can be logged.
    audit.changed(Line::server("server_started", &endpoint));
    let budget = BodyBudget::new(u64::from(config.body_bytes_max));
    let timeouts = timeouts(&config);
    let http = Http::new(app, timeouts, budget);
    let served = tokio::spawn(listener.run(http, tls, timeouts, room, stop.receiver()));
    greet(&config, &endpoint, (address, has_ipv6), &key_place);
    stop_on_signal(signals, stop, served).await;
    backups.stop().await;
    audit.changed(Line::server("server_stopped", &endpoint));
    audit.close();
    database.close().await.map_err(Failure::start)?;
    // Only now may another process use the directory.
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
        Ok(connections) => tracing::warn!(connections, "cut connections that did not end in time"),
        Err(error) => tracing::error!(%error, "the listener failed"),
    }
}

/// Signals the stop to both places that need it.
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
    let host = config.host.as_deref().unwrap_or("127.0.0.1");
    let addresses = net::resolve(host, config.port).await.unwrap_or_default();
    if addresses.is_empty() {
        return Err(Failure::usage(format!(
            "`{host}` is not an address of this machine: use an IP address, or a name that resolves"
        )));
    }
    Ok(addresses)
}

async fn bind(addresses: &[SocketAddr]) -> Result<Listener, Failure> {
    Listener::bind(addresses).await.map_err(|error| {
        let address = addresses[0];
        let hint = match error.kind() {
            io::ErrorKind::AddrInUse => {
                ": stop the program that uses it, or choose another port with --port"
            }
            io::ErrorKind::PermissionDenied => ": choose a port above 1023 with --port",
            io::ErrorKind::AddrNotAvailable => ": choose an address of this machine with --host",
            _ => "",
        };
        Failure::start(anyhow::anyhow!("cannot listen on {address} ({error}){hint}"))
    })
}

/// Also listens on `[::1]`, beside `127.0.0.1`: many programs try it first for `localhost`.
/// Continues without it if the machine has no IPv6 or another program uses the port there.
async fn serve_ipv6(listener: &mut Listener, port: u16) -> bool {
    match listener.add(IpAddr::V6(Ipv6Addr::LOCALHOST)).await {
        Ok(()) => true,
        Err(error) => {
            if port != 0 && error.kind() == io::ErrorKind::AddrInUse {
                tracing::warn!(
                    "another program listens on [::1]:{port}: clients that use localhost may reach \
                     it instead"
                );
            } else {
                tracing::debug!(%error, "not listening on [::1]");
            }
            false
        }
    }
}

/// The TLS mode of the port, and the certificate to reload when its files change.
fn tls(
    config: &Config,
    directory: Option<&DataDir>,
) -> anyhow::Result<(Tls, Option<Arc<LiveCertificate>>)> {
    if config.tls == TlsMode::Off {
        return Ok((Tls::Off, None));
    }
    let now = MachineClock.since_epoch();
    let acceptor = |certificate: anyhow::Result<Certificate>| {
        let certificate = certificate?.with_client_ca(config.tls_client_ca.clone());
        let (acceptor, public) = certificate.acceptor()?;
        let (acceptor, public) = (Acceptor::new(acceptor), PublicCertificate::new(public));
        anyhow::Ok(LiveCertificate { certificate, acceptor, public })
    };
    let hosts = hosts(config);
    let hosts: Vec<&str> = hosts.iter().map(String::as_str).collect();
    let made = match (&config.tls_files, directory) {
        (Some((certificate, key)), _) => acceptor(Ok(Certificate::of_files(certificate, key))),
        (None, None) => acceptor(Certificate::temporary(&hosts, now)),
        (None, Some(directory)) => acceptor(Certificate::kept_in(&directory.tls(), &hosts, now))
            .with_context(|| {
                format!("delete `{}` to create another one", directory.tls().display())
            }),
    };
    let live = made.context("cannot offer TLS (use --tls off to do without)")?;
    let acceptor = live.acceptor.clone();
    let tls = match config.tls {
        TlsMode::Required => Tls::Required(acceptor),
        TlsMode::Optional | TlsMode::Off => Tls::Optional(acceptor),
    };
    Ok((tls, Some(Arc::new(live))))
}

/// The names that the operator gave the server: those of `host` and of `advertise`, without ports.
fn hosts(config: &Config) -> Vec<String> {
    let advertised = config.advertise.as_ref().map(|endpoint| endpoint.host().to_owned());
    config.host.iter().cloned().chain(advertised).collect()
}

/// Makes the gateway accept access tokens; returns the file to reload when it changes.
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
    database: &Database,
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
        names: gateway::Names {
            advertised: config.advertise.clone(),
            others: config.host.iter().cloned().chain(machine_name()).collect(),
        },
        ..gateway::Settings::default()
    };
    let clock = Arc::new(MachineClock);
    let gateway = Gateway::new(database.service(), settings, metrics.recorder(), clock);
    let gateway = Arc::new(gateway);
    let is_draining = Arc::clone(&stop.is_draining);
    let admin = Admin {
        operator: database.operator(),
        metrics,
        metrics_access: config.metrics,
        is_draining,
    };
    let cors = Cors::new(config.cors_origins.clone());
    let (backups, audit) = (Arc::clone(backups), Arc::clone(audit));
    let proxies = config.trusted_proxies.clone();
    App { gateway, admin, backups, cors, audit, proxies, certificate: None }
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

/// Prints that the server accepts requests, and where.
fn greet(config: &Config, endpoint: &str, (address, has_ipv6): (SocketAddr, bool), key: &Place) {
    tracing::info!(endpoint, version = env!("CARGO_PKG_VERSION"), "accepting requests");
    let greeting = Greeting {
        endpoint,
        advertised: config.advertise.as_ref().map(ToString::to_string),
        address,
        has_ipv6,
        key,
        data: config.data_dir.as_deref(),
    };
    greeting.print(config.is_quiet);
}
