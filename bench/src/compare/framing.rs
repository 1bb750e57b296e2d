//! Where an answer ends, and what it says, in each of the three protocols.

use std::ops::Range;

use anyhow::{Context as _, Result, bail};

/// How the bytes of a connection are cut into answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    Http,
    Postgres,
    /// OP_MSG, which FerretDB speaks.
    Mongo,
}

/// A whole answer at the beginning of the bytes received.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// A status of HTTP; for the other protocols 200 or 500.
    pub(crate) status: u16,
    /// Where it ends.
    pub(crate) end: usize,
    /// Where its body is; of HTTP in chunks, the chunks with their lengths.
    pub(crate) body: Range<usize>,
    /// Rows of PostgreSQL; of HTTP see [`rows_of`].
    pub(crate) rows: usize,
    /// The token with which the next page is asked for.
    pub(crate) continuation: Option<Vec<u8>>,
}

impl Framing {
    /// The first answer, if it is complete.
    pub(crate) fn answer(self, bytes: &[u8]) -> Result<Option<Answer>> {
        match self {
            Self::Http => http(bytes),
            Self::Postgres => postgres(bytes),
            Self::Mongo => Ok(mongo(bytes)),
        }
    }
}

/// The position behind `what`.
pub(crate) fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what).map(|at| at + what.len())
}

fn http(bytes: &[u8]) -> Result<Option<Answer>> {
    let Some(start) = find(bytes, b"\r\n\r\n") else { return Ok(None) };
    let head = std::str::from_utf8(&bytes[..start])?;
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.get(9..12)).context("not an answer of HTTP")?;
    let (mut length, mut is_chunked, mut continuation) = (0, false, None);
    for line in lines {
        let Some((name, value)) = line.split_once(':') else { continue };
        let value = value.trim();
        if name.eq_ignore_ascii_case("content-length") {
            length = value.parse()?;
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            is_chunked = value.eq_ignore_ascii_case("chunked");
        } else if name.eq_ignore_ascii_case("x-ms-continuation") && !value.is_empty() {
            continuation = Some(value.as_bytes().to_vec());
        }
    }
    let status = status.parse()?;
    if status == 204 || status == 304 {
        (length, is_chunked) = (0, false);
    }
    let end = if is_chunked { end_of_chunks(bytes, start)? } else { Some(start + length) };
    let end = end.filter(|end| *end <= bytes.len());
    Ok(end.map(|end| Answer { status, end, body: start..end, rows: 0, continuation }))
}

