//! TLS: which versions and protocols are offered, and with which certificate.

use std::{fmt, sync::Arc};

use anyhow::Context as _;
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer},
    version::{TLS12, TLS13},
};
use tokio_rustls::TlsAcceptor;

/// What the port answers to.
#[derive(Clone)]
pub(crate) enum Tls {
    /// Plain HTTP only.
    Off,
    /// Both.
    Optional(TlsAcceptor),
    /// TLS only.
    Required(TlsAcceptor),
}

impl fmt::Debug for Tls {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Off => "Off",
            Self::Optional(_) => "Optional",
            Self::Required(_) => "Required",
        })
    }
}

/// An acceptor for this certificate. Fails when the key is not the certificate's.
pub(crate) fn acceptor(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> anyhow::Result<TlsAcceptor> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&TLS13, &TLS12])?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .context("the certificate and its key cannot be used together")?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
