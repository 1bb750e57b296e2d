//! Reads a body front to back, checking bounds at every step.

use super::{Error, ErrorKind};

/// The width of a length or count.
#[derive(Clone, Copy)]
pub(super) enum Width {
    One,
    Two,
    Four,
}

impl Width {
    /// Markers list the widths in this order.
    pub(super) fn from_index(index: u8) -> Width {
        match index {
            0 => Width::One,
            1 => Width::Two,
            _ => Width::Four,
        }
    }
}

/// A position in a body, and the latest end of the value being read.
pub(super) struct Cursor<'a> {
    body: &'a [u8],
    at: usize,
    end: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(body: &'a [u8], at: usize) -> Self {
        Cursor { body, at, end: body.len() }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.at >= self.end
    }

    pub(super) fn byte(&mut self) -> Result<u8, Error> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(super) fn bytes(&mut self, length: usize) -> Result<&'a [u8], Error> {
        let end = self.at.checked_add(length).filter(|end| *end <= self.end);
        let end = end.ok_or_else(|| ErrorKind::Truncated.at(self.at))?;
        let bytes = &self.body[self.at..end];
        self.at = end;
        Ok(bytes)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let bytes = self.bytes(N)?;
        Ok(*bytes.first_chunk().expect("`bytes` returns as many as asked for"))
    }

    pub(super) fn integer(&mut self, width: Width) -> Result<usize, Error> {
        match width {
            Width::One => self.byte().map(usize::from),
            Width::Two => self.array().map(|bytes| u16::from_le_bytes(bytes).into()),
            Width::Four => self.array().map(|bytes| u32::from_le_bytes(bytes) as usize),
        }
    }

    /// A cursor over the next `length` bytes, which this one skips.
    pub(super) fn split(&mut self, length: usize) -> Result<Cursor<'a>, Error> {
        let at = self.at;
        self.bytes(length)?;
        Ok(Cursor { body: self.body, at, end: self.at })
    }

    /// A cursor at an offset from the beginning of the body, as references give it.
    pub(super) fn jump(&self, target: usize) -> Cursor<'a> {
        Cursor { body: self.body, at: target.min(self.body.len()), end: self.body.len() }
    }
}