/// The rows of a feed: the number behind the last `"_count":`, which stands near the beginning or the end of a feed.
pub(crate) fn rows_of(body: &[u8]) -> usize {
    const NAME: &[u8] = b"\"_count\":";
    let (start, end) = body.split_at(body.len().saturating_sub(200));
    let found = find(end, NAME).map(|at| &end[at..]);
    let found = found.or_else(|| find(start, NAME).map(|at| &start[at..]));
    let digits = found.unwrap_or_default().trim_ascii_start();
    let digits = digits.split(|byte| !byte.is_ascii_digit()).next().unwrap_or_default();
    std::str::from_utf8(digits).ok().and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn end_of_chunks(bytes: &[u8], mut at: usize) -> Result<Option<usize>> {
    loop {
        let Some(rest) = bytes.get(at..) else { return Ok(None) };
        let Some(line) = find(rest, b"\r\n") else { return Ok(None) };
        let digits = std::str::from_utf8(&rest[..line - 2])?;
        let digits = digits.split(';').next().unwrap_or_default().trim();
        let length = usize::from_str_radix(digits, 16).context("not the length of a chunk")?;
        // The chunk's own line end; after the last one, that of the missing trailers.
        at += line + length + 2;
        if length == 0 {
            return Ok(Some(at));
        }
    }
}

/// Everything up to the message that says that the server waits for the next statement.
fn postgres(bytes: &[u8]) -> Result<Option<Answer>> {
    let (mut at, mut status, mut body, mut rows) = (0, 200, None, 0);
    while let Some(head) = bytes.get(at..at + 5) {
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        let end = at + 1 + length;
        let Some(message) = bytes.get(at + 5..end) else { return Ok(None) };
        match head[0] {
            b'E' => (status, body) = (500, Some(at + 5..end)),
            b'D' => rows += 1,
            b'R' if message != [0; 4] => bail!("PostgreSQL wants a password"),
            b'Z' => {
                let body = body.unwrap_or(0..end);
                return Ok(Some(Answer { status, end, body, rows, continuation: None }));
            }
            _ => {}
        }
        at = end;
    }
    Ok(None)
}

fn mongo(bytes: &[u8]) -> Option<Answer> {
    let length = i32::from_le_bytes(*bytes.first_chunk::<4>()?);
    let end = usize::try_from(length).ok()?.max(21);
    let body = 21..end;
    let is_fine = find(bytes.get(body.clone())?, b"\x01ok\0\0\0\0\0\0\0\xf0\x3f").is_some()
        && find(&bytes[body.clone()], b"writeErrors").is_none();
    let status = if is_fine { 200 } else { 500 };
    Some(Answer { status, end, body, rows: 0, continuation: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_of_http_ends_where_its_length_says() {
        let bytes =
            b"HTTP/1.1 201 Created\r\nContent-Length: 3\r\nX-MS-Continuation: t=1\r\n\r\nabcHTTP";
        let answer = Framing::Http.answer(bytes).unwrap().unwrap();
        assert_eq!((answer.status, &bytes[answer.body.clone()]), (201, &b"abc"[..]));
        assert_eq!(answer.continuation.as_deref(), Some(&b"t=1"[..]));
        assert_eq!(&bytes[answer.end..], b"HTTP");
        for length in 0..answer.end {
            assert_eq!(Framing::Http.answer(&bytes[..length]).unwrap(), None);
        }
    }

    #[test]
    fn rows_are_said_at_either_end() {
        assert_eq!(rows_of(br#"{"_rid":"","Documents":[{"a":1}],"_count":12}"#), 12);
        assert_eq!(rows_of(format!(r#"{{"_count": 3, "x":"{:300}"}}"#, "").as_bytes()), 3);
        assert_eq!(rows_of(b"{}"), 0);
    }

    #[test]
    fn chunks_are_counted() {
        let bytes =
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1;x=y\r\nd\r\n0\r\n\r\n";
        for length in 0..bytes.len() {
            assert_eq!(Framing::Http.answer(&bytes[..length]).unwrap(), None);
        }
        assert_eq!(Framing::Http.answer(bytes).unwrap().unwrap().end, bytes.len());
    }

    #[test]
    fn an_answer_without_a_body_has_none() {
        let bytes = b"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n";
        assert_eq!(Framing::Http.answer(bytes).unwrap().unwrap().end, bytes.len());
    }

    #[test]
    fn postgres_is_done_when_it_is_ready() {
        let bytes = b"C\0\0\0\x05\0Z\0\0\0\x05I";
        assert_eq!(Framing::Postgres.answer(&bytes[..11]).unwrap(), None);
        assert_eq!(Framing::Postgres.answer(bytes).unwrap().unwrap().status, 200);
        let failed = b"E\0\0\0\x07Mx\0Z\0\0\0\x05I";
        let answer = Framing::Postgres.answer(failed).unwrap().unwrap();
        assert_eq!((answer.status, &failed[answer.body]), (500, &b"Mx\0"[..]));
    }

    #[test]
    fn mongo_says_whether_it_is_fine() {
        let mut bytes = vec![0; 21];
        bytes.extend_from_slice(b"\x01ok\0\0\0\0\0\0\0\xf0\x3f\0");
        bytes[0] = u8::try_from(bytes.len()).unwrap();
        assert_eq!(Framing::Mongo.answer(&bytes).unwrap().unwrap().status, 200);
        assert_eq!(Framing::Mongo.answer(&bytes[..30]).unwrap(), None);
        bytes[22] = b'x';
        assert_eq!(Framing::Mongo.answer(&bytes).unwrap().unwrap().status, 500);
    }
}
