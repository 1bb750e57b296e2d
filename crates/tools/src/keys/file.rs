//! The text of a key file: up to four keys by name, or a single key.

use std::fmt;

use gateway::{Key, Keys, PUBLISHED_KEY};
use serde::Deserialize;

use super::KeyName;

/// The keys of an account as text. `Debug` hides them.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyFile {
    primary: String,
    secondary: Option<String>,
    primary_readonly: Option<String>,
    secondary_readonly: Option<String>,
}

impl KeyFile {
    /// The default keys of an account.
    pub fn published() -> Self {
        Self { primary: PUBLISHED_KEY.to_owned(), ..Self::default() }
    }

    /// An account with one key.
    pub fn of_key(text: &str) -> Result<Self, String> {
        let file = Self { primary: text.trim().to_owned(), ..Self::default() };
        Key::parse(text).map(|_| file).map_err(|error| error.to_string())
    }

    /// Parses both forms of a key file. No error repeats a part of a secret.
    pub fn parse(text: &str) -> Result<Self, String> {
        let file = if is_bare(text) {
            Self { primary: text.trim().to_owned(), ..Self::default() }
        } else {
            // Its `Display` would print the line, including the key.
            toml::from_str(text).map_err(|error| error.message().to_owned())?
        };
        file.keys().map(|_| file)
    }

    /// The keys themselves.
    pub fn keys(&self) -> Result<Keys, String> {
        let mut keys = Keys::default();
        for (name, text) in self.all() {
            let key = Key::parse(text).map_err(|error| format!("`{}`: {error}", word(name)))?;
            match name {
                KeyName::Primary | KeyName::Secondary => keys.read_write.push(key),
                _ => keys.read_only.push(key),
            }
        }
        Ok(keys)
    }

    /// Whether any of them is the published key.
    pub fn is_published(&self) -> bool {
        self.all().any(|(_, text)| text.trim() == PUBLISHED_KEY)
    }

    /// Whether the primary one is the published key.
    pub fn is_primary_published(&self) -> bool {
        self.primary.trim() == PUBLISHED_KEY
    }

    /// Whether one of them is short enough to be guessed: below 16 bytes, as base64.
    pub fn is_guessable(&self) -> bool {
        const CHARS_MIN: usize = 22;
        self.all().any(|(_, text)| text.trim().trim_end_matches('=').len() < CHARS_MIN)
    }

    /// Replaces one key, or all of them.
    pub fn replace(
        &mut self,
        name: KeyName,
        mut fresh: impl FnMut() -> anyhow::Result<String>,
    ) -> anyhow::Result<()> {
        match name {
            KeyName::Primary => self.primary = fresh()?,
            KeyName::Secondary => self.secondary = Some(fresh()?),
            KeyName::PrimaryReadonly => self.primary_readonly = Some(fresh()?),
            KeyName::SecondaryReadonly => self.secondary_readonly = Some(fresh()?),
            KeyName::All => {
                *self = Self {
                    primary: fresh()?,
                    secondary: Some(fresh()?),
                    primary_readonly: Some(fresh()?),
                    secondary_readonly: Some(fresh()?),
                };
            }
        }
        Ok(())
    }

    /// The lines of the file that contain this key, or all of them.
    pub fn lines(&self, name: KeyName) -> String {
        let is_asked = |other| name == KeyName::All || name == other;
        let asked = self.all().filter(|(other, _)| is_asked(*other));
        asked.fold(String::new(), |lines, (name, text)| {
            lines + &format!("{} = \"{}\"\n", word(name), text.trim())
        })
    }

    fn all(&self) -> impl Iterator<Item = (KeyName, &str)> {
        [
            (KeyName::Primary, Some(self.primary.as_str())),
            (KeyName::Secondary, self.secondary.as_deref()),
            (KeyName::PrimaryReadonly, self.primary_readonly.as_deref()),
            (KeyName::SecondaryReadonly, self.secondary_readonly.as_deref()),
        ]
        .into_iter()
        .filter_map(|(name, text)| text.map(|text| (name, text)))
    }
}

impl fmt::Debug for KeyFile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("KeyFile(***)")
    }
}

/// The name of a key in the file.
fn word(name: KeyName) -> &'static str {
    match name {
        KeyName::Primary => "primary",
        KeyName::Secondary => "secondary",
        KeyName::PrimaryReadonly => "primary_readonly",
        KeyName::SecondaryReadonly => "secondary_readonly",
        KeyName::All => "all",
    }
}

/// Whether the file contains a single key and nothing else, as the emulator's key file does.
fn is_bare(text: &str) -> bool {
    let is_base64 = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
    let text = text.trim();
    !text.is_empty() && text.chars().all(is_base64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "b3VyIG93biBrZXk=";

    #[test]
    fn both_forms_of_a_key_file_are_read() {
        let keys = |text: &str| KeyFile::parse(text).unwrap().keys().unwrap();
        assert_eq!(keys(&format!("{KEY}\n")).read_write.len(), 1);
        let full =
            format!("primary = \"{KEY}\"\nsecondary = \"{KEY}\"\nprimary_readonly = \"{KEY}\"\n");
        let keys = keys(&full);
        assert_eq!((keys.read_write.len(), keys.read_only.len()), (2, 1));
    }

    #[test]
    fn problems_are_named_and_secrets_are_not() {
        let error = KeyFile::parse("primary = \"s3cr3t!\"").unwrap_err();
        assert!(error.contains("primary") && !error.contains("s3cr3t"), "{error}");
        let error = KeyFile::parse("primary = \"s3cr3t").unwrap_err();
        assert!(!error.contains("s3cr3t"), "{error}");
        let error = KeyFile::parse(&format!("secondary = \"{KEY}\"")).unwrap_err();
        assert!(error.contains("primary"), "{error}");
        assert!(KeyFile::parse("").is_err());
        assert!(!format!("{:?}", KeyFile::parse(KEY)).contains(KEY));
    }

    #[test]
    fn one_key_is_replaced_and_the_others_stay() {
        let mut file = KeyFile::parse(KEY).unwrap();
        let mut count = 0;
        let mut replace = |file: &mut KeyFile, name| {
            file.replace(name, || {
                count += 1;
                Ok(format!("{count:04}"))
            })
            .unwrap();
            assert_eq!(KeyFile::parse(&file.lines(KeyName::All)).as_ref(), Ok(&*file));
        };
        replace(&mut file, KeyName::SecondaryReadonly);
        let lines = format!("primary = \"{KEY}\"\nsecondary_readonly = \"0001\"\n");
        assert_eq!(file.lines(KeyName::All), lines);
        replace(&mut file, KeyName::Primary);
        assert_eq!(file.lines(KeyName::Primary), "primary = \"0002\"\n");
        replace(&mut file, KeyName::All);
        assert_eq!(file.lines(KeyName::All).lines().count(), 4);
        assert!(!file.lines(KeyName::All).contains("0001") && !file.is_published());
        assert!(KeyFile::published().is_published());
        assert!(!KeyFile::published().is_guessable());
    }

    #[test]
    fn short_keys_are_known() {
        for (key, is_guessable) in
            [("AA==", true), ("MTIzNDU2Nzg5MDEyMzQ1", true), ("MTIzNDU2Nzg5MDEyMzQ1Ng==", false)]
        {
            assert_eq!(KeyFile::parse(key).unwrap().is_guessable(), is_guessable, "{key}");
        }
        let one = format!("primary = \"{PUBLISHED_KEY}\"\nprimary_readonly = \"AA==\"\n");
        assert!(KeyFile::parse(&one).unwrap().is_guessable());
    }
}
