//! The kinds of index, distinguished by the first byte of their keys.

/// A kind of index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A single path.
    Path = b'V',
    /// Several paths together.
    Composite = b'W',
    /// The cells that a geometry covers.
    Spatial = b'L',
}

impl Kind {
    /// Every kind. Code that walks all index rows uses this list; if a kind were missing here,
    /// every split would fail on its unknown rows.
    pub const ALL: [Self; 3] = [Self::Path, Self::Composite, Self::Spatial];

    /// The byte that the keys of this kind begin with.
    pub const fn prefix(self) -> u8 {
        self as u8
    }

    /// The kind of the row under a key; `None` if the row belongs to no index.
    pub fn of(key: &[u8]) -> Option<Self> {
        let first = key.first()?;
        Self::ALL.into_iter().find(|kind| kind.prefix() == *first)
    }

    /// Whether entries of this kind have a value in addition to their key.
    pub const fn has_value(self) -> bool {
        match self {
            Self::Path | Self::Composite | Self::Spatial => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_apart_by_their_keys() {
        for kind in Kind::ALL {
            assert_eq!(Kind::of(&[kind.prefix(), 0]), Some(kind));
        }
        assert_eq!(Kind::of(b"D"), None);
        assert_eq!(Kind::of(b""), None);
    }
}
