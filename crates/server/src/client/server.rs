//! Which server a command talks to, whose key it uses, and how it trusts the connection.

use std::{fs, path::PathBuf};

use gateway::{Key, PUBLISHED_KEY};

use crate::{cli::ServerArgs, failure::Failure, keys};

/// Where the port of an endpoint is not said.
const HTTP_PORT: u16 = 80;
const HTTPS_PORT: u16 = 443;

/// A server, how it is trusted, and the key it knows us by.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) trust: Trust,
    pub(crate) key: Key,
}

/// Whose certificate is good.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// There is none: the connection is plain.
    Plain,
    /// That of this file.
    Certificate(PathBuf),
    /// Anybody's.
    Anyone,
}

impl Server {
    pub(crate) fn new(args: &ServerArgs) -> Result<Self, Failure> {
        let endpoint = args.endpoint.as_str();
        let wrong = || {
            Failure::usage(format!(
                "`{endpoint}` is no endpoint: write http://host:port or https://…"
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
        let port = uri.port_u16().unwrap_or(default_port);
        Ok(Self { host, port, trust, key: key(args)? })
    }
}

fn key(args: &ServerArgs) -> Result<Key, Failure> {
    let parsed =
        |text: &str| Key::parse(text).map_err(|error| Failure::usage(format!("--key: {error}")));
    match (&args.key, &args.key_file) {
        (Some(text), _) => parsed(text),
        (None, Some(path)) => {
            let keys = keys::load(Some(path))?.keys;
            let mut all = keys.read_write.into_iter().chain(keys.read_only);
            all.next().ok_or_else(|| Failure::usage("the key file holds no key"))
        }
        (None, None) => parsed(PUBLISHED_KEY),
    }
}

/// The certificate that the server made for itself.
fn certificate(args: &ServerArgs) -> Result<PathBuf, Failure> {
    let directory = args.data_dir.clone().unwrap_or_else(|| PathBuf::from("sheaf-data"));
    let path = directory.join("tls").join("cert.pem");
    match fs::metadata(&path) {
        Ok(_) => Ok(path),
        Err(error) => Err(Failure::usage(format!(
            "no certificate to trust at `{}` ({error}): name the server's data directory with \
             --data-dir, or say --insecure",
            path.display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::{Cli, Command};

    fn server(more: &[&str]) -> Result<Server, Failure> {
        let base = ["sheaf", "query", "SELECT 1", "-d", "d", "-c", "c"];
        let command = Cli::try_parse_from(base.iter().chain(more)).unwrap().command;
        let Command::Query(args) = command else { panic!("another command") };
        Server::new(&args.server)
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
