//! Environment variables of Microsoft's emulators, so that a container configured for one of them
//! starts Sheaf unchanged. They have the lowest priority: flags, `SHEAF_...` variables and the file
//! override them.
//!
//! `AZURE_COSMOS_EMULATOR_...` is always read. The newer emulator's variables have names that other
//! programs use, too (`PORT`): they are read only if the setting `emulator-variables` says so, as
//! in a container.

use std::{ffi::OsString, path::PathBuf};

use crate::{
    keys::KeyFile,
    settings::{Consistency, LogLevel, RateLimit, Settings, TlsMode},
};

const PREFIX: &str = "AZURE_COSMOS_EMULATOR_";

/// The variables of the newer emulator, which have no prefix.
const PLAIN: [&str; 18] = [
    "PORT",
    "PROTOCOL",
    "KEY_FILE",
    "DATA_PATH",
    "LOG_LEVEL",
    "GATEWAY_PUBLIC_ENDPOINT",
    "CERT_PATH",
    "CERT_SECRET",
    "ENABLE_EXPLORER",
    "EXPLORER_PORT",
    "EXPLORER_PROTOCOL",
    "ENABLE_TELEMETRY",
    "ENABLE_OTLP_EXPORTER",
    "ENABLE_CONSOLE_EXPORTER",
    "ENABLE_INIT_DATA",
    "INIT_PATH",
    "QUERY_BUFFER_SIZE_KB",
    "VERBOSE",
];

/// The values of the variables.
#[derive(Debug, Default)]
pub(super) struct Emulator {
    /// The equivalent settings.
    pub(super) settings: Settings,
    /// The key, used if there is no key file.
    pub(super) keys: Option<KeyFile>,
    /// Log lines about variables that have no equivalent, so that nobody expects an effect.
    pub(super) notes: Vec<String>,
}

/// Reads the variables. `said` are the settings from flags, our own variables and the file. The
/// error names the variable.
pub(super) fn read(
    variables: impl IntoIterator<Item = (OsString, OsString)>,
    said: &Settings,
) -> Result<Emulator, String> {
    let reads_plain = said.emulator_variables.unwrap_or(false);
    let mut found: Vec<(String, String)> = variables
        .into_iter()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, value)| {
            let is_plain = reads_plain && PLAIN.contains(&name.as_str());
            (name.starts_with(PREFIX) || is_plain) && !value.trim().is_empty()
        })
        .collect();
    // The environment has no order, but the log should have one.
    found.sort();
    let mut emulator = Emulator::default();
    for (name, value) in &found {
        emulator.take(name, value.trim()).map_err(|problem| format!("`{name}`: {problem}"))?;
    }
    emulator.finish(&found, said)?;
    Ok(emulator)
}

impl Emulator {
    fn take(&mut self, name: &str, value: &str) -> Result<(), String> {
        let settings = &mut self.settings;
        match name.strip_prefix(PREFIX).unwrap_or(name) {
            "ENABLE_DATA_PERSISTENCE" => settings.in_memory = Some(!switch(value)?),
            "KEY" => self.keys = Some(KeyFile::parse(value)?),
            "ARGS" => {
                for argument in value.trim_matches(['"', '\'']).split_whitespace() {
                    self.argument(argument)?;
                }
            }
            "PORT" => settings.port = Some(port(value)?),
            "PROTOCOL" => settings.tls = Some(protocol(value)?),
            "KEY_FILE" => settings.key_file = Some(PathBuf::from(value)),
            "DATA_PATH" => settings.data_dir = Some(PathBuf::from(value)),
            "LOG_LEVEL" => settings.log_level = Some(log_level(value)?),
            // The port and the scheme come from other variables.
            "GATEWAY_PUBLIC_ENDPOINT" => {}
            "IP_ADDRESS_OVERRIDE" => {
                self.note(
                    name,
                    "is not needed: the account names the address that the client used",
                );
            }
            "PARTITION_COUNT" | "DEFAULT_PARTITION_COUNT" => {
                self.note(name, "is not needed: the number of partitions is not limited");
            }
            _ => self.note(name, "has no equivalent and is ignored"),
        }
        Ok(())
    }

