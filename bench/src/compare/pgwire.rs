//! Messages to PostgreSQL, as bytes: log in, prepare, run what is prepared.

/// Version 3.0 of the protocol.
const PROTOCOL: u32 = 3 << 16;

/// Logs in to the database `postgres`.
pub(crate) fn start(user: &str, out: &mut Vec<u8>) {
    let mut body = PROTOCOL.to_be_bytes().to_vec();
    for word in ["user", user, "database", "postgres", ""] {
        body.extend_from_slice(word.as_bytes());
        body.push(0);
    }
    message(None, &body, out);
}

/// Prepares a statement under a name.
pub(crate) fn prepare(name: &str, statement: &str, out: &mut Vec<u8>) {
    let body = [name.as_bytes(), &[0], statement.as_bytes(), &[0, 0, 0]].concat();
    message(Some(b'P'), &body, out);
}

/// Runs a prepared statement with these parameters, as text, and asks for all rows as text.
pub(crate) fn run(name: &str, parameters: &[&[u8]], out: &mut Vec<u8>) {
    let mut body = vec![0];
    body.extend_from_slice(name.as_bytes());
    body.extend_from_slice(&[0, 0, 0]);
    body.extend_from_slice(&u16::try_from(parameters.len()).unwrap_or(u16::MAX).to_be_bytes());
    for parameter in parameters {
        body.extend_from_slice(&length(parameter.len()));
        body.extend_from_slice(parameter);
    }
    body.extend_from_slice(&[0, 0]);
    message(Some(b'B'), &body, out);
    message(Some(b'E'), &[0, 0, 0, 0, 0], out);
}

/// Ends what was sent so far: the server answers, and is ready for more.
pub(crate) fn sync(out: &mut Vec<u8>) {
    message(Some(b'S'), &[], out);
}

fn message(kind: Option<u8>, body: &[u8], out: &mut Vec<u8>) {
    out.extend(kind);
    out.extend_from_slice(&length(body.len() + 4));
    out.extend_from_slice(body);
}

fn length(bytes: usize) -> [u8; 4] {
    u32::try_from(bytes).unwrap_or(u32::MAX).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_as_the_protocol_says() {
        let mut out = Vec::new();
        prepare("s", "SELECT $1", &mut out);
        assert_eq!(out, b"P\0\0\0\x12s\0SELECT $1\0\0\0");
        out.clear();
        run("s", &[b"ab"], &mut out);
        assert_eq!(out, b"B\0\0\0\x13\0s\0\0\0\0\x01\0\0\0\x02ab\0\0E\0\0\0\x09\0\0\0\0\0");
        out.clear();
        sync(&mut out);
        assert_eq!(out, b"S\0\0\0\x04");
        out.clear();
        start("u", &mut out);
        assert_eq!(&out[..8], &[0, 0, 0, 34, 0, 3, 0, 0]);
        assert_eq!(out.len(), 34);
    }
}
