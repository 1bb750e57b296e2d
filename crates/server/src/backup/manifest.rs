//! What a backup consists of: a list of files, as text.
//!
//! ```text
//! sheaf backup 1
//! name 0007-20261116T030000Z
//! server 0.1.0
//! copied 1048576
//! file 0f4c…(32 digits) 2097152 keyspaces/3/tables/17
//! end 77a9…(32 digits)
//! ```
//!
//! The last line is the checksum of all lines above it. Times are part of the name.

use std::fmt::Write as _;

use anyhow::{Context as _, bail, ensure};
use xxhash_rust::xxh3::xxh3_128;

const FIRST: &str = "sheaf backup 1";

/// One backup.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Manifest {
    pub(crate) name: Name,
    /// The version of the server that wrote it.
    pub(crate) server: String,
    /// The bytes that no earlier backup had.
    pub(crate) copied_bytes: u64,
    pub(crate) files: Vec<Entry>,
}

/// One file of a backup.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The path below the directory of the store.
    pub(crate) path: String,
    pub(crate) id: FileId,
}

/// Identifies a file: backups that have the same file share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct FileId {
    /// XXH3 with 128 bits.
    pub(crate) checksum: u128,
    pub(crate) bytes: u64,
}

/// The name of a backup: a number, and the time when it began. Numbers always increase, even if the
/// clock goes back.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Name {
    number: u64,
    time: String,
}

impl Name {
    /// The name after this one, or the first one, at this time.
    pub(crate) fn after(last: Option<&Self>, seconds_since_epoch: u64) -> Self {
        let number = last.map_or(1, |last| last.number + 1);
        Self { number, time: stamp(seconds_since_epoch) }
    }

    /// Parses a name strictly, because it becomes part of a path.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (number, time) = text.split_once('-')?;
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let (day, rest) = time.split_once('T')?;
        let second = rest.strip_suffix('Z')?;
        let is_time = day.len() == 8 && second.len() == 6 && is_number(day) && is_number(second);
        let number = number.parse().ok().filter(|_| is_number(number) && is_time)?;
        let name = Self { number, time: time.to_owned() };
        // Accept only the canonical form.
        (name.to_string() == text).then_some(name)
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:04}-{}", self.number, self.time)
    }
}

impl std::fmt::Display for FileId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:032x}-{}", self.checksum, self.bytes)
    }
}

impl Manifest {
    /// The bytes of all its files.
    pub(crate) fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.id.bytes).sum()
    }

    /// Its text.
    pub(crate) fn print(&self) -> String {
        let mut text = format!(
            "{FIRST}\nname {}\nserver {}\ncopied {}\n",
            self.name, self.server, self.copied_bytes
        );
        for Entry { path, id } in &self.files {
            // Writing to a string does not fail.
            let _ = writeln!(text, "file {:032x} {} {path}", id.checksum, id.bytes);
        }
        let checksum = xxh3_128(text.as_bytes());
        let _ = writeln!(text, "end {checksum:032x}");
        text
    }

    /// Parses the text. Rejects anything that is not exactly as it was written.
    pub(crate) fn parse(text: &str) -> anyhow::Result<Self> {
        let first = text.lines().next().unwrap_or_default();
        ensure!(first.starts_with("sheaf backup "), "it is not a list of a backup's files");
        ensure!(
            first == FIRST,
            "it was written by another version: use the sheaf that made it, or \
                                 a newer one"
        );
        let content = text.strip_suffix('\n').and_then(|text| text.rfind('\n'));
        let (content, end) = text.split_at(content.map_or(0, |at| at + 1));
        let expected = format!("end {:032x}\n", xxh3_128(content.as_bytes()));
        ensure!(end == expected, "it is damaged: its checksum does not match");
        let mut lines = content.lines().skip(1);
        let mut field = |name: &str| {
            let value = lines.next().and_then(|line| line.strip_prefix(name)?.strip_prefix(' '));
            value.map(str::to_owned).with_context(|| format!("it has no `{name}`"))
        };
        let name = field("name")?;
        let name = Name::parse(&name).with_context(|| format!("`{name}` is not a valid name"))?;
        let server = field("server")?;
        let copied_bytes = field("copied")?.parse()?;
        let files = lines.map(entry).collect::<anyhow::Result<_>>()?;
        Ok(Self { name, server, copied_bytes, files })
    }
}

