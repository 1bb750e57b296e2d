//! The server's certificate: given, kept from an earlier start, or made now.

use std::{
    fs,
    net::IpAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, anyhow};
use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _};
use tokio_rustls::TlsAcceptor;

use crate::{data_dir, net::tls};

/// How long a generated certificate is good for. Nobody renews a development certificate.
const VALIDITY_YEARS: i32 = 20;
/// The mean Gregorian year.
const YEAR: Duration = Duration::from_secs(31_556_952);

/// A certificate and its key, both as PEM text.
struct Pem {
    certificate: String,
    key: String,
}

/// An acceptor with the certificate of the given files.
pub(crate) fn from_files(certificate: &Path, key: &Path) -> anyhow::Result<TlsAcceptor> {
    let pem = Pem { certificate: read(certificate)?, key: read(key)? };
    pem.acceptor()
        .with_context(|| format!("TLS files `{}` and `{}`", certificate.display(), key.display()))
}

/// An acceptor with the certificate kept in `directory`, made there on the first start.
pub(crate) fn kept_in(directory: &Path, host: &str, now: Duration) -> anyhow::Result<TlsAcceptor> {
    let (certificate, key) = (directory.join("cert.pem"), directory.join("key.pem"));
    if certificate.try_exists()? && key.try_exists()? {
        return from_files(&certificate, &key)
            .context("delete both files to have new ones made at the next start");
    }
    let pem = generate(host, now)?;
    data_dir::create_private(directory)
        .and_then(|()| data_dir::write_private(&key, &pem.key))
        .and_then(|()| data_dir::write_private(&certificate, &pem.certificate))
        .with_context(|| format!("cannot keep a TLS certificate in `{}`", directory.display()))?;
    tracing::info!(certificate = %absolute(&certificate).display(), "made a TLS certificate");
    pem.acceptor()
}

/// An acceptor with a certificate that is gone when the process ends.
pub(crate) fn temporary(host: &str, now: Duration) -> anyhow::Result<TlsAcceptor> {
    generate(host, now)?.acceptor()
}

impl Pem {
    fn acceptor(&self) -> anyhow::Result<TlsAcceptor> {
        let chain = CertificateDer::pem_slice_iter(self.certificate.as_bytes())
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| anyhow!("the certificate is no PEM text: {error}"))?;
        if chain.is_empty() {
            return Err(anyhow!("the certificate file holds no `BEGIN CERTIFICATE` section"));
        }
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes())
            .map_err(|error| anyhow!("the key file holds no private key in PEM: {error}"))?;
        tls::acceptor(chain, key)
    }
}

/// A self-signed certificate for this machine. P-256, because its keys are made at once.
fn generate(host: &str, now: Duration) -> anyhow::Result<Pem> {
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new(names(host))?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, "sheaf");
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    // A year's slack before now, for clients whose clock is late.
    let year = 1970 + i32::try_from(now.as_secs() / YEAR.as_secs())?;
    params.not_before = rcgen::date_time_ymd(year - 1, 1, 1);
    params.not_after = rcgen::date_time_ymd(year + VALIDITY_YEARS, 1, 1);
    let certificate = params.self_signed(&key)?;
    Ok(Pem { certificate: certificate.pem(), key: key.serialize_pem() })
}

/// The names that clients of this machine use.
fn names(host: &str) -> Vec<String> {
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    let machine = fs::read_to_string("/proc/sys/kernel/hostname")
        .ok()
        .or_else(|| std::env::var("COMPUTERNAME").ok());
    let machine = machine.as_deref().map(str::trim);
    for name in [Some(host), machine].into_iter().flatten() {
        if is_certifiable(name) && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// Whether a certificate can carry the name: an address that is one machine's, or a DNS name.
fn is_certifiable(name: &str) -> bool {
    if let Ok(address) = name.parse::<IpAddr>() {
        return !address.is_unspecified();
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
    matches!(name.len(), 1..=253) && name.chars().all(is_plain)
}

fn read(path: &Path) -> anyhow::Result<String> {
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
        kept_in(&directory, "0.0.0.0", NOW).unwrap();
        let first = fs::read(directory.join("cert.pem")).unwrap();
        kept_in(&directory, "0.0.0.0", NOW).unwrap();
        assert_eq!(first, fs::read(directory.join("cert.pem")).unwrap());
    }

    #[test]
    fn files_that_do_not_fit_are_refused() {
        let scratch = tempfile::tempdir().unwrap();
        let (one, other) = (scratch.path().join("one"), scratch.path().join("other"));
        kept_in(&one, "db.example", NOW).unwrap();
        kept_in(&other, "db.example", NOW).unwrap();
        let mixed = from_files(&one.join("cert.pem"), &other.join("key.pem"));
        assert!(mixed.is_err());
        let swapped = from_files(&one.join("key.pem"), &one.join("cert.pem"));
        assert!(format!("{:#}", swapped.err().unwrap()).contains("BEGIN CERTIFICATE"));
    }

    #[test]
    fn odd_host_names_do_not_break_the_certificate() {
        for host in ["", "0.0.0.0", "::", "snow man", "192.168.1.7", "db.example"] {
            temporary(host, NOW).unwrap();
        }
        assert!(names("192.168.1.7").contains(&"192.168.1.7".to_owned()));
        assert!(!names("::").contains(&"::".to_owned()));
    }
}
