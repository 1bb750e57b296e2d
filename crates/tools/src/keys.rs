//! The account's keys: where they are stored, and which of them a command uses. `file` parses and
//! prints key files.
//!
//! The key is that of `--key` or `SHEAF_KEY`; else the keys are those of `--key-file`; else those
//! of the file `keys` in the data directory, which `sheaf keys regenerate` creates; else the
//! published one.

mod file;

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
    str::FromStr,
};

use clap::ValueEnum;

pub use self::file::KeyFile;
use crate::{failure::Failure, told::Origin};

/// The name of the key file in a data directory.
const NAME: &str = "keys";

/// The keys of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KeyName {
    /// May do everything
    Primary,
    /// May do everything, too
    Secondary,
    /// May read and query
    PrimaryReadonly,
    /// May read and query, too
    SecondaryReadonly,
    /// All four
    All,
}

/// The text of a key. `Debug` hides it.
#[derive(Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// The text itself.
    pub fn text(&self) -> &str {
        &self.0
    }
}

impl FromStr for Secret {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(***)")
    }
}

/// The keys that flags and variables choose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The key itself.
    Key(Secret, Origin),
    /// The file of the keys.
    File(PathBuf, Origin),
    /// No choice.
    Neither,
}

impl Choice {
    /// A flag overrides a variable. A key and a file by the same means are an error.
    pub fn new(
        key: Option<(Secret, Origin)>,
        file: Option<(PathBuf, Origin)>,
    ) -> Result<Self, Failure> {
        match (key, file) {
            (None, None) => Ok(Self::Neither),
            (Some((_, Origin::Flag)), Some((_, Origin::Flag))) => {
                Err(Failure::usage("--key and --key-file are both given: give one of them"))
            }
            (Some((_, Origin::Variable)), Some((_, Origin::Variable))) => {
                Err(Failure::usage("SHEAF_KEY and SHEAF_KEY_FILE are both set: unset one of them"))
            }
            (Some((key, origin)), file) if file.is_none() || origin == Origin::Flag => {
                Ok(Self::Key(key, origin))
            }
            (_, Some((path, origin))) => Ok(Self::File(path, origin)),
            (Some((key, origin)), None) => Ok(Self::Key(key, origin)),
        }
    }
}

/// Where an account's keys are stored.
#[derive(Clone, Debug)]
pub struct Source {
    kept: Kept,
    /// The keys if there is no file.
    fallback: KeyFile,
}

/// Where an account's primary key is, for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// It is the published key, so it may be printed.
    Published,
    /// In `--key`, `SHEAF_KEY` or a line of the configuration file.
    Given,
    /// In this file.
    File(PathBuf),
    /// In the variable that the emulator reads.
    Variable,
}

#[derive(Clone, Debug)]
enum Kept {
    /// Not stored: the user gave the only key.
    Given(Secret),
    /// In a file that the user named, so it must exist.
    Named(PathBuf),
    /// In the file of a data directory, if it exists.
    Own(PathBuf),
    /// Not stored: the published key is the only one.
    Nowhere,
}

impl Source {
    /// The named file, or that of the data directory. Without either, the published key is the only
    /// one.
    pub fn new(key_file: Option<&Path>, data_dir: Option<&Path>) -> Self {
        let named = key_file.map(|path| Kept::Named(path.to_owned()));
        let own = || data_dir.map(|directory| Kept::Own(directory.join(NAME)));
        let kept = named.or_else(own).unwrap_or(Kept::Nowhere);
        Self { kept, fallback: KeyFile::published() }
    }

    /// An account with only this key.
    pub fn given(key: Secret) -> Self {
        Self { kept: Kept::Given(key), fallback: KeyFile::published() }
    }

    /// Uses these keys instead of the published one if there is no file.
    #[must_use]
    pub fn with_fallback(self, keys: Option<KeyFile>) -> Self {
        Self { fallback: keys.unwrap_or(self.fallback), ..self }
    }

    /// The path of the file, whether it exists or not.
    pub fn path(&self) -> Option<&Path> {
        match &self.kept {
            Kept::Named(path) | Kept::Own(path) => Some(path),
            Kept::Given(_) | Kept::Nowhere => None,
        }
    }

    /// The keys: those of the file, if it exists or must exist.
    pub fn read(&self) -> Result<KeyFile, Failure> {
        self.find().map(|(keys, _)| keys)
    }

    /// The keys, and where the primary one is.
    pub fn find(&self) -> Result<(KeyFile, Place), Failure> {
        let (keys, place) = match &self.kept {
            Kept::Given(key) => (given(key)?, Place::Given),
            Kept::Named(path) => (file(path)?, Place::File(path.clone())),
            Kept::Own(path) if is_there(path) => (file(path)?, Place::File(path.clone())),
            Kept::Own(_) | Kept::Nowhere => (self.fallback.clone(), Place::Variable),
        };
        let place = if keys.is_primary_published() { Place::Published } else { place };
        Ok((keys, place))
    }
}