    /// Reads one argument of the Windows emulator: `/Name` or `/Name=value`, in any case.
    fn argument(&mut self, argument: &str) -> Result<(), String> {
        let (name, value) = argument.split_once('=').unwrap_or((argument, ""));
        let settings = &mut self.settings;
        match name.trim_start_matches(['/', '-']).to_ascii_lowercase().as_str() {
            "port" => settings.port = Some(port(value)?),
            "datapath" => settings.data_dir = Some(PathBuf::from(value)),
            "key" => self.keys = Some(KeyFile::parse(value)?),
            "keyfile" => settings.key_file = Some(PathBuf::from(value)),
            "consistency" => settings.consistency = Some(consistency(value)?),
            "disableratelimiting" => settings.rate_limit = Some(RateLimit::Never),
            "enableratelimiting" => settings.rate_limit = Some(RateLimit::Always),
            "allownetworkaccess" => settings.host = Some("0.0.0.0".to_owned()),
            // A word that is not a name may be a value that a space separates from its name.
            word if word.len() <= 40 && word.bytes().all(|byte| byte.is_ascii_lowercase()) => {
                self.note(&format!("{PREFIX}ARGS {name}"), "has no equivalent and is ignored");
            }
            _ => self.note(&format!("{PREFIX}ARGS"), "has an argument that is ignored"),
        }
        Ok(())
    }

    /// Applies settings that depend on several variables.
    fn finish(&mut self, found: &[(String, String)], said: &Settings) -> Result<(), String> {
        // Naming a directory implies that the data should be stored in it.
        if said.data_dir.is_some() && self.settings.in_memory.take() == Some(true) {
            let name = format!("{PREFIX}ENABLE_DATA_PERSISTENCE");
            self.note(&name, "is ignored: `data-dir` says where the data is");
        }
        let public = found.iter().find(|(name, _)| name == "GATEWAY_PUBLIC_ENDPOINT");
        if let Some((name, value)) = public {
            let is_https = said.tls.or(self.settings.tls) == Some(TlsMode::Required);
            let port = said.port.or(self.settings.port).unwrap_or(super::PORT);
            let url = endpoint(value.trim(), if is_https { "https" } else { "http" }, port);
            gateway::Endpoint::parse(&url).map_err(|problem| format!("`{name}`: {problem}"))?;
            self.settings.advertise = Some(url);
        }
        Ok(())
    }

    fn note(&mut self, name: &str, what: &str) {
        // A misused variable may be long.
        let name: String = name.chars().take(100).collect();
        self.notes.push(format!("the variable {name} {what}"));
    }
}

/// The URL of an endpoint given as a host, `host:port` or a URL.
fn endpoint(value: &str, scheme: &str, port: u16) -> String {
    let is_address = value.parse::<std::net::Ipv6Addr>().is_ok();
    let has_port = value.rsplit_once(':').is_some_and(|(host, _)| !host.ends_with(':'));
    match value {
        url if url.contains("://") => url.to_owned(),
        address if is_address => format!("{scheme}://[{address}]:{port}/"),
        bracketed if bracketed.ends_with(']') => format!("{scheme}://{bracketed}:{port}/"),
        authority if has_port => format!("{scheme}://{authority}/"),
        host => format!("{scheme}://{host}:{port}/"),
    }
}

fn switch(value: &str) -> Result<bool, String> {
    match value.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Ok(true),
        "false" | "0" | "no" | "off" => Ok(false),
        _ => Err("use true or false".to_owned()),
    }
}

fn port(value: &str) -> Result<u16, String> {
    value.parse().map_err(|_| "use a port from 0 to 65535".to_owned())
}

