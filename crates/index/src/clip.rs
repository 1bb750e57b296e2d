//! Turns ranges of values into ranges of terms. A query asks for a range of full key bytes
//! ([`value::key`]); terms contain truncated strings and bare types, so the range to scan is
//! slightly wider at its ends.

use crate::encoding::{
    ARRAY, CUT, ESCAPED, OBJECT, STRING, STRING_BYTES_MAX, decode_value, invert, string_end,
};

/// The range of terms to scan for values whose full key bytes are at least `low` and less than
/// `high`. The flag tells whether the range is exact, that is, contains only terms of such values.
/// If not, the results must be checked against the document.
///
/// Bounds need not be key bytes of a value: `60 61` begins every string that begins with `a`.
pub fn clip(low: &[u8], high: &[u8]) -> (Vec<u8>, Vec<u8>, bool) {
    let (low, is_low_exact) = clip_bound(low, false);
    let (high, is_high_exact) = clip_bound(high, true);
    (low, high, is_low_exact && is_high_exact)
}

fn clip_bound(bound: &[u8], is_high: bool) -> (Vec<u8>, bool) {
    match bound {
        // Inside the arrays or objects, which all have the same term.
        [kind @ (ARRAY | OBJECT), _, ..] => (vec![kind + u8::from(is_high)], false),
        [STRING, content @ ..] => clip_string(bound, content, is_high),
        // A bound just above a value is just above everything that begins with its bytes.
        _ => match decode_value(bound) {
            Ok((_, rest)) if !rest.is_empty() => {
                (successor(&bound[..bound.len() - rest.len()]), true)
            }
            _ => (bound.to_vec(), true),
        },
    }
}

/// `bound` with the type byte, `content` without.
fn clip_string(bound: &[u8], content: &[u8], is_high: bool) -> (Vec<u8>, bool) {
    let (length, end) = string_end(content);
    let kept = kept_bytes(&content[..length]);
    if kept < length {
        // All strings with this prefix have the same term, wherever the bound lies among them.
        let mut clipped = bound[..=kept].to_vec();
        clipped.extend_from_slice(&[0, CUT + u8::from(is_high)]);
        return (clipped, false);
    }
    let mut clipped = bound.to_vec();
    // No full key bytes lie between the whole string and the longer ones, so any bound between them
    // is equivalent; the terms of truncated strings are above.
    let is_above_whole = match end {
        Some(0) => content.len() > length + 2,
        Some(byte) => byte < ESCAPED,
        None => false,
    };
    if is_above_whole {
        clipped.truncate(length + 1);
        clipped.extend_from_slice(&[0, CUT]);
    }
    (clipped, true)
}

/// How many of a string's encoded bytes a term keeps.
fn kept_bytes(content: &[u8]) -> usize {
    if content.len() <= STRING_BYTES_MAX {
        return content.len();
    }
    let mut kept = 0;
    loop {
        let width = if content[kept] == 0 { 2 } else { 1 };
        if kept + width > STRING_BYTES_MAX {
            return kept;
        }
        kept += width;
    }
}

/// The range for a descending member of a composite index. The bounds are [clipped](clip).
pub fn descending(low: &[u8], high: &[u8]) -> (Vec<u8>, Vec<u8>) {
    // The range includes everything that begins with the low bound, and nothing that begins with
    // the high one.
    let inverted = |bound: &[u8]| bound.iter().map(|byte| invert(*byte)).collect::<Vec<_>>();
    (successor(&inverted(high)), successor(&inverted(low)))
}

/// The smallest bytes greater than everything that begins with `bytes`. Every value begins with a
/// byte less than `FF`, inverted or not, so `FF` stands for the end.
fn successor(bytes: &[u8]) -> Vec<u8> {
    let Some(last) = bytes.iter().rposition(|byte| *byte < 0xff) else { return vec![0xff] };
    let mut next = bytes[..=last].to_vec();
    next[last] += 1;
    next
}

#[cfg(test)]
mod tests;
