//! The server's certificate: from given files, from an earlier start, or newly generated.

use std::{
    fs,
    net::IpAddr,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use anyhow::{Context as _, anyhow};
use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _};
use tokio_rustls::TlsAcceptor;

use crate::{data_dir, http};

/// How long a generated certificate is valid. Nobody renews a development certificate.
const VALIDITY_YEARS: i32 = 20;
/// The mean Gregorian year.
const YEAR: Duration = Duration::from_secs(31_556_952);

/// The server's certificate, and the authorities for client certificates.
pub(crate) struct Certificate {
    pair: Pair,
    /// The file of authorities for client certificates; `None` requests none from clients.
    client_ca: Option<PathBuf>,
}

/// Where the certificate and its key come from.
enum Pair {
    Files {
        certificate: PathBuf,
        key: PathBuf,
    },
    /// Generated for this process only.
    Temporary(Pem),
}

/// The public certificate. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct PublicCertificate(Arc<RwLock<Arc<str>>>);

impl PublicCertificate {
    /// Starts with this text.
    pub(crate) fn new(pem: Arc<str>) -> Self {
        Self(Arc::new(RwLock::new(pem)))
    }

    /// The chain in PEM, the server's own certificate first.
    pub(crate) fn pem(&self) -> Arc<str> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the text.
    pub(crate) fn replace(&self, pem: Arc<str>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = pem;
    }
}

/// A certificate and its key, both as PEM text.
struct Pem {
    certificate: String,
    key: String,
}

impl Certificate {
    /// The certificate of the given files.
    pub(crate) fn of_files(certificate: &Path, key: &Path) -> Self {
        let pair = Pair::Files { certificate: certificate.to_owned(), key: key.to_owned() };
        Self { pair, client_ca: None }
    }

    /// The certificate kept in `directory`, made there on the first start.
    pub(crate) fn kept_in(directory: &Path, hosts: &[&str], now: Duration) -> anyhow::Result<Self> {
        let (certificate, key) = (directory.join("cert.pem"), directory.join("key.pem"));
        if !(certificate.try_exists()? && key.try_exists()?) {
            let pem = generate(hosts, now)?;
            data_dir::create_private(directory)
                .and_then(|()| data_dir::write_private(&key, &pem.key))
                .and_then(|()| data_dir::write_private(&certificate, &pem.certificate))
                .with_context(|| {
                    format!("cannot store a TLS certificate in `{}`", directory.display())
                })?;
            let path = absolute(&certificate);
            tracing::info!(certificate = %path.display(), "created a TLS certificate");
        }
        Ok(Self::of_files(&certificate, &key))
    }

    /// A generated certificate that is not stored.
    pub(crate) fn temporary(hosts: &[&str], now: Duration) -> anyhow::Result<Self> {
        Ok(Self { pair: Pair::Temporary(generate(hosts, now)?), client_ca: None })
    }

    /// Requires client certificates from one of the authorities in this file.
    pub(crate) fn with_client_ca(self, client_ca: Option<PathBuf>) -> Self {
        Self { client_ca, ..self }
    }

    /// The files it is read from.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        if let Pair::Files { certificate, key } = &self.pair {
            files.extend([certificate.clone(), key.clone()]);
        }
        files.extend(self.client_ca.clone());
        files
    }

    /// Reads the files; returns an acceptor for connections, and the public certificate.
    pub(crate) fn acceptor(&self) -> anyhow::Result<(TlsAcceptor, Arc<str>)> {
        let roots = self.client_ca.as_deref().map(read).transpose()?;
        let made = |pem: &Pem| {
            let roots = roots.as_deref().map(|text| certificates(text)).transpose();
            let roots = roots.context("the authorities of clients")?;
            let acceptor = net::tls::acceptor(
                certificates(&pem.certificate)?,
                pem.key()?,
                roots,
                &http::ALPN,
            )?;
            anyhow::Ok((acceptor, public_part(&pem.certificate)))
        };
        match &self.pair {
            Pair::Temporary(pem) => made(pem),
            Pair::Files { certificate, key } => {
                let pem = Pem { certificate: read(certificate)?, key: read(key)? };
                made(&pem).with_context(|| {
                    format!("TLS files `{}` and `{}`", certificate.display(), key.display())
                })
            }
        }
    }
}

impl Pem {
    fn key(&self) -> anyhow::Result<PrivateKeyDer<'static>> {
        PrivateKeyDer::from_pem_slice(self.key.as_bytes())
            .map_err(|error| anyhow!("the key file contains no private key in PEM: {error}"))
    }
}

/// The certificates in a PEM text; at least one.
pub(crate) fn certificates(pem: &str) -> anyhow::Result<Vec<CertificateDer<'static>>> {
    let chain = CertificateDer::pem_slice_iter(pem.as_bytes())
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| anyhow!("the certificate is not in PEM: {error}"))?;
    if chain.is_empty() {
        return Err(anyhow!("the certificate file contains no `BEGIN CERTIFICATE` section"));
    }
    Ok(chain)
}

