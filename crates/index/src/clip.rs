//! Turns ranges of values into ranges of terms. A query asks for a range of full key bytes
//! ([`value::key`]); terms encode numbers and strings in fewer bytes, truncate strings and contain
//! bare types, so the range to scan may be slightly wider at its ends.

use crate::encoding::{
    ARRAY, CUT, END, ESCAPE, NUMBER, OBJECT, STRING, STRING_BYTES_MAX, encode_bits, invert,
};

/// The byte after a `00` inside a string, in full key bytes.
const ESCAPED: u8 = 0xff;

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
        [] | [_] => (bound.to_vec(), true),
        // Inside the arrays or objects, which all have the same term.
        [kind @ (ARRAY | OBJECT), ..] => (vec![kind + u8::from(is_high)], false),
        [STRING, content @ ..] => clip_string(content, is_high),
        [NUMBER, content @ ..] => (clip_number(content), true),
        // A bound above a value that is only a type byte is above everything that begins with it.
        [..] => (successor(&bound[..1]), true),
    }
}

/// `content` is a bound among numbers without its type byte: the bits that sort like the double, or
/// the first of them, a tail byte (0), and whatever follows above the number.
fn clip_number(content: &[u8]) -> Vec<u8> {
    let mut bits = [0; 8];
    let given = content.len().min(bits.len());
    bits[..given].copy_from_slice(&content[..given]);
    let mut clipped = vec![NUMBER];
    encode_bits(u64::from_be_bytes(bits), &mut clipped);
    let is_above = content.get(given..).is_some_and(|behind| !matches!(behind, [] | [0]));
    if is_above { successor(&clipped) } else { clipped }
}

/// `content` is a bound among strings without its type byte.
fn clip_string(mut content: &[u8], is_high: bool) -> (Vec<u8>, bool) {
    let mut clipped = vec![STRING];
    loop {
        let (bytes, rest): (&[u8], _) = match content {
            [] => return (clipped, true),
            [0, ESCAPED, rest @ ..] => (&[ESCAPE, 0], rest),
            [0] | [0, 0] => {
                clipped.push(END);
                return (clipped, true);
            }
            // No full key bytes lie between the whole string and the longer ones, so any bound
            // between them is equivalent; the terms of truncated strings are above.
            [0, ..] => {
                clipped.push(CUT);
                return (clipped, true);
            }
            [1, rest @ ..] => (&[ESCAPE, 1], rest),
            [2, rest @ ..] => (&[ESCAPE, 2], rest),
            [_, rest @ ..] => (&content[..1], rest),
        };
        if clipped.len() + bytes.len() > 1 + STRING_BYTES_MAX {
            // All strings with this prefix have the same term, wherever the bound lies among them.
            clipped.push(CUT + u8::from(is_high));
            return (clipped, false);
        }
        clipped.extend_from_slice(bytes);
        content = rest;
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
