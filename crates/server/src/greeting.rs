//! Prints to standard output once the server accepts requests: one line for programs, then a few
//! for people. Logs go to standard error.

use std::{
    fmt::Write as _,
    io::{self, Write as _},
    net::{IpAddr, SocketAddr},
    path::Path,
};

use gateway::PUBLISHED_KEY;

use crate::keys::Place;

/// The facts to print.
pub(crate) struct Greeting<'a> {
    /// The URL that the server listens on.
    pub(crate) endpoint: &'a str,
    /// The advertised endpoint, if it differs.
    pub(crate) advertised: Option<String>,
    /// The address that the server listens on.
    pub(crate) address: SocketAddr,
    /// Whether it also listens on the IPv6 loopback address.
    pub(crate) has_ipv6: bool,
    /// The location of the primary key.
    pub(crate) key: &'a Place,
    /// The data directory; `None` keeps the data in memory.
    pub(crate) data: Option<&'a Path>,
}

impl Greeting<'_> {
    /// Prints the ready line and, unless it should be quiet, how to begin.
    pub(crate) fn print(&self, is_quiet: bool) {
        let mut text = format!("ready endpoint={}\n", self.endpoint);
        if !is_quiet {
            text += &self.text();
        }
        let mut stdout = io::stdout().lock();
        // If stdout is closed, nobody reads the lines.
        let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    }

    /// The lines for people.
    fn text(&self) -> String {
        let endpoint = self.reachable();
        let beside = if self.has_ipv6 {
            format!(" and [::1]:{}", self.address.port())
        } else {
            String::new()
        };
        let (key, note) = match self.key {
            Place::Published => (PUBLISHED_KEY, "the well-known emulator key".to_owned()),
            Place::File(path) => {
                ("<primary>", format!("`primary` in {}; `sheaf keys list` shows it", shown(path)))
            }
            Place::Given => ("<primary>", "the one given by `key` or SHEAF_KEY".to_owned()),
            Place::Variable => {
                ("<primary>", "the one in the variable AZURE_COSMOS_EMULATOR_KEY".to_owned())
            }
        };
        let data = match self.data {
            Some(path) => shown(path),
            None => "in memory: lost when the server stops".to_owned(),
        };
        let mut text = String::new();
        for (name, value) in [
            ("endpoint", endpoint.clone()),
            ("listening", format!("{}{beside}", self.address)),
            ("connection", format!("AccountEndpoint={endpoint};AccountKey={key};")),
            ("key", note),
            ("data", data),
        ] {
            // Writing into a string does not fail.
            let _ = writeln!(text, "  {name:<11} {value}");
        }
        text
    }

    /// An endpoint that works when pasted: nobody can connect to `0.0.0.0`.
    fn reachable(&self) -> String {
        match &self.advertised {
            Some(advertised) => advertised.clone(),
            None if self.address.ip().is_unspecified() => {
                self.endpoint.replace(&host(self.address.ip()), "localhost")
            }
            None => self.endpoint.to_owned(),
        }
    }
}

/// An address in the form for URLs.
fn host(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

/// The absolute path, so that it is valid elsewhere.
fn shown(path: &Path) -> String {
    std::fs::canonicalize(path)
        .or_else(|_| std::path::absolute(path))
        .unwrap_or_else(|_| path.to_owned())
        .display()
        .to_string()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn text(address: &str, advertised: Option<&str>, key: &Place, data: Option<&Path>) -> String {
        let endpoint = format!("http://{address}/");
        let greeting = Greeting {
            endpoint: &endpoint,
            advertised: advertised.map(str::to_owned),
            address: address.parse().unwrap(),
            has_ipv6: address.starts_with("127."),
            key,
            data,
        };
        greeting.text()
    }

    #[test]
    fn a_connection_string_can_be_pasted() {
        let said = text("127.0.0.1:8081", None, &Place::Published, None);
        let expected =
            format!("AccountEndpoint=http://127.0.0.1:8081/;AccountKey={PUBLISHED_KEY};\n");
        assert!(said.contains(&expected) && said.contains("in memory"), "{said}");
        assert!(said.contains("127.0.0.1:8081 and [::1]:8081\n"), "{said}");
        for every in ["0.0.0.0:8081", "[::]:8081"] {
            let said = text(every, None, &Place::Published, None);
            assert!(said.contains("AccountEndpoint=http://localhost:8081/;"), "{said}");
        }
        let said = text("0.0.0.0:8081", Some("https://db.example/"), &Place::Published, None);
        assert!(said.contains("AccountEndpoint=https://db.example/;"), "{said}");
    }

    #[test]
    fn keys_that_are_secrets_are_not_printed() {
        let file = Place::File(PathBuf::from("/etc/sheaf/keys"));
        let said = text("127.0.0.1:8081", None, &file, Some(Path::new("/var/lib/sheaf")));
        assert!(
            said.contains("AccountKey=<primary>;") && said.contains("/etc/sheaf/keys"),
            "{said}"
        );
        assert!(said.contains("  data        /var/lib/sheaf\n") && !said.contains(PUBLISHED_KEY));
        let said = text("127.0.0.1:8081", None, &Place::Variable, None);
        assert!(said.contains("AZURE_COSMOS_EMULATOR_KEY") && !said.contains(PUBLISHED_KEY));
    }
}
