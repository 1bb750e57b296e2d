//! The account's keys: read from a file, or the published one where only this machine can connect.

use std::{fs, net::SocketAddr, path::Path};

use gateway::{Key, Keys, PUBLISHED_KEY};
use serde::Deserialize;

use crate::failure::Failure;

/// The keys, and whether one of them is known to everybody.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// The keys.
    pub(crate) keys: Keys,
    is_published: bool,
}

/// The four lines of a key file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyFile {
    primary: String,
    secondary: Option<String>,
    primary_readonly: Option<String>,
    secondary_readonly: Option<String>,
}

/// Reads the key file, if there is one.
pub(crate) fn load(path: Option<&Path>) -> Result<Loaded, Failure> {
    let text = match path {
        Some(path) => read(path)?,
        None => PUBLISHED_KEY.to_owned(),
    };
    parse(&text).map_err(|problem| {
        let path = path.unwrap_or_else(|| Path::new("-")).display();
        Failure::usage(format!("key file `{path}`: {problem}"))
    })
}

impl Loaded {
    /// Refuses to offer the published key to other machines.
    pub(crate) fn check_exposure(
        &self,
        addresses: &[SocketAddr],
        is_allowed: bool,
    ) -> Result<(), Failure> {
        let Some(exposed) = addresses.iter().find(|address| !address.ip().is_loopback()) else {
            return Ok(());
        };
        if !self.is_published {
            return Ok(());
        }
        if is_allowed {
            tracing::warn!(address = %exposed, "anyone who reaches this address knows the key");
            return Ok(());
        }
        Err(Failure::usage(format!(
            "`{}` can be reached by others, and the published key is known to everybody: give \
             keys of your own with --key-file, or, where the network is closed to strangers, say \
             --allow-published-key",
            exposed.ip()
        )))
    }
}

fn read(path: &Path) -> Result<String, Failure> {
    let text = fs::read_to_string(path).map_err(|error| {
        Failure::usage(format!("cannot read the key file `{}`: {error}", path.display()))
    })?;
    #[cfg(unix)]
    warn_if_shared(path);
    Ok(text)
}

/// Secrets that others can read are worth a word, but containers mount them so.
#[cfg(unix)]
fn warn_if_shared(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = fs::metadata(path).map_or(0, |metadata| metadata.permissions().mode());
    if mode & 0o077 != 0 {
        tracing::warn!(path = %path.display(), "others can read the key file; consider chmod 600");
    }
}

/// Understands both forms of a key file. No error repeats what may be part of a secret.
fn parse(text: &str) -> Result<Loaded, String> {
    let texts = if is_bare(text) {
        KeyFile {
            primary: text.trim().to_owned(),
            secondary: None,
            primary_readonly: None,
            secondary_readonly: None,
        }
    } else {
        // Its `Display` would print the line, key and all.
        toml::from_str(text).map_err(|error| error.message().to_owned())?
    };
    let all = [
        ("primary", Some(texts.primary)),
        ("secondary", texts.secondary),
        ("primary_readonly", texts.primary_readonly),
        ("secondary_readonly", texts.secondary_readonly),
    ];
    let mut loaded = Loaded { keys: Keys::default(), is_published: false };
    for (name, text) in all {
        let Some(text) = text else { continue };
        let key = Key::parse(&text).map_err(|error| format!("`{name}`: {error}"))?;
        loaded.is_published |= text.trim() == PUBLISHED_KEY;
        match name {
            "primary" | "secondary" => loaded.keys.read_write.push(key),
            _ => loaded.keys.read_only.push(key),
        }
    }
    Ok(loaded)
}

/// Whether the file is nothing but a key, as the emulator's key file is.
fn is_bare(text: &str) -> bool {
    let is_base64 = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
    let text = text.trim();
    !text.is_empty() && text.chars().all(is_base64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "b3VyIG93biBrZXk=";

    fn outside() -> Vec<SocketAddr> {
        vec![SocketAddr::from(([0, 0, 0, 0], 8081))]
    }

    #[test]
    fn both_forms_of_a_key_file_are_read() {
        assert_eq!(parse(&format!("{KEY}\n")).unwrap().keys.read_write.len(), 1);
        let full =
            format!("primary = \"{KEY}\"\nsecondary = \"{KEY}\"\nprimary_readonly = \"{KEY}\"\n");
        let keys = parse(&full).unwrap().keys;
        assert_eq!((keys.read_write.len(), keys.read_only.len()), (2, 1));
    }

    #[test]
    fn problems_are_named_and_secrets_are_not() {
        let error = parse("primary = \"s3cr3t!\"").unwrap_err();
        assert!(error.contains("primary") && !error.contains("s3cr3t"), "{error}");
        let error = parse("primary = \"s3cr3t").unwrap_err();
        assert!(!error.contains("s3cr3t"), "{error}");
        assert!(parse(&format!("secondary = \"{KEY}\"")).unwrap_err().contains("primary"));
        assert!(parse("").is_err());
    }

    #[test]
    fn the_published_key_stays_on_this_machine() {
        let published = load(None).unwrap();
        let failure = published.check_exposure(&outside(), false).unwrap_err();
        assert!(failure.message().contains("--key-file"), "{failure:?}");
        assert!(failure.message().contains("--allow-published-key"), "{failure:?}");
        published.check_exposure(&outside(), true).unwrap();
        published.check_exposure(&[SocketAddr::from(([127, 0, 0, 1], 1))], false).unwrap();
        parse(KEY).unwrap().check_exposure(&outside(), false).unwrap();
        let copied = format!("primary = \"{KEY}\"\nsecondary = \"{PUBLISHED_KEY}\"");
        assert!(parse(&copied).unwrap().check_exposure(&outside(), false).is_err());
    }
}
