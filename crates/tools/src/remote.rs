//! A connection to a running server, for commands that send requests.

use std::{fs, path::PathBuf, sync::Arc, time::Duration};

use anyhow::{Context as _, anyhow};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::{Request, Response, body::Incoming, client::conn::http1::SendRequest};
use hyper_util::rt::TokioIo;
use rustls::{
    ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::ring,
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject as _},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::TlsConnector;

use crate::{args::ServerArgs, failure::Failure, told::Told};

const CONNECT_TIME: Duration = Duration::from_secs(10);
/// Far more than any answer of a Sheaf server.
const BODY_BYTES_MAX: usize = 64 << 20;
/// The port of an endpoint without one.
const HTTP_PORT: u16 = 80;
const HTTPS_PORT: u16 = 443;

/// A server, and how to verify its certificate.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Server {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) trust: Trust,
}

/// Which certificates to trust.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// No TLS: the connection is plain.
    Plain,
    /// The one in this file.
    Certificate(PathBuf),
    /// Any certificate.
    Anyone,
}

impl Server {
    /// The server that a command line names.
    pub(crate) fn new(args: &Told<ServerArgs>) -> Result<Self, Failure> {
        let endpoint = args.url()?;
        let wrong = || {
            Failure::usage(format!(
                "`{endpoint}` is not an endpoint: write http://host:port or https://…"
            ))
        };
        let uri: hyper::Uri = endpoint.parse().map_err(|_| wrong())?;
        let host = uri.host().ok_or_else(wrong)?.trim_matches(['[', ']']).to_owned();
        let (default_port, trust) = match uri.scheme_str() {
            Some("http") => (HTTP_PORT, Trust::Plain),
            Some("https") if args.insecure => (HTTPS_PORT, Trust::Anyone),
            Some("https") => (HTTPS_PORT, Trust::Certificate(certificate(args)?)),
            _ => return Err(wrong()),
        };
        Ok(Self { host, port: uri.port_u16().unwrap_or(default_port), trust })
    }
}

/// A connection to a server.
pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    /// The server's name and port, for the `Host` header.
    pub(crate) authority: String,
}

impl Connection {
    /// Opens a connection.
    pub(crate) async fn open(server: &Server) -> anyhow::Result<Self> {
        let Server { host, port, trust } = server;
        let bracketed = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        let authority = format!("{bracketed}:{port}");
        let connecting = async {
            let stream = TcpStream::connect((host.as_str(), *port)).await?;
            stream.set_nodelay(true)?;
            match tls(trust)? {
                None => handshake(stream).await,
                Some(connector) => {
                    let name = ServerName::try_from(host.clone())?;
                    let stream = connector.connect(name, stream).await.context(
                        "cannot establish a secure connection; --insecure skips the check of the \
                         certificate",
                    )?;
                    handshake(stream).await
                }
            }
        };
        let sender = match timeout(CONNECT_TIME, connecting).await {
            Ok(connected) => connected,
            Err(_) => Err(anyhow!("no answer within {CONNECT_TIME:?}")),
        };
        let sender = sender.with_context(|| format!("cannot reach a server at {authority}"))?;
        Ok(Self { sender, authority })
    }

    /// Sends a request; the response must begin within this time.
    pub(crate) async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
        time: Duration,
    ) -> anyhow::Result<Response<Incoming>> {
        let sent = async {
            self.sender.ready().await?;
            anyhow::Ok(self.sender.send_request(request).await?)
        };
        match timeout(time, sent).await {
            Ok(response) => response.context("the server closed the connection"),
            Err(_) => Err(anyhow!("no answer within {time:?}")),
        }
    }
}

/// Reads the whole body of a response, which must end within this time.
pub(crate) async fn body(response: Response<Incoming>, time: Duration) -> anyhow::Result<Bytes> {
    let body = Limited::new(response.into_body(), BODY_BYTES_MAX);
    match timeout(time, body.collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) => Err(anyhow!("the answer is incomplete: {error}")),
        Err(_) => Err(anyhow!("the answer did not end within {time:?}")),
    }
}

async fn handshake<S>(stream: S) -> anyhow::Result<SendRequest<Full<Bytes>>>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    // The pending request gets the connection's errors.
    tokio::spawn(connection);
    Ok(sender)
}

/// The certificate that the server generated.
fn certificate(args: &ServerArgs) -> Result<PathBuf, Failure> {
    let path = args.directory().join("tls").join("cert.pem");
    match fs::metadata(&path) {
        Ok(_) => Ok(path),
        Err(error) => Err(Failure::usage(format!(
            "no certificate at `{}` ({error}): name the server's data directory with --data-dir, or \
             use --insecure",
            path.display()
        ))),
    }
}

/// A connector for TLS; `None` without TLS.
fn tls(trust: &Trust) -> anyhow::Result<Option<TlsConnector>> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()?;
    let builder = match trust {
        Trust::Plain => return Ok(None),
        Trust::Certificate(path) => {
            let mut roots = RootCertStore::empty();
            for certificate in CertificateDer::pem_file_iter(path)? {
                roots.add(certificate?)?;
            }
            builder.with_root_certificates(roots)
        }
        Trust::Anyone => {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(Trusting { provider }))
        }
    };
    Ok(Some(TlsConnector::from(Arc::new(builder.with_no_client_auth()))))
}

/// Checks no certificate, as `--insecure` demands. Signatures must still be valid.
#[derive(Debug)]
struct Trusting {
    provider: Arc<rustls::crypto::CryptoProvider>,
}

impl ServerCertVerifier for Trusting {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::told;

    fn server(flags: &[&str]) -> Result<Server, Failure> {
        Server::new(&told(flags, &[]))
    }

    #[test]
    fn endpoints_say_how_they_are_trusted() {
        let plain = server(&["--endpoint", "http://db.example:9/"]).unwrap();
        assert_eq!((plain.host.as_str(), plain.port), ("db.example", 9));
        assert_eq!(plain.trust, Trust::Plain);
        let secure = server(&["--endpoint", "https://[::1]", "--insecure"]).unwrap();
        assert_eq!((secure.host.as_str(), secure.port), ("::1", 443));
        assert_eq!(secure.trust, Trust::Anyone);
        let untrusted = server(&["--endpoint", "https://x", "--data-dir", "/nowhere"]);
        assert!(untrusted.unwrap_err().message().contains("--insecure"));
        for bad in ["localhost:8081", "ftp://x", "http://", ""] {
            assert!(server(&["--endpoint", bad]).is_err(), "{bad}");
        }
    }
}
