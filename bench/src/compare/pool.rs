//! Documents to create, made ahead: only the number in their id is written anew.

use std::ops::Range;

use anyhow::{Context as _, Result, ensure};

use super::framing::find;
use crate::query::data::Data;

/// Documents that differ in more than the id.
const DOCUMENTS: usize = 4096;
/// The size of the collection that they are as if taken from: it has 1,000 partition keys.
const AS_OF: usize = 100_000;
/// Digits of an id.
const DIGITS: usize = 9;

/// A made document.
pub(crate) struct Sample {
    pub(crate) text: Vec<u8>,
    /// Its partition key.
    pub(crate) key: String,
}

/// Many of them.
pub(crate) struct Pool {
    samples: Vec<Sample>,
    /// Where the digits of the id are, in all of them.
    digits: Range<usize>,
}

impl Pool {
    pub(crate) fn new() -> Result<Self> {
        let data = Data::new(AS_OF)?;
        let make = |number| Sample {
            text: data.document(number).into_bytes(),
            key: data.customer_of(number),
        };
        let samples: Vec<Sample> = (0..DOCUMENTS).map(make).collect();
        let start = find(&samples[0].text, b"\"id\":\"document-").context("no id")?;
        let digits = start..start + DIGITS;
        ensure!(samples.iter().all(|it| it.text[digits.clone()].iter().all(u8::is_ascii_digit)));
        Ok(Self { samples, digits })
    }

    /// The sample that document `number` is like.
    pub(crate) fn sample(&self, number: usize) -> &Sample {
        &self.samples[number % DOCUMENTS]
    }

    /// Appends document `number`, with another one's values if need be.
    pub(crate) fn append(&self, number: usize, like: &Sample, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&like.text);
        write_digits(number, &mut out[start + self.digits.start..start + self.digits.end]);
    }

    /// Documents of one partition key, `count` of them from `number` on: all are like the first one.
    pub(crate) fn append_several(
        &self,
        number: usize,
        count: usize,
        out: &mut Vec<u8>,
        (before, after): (&[u8], &[u8]),
    ) {
        let like = self.sample(number / count);
        for at in 0..count {
            if at > 0 {
                out.push(b',');
            }
            out.extend_from_slice(before);
            self.append(number + at, like, out);
            out.extend_from_slice(after);
        }
    }
}

/// Writes a number into all of these bytes, with leading zeros.
pub(crate) fn write_digits(mut number: usize, out: &mut [u8]) {
    for place in out.iter_mut().rev() {
        *place = b'0' + u8::try_from(number % 10).unwrap_or(0);
        number /= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::id;

    #[test]
    fn a_document_has_its_own_id() {
        let pool = Pool::new().unwrap();
        let mut out = b"[".to_vec();
        pool.append(12_345_678, pool.sample(5), &mut out);
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with(&format!(r#"[{{"id":"{}","#, id(12_345_678))), "{text}");
        assert!(text.contains(&pool.sample(5).key));
        assert_eq!(text.len(), 1 + crate::api::DOCUMENT_BYTES);
    }

    #[test]
    fn several_have_one_key_and_ids_of_their_own() {
        let pool = Pool::new().unwrap();
        let mut out = Vec::new();
        pool.append_several(30, 3, &mut out, (b"<", b">"));
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.matches(&pool.sample(10).key).count(), 3);
        assert!((30..33).all(|number| text.contains(&id(number))));
    }
}
