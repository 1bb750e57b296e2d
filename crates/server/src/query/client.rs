//! One connection to a server, over which the pages of a query are asked for.

use std::{sync::Arc, time::Duration};

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
    time::{sleep, timeout},
};
use tokio_rustls::TlsConnector;

use crate::{
    clock::MachineClock,
    query::asked::{Asked, Server, Trust},
};

const CONNECT_TIME: Duration = Duration::from_secs(10);
/// A query that cannot be cut into pages may take the server longer than a page does.
const ANSWER_TIME: Duration = Duration::from_mins(10);
/// Far more than a page has; what is longer is no answer of ours.
const BODY_BYTES_MAX: usize = 64 << 20;
/// Most rows of one page.
const PAGE_ROWS: u64 = 1000;
/// How often a request that was refused for its cost is sent again.
const RETRIES: u32 = 30;
const RETRY_TIME: Duration = Duration::from_millis(100);
const RETRY_TIME_MAX: Duration = Duration::from_secs(10);

/// What came back for one page, answered or refused.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) status: u16,
    pub(super) body: Bytes,
    pub(super) continuation: Option<String>,
    pub(super) charge: f64,
}

/// A connection to a server.
pub(super) struct Client {
    sender: SendRequest<Full<Bytes>>,
    authority: String,
}

impl Client {
    pub(super) async fn connect(server: &Server) -> anyhow::Result<Self> {
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
                        "no secure connection; --insecure trusts the server whoever it is",
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

    /// Asks for a page of at most so many rows, again and again if the server is too busy.
    pub(super) async fn page(
        &mut self,
        asked: &Asked,
        rows: u64,
        continuation: Option<&str>,
    ) -> anyhow::Result<Page> {
        let mut tries = 0;
        loop {
            let request = self.request(asked, rows, continuation)?;
            let sent = async {
                self.sender.ready().await?;
                anyhow::Ok(self.sender.send_request(request).await?)
            };
            let response = match timeout(ANSWER_TIME, sent).await {
                Ok(response) => response.context("the server closed the connection")?,
                Err(_) => return Err(anyhow!("no answer within {ANSWER_TIME:?}")),
            };
            let wait = retry_after(&response);
            let page = read(response).await?;
            if page.status != 429 || tries >= RETRIES {
                return Ok(page);
            }
            sleep(wait).await;
            tries += 1;
        }
    }

    fn request(
        &self,
        asked: &Asked,
        rows: u64,
        continuation: Option<&str>,
    ) -> anyhow::Result<Request<Full<Bytes>>> {
        let now = gateway::Clock::now(&MachineClock);
        let signed = gateway::signed(&asked.key, "POST", "docs", &asked.link, now);
        let mut request = Request::post(&asked.path)
            .header("host", &self.authority)
            .header("authorization", signed.authorization)
            .header("x-ms-date", signed.date)
            .header("x-ms-version", "2020-07-15")
            .header("content-type", "application/query+json")
            .header("x-ms-documentdb-isquery", "True")
            .header("x-ms-max-item-count", rows.min(PAGE_ROWS).to_string());
        request = match &asked.partition_key {
            Some(key) => request.header("x-ms-documentdb-partitionkey", key),
            None => request.header("x-ms-documentdb-query-enablecrosspartition", "True"),
        };
        if let Some(continuation) = continuation {
            request = request.header("x-ms-continuation", continuation);
        }
        if asked.explain {
            request = request.header("x-sheaf-explain", "True");
        }
        Ok(request.body(Full::new(Bytes::from(asked.body.clone())))?)
    }
}

async fn handshake<S>(stream: S) -> anyhow::Result<SendRequest<Full<Bytes>>>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    // Its errors reach whoever waits for an answer.
    tokio::spawn(connection);
    Ok(sender)
}

async fn read(response: Response<Incoming>) -> anyhow::Result<Page> {
    let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
    let continuation = header("x-ms-continuation").map(str::to_owned);
    let charge = header("x-ms-request-charge").and_then(|text| text.parse().ok());
    let charge = charge.filter(|charge: &f64| charge.is_finite()).unwrap_or(0.0);
    let status = response.status().as_u16();
    let body = Limited::new(response.into_body(), BODY_BYTES_MAX);
    let body = match timeout(ANSWER_TIME, body.collect()).await {
        Ok(body) => body.map_err(|error| anyhow!("the answer broke off: {error}"))?,
        Err(_) => return Err(anyhow!("the answer did not end within {ANSWER_TIME:?}")),
    };
    Ok(Page { status, body: body.to_bytes(), continuation, charge })
}

fn retry_after(response: &Response<Incoming>) -> Duration {
    let header = response.headers().get("x-ms-retry-after-ms");
    let millis = header.and_then(|value| value.to_str().ok()?.parse().ok());
    millis.map_or(RETRY_TIME, Duration::from_millis).min(RETRY_TIME_MAX)
}

/// What TLS needs, if there is any.
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

/// Asks for no name, because it was told not to. Signatures still have to be right.
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
