//! Array places, as segments of JSON pointers name them.

/// A place in an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Index {
    At(usize),
    /// After the last element: `-`.
    End,
}

/// Parses a segment as a place in an array: digits without leading zeros, or `-`.
pub(super) fn index(segment: &str) -> Option<Index> {
    if segment == "-" {
        return Some(Index::End);
    }
    let is_canonical =
        segment == "0" || !segment.starts_with('0') && segment.bytes().all(|b| b.is_ascii_digit());
    is_canonical.then(|| segment.parse().ok().map(Index::At)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_are_canonical() {
        assert_eq!(index("0"), Some(Index::At(0)));
        assert_eq!(index("120"), Some(Index::At(120)));
        assert_eq!(index("-"), Some(Index::End));
        for text in ["", "01", "00", "-1", "+1", "1.0", " 1", "a", "99999999999999999999999"] {
            assert_eq!(index(text), None, "{text}");
        }
    }
}
