//! As much of BSON and of MongoDB's messages as a few commands need.

/// A document that is being written.
pub(crate) struct Writer<'a> {
    out: &'a mut Vec<u8>,
    start: usize,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(out: &'a mut Vec<u8>) -> Self {
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        Self { out, start }
    }

    pub(crate) fn text(&mut self, name: &str, value: &str) -> &mut Self {
        self.head(2, name);
        self.out.extend_from_slice(&length(value.len() + 1));
        self.out.extend_from_slice(value.as_bytes());
        self.out.push(0);
        self
    }

    pub(crate) fn number(&mut self, name: &str, value: f64) -> &mut Self {
        self.head(1, name);
        self.out.extend_from_slice(&value.to_le_bytes());
        self
    }

    pub(crate) fn integer(&mut self, name: &str, value: i32) -> &mut Self {
        self.head(16, name);
        self.out.extend_from_slice(&value.to_le_bytes());
        self
    }

    pub(crate) fn boolean(&mut self, name: &str, value: bool) -> &mut Self {
        self.head(8, name);
        self.out.push(u8::from(value));
        self
    }

    pub(crate) fn document(
        &mut self,
        name: &str,
        write: impl FnOnce(&mut Writer<'_>),
    ) -> &mut Self {
        self.inner(3, name, write)
    }

    /// An array is a document whose names are numbers.
    pub(crate) fn array(&mut self, name: &str, write: impl FnOnce(&mut Writer<'_>)) -> &mut Self {
        self.inner(4, name, write)
    }

    fn inner(&mut self, kind: u8, name: &str, write: impl FnOnce(&mut Writer<'_>)) -> &mut Self {
        self.head(kind, name);
        let mut inner = Writer::new(self.out);
        write(&mut inner);
        inner.end();
        self
    }

    fn head(&mut self, kind: u8, name: &str) {
        self.out.push(kind);
        self.out.extend_from_slice(name.as_bytes());
        self.out.push(0);
    }

    /// Ends the document.
    pub(crate) fn end(self) {
        self.out.push(0);
        let bytes = length(self.out.len() - self.start);
        self.out[self.start..self.start + 4].copy_from_slice(&bytes);
    }
}

/// Appends a command to the database `bench` as an OP_MSG.
pub(crate) fn message(out: &mut Vec<u8>, write: impl FnOnce(&mut Writer<'_>)) {
    let start = out.len();
    out.extend_from_slice(&[0; 12]);
    out.extend_from_slice(&2013_i32.to_le_bytes());
    // No flags; one section, which is a document.
    out.extend_from_slice(&[0; 5]);
    let mut document = Writer::new(out);
    write(&mut document);
    document.text("$db", "bench");
    document.end();
    let bytes = length(out.len() - start);
    out[start..start + 4].copy_from_slice(&bytes);
}

fn length(bytes: usize) -> [u8; 4] {
    i32::try_from(bytes).unwrap_or(i32::MAX).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_as_the_specification_shows_them() {
        let mut out = Vec::new();
        let mut writer = Writer::new(&mut out);
        writer.text("hello", "world");
        writer.end();
        assert_eq!(out, b"\x16\0\0\0\x02hello\0\x06\0\0\0world\0\0");

        out.clear();
        let mut writer = Writer::new(&mut out);
        writer.array("BSON", |array| {
            array.text("0", "awesome").number("1", 5.05).integer("2", 1986);
        });
        writer.end();
        let expected =
            b"1\x00\x00\x00\x04BSON\x00&\x00\x00\x00\x020\x00\x08\x00\x00\x00awesome\x00\
            \x011\x00333333\x14@\x102\x00\xc2\x07\x00\x00\x00\x00";
        assert_eq!(out, expected);
    }

    #[test]
    fn a_message_says_how_long_it_is() {
        let mut out = vec![9];
        message(&mut out, |command| {
            command.integer("ping", 1).boolean("x", true).document("d", |_| {});
        });
        let message = &out[1..];
        assert_eq!(usize::from(message[0]), message.len());
        assert_eq!(&message[12..21], &[0xdd, 7, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(usize::from(message[21]), message.len() - 21);
        assert!(message.ends_with(b"$db\0\x06\0\0\0bench\0\0"));
    }
}
