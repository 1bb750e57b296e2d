//! Flags shared by several commands.

use std::path::{Path, PathBuf};

use clap::{Args, builder::NonEmptyStringValueParser};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::{
    failure::Failure,
    keys::Secret,
    told::{Origin, Told},
};

/// The default port of a server.
const PORT: u16 = 8081;

/// The default data directory of a server.
const DATA_DIR: &str = "sheaf-data";

/// A collection.
#[derive(Args, Debug)]
pub struct CollectionArgs {
    /// Database of the collection
    #[arg(long, short, env = "SHEAF_DATABASE", value_name = "ID")]
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub database: String,

    /// Collection to use
    #[arg(long, short, env = "SHEAF_COLLECTION", value_name = "ID")]
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub collection: String,
}

impl CollectionArgs {
    /// The path of the collection, escaped, without a leading slash.
    pub(crate) fn path(&self) -> String {
        format!("dbs/{}/colls/{}", escaped(&self.database), escaped(&self.collection))
    }

    /// The link of the collection for the signature, not escaped.
    pub(crate) fn link(&self) -> String {
        format!("dbs/{}/colls/{}", self.database, self.collection)
    }
}

/// Escapes an id for a path.
pub(crate) fn escaped(id: &str) -> String {
    utf8_percent_encode(id, NON_ALPHANUMERIC).to_string()
}

/// The server for requests, and the key to sign them with.
#[derive(Args, Debug)]
pub struct AccountArgs {
    /// The server.
    #[command(flatten)]
    pub server: Told<ServerArgs>,

    /// The key.
    #[command(flatten)]
    pub key: Told<KeyArgs>,
}

/// The server of a command, and how to verify its certificate.
#[derive(Args, Debug)]
pub struct ServerArgs {
    /// Endpoint of the server [default: http://127.0.0.1 with the port of --port]
    #[arg(long, env = "SHEAF_ENDPOINT", value_name = "URL", help_heading = "Server")]
    pub endpoint: Option<String>,

    /// Port of a server on this machine, if no endpoint is given [default: 8081]
    #[arg(long, env = "SHEAF_PORT", value_name = "PORT", help_heading = "Server")]
    pub port: Option<u16>,

    /// Data directory of the server, for its keys and its certificate
    /// [default: ./sheaf-data]
    #[arg(long, env = "SHEAF_DATA_DIR", value_name = "DIR", help_heading = "Server")]
    pub data_dir: Option<PathBuf>,

    /// Trust any certificate: anyone on the way can read and change everything
    #[arg(long, help_heading = "Server")]
    pub insecure: bool,
}

impl ServerArgs {
    /// The server's data directory, for its keys and certificate.
    pub(crate) fn directory(&self) -> &Path {
        self.data_dir.as_deref().unwrap_or_else(|| Path::new(DATA_DIR))
    }
}

impl Told<ServerArgs> {
    /// The endpoint. A flag overrides a variable, and an endpoint overrides a port.
    pub(crate) fn url(&self) -> Result<String, Failure> {
        let is_flag = |name| self.origin(name) == Origin::Flag;
        match (&self.endpoint, self.port) {
            (Some(_), Some(_)) if is_flag("endpoint") && is_flag("port") => Err(Failure::usage(
                "--endpoint and --port are both given: the endpoint already contains a port",
            )),
            (Some(endpoint), port) if port.is_none() || !is_flag("port") => Ok(endpoint.clone()),
            (_, Some(0)) => Err(Failure::usage(
                "cannot connect to port 0: give the port from the server's ready line",
            )),
            (_, port) => Ok(format!("http://127.0.0.1:{}", port.unwrap_or(PORT))),
        }
    }
}

/// The key to sign requests with.
#[derive(Args, Debug)]
pub struct KeyArgs {
    /// Key of the account; it is visible in the list of processes, so prefer the variable or
    /// --key-file
    #[arg(long, env = "SHEAF_KEY", value_name = "KEY", help_heading = "Server")]
    #[arg(hide_env_values = true)]
    pub key: Option<Secret>,

    /// File with the account's keys, as for `sheaf serve` [default: `keys` in the data directory, else
    /// the well-known emulator key]
    #[arg(long, env = "SHEAF_KEY_FILE", value_name = "FILE", help_heading = "Server")]
    pub key_file: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::told;

    #[test]
    fn an_endpoint_wins_over_a_port_and_a_flag_over_a_variable() {
        let url = |flags: &[&str], variables: &[(&str, &str)]| {
            told::<ServerArgs>(flags, variables).url().map_err(|failure| failure.to_string())
        };
        let at = |port: u16| Ok(format!("http://127.0.0.1:{port}"));
        let there = Ok("http://x:1".to_owned());
        assert_eq!(url(&[], &[]), at(8081));
        assert_eq!(url(&["--port", "9"], &[]), at(9));
        assert_eq!(url(&[], &[("--port", "9")]), at(9));
        assert_eq!(url(&["--port", "7"], &[("--port", "9")]), at(7));
        assert_eq!(url(&["--endpoint", "http://x:1"], &[("--port", "9")]), there);
        let both = [("--endpoint", "http://x:1"), ("--port", "9")];
        assert_eq!(url(&[], &both), there);
        assert_eq!(url(&["--port", "7"], &both), at(7));
        assert!(url(&["--endpoint", "http://x:1", "--port", "7"], &[]).is_err());
        assert!(url(&[], &[("--port", "0")]).unwrap_err().contains("ready line"));
    }
}
