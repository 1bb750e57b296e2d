//! The account's keys: where they are kept, who may use them where. `file` knows the text of a key
//! file, `command` is `sheaf keys`.
//!
//! The keys are those of `--key-file`; else those of the file `keys` in the data directory, which
//! `sheaf keys regenerate` makes; else the published one, where only this machine can connect.

pub(crate) mod command;
mod file;

use std::{
    fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use gateway::Keys;

pub(crate) use self::file::KeyFile;
use crate::{cors::Origin, failure::Failure};

/// The name of the key file in a data directory.
const NAME: &str = "keys";

/// Where an account's keys are kept.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    path: Option<PathBuf>,
    /// Somebody named the file, so it has to be there.
    is_given: bool,
    /// What there is without a file.
    fallback: KeyFile,
}

/// The keys, and whether one of them is known to everybody.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// The keys.
    pub(crate) keys: Keys,
    is_published: bool,
    /// Where the primary key is, for people.
    place: Place,
}

/// Where an account's primary key is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// It is the published one, so it may be printed.
    Published,
    /// In this file.
    File(PathBuf),
    /// In the variable that the emulator reads.
    Variable,
}

impl Source {
    /// The file that was named, or that of the data directory. Without either the published key
    /// is the only one.
    pub(crate) fn new(key_file: Option<&Path>, data_dir: Option<&Path>) -> Self {
        let own = data_dir.map(|directory| directory.join(NAME));
        let path = key_file.map(Path::to_owned).or(own);
        Self { path, is_given: key_file.is_some(), fallback: KeyFile::published() }
    }

    /// Has these keys where there is no file, in the place of the published one.
    pub(crate) fn with_fallback(self, keys: Option<KeyFile>) -> Self {
        Self { fallback: keys.unwrap_or(self.fallback), ..self }
    }

    /// The file, whether it is there or not.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Reads the keys.
    pub(crate) fn load(&self) -> Result<Loaded, Failure> {
        let found = self.find()?;
        let place = match (&found, &self.path) {
            (Some(file), Some(path)) if !file.is_primary_published() => Place::File(path.clone()),
            (None, _) if !self.fallback.is_primary_published() => Place::Variable,
            _ => Place::Published,
        };
        let file = found.unwrap_or_else(|| self.fallback.clone());
        let keys = file.keys().map_err(|problem| self.wrong(&problem))?;
        Ok(Loaded { keys, is_published: file.is_published(), place })
    }

    /// What the file holds, or what there is without one.
    pub(crate) fn read(&self) -> Result<KeyFile, Failure> {
        Ok(self.find()?.unwrap_or_else(|| self.fallback.clone()))
    }

    /// Reads the file, if it is there or has to be.
    fn find(&self) -> Result<Option<KeyFile>, Failure> {
        let Some(path) = &self.path else { return Ok(None) };
        match fs::read_to_string(path) {
            Ok(text) => {
                #[cfg(unix)]
                warn_if_shared(path);
                let file = KeyFile::parse(&text).map_err(|problem| self.wrong(&problem))?;
                if file.is_guessable() {
                    tracing::warn!(
                        path = %path.display(),
                        "a key has less than 16 bytes, and can be guessed; have one made by `sheaf keys`"
                    );
                }
                Ok(Some(file))
            }
            Err(error) if !self.is_given && is_absent(&error) => Ok(None),
            Err(error) => {
                let path = path.display();
                Err(Failure::usage(format!("cannot read the key file `{path}`: {error}")))
            }
        }
    }

    fn wrong(&self, problem: &str) -> Failure {
        let path = self.path.as_deref().unwrap_or_else(|| Path::new("-")).display();
        Failure::usage(format!("key file `{path}`: {problem}"))
    }
}

impl Loaded {
    /// Where the primary key is.
    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

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
            "`{}` can be reached by others, and the published key is known to everybody: have \
             keys made with `sheaf keys regenerate all`, give your own with --key-file, or, where \
             the network is closed to strangers, say --allow-published-key",
            exposed.ip()
        )))
    }

    /// Says that a page of anybody knows the published key, too.
    pub(crate) fn warn_of_pages(&self, pages: &[Origin]) {
        if self.is_published && pages.contains(&Origin::Any) {
            tracing::warn!(
                "any web page that a browser on this machine opens can use the database: its key is \
                 published, and `cors-origins` is `*`"
            );
        }
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
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

#[cfg(test)]
mod tests {
    use gateway::PUBLISHED_KEY;

    use super::*;

    const KEY: &str = "b3VyIG93biBrZXk=";

    fn loaded(text: &str) -> Loaded {
        let file = KeyFile::parse(text).unwrap();
        let place = Place::File(PathBuf::from("keys"));
        Loaded { keys: file.keys().unwrap(), is_published: file.is_published(), place }
    }

    #[test]
    fn the_published_key_stays_on_this_machine() {
        let outside = [SocketAddr::from(([0, 0, 0, 0], 8081))];
        let published = Source::new(None, None).load().unwrap();
        let failure = published.check_exposure(&outside, false).unwrap_err();
        assert!(failure.message().contains("--key-file"), "{failure:?}");
        assert!(failure.message().contains("--allow-published-key"), "{failure:?}");
        published.check_exposure(&outside, true).unwrap();
        published.check_exposure(&[SocketAddr::from(([127, 0, 0, 1], 1))], false).unwrap();
        loaded(KEY).check_exposure(&outside, false).unwrap();
        let copied = format!("primary = \"{KEY}\"\nsecondary = \"{PUBLISHED_KEY}\"");
        assert!(loaded(&copied).check_exposure(&outside, false).is_err());
    }

    #[test]
    fn a_named_file_wins_over_the_directory_and_must_be_there() {
        let scratch = tempfile::tempdir().unwrap();
        let directory = scratch.path();
        let own = Source::new(None, Some(directory));
        assert!(own.load().unwrap().is_published);
        fs::write(directory.join("keys"), KEY).unwrap();
        assert!(!own.load().unwrap().is_published);
        let named = directory.join("named");
        let given = Source::new(Some(&named), Some(directory));
        assert!(given.load().unwrap_err().message().contains("named"));
        fs::write(&named, PUBLISHED_KEY).unwrap();
        assert!(given.load().unwrap().is_published);
        assert_eq!(given.load().unwrap().place(), &Place::Published);
    }

    #[test]
    fn a_fallback_is_used_until_there_is_a_file() {
        let scratch = tempfile::tempdir().unwrap();
        let directory = scratch.path();
        let source = Source::new(None, Some(directory));
        assert_eq!(source.load().unwrap().place(), &Place::Published);
        let source = source.with_fallback(Some(KeyFile::parse(KEY).unwrap()));
        let loaded = source.load().unwrap();
        assert_eq!((loaded.is_published, loaded.place()), (false, &Place::Variable));
        fs::write(directory.join("keys"), "b3RoZXI=").unwrap();
        assert_eq!(source.load().unwrap().place(), &Place::File(directory.join("keys")));
    }
}
