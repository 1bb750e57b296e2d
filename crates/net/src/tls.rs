//! TLS: which versions and certificate the server offers, and which clients it accepts.

use std::{
    fmt,
    sync::{Arc, PoisonError, RwLock},
};

use anyhow::Context as _;
use rustls::{
    RootCertStore, ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer},
    server::WebPkiClientVerifier,
    version::{TLS12, TLS13},
};
use tokio_rustls::TlsAcceptor;

/// Whether the port accepts plain connections, TLS, or both.
#[derive(Clone, Debug)]
pub enum Tls {
    /// Plain connections only.
    Off,
    /// Both.
    Optional(Acceptor),
    /// TLS only.
    Required(Acceptor),
}

/// Accepts connections with a certificate that can be replaced. Clones share it.
#[derive(Clone)]
pub struct Acceptor(Arc<RwLock<TlsAcceptor>>);

impl Acceptor {
    /// An acceptor that begins with this certificate.
    pub fn new(first: TlsAcceptor) -> Self {
        Self(Arc::new(RwLock::new(first)))
    }

    /// The acceptor for the next connection.
    pub(crate) fn current(&self) -> TlsAcceptor {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Uses another certificate for new connections. Open ones keep theirs.
    pub fn replace(&self, next: TlsAcceptor) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = next;
    }
}

impl fmt::Debug for Acceptor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Acceptor")
    }
}

/// Creates an acceptor for this certificate, offering these protocols by ALPN. Fails if the key
/// does not match. With `roots`, clients must present a certificate signed by one of them.
pub fn acceptor(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    roots: Option<Vec<CertificateDer<'static>>>,
    protocols: &[&[u8]],
) -> anyhow::Result<TlsAcceptor> {
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&TLS13, &TLS12])?;
    let builder = match roots {
        None => builder.with_no_client_auth(),
        Some(certificates) => {
            let mut roots = RootCertStore::empty();
            for certificate in certificates {
                roots.add(certificate).context("not the certificate of an authority")?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            builder.with_client_cert_verifier(verifier.build()?)
        }
    };
    let mut config = builder
        .with_single_cert(chain, key)
        .context("the certificate and its key cannot be used together")?;
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    Ok(TlsAcceptor::from(Arc::new(config)))
}
