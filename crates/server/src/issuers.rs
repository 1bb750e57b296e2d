//! Reads the file that lists the trusted issuers of access tokens, and what their tokens' holders
//! may do.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, anyhow, bail};
use gateway::{Issuer, Issuers, KeySet};
use protocol::Role;
use serde::Deserialize;

use tools::Failure;

use crate::cors::Origin;

/// Largest file of keys. Entra's has some 20 KB.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Whose access tokens are accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Tokens {
    /// No tokens.
    None,
    /// Tokens from the issuers in this file.
    Issuers(PathBuf),
    /// Tokens from any issuer.
    Any,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct IssuersFile {
    #[serde(default)]
    issuer: Vec<IssuerEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct IssuerEntry {
    issuer: String,
    audiences: Vec<String>,
    /// A file; relative paths start at the directory of this one.
    jwks: PathBuf,
    roles: BTreeMap<String, String>,
}

/// Refuses to trust all tokens if other machines can connect, or if any web page can through a
/// browser on this machine.
pub(crate) fn check_exposure(
    tokens: &Tokens,
    addresses: &[SocketAddr],
    pages: &[Origin],
) -> Result<(), Failure> {
    if *tokens == Tokens::Any && pages.contains(&Origin::Any) {
        return Err(Failure::usage(
            "`trust-any-token` with `cors-origins = *` gives every web page access: name the sites",
        ));
    }
    let exposed = addresses.iter().find(|address| !address.ip().is_loopback());
    match exposed {
        Some(address) if *tokens == Tokens::Any => Err(Failure::usage(format!(
            "other machines can reach `{}`, and `trust-any-token` gives all of them access: listen \
             on 127.0.0.1, or name the trusted issuers with --token-issuers",
            address.ip()
        ))),
        _ => Ok(()),
    }
}

/// Reads the file and the key sets that it names.
pub(crate) fn load(path: &Path) -> anyhow::Result<Issuers> {
    let entries = read(path)?.issuer;
    let issuers =
        entries.into_iter().map(|entry| issuer(path, entry)).collect::<anyhow::Result<_>>();
    let context = || format!("file of token issuers `{}`", path.display());
    let issuers: Vec<Issuer> = issuers.with_context(context)?;
    if issuers.is_empty() {
        return Err(anyhow!("it has no `[[issuer]]`")).with_context(context);
    }
    let mut names = BTreeSet::new();
    if let Some(twice) = issuers.iter().find(|issuer| !names.insert(&issuer.name)) {
        // Only one of them would be used for a token.
        return Err(anyhow!("it names the issuer `{}` twice", twice.name)).with_context(context);
    }
    Ok(Issuers::new(issuers))
}

/// The key set files that it names, as far as it can be read.
pub(crate) fn key_files(path: &Path) -> Vec<PathBuf> {
    let entries = read(path).map(|file| file.issuer).unwrap_or_default();
    entries.iter().map(|entry| beside(path, &entry.jwks)).collect()
}

fn read(path: &Path) -> anyhow::Result<IssuersFile> {
    let context = || format!("cannot read the file of token issuers `{}`", path.display());
    let text = bounded(path).with_context(context)?;
    toml::from_str(&text).map_err(|error| anyhow!("{}", error.to_string().trim_end()))
}

fn issuer(path: &Path, entry: IssuerEntry) -> anyhow::Result<Issuer> {
    if entry.issuer.is_empty() || entry.audiences.is_empty() {
        bail!(
            "every issuer needs `issuer` and `audiences`, so that tokens for other services are \
               refused"
        );
    }
    let file = beside(path, &entry.jwks);
    let text = bounded(&file).with_context(|| format!("cannot read `{}`", file.display()))?;
    let keys = KeySet::parse(text.as_bytes())
        .map_err(|problem| anyhow!("key set `{}`: {problem}", file.display()))?;
    let role = |(name, role): (String, String)| match Role::parse(&role) {
        Some(role) => Ok((name, role)),
        None => Err(anyhow!("role `{role}` of `{name}`: use reader, contributor or owner")),
    };
    let roles = entry.roles.into_iter().map(role).collect::<anyhow::Result<_>>()?;
    Ok(Issuer { name: entry.issuer, audiences: entry.audiences, keys, roles })
}

fn beside(path: &Path, other: &Path) -> PathBuf {
    path.parent().map_or_else(|| other.to_owned(), |directory| directory.join(other))
}

fn bounded(path: &Path) -> anyhow::Result<String> {
    if fs::metadata(path)?.len() > FILE_BYTES_MAX {
        bail!("it is larger than {FILE_BYTES_MAX} bytes");
    }
    Ok(fs::read_to_string(path)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "[[issuer]]\nissuer = \"i\"\naudiences = [\"a\"]\njwks = \"keys.json\"\n\
                        [issuer.roles]\n\"Data.Read\" = \"reader\"\n";
    const KEYS: &str = r#"{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB"}]}"#;

    #[test]
    fn problems_are_named() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("issuers.toml");
        let error = |text: &str| {
            fs::write(&path, text).unwrap();
            format!("{:#}", load(&path).map(|_| ()).unwrap_err())
        };
        assert!(error(FILE).contains("keys.json"));
        fs::write(scratch.path().join("keys.json"), "{}").unwrap();
        assert!(error(FILE).contains("there is no array `keys`"));
        fs::write(scratch.path().join("keys.json"), KEYS).unwrap();
        assert!(error("").contains("has no `[[issuer]]`"));
        assert!(error("issuers = 1").contains("unknown field"));
        assert!(error(&FILE.replace("reader", "king")).contains("`king`"));
        assert!(error(&FILE.replace("[\"a\"]", "[]")).contains("audiences"));
        assert!(error(&FILE.repeat(2)).contains("names the issuer `i` twice"));
        fs::write(&path, FILE).unwrap();
        load(&path).unwrap();
        assert_eq!(key_files(&path), [scratch.path().join("keys.json")]);
    }

    #[test]
    fn everybody_is_trusted_on_this_machine_only() {
        let outside = [SocketAddr::from(([0, 0, 0, 0], 1))];
        let inside = [SocketAddr::from(([127, 0, 0, 1], 1))];
        assert!(check_exposure(&Tokens::Any, &outside, &[]).is_err());
        check_exposure(&Tokens::Any, &inside, &[]).unwrap();
        check_exposure(&Tokens::None, &outside, &[]).unwrap();
        let site = Origin::Site("https://app.example".to_owned());
        check_exposure(&Tokens::Any, &inside, std::slice::from_ref(&site)).unwrap();
        let failure = check_exposure(&Tokens::Any, &inside, &[site, Origin::Any]).unwrap_err();
        assert!(failure.message().contains("name the sites"), "{failure:?}");
        check_exposure(&Tokens::None, &outside, &[Origin::Any]).unwrap();
    }
}
