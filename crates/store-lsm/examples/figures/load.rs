//! The batch of one create, as the engine makes it: the rows of a document of 1 KB with the default
//! policy, in a collection with a thousand logical keys.

use std::fmt::Write as _;

use bytes::Bytes;
use store::Batch;

/// Indexed values of a document.
const TERMS: u64 = 22;

/// Spreads a number over all 64 bits.
pub(crate) fn spread(number: u64) -> u64 {
    let mixed = (number ^ number >> 31).wrapping_mul(0x7FB5_D329_728E_A185);
    (mixed ^ mixed >> 27).wrapping_mul(0x81DA_DEF4_BC2D_D44D)
}

/// The number under which a document is stored: slot and sequence.
fn docnum(number: u64) -> u64 {
    spread(number % 1_000) >> 40 << 36 | number
}

/// The key of a document.
pub(crate) fn document_key(number: u64) -> Bytes {
    [&b"D"[..], &docnum(number).to_be_bytes()].concat().into()
}

/// The key of a document's primary row.
pub(crate) fn primary_key(number: u64) -> Bytes {
    let slot = (docnum(number) >> 36).to_be_bytes();
    let text = format!("-key-{:04}--{number:012}-", number % 1_000);
    [&b"P"[..], &slot[5..], text.as_bytes()].concat().into()
}

/// Which index keys begin with these bytes: those of one path.
pub(crate) fn path_prefix(path: u64) -> Bytes {
    [&b"V"[..], &spread(path + 77).to_be_bytes()[3..]].concat().into()
}

/// A text of about a kilobyte that does not compress to nothing.
fn text(number: u64) -> String {
    let mut text = format!("{{\"id\":\"{number:012}\",\"note\":\"");
    let mut noise = number + 1;
    while text.len() < 1_000 {
        noise = spread(noise);
        let _ = write!(text, "{noise:016x}");
    }
    text
}

/// The batch that creates a document.
pub(crate) fn create(number: u64) -> Batch {
    let own = docnum(number).to_be_bytes();
    let mut batch = Batch::default();
    batch.put(primary_key(number), vec![7; 33]);
    let mut document = vec![1; 26];
    document.extend_from_slice(text(number).as_bytes());
    batch.put(document_key(number), document);
    batch.put([&b"F"[..], &number.to_be_bytes(), &own].concat(), vec![3; 5]);
    let counters = spread(number).to_be_bytes().repeat(9);
    batch.put(b"Mc".to_vec(), counters);
    let key = primary_key(number);
    batch.put([&b"Mk"[..], &key[1..14]].concat(), vec![5; 16]);
    for term in 0..TERMS {
        // From two values to as many as there are documents.
        let values = 2 << (term * 20 / TERMS);
        let value = spread(number ^ term << 50) % values;
        let value = if term % 2 == 0 {
            let number = value.to_be_bytes();
            [&[0x20][..], &number].concat()
        } else {
            format!("\x30value {value}\0").into_bytes()
        };
        batch.put([&path_prefix(term)[..], &value, &own].concat(), Bytes::new());
    }
    batch
}

/// The batch that replaces a document with another text and one other value.
pub(crate) fn replace(number: u64, round: u64) -> Batch {
    let own = docnum(number).to_be_bytes();
    let mut batch = Batch::default();
    batch.put(primary_key(number), vec![8; 33]);
    batch.put(document_key(number), text(number + round).into_bytes());
    let feed = |lsn: u64| [&b"F"[..], &lsn.to_be_bytes(), &own].concat();
    batch.delete(feed(number));
    batch.put(feed(number + round), vec![4; 5]);
    batch.put(b"Mc".to_vec(), vec![9; 72]);
    let value = |round: u64| [&path_prefix(0)[..], &[0x21], &round.to_be_bytes(), &own].concat();
    batch.delete(value(0));
    batch.put(value(round), Bytes::new());
    batch
}
