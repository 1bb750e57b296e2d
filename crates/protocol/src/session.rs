//! Session tokens: what a caller has seen of each partition.
//!
//! Two forms are always accepted: `0:-1#42` (with further `#region=lsn` parts, which a single
//! region ignores) and the older `0:42`. The form written depends on the caller.

/// The newest LSN that the caller has seen, by partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionTokens(pub Vec<(String, u64)>);

/// The most partitions in a token; SDKs send one per range of a collection.
const PARTITIONS_MAX: usize = 10_000;

impl SessionTokens {
    /// Parses the header; an empty one means no token. `None` if it is malformed.
    pub fn parse(text: &str) -> Option<Self> {
        let mut tokens = Vec::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (range_id, token) = part.split_once(':')?;
            if range_id.is_empty() || tokens.len() == PARTITIONS_MAX {
                return None;
            }
            tokens.push((range_id.to_owned(), parse_lsn(token)?));
        }
        Some(Self(tokens))
    }

    /// The LSN to wait for in a partition, by its id or, after a split, by an ancestor's.
    pub fn lsn_of(&self, range_id: &str, parents: &[String]) -> Option<u64> {
        self.0
            .iter()
            .filter(|(id, _)| id == range_id || parents.contains(id))
            .map(|(_, lsn)| *lsn)
            .max()
    }
}

fn parse_lsn(token: &str) -> Option<u64> {
    let mut parts = token.split('#');
    let first = parts.next()?;
    match parts.next() {
        None => first.parse().ok(),
        Some(global) => {
            first.parse::<i64>().ok()?;
            parts.all(is_region).then(|| global.parse().ok())?
        }
    }
}

/// Whether the text is `region=lsn`, both numbers. A single region ignores their values.
fn is_region(part: &str) -> bool {
    part.split_once('=')
        .is_some_and(|(region, lsn)| region.parse::<u32>().is_ok() && lsn.parse::<i64>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_both_dialects() {
        let one = |lsn| Some(SessionTokens(vec![("0".to_owned(), lsn)]));
        assert_eq!(SessionTokens::parse("0:-1#42"), one(42));
        assert_eq!(SessionTokens::parse("0:1#42#3=7"), one(42));
        assert_eq!(SessionTokens::parse("0:1#42#3=7#4=-1"), one(42));
        assert_eq!(SessionTokens::parse("0:42"), one(42));
        assert_eq!(SessionTokens::parse(""), Some(SessionTokens::default()));
        let two = SessionTokens::parse("0:-1#4, 2:-1#9").expect("two tokens");
        assert_eq!(two.lsn_of("2", &[]), Some(9));
        assert_eq!(two.lsn_of("3", &["0".to_owned(), "2".to_owned()]), Some(9));
        assert_eq!(two.lsn_of("3", &[]), None);
        for bad in [
            "x",
            "0",
            "0:",
            ":1",
            "0:x",
            "0:-1#",
            "0:a#1",
            "0:-5",
            "0:1#2#",
            "0:1#2#3",
            "0:1#2#x=1",
            "0:1#2#1=x",
        ] {
            assert_eq!(SessionTokens::parse(bad), None, "{bad}");
        }
    }
}