fn entry(line: &str) -> anyhow::Result<Entry> {
    let mut words = line.splitn(4, ' ');
    let (Some("file"), Some(checksum), Some(bytes), Some(path)) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        bail!("`{line}` does not describe a file");
    };
    ensure!(is_safe(path), "`{path}` is not the path of a store file");
    let id = FileId { checksum: u128::from_str_radix(checksum, 16)?, bytes: bytes.parse()? };
    Ok(Entry { path: path.to_owned(), id })
}

/// Whether a path stays below its base directory on every system.
pub(crate) fn is_safe(path: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    path.split('/').all(|name| {
        !name.is_empty() && name.bytes().all(is_plain) && name.bytes().any(|byte| byte != b'.')
    })
}

/// The time in UTC, as in names.
fn stamp(seconds_since_epoch: u64) -> String {
    let (days, second) = (seconds_since_epoch / 86_400, seconds_since_epoch % 86_400);
    // Years that begin in March end with the leap day, so all earlier months have fixed lengths.
    let days = days + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{:02}Z", second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        let id = FileId { checksum: 0xabc, bytes: 7 };
        let file = |path: &str| Entry { path: path.to_owned(), id };
        Manifest {
            name: Name::after(None, 1_794_837_097),
            server: "0.1.0".to_owned(),
            copied_bytes: 7,
            files: vec![file("version"), file("keyspaces/3/tables/17")],
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let manifest = manifest();
        assert_eq!(Manifest::parse(&manifest.print()).unwrap(), manifest);
        assert_eq!(manifest.bytes(), 14);
        let empty = Manifest { files: Vec::new(), ..manifest };
        assert_eq!(Manifest::parse(&empty.print()).unwrap(), empty);
    }

    #[test]
    fn any_damage_is_found() {
        let text = manifest().print();
        for at in 0..text.len() {
            assert!(Manifest::parse(&text[..at]).is_err(), "cut at {at}");
            let mut bytes = text.clone().into_bytes();
            bytes[at] ^= 1;
            let is_read = String::from_utf8(bytes).is_ok_and(|text| Manifest::parse(&text).is_ok());
            assert!(!is_read, "changed at {at}");
        }
        let newer = text.replace(FIRST, "sheaf backup 2");
        assert!(Manifest::parse(&newer).unwrap_err().to_string().contains("another version"));
        assert!(Manifest::parse("").is_err());
    }

    #[test]
    fn no_path_leads_elsewhere() {
        for good in ["version", "0.jnl", "keyspaces/0/tables/1", "a/..b"] {
            assert!(is_safe(good), "{good}");
        }
        for bad in ["", "/etc", "../x", "a/../b", "a//b", "a/.", "a\\b", "c:x", "a b", "a\0", "é"]
        {
            assert!(!is_safe(bad), "{bad}");
        }
        let mut manifest = manifest();
        manifest.files[0].path = "../outside".to_owned();
        let error = Manifest::parse(&manifest.print()).unwrap_err().to_string();
        assert!(error.contains("../outside"), "{error}");
    }

    #[test]
    fn names_rise_and_tell_the_time() {
        let first = Name::after(None, 1_794_837_097);
        assert_eq!(first.to_string(), "0001-20261116T135137Z");
        // The clock was set back.
        let second = Name::after(Some(&first), 951_782_400);
        assert_eq!(second.to_string(), "0002-20000229T000000Z");
        assert!(second > first);
        assert_eq!(Name::parse("0002-20000229T000000Z"), Some(second));
        assert_eq!(stamp(0), "19700101T000000Z");
        assert_eq!(stamp(1_709_251_199), "20240229T235959Z");
        assert!(Name::parse("10000-20000229T000000Z") > Name::parse("9999-20000229T000000Z"));
        for bad in
            ["", "latest", "2-20000229T000000Z", "0002-2000", "../x", "0002-20000229T00000éZ"]
        {
            assert_eq!(Name::parse(bad), None, "{bad}");
        }
    }
}
