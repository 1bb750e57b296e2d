//! `sheaf cert`: the server's certificate, and how to make each client trust it.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context as _;
use clap::ValueEnum as _;
use rustls::pki_types::CertificateDer;
use sha2::{Digest as _, Sha256};

use tools::Failure;

use crate::{
    certificate::{certificates, read},
    cli::{CertArgs, CertificateFormat, Sdk},
};

/// Runs the command.
pub(crate) fn run(args: &CertArgs) -> Result<ExitCode, Failure> {
    export(args).map_err(Failure::start)?;
    Ok(ExitCode::SUCCESS)
}

fn export(args: &CertArgs) -> anyhow::Result<()> {
    let path = path(args);
    let pem = read(&path).context(
        "start the server once to create a certificate, or name its data directory with --data-dir",
    )?;
    let chain = certificates(&pem)?;
    let bytes = match args.format {
        CertificateFormat::Pem => pem.as_bytes(),
        // The server's own certificate is the first of the chain.
        CertificateFormat::Der => chain[0].as_ref(),
    };
    if let Some(output) = &args.output {
        fs::write(output, bytes).with_context(|| format!("cannot write `{}`", output.display()))?;
    } else {
        let mut stdout = io::stdout().lock();
        stdout.write_all(bytes).and_then(|()| stdout.flush())?;
    }
    let shown = args.output.as_deref().unwrap_or(&path);
    let text = instructions(args.sdk, shown, &chain[0]);
    // If stderr is closed, nobody reads this.
    let _ = io::stderr().lock().write_all(text.as_bytes());
    Ok(())
}

/// The path of the certificate file.
fn path(args: &CertArgs) -> PathBuf {
    args.tls_cert.clone().unwrap_or_else(|| {
        let directory = args.data_dir.clone().unwrap_or_else(|| PathBuf::from("sheaf-data"));
        directory.join("tls").join("cert.pem")
    })
}

fn instructions(sdk: Option<Sdk>, path: &Path, certificate: &CertificateDer<'_>) -> String {
    let absolute = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let file = absolute.display().to_string();
    let mut text = format!("\ncertificate  {file}\nsha256       {}\n", fingerprint(certificate));
    for asked in Sdk::value_variants().iter().filter(|other| sdk.is_none_or(|sdk| sdk == **other)) {
        text.push('\n');
        text.push_str(&instruction(*asked).replace("{file}", &file));
        text.push('\n');
    }
    text
}

/// The fingerprint of a certificate, as browsers and other tools show it.
fn fingerprint(certificate: &CertificateDer<'_>) -> String {
    let digest = Sha256::digest(certificate.as_ref());
    digest.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join(":")
}

fn instruction(sdk: Sdk) -> &'static str {
    match sdk {
        Sdk::Python => {
            "Python (which does not check the certificate of localhost and 127.0.0.1)\n  \
             trust = azure.cosmos.SSLConfiguration()\n  \
             trust.SSLCaCerts = \"{file}\"\n  \
             CosmosClient(\"https://localhost:8081\", KEY, ssl_config=trust)\n  \
             or REQUESTS_CA_BUNDLE=\"{file}\" python app.py\n  \
             azure.cosmos.aio: SSL_CERT_FILE=\"{file}\" python app.py"
        }
        Sdk::Javascript => "JavaScript\n  NODE_EXTRA_CA_CERTS=\"{file}\" node app.js",
        Sdk::Java => {
            "Java (in gateway mode)\n  \
             keytool -importcert -noprompt -alias sheaf -file \"{file}\" -keystore sheaf.p12 -storepass changeit\n  \
             java -Djavax.net.ssl.trustStore=sheaf.p12 -Djavax.net.ssl.trustStorePassword=changeit ..."
        }
        Sdk::Dotnet => {
            ".NET (in gateway mode)\n  \
             Windows: certutil -user -addstore Root \"{file}\"\n  \
             Debian, Ubuntu: sudo cp \"{file}\" /usr/local/share/ca-certificates/sheaf.crt && sudo update-ca-certificates\n  \
             Fedora: sudo cp \"{file}\" /etc/pki/ca-trust/source/anchors/sheaf.pem && sudo update-ca-trust\n  \
             macOS: security add-trusted-cert -p ssl -k ~/Library/Keychains/login.keychain-db \"{file}\""
        }
        Sdk::Go => {
            "Go\n  \
             pem, _ := os.ReadFile(\"{file}\")\n  \
             roots := x509.NewCertPool()\n  \
             roots.AppendCertsFromPEM(pem)\n  \
             client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}\n  \
             options := &azcosmos.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: client}}"
        }
        Sdk::Rust => {
            "Rust\n  \
             reqwest::Certificate::from_pem(&std::fs::read(\"{file}\")?)?, given to\n  \
             reqwest::ClientBuilder::add_root_certificate, and that client to the SDK as its transport"
        }
        Sdk::Curl => "curl\n  curl --cacert \"{file}\" https://localhost:8081/_sheaf/health",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sdk_has_its_lines() {
        let certificate = CertificateDer::from(b"abc".to_vec());
        let all = instructions(None, Path::new("/nowhere/cert.pem"), &certificate);
        for word in ["Python", "JavaScript", "Java (", ".NET", "Go\n", "Rust", "curl"] {
            assert!(all.contains(word), "{word}");
        }
        assert!(all.contains("trust.SSLCaCerts = \"/nowhere/cert.pem\""));
        assert!(!all.contains("connection_verify"), "it is a switch in Python, and takes no file");
        let one = instructions(Some(Sdk::Curl), Path::new("x"), &certificate);
        assert!(one.contains("--cacert") && !one.contains("keytool"));
    }

    /// The digest of `abc` from the standard.
    #[test]
    fn the_fingerprint_is_a_sha256() {
        let print = fingerprint(&CertificateDer::from(b"abc".to_vec()));
        assert!(print.starts_with("BA:78:16:BF:") && print.len() == 95, "{print}");
    }
}