/// The certificates in a PEM text, without anything else: some files also contain the private key.
fn public_part(pem: &str) -> Arc<str> {
    const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
    const END: &str = "-----END CERTIFICATE-----";
    let mut public = String::new();
    let mut is_inside = false;
    for line in pem.lines().map(str::trim) {
        is_inside |= line == BEGIN;
        if is_inside {
            public.push_str(line);
            public.push('\n');
        }
        is_inside &= line != END;
    }
    public.into()
}

/// A self-signed certificate for this machine. Uses P-256, because its keys are generated quickly.
fn generate(hosts: &[&str], now: Duration) -> anyhow::Result<Pem> {
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new(names(hosts))?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, "sheaf");
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    // Starts a year ago, for clients whose clock is slow.
    let year = 1970 + i32::try_from(now.as_secs() / YEAR.as_secs())?;
    params.not_before = rcgen::date_time_ymd(year - 1, 1, 1);
    params.not_after = rcgen::date_time_ymd(year + VALIDITY_YEARS, 1, 1);
    let certificate = params.self_signed(&key)?;
    Ok(Pem { certificate: certificate.pem(), key: key.serialize_pem() })
}

/// The host name of this machine, if it has one.
pub(crate) fn machine_name() -> Option<String> {
    let name = fs::read_to_string("/proc/sys/kernel/hostname")
        .ok()
        .or_else(|| std::env::var("COMPUTERNAME").ok())?;
    Some(name.trim().to_owned())
}

/// The names for this machine that clients use, and those from the operator.
fn names(hosts: &[&str]) -> Vec<String> {
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    let machine = machine_name();
    for name in hosts.iter().copied().chain(machine.as_deref()) {
        if is_certifiable(name) && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// Whether a certificate can contain the name: the address of a single machine, or a DNS name.
fn is_certifiable(name: &str) -> bool {
    if let Ok(address) = name.parse::<IpAddr>() {
        return !address.is_unspecified();
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
    matches!(name.len(), 1..=253) && name.chars().all(is_plain)
}

pub(crate) fn read(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path)
        .with_context(|| format!("cannot read the TLS file `{}`", path.display()))
}

fn absolute(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(1_790_000_000);

    #[test]
    fn a_certificate_is_made_once_and_kept() {
        let scratch = tempfile::tempdir().unwrap();
        let directory = scratch.path().join("tls");
        let kept = || Certificate::kept_in(&directory, &["0.0.0.0"], NOW).unwrap();
        assert_eq!(kept().files().len(), 2);
        let first = fs::read(directory.join("cert.pem")).unwrap();
        kept().acceptor().unwrap();
        assert_eq!(first, fs::read(directory.join("cert.pem")).unwrap());
    }

    #[test]
    fn files_that_do_not_fit_are_refused() {
        let scratch = tempfile::tempdir().unwrap();
        let (one, other) = (scratch.path().join("one"), scratch.path().join("other"));
        for directory in [&one, &other] {
            Certificate::kept_in(directory, &["db.example"], NOW).unwrap();
        }
        let (cert, key) = (one.join("cert.pem"), one.join("key.pem"));
        let error =
            |certificate: Certificate| format!("{:#}", certificate.acceptor().err().unwrap());
        error(Certificate::of_files(&cert, &other.join("key.pem")));
        assert!(error(Certificate::of_files(&key, &cert)).contains("BEGIN CERTIFICATE"));
        let with_ca =
            |path: &Path| Certificate::of_files(&cert, &key).with_client_ca(Some(path.to_owned()));
        with_ca(&other.join("cert.pem")).acceptor().unwrap();
        assert!(error(with_ca(&other.join("key.pem"))).contains("authorities of clients"));
        assert!(error(with_ca(&other.join("nothing"))).contains("nothing"));
    }

    #[test]
    fn the_key_is_not_part_of_what_everybody_may_have() {
        let pem = generate(&[], NOW).unwrap();
        let both =
            format!("# made by hand\r\n{}\r\n{}{}", pem.key, pem.certificate, pem.certificate);
        let public = public_part(&both);
        assert_eq!(certificates(&public).unwrap().len(), 2);
        assert!(!public.contains("KEY") && !public.contains("by hand"), "{public}");
        let (_, served) = Certificate::temporary(&[], NOW).unwrap().acceptor().unwrap();
        assert!(served.starts_with("-----BEGIN CERTIFICATE-----\n") && !served.contains("KEY"));
    }

    #[test]
    fn odd_host_names_do_not_break_the_certificate() {
        for host in ["", "0.0.0.0", "::", "snow man", "192.168.1.7", "db.example"] {
            Certificate::temporary(&[host], NOW).unwrap().acceptor().unwrap();
        }
        assert!(names(&["192.168.1.7"]).contains(&"192.168.1.7".to_owned()));
        assert!(!names(&["::"]).contains(&"::".to_owned()));
    }
}
