//! Continuation tokens of feeds: where a page stopped.
//!
//! A token contains its feed and the position of the last item returned. It also has a checksum, so
//! that a damaged token or one from another feed is rejected.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use value::hash::murmur3_32;

/// The feed that a token belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the feeds of the service")]
#[repr(u8)]
pub enum Feed {
    Databases = 1,
    Collections = 2,
    Documents = 3,
    PartitionKeyRanges = 4,
    Offers = 5,
    StoredProcedures = 6,
    Triggers = 7,
    UserDefinedFunctions = 8,
    ClientEncryptionKeys = 9,
    Conflicts = 10,
    Attachments = 11,
    Users = 12,
    Permissions = 13,
}

/// Encodes the token of a page of `feed` that ended at `position`. `owner` is the rid of the feed's
/// owner in bytes.
pub fn encode(feed: Feed, owner: &[u8], position: u64) -> String {
    let mut bytes = vec![feed as u8];
    bytes.extend_from_slice(&position.to_be_bytes());
    let sum = checksum(&bytes, owner);
    bytes.extend_from_slice(&sum.to_be_bytes());
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Decodes a token's position; `None` if it is damaged or from another feed or owner.
pub fn decode(feed: Feed, owner: &[u8], token: &str) -> Option<u64> {
    let bytes: [u8; 13] = URL_SAFE_NO_PAD.decode(token.trim()).ok()?.try_into().ok()?;
    let (content, sum) = bytes.split_at(9);
    let is_ours = content[0] == feed as u8 && sum == checksum(content, owner).to_be_bytes();
    is_ours.then(|| content[1..].iter().fold(0, |position, byte| position << 8 | u64::from(*byte)))
}

fn checksum(content: &[u8], owner: &[u8]) -> u32 {
    murmur3_32(&[content, owner].concat(), 0x5EAF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_feed_accepts_a_token() {
        let token = encode(Feed::Documents, b"coll1", 77);
        assert_eq!(decode(Feed::Documents, b"coll1", &token), Some(77));
        assert_eq!(decode(Feed::Documents, b"coll2", &token), None);
        assert_eq!(decode(Feed::Offers, b"coll1", &token), None);
        for bad in ["", "x", "!!!", &token[1..], &format!("{token}A")] {
            assert_eq!(decode(Feed::Documents, b"coll1", bad), None, "{bad}");
        }
    }
}
