//! The key that signs requests, and its origin, which people need to know if a server refuses it.

use std::path::{Path, PathBuf};

use gateway::Key;

use crate::{
    args::KeyArgs,
    failure::Failure,
    keys::{Choice, Source},
    told::{Origin, Told},
};

/// A key and its origin.
#[derive(Debug)]
pub(crate) struct Credential {
    pub(crate) key: Key,
    origin: KeyOrigin,
    /// The path of the data directory's key file, which may be missing.
    own: PathBuf,
}

#[derive(Debug, PartialEq, Eq)]
enum KeyOrigin {
    /// `--key` or `SHEAF_KEY`.
    Given(Origin),
    /// The file of `--key-file` or `SHEAF_KEY_FILE`.
    File(PathBuf, Origin),
    /// The key file of the data directory.
    Own,
    /// The published key.
    Published,
}

impl Credential {
    /// The key from the command line or a data directory.
    pub(crate) fn new(args: &Told<KeyArgs>, directory: &Path) -> Result<Self, Failure> {
        let key = args.key.clone().map(|key| (key, args.origin("key")));
        let file = args.key_file.clone().map(|path| (path, args.origin("key_file")));
        let own = Source::new(None, Some(directory));
        let (source, origin) = match Choice::new(key, file)? {
            Choice::Key(key, origin) => (Source::given(key), KeyOrigin::Given(origin)),
            Choice::File(path, origin) => {
                (Source::new(Some(&path), None), KeyOrigin::File(path, origin))
            }
            Choice::Neither if is_there(&own) => (own.clone(), KeyOrigin::Own),
            Choice::Neither => (own.clone(), KeyOrigin::Published),
        };
        let keys = source.read()?.keys().map_err(Failure::usage)?;
        let mut all = keys.read_write.into_iter().chain(keys.read_only);
        let key = all.next().ok_or_else(|| Failure::usage("the key file contains no key"))?;
        let own = own.path().unwrap_or(directory).to_owned();
        Ok(Self { key, origin, own })
    }

    /// Tells which key was used, and where the right one may be; never contains the key itself.
    pub(crate) fn advice(&self) -> String {
        let own = self.own.display();
        let elsewhere = "a server accepts the key in SHEAF_KEY, those of its --key-file, or those \
                         of the file `keys` in its data directory: name one of the files with \
                         --key-file or --data-dir, or see `sheaf keys list`";
        let (used, right) = match &self.origin {
            KeyOrigin::Given(origin) => {
                let name = name(*origin, "--key", "SHEAF_KEY");
                let right = if self.own.try_exists().unwrap_or(false) {
                    format!("without {name} the keys of `{own}` are used")
                } else {
                    elsewhere.to_owned()
                };
                (format!("the key of {name}"), right)
            }
            KeyOrigin::File(path, origin) => {
                let name = name(*origin, "--key-file", "SHEAF_KEY_FILE");
                let used = format!("the first key of `{}` ({name})", path.display());
                (used, elsewhere.to_owned())
            }
            KeyOrigin::Own => (format!("the first key of `{own}`"), elsewhere.to_owned()),
            KeyOrigin::Published => (
                format!("the published emulator key, since there is no file `{own}`"),
                elsewhere.to_owned(),
            ),
        };
        format!("  the request was signed with {used}\n  {right}")
    }
}

fn name(origin: Origin, flag: &'static str, variable: &'static str) -> &'static str {
    match origin {
        Origin::Flag => flag,
        Origin::Variable => variable,
    }
}

fn is_there(source: &Source) -> bool {
    // If a file cannot be examined, assume it exists: reading it reports the error.
    source.path().is_some_and(|path| path.try_exists().unwrap_or(true))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::testing::told;

    const KEY: &str = "b3VyIG93biBrZXk=";

    #[test]
    fn the_key_that_was_used_is_named_and_not_shown() {
        let scratch = tempfile::tempdir().unwrap();
        let data = scratch.path().join("data");
        fs::create_dir(&data).unwrap();
        let file = scratch.path().join("named");
        fs::write(&file, KEY).unwrap();
        let file = file.to_str().unwrap();
        let advice = |flags: &[&str], variables: &[(&str, &str)]| {
            let credential = Credential::new(&told(flags, variables), &data).unwrap();
            let advice = credential.advice();
            assert!(!advice.contains("b3Vy"), "{advice}");
            advice
        };
        assert!(advice(&[], &[]).contains("the published emulator key"));
        let given = advice(&["--key", KEY], &[]);
        assert!(given.contains("the key of --key\n") && given.contains("--data-dir"), "{given}");
        assert!(advice(&["--key-file", file], &[]).contains("named` (--key-file)"));
        assert!(advice(&[], &[("--key-file", file)]).contains("(SHEAF_KEY_FILE)"));
        fs::write(data.join("keys"), KEY).unwrap();
        assert!(advice(&[], &[]).contains("the first key of `"));
        let given = advice(&[], &[("--key", KEY)]);
        assert!(given.contains("the key of SHEAF_KEY\n"), "{given}");
        assert!(given.contains("without SHEAF_KEY the keys of `"), "{given}");
    }
}