/// The keys of an account with one given key.
fn given(key: &Secret) -> Result<KeyFile, Failure> {
    let file = KeyFile::of_key(key.text());
    let file = file.map_err(|problem| Failure::usage(format!("`key`: {problem}")))?;
    if file.is_guessable() {
        tracing::warn!("the key has less than 16 bytes and can be guessed");
    }
    Ok(file)
}

/// The keys in a file.
fn file(path: &Path) -> Result<KeyFile, Failure> {
    let shown = path.display();
    let text = fs::read_to_string(path)
        .map_err(|error| Failure::usage(format!("cannot read the key file `{shown}`: {error}")))?;
    #[cfg(unix)]
    warn_if_shared(path);
    let file = KeyFile::parse(&text)
        .map_err(|problem| Failure::usage(format!("key file `{shown}`: {problem}")))?;
    if file.is_guessable() {
        tracing::warn!(
            path = %shown,
            "a key has less than 16 bytes and can be guessed; create one with `sheaf keys`"
        );
    }
    Ok(file)
}

/// Whether a file exists. If it cannot be examined, assume so: reading it reports the error.
fn is_there(path: &Path) -> bool {
    !matches!(fs::metadata(path), Err(error) if is_absent(&error))
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Warns about a key file that others can read. This is not an error, because containers mount
/// secrets like this.
#[cfg(unix)]
fn warn_if_shared(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = fs::metadata(path).map_or(0, |metadata| metadata.permissions().mode());
    if mode & 0o077 != 0 {
        tracing::warn!(path = %path.display(), "other users can read the key file; consider chmod \
                                                600");
    }
}

#[cfg(test)]
mod tests {
    use gateway::PUBLISHED_KEY;

    use super::*;

    const KEY: &str = "b3VyIG93biBrZXk=";

    #[test]
    fn a_named_file_wins_over_the_directory_and_must_be_there() {
        let scratch = tempfile::tempdir().unwrap();
        let directory = scratch.path();
        let own = Source::new(None, Some(directory));
        assert!(own.read().unwrap().is_published());
        fs::write(directory.join("keys"), KEY).unwrap();
        assert!(!own.read().unwrap().is_published());
        let named = directory.join("named");
        let given = Source::new(Some(&named), Some(directory));
        assert!(given.read().unwrap_err().message().contains("named"));
        fs::write(&named, PUBLISHED_KEY).unwrap();
        assert!(given.read().unwrap().is_published());
    }

    #[test]
    fn a_fallback_is_used_until_there_is_a_file() {
        let scratch = tempfile::tempdir().unwrap();
        let directory = scratch.path();
        let source = Source::new(None, Some(directory));
        assert_eq!(source.find().unwrap().1, Place::Published);
        let source = source.with_fallback(Some(KeyFile::parse(KEY).unwrap()));
        let (keys, place) = source.find().unwrap();
        assert_eq!((keys.is_published(), place), (false, Place::Variable));
        let file = directory.join("keys");
        fs::write(&file, "b3RoZXI=").unwrap();
        assert_eq!(source.find().unwrap().1, Place::File(file.clone()));
        fs::write(&file, PUBLISHED_KEY).unwrap();
        assert_eq!(source.find().unwrap().1, Place::Published);
        assert_eq!(Source::given(KEY.parse().unwrap()).find().unwrap().1, Place::Given);
    }

    #[test]
    fn a_key_that_was_given_is_the_only_one() {
        let secret: Secret = KEY.parse().unwrap();
        assert!(!format!("{secret:?}").contains(KEY));
        let keys = Source::given(secret).read().unwrap().keys().unwrap();
        assert_eq!((keys.read_write.len(), keys.read_only.len()), (1, 0));
        let wrong = Source::given("s3cr3t!".parse().unwrap()).read().unwrap_err();
        assert!(wrong.message().contains("base64") && !wrong.message().contains("s3cr3t"));
    }

    #[test]
    fn a_flag_wins_over_a_variable() {
        let key = |origin| Some((KEY.parse::<Secret>().unwrap(), origin));
        let file = |origin| Some((PathBuf::from("f"), origin));
        let (flag, variable) = (Origin::Flag, Origin::Variable);
        let is_key = |choice| matches!(choice, Ok(Choice::Key(..)));
        let is_file = |choice| matches!(choice, Ok(Choice::File(..)));
        assert!(is_key(Choice::new(key(flag), file(variable))));
        assert!(is_file(Choice::new(key(variable), file(flag))));
        assert!(is_key(Choice::new(key(variable), None)));
        assert!(is_file(Choice::new(None, file(variable))));
        assert!(Choice::new(key(flag), file(flag)).is_err());
        assert!(Choice::new(key(variable), file(variable)).is_err());
        assert!(matches!(Choice::new(None, None), Ok(Choice::Neither)));
    }
}
