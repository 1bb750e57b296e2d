//! A connection to a server on this machine, plain or under TLS.

use std::sync::Arc;

use anyhow::Result;
use rustls::{
    ClientConfig, DigitallySignedStruct, Error, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

/// Bytes of an answer that are read at once.
const READ_BYTES: usize = 16 << 10;

/// An open connection.
pub(crate) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Stream {
    pub(crate) async fn open(address: &str, is_tls: bool) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        if !is_tls {
            return Ok(Self::Plain(stream));
        }
        let name = ServerName::try_from("localhost")?;
        let stream = TlsConnector::from(config()?).connect(name, stream).await?;
        Ok(Self::Tls(Box::new(stream)))
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) -> Result<()> {
        match self {
            Self::Plain(stream) => stream.write_all(bytes).await?,
            Self::Tls(stream) => {
                stream.write_all(bytes).await?;
                stream.flush().await?;
            }
        }
        Ok(())
    }

    /// Appends what has come; zero bytes mean that the server has closed the connection.
    pub(crate) async fn receive(&mut self, bytes: &mut Vec<u8>) -> Result<usize> {
        bytes.reserve(READ_BYTES);
        Ok(match self {
            Self::Plain(stream) => stream.read_buf(bytes).await?,
            Self::Tls(stream) => stream.read_buf(bytes).await?,
        })
    }
}

fn config() -> Result<Arc<ClientConfig>> {
    let provider = Arc::new(ring::default_provider());
    let trusting = Arc::new(Trusting(Arc::clone(&provider)));
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let builder = builder.dangerous().with_custom_certificate_verifier(trusting);
    Ok(Arc::new(builder.with_no_client_auth()))
}

/// Takes any certificate: the servers make their own, and nobody else is on this machine's loopback.
#[derive(Debug)]
struct Trusting(Arc<CryptoProvider>);

impl ServerCertVerifier for Trusting {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