fn protocol(value: &str) -> Result<TlsMode, String> {
    match value.to_ascii_lowercase().as_str() {
        "http" => Ok(TlsMode::Off),
        "https" | "https-insecure" => Ok(TlsMode::Required),
        _ => Err("use http, https or https-insecure".to_owned()),
    }
}

fn log_level(value: &str) -> Result<LogLevel, String> {
    match value.to_ascii_lowercase().as_str() {
        "quiet" | "error" => Ok(LogLevel::Error),
        "warn" => Ok(LogLevel::Warn),
        "info" => Ok(LogLevel::Info),
        "debug" | "trace" => Ok(LogLevel::Debug),
        _ => Err("use quiet, error, warn, info, debug or trace".to_owned()),
    }
}

fn consistency(value: &str) -> Result<Consistency, String> {
    match value.to_ascii_lowercase().as_str() {
        "strong" => Ok(Consistency::Strong),
        "boundedstaleness" => Ok(Consistency::BoundedStaleness),
        "session" => Ok(Consistency::Session),
        "consistentprefix" => Ok(Consistency::ConsistentPrefix),
        "eventual" => Ok(Consistency::Eventual),
        _ => Err("use Strong, BoundedStaleness, Session, ConsistentPrefix or Eventual".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(said: &Settings, variables: &[(&str, &str)]) -> Result<Emulator, String> {
        read(variables.iter().map(|(name, value)| (name.into(), value.into())), said)
    }

    fn in_container() -> Settings {
        Settings { emulator_variables: Some(true), ..Settings::default() }
    }

    #[test]
    fn variables_with_the_emulators_prefix_are_always_read() {
        let read = reading(
            &Settings::default(),
            &[
                ("AZURE_COSMOS_EMULATOR_ENABLE_DATA_PERSISTENCE", "false"),
                ("AZURE_COSMOS_EMULATOR_PARTITION_COUNT", "10"),
                ("AZURE_COSMOS_EMULATOR_IP_ADDRESS_OVERRIDE", "127.0.0.1"),
                ("AZURE_COSMOS_EMULATOR_ENABLE_MONGODB_ENDPOINT", "4.0"),
                ("AZURE_COSMOS_EMULATOR_GREMLIN_ENDPOINT", ""),
                ("PORT", "1"),
                ("HOME", "/root"),
            ],
        )
        .unwrap();
        assert_eq!((read.settings.in_memory, read.settings.port), (Some(true), None));
        assert_eq!(read.notes.len(), 3, "{:?}", read.notes);
        assert!(
            read.notes[0].contains("ENABLE_MONGODB_ENDPOINT has no equivalent"),
            "{:?}",
            read.notes
        );
    }

    #[test]
    fn arguments_are_those_of_the_windows_emulator() {
        let variables = [(
            "AZURE_COSMOS_EMULATOR_ARGS",
            "'/Port=9000 -disableratelimiting /Consistency=Strong /NoUI'",
        )];
        let read = reading(&Settings::default(), &variables).unwrap();
        assert_eq!(read.settings.port, Some(9000));
        assert_eq!(read.settings.rate_limit, Some(RateLimit::Never));
        assert_eq!(read.settings.consistency, Some(Consistency::Strong));
        assert_eq!(read.notes.len(), 1, "{:?}", read.notes);
        assert!(read.notes[0].contains("/NoUI"), "{:?}", read.notes);
    }

    #[test]
    fn the_newer_emulators_variables_are_read_where_it_is_said() {
        let variables = [
            ("PORT", "9000"),
            ("PROTOCOL", "https"),
            ("LOG_LEVEL", "trace"),
            ("DATA_PATH", "/data"),
            ("KEY_FILE", "/key"),
            ("GATEWAY_PUBLIC_ENDPOINT", "cosmos"),
            ("ENABLE_EXPLORER", "false"),
        ];
        let read = reading(&in_container(), &variables).unwrap();
        assert_eq!((read.settings.port, read.settings.tls), (Some(9000), Some(TlsMode::Required)));
        assert_eq!(read.settings.log_level, Some(LogLevel::Debug));
        assert_eq!(read.settings.data_dir, Some(PathBuf::from("/data")));
        assert_eq!(read.settings.key_file, Some(PathBuf::from("/key")));
        assert_eq!(read.settings.advertise.as_deref(), Some("https://cosmos:9000/"));
        assert_eq!(read.notes.len(), 1, "{:?}", read.notes);
        let unread = reading(&Settings::default(), &variables).unwrap();
        assert!(unread.settings.port.is_none() && unread.notes.is_empty());
    }

    #[test]
    fn a_public_endpoint_may_have_a_port_and_a_scheme() {
        for (value, expected) in [
            ("cosmos", "http://cosmos:8081/"),
            ("db.example:443", "http://db.example:443/"),
            ("https://db.example", "https://db.example"),
            ("::1", "http://[::1]:8081/"),
            ("[::1]", "http://[::1]:8081/"),
            ("[::1]:80", "http://[::1]:80/"),
        ] {
            let read = reading(&in_container(), &[("GATEWAY_PUBLIC_ENDPOINT", value)]).unwrap();
            assert_eq!(read.settings.advertise.as_deref(), Some(expected));
        }
        let failed = reading(&in_container(), &[("GATEWAY_PUBLIC_ENDPOINT", "a b")]).unwrap_err();
        assert!(failed.starts_with("`GATEWAY_PUBLIC_ENDPOINT`: "), "{failed}");
    }

    #[test]
    fn what_is_said_in_our_own_words_wins() {
        let said = Settings { data_dir: Some("/data".into()), ..Settings::default() };
        let variables = [("AZURE_COSMOS_EMULATOR_ENABLE_DATA_PERSISTENCE", "false")];
        let read = reading(&said, &variables).unwrap();
        assert_eq!((read.settings.in_memory, read.notes.len()), (None, 1), "{:?}", read.notes);
        let said = Settings { port: Some(1), ..in_container() };
        let read = reading(&said, &[("PORT", "2"), ("GATEWAY_PUBLIC_ENDPOINT", "cosmos")]).unwrap();
        assert_eq!(read.settings.advertise.as_deref(), Some("http://cosmos:1/"));
        assert_eq!(said.over(read.settings).port, Some(1));
    }

    #[test]
    fn wrong_values_are_named_and_keys_are_not() {
        for (name, value) in [
            ("AZURE_COSMOS_EMULATOR_ENABLE_DATA_PERSISTENCE", "perhaps"),
            ("AZURE_COSMOS_EMULATOR_ARGS", "/Port=many"),
            ("AZURE_COSMOS_EMULATOR_ARGS", "/Consistency=Weak"),
            ("PORT", "65536"),
            ("PROTOCOL", "ftp"),
            ("LOG_LEVEL", "loud"),
            ("AZURE_COSMOS_EMULATOR_KEY", "not base64!"),
        ] {
            let failed = reading(&in_container(), &[(name, value)]).unwrap_err();
            assert!(failed.starts_with(&format!("`{name}`: ")), "{failed}");
            assert!(!failed.contains("not base64!"), "{failed}");
        }
        let apart = ("AZURE_COSMOS_EMULATOR_ARGS", "/Key c2VjcmV0Cg==");
        let failed = reading(&Settings::default(), &[apart]).unwrap_err();
        assert!(!failed.contains("c2Vj"), "{failed}");
        let lost = ("AZURE_COSMOS_EMULATOR_ARGS", "/NoUI c2VjcmV0Cg==");
        let notes = reading(&Settings::default(), &[lost]).unwrap().notes;
        assert!(notes.len() == 2 && !notes.concat().contains("c2Vj"), "{notes:?}");
        let key = ("AZURE_COSMOS_EMULATOR_KEY", gateway::PUBLISHED_KEY);
        let read = reading(&Settings::default(), &[key]).unwrap();
        assert!(read.keys.unwrap().is_published());
    }
}
