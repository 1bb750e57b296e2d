//! Documents written and read element by element, so that what is not changed keeps its exact bytes.

use std::fmt;

use bson::raw::{CStr, RawBsonRef, RawElement, RawIter};
use bson::spec::{BinarySubtype, ElementType};
use bson::{RawArray, RawDocument, RawDocumentBuf};

use crate::error::{Code, Error, Result};

/// An element of a document or an array, with its bytes.
#[derive(Clone)]
pub(crate) struct Element<'a> {
    /// The field's name, or the position in an array.
    pub(crate) name: &'a str,
    /// What it holds is only looked at when it is asked for.
    raw: RawElement<'a>,
    /// Type, name and value as they are in the document.
    bytes: &'a [u8],
}

impl<'a> Element<'a> {
    /// What it holds.
    pub(crate) fn value(&self) -> Result<RawBsonRef<'a>> {
        Ok(self.raw.value()?)
    }

    /// Whether it holds a document or an array.
    pub(crate) fn is_container(&self) -> bool {
        matches!(self.raw.element_type(), ElementType::EmbeddedDocument | ElementType::Array)
    }

    /// Whether it holds a timestamp.
    pub(crate) fn is_timestamp(&self) -> bool {
        self.raw.element_type() == ElementType::Timestamp
    }

    /// The bytes of the value.
    fn value_bytes(&self) -> &'a [u8] {
        self.bytes.get(self.name.len() + 2..).unwrap_or_default()
    }
}

impl fmt::Debug for Element<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?}", self.name, self.raw.value())
    }
}

/// The elements of a document or an array.
pub(crate) struct Elements<'a> {
    bytes: &'a [u8],
    at: usize,
    inner: RawIter<'a>,
}

impl<'a> Elements<'a> {
    /// Those of a document.
    pub(crate) fn of(document: &'a RawDocument) -> Self {
        Self { bytes: document.as_bytes(), at: 4, inner: document.iter_elements() }
    }

    /// Those of an array.
    pub(crate) fn of_array(array: &'a RawArray) -> Self {
        Self { bytes: array.as_bytes(), at: 4, inner: array.iter_elements() }
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Result<Element<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        let raw = match self.inner.next()? {
            Ok(element) => element,
            Err(error) => return Some(Err(error.into())),
        };
        let name: &'a CStr = raw.key();
        let end = self.at + name.len() + 2 + raw.size();
        // The library checked that the element ends within the document.
        let bytes = self.bytes.get(self.at..end).unwrap_or_default();
        self.at = end;
        Some(Ok(Element { name: name.as_str(), raw, bytes }))
    }
}

/// Whether documents and arrays are nested in no more levels, this one counted.
pub(crate) fn is_nested_within(elements: RawIter<'_>, levels: usize) -> Result<bool> {
    let Some(below) = levels.checked_sub(1) else { return Ok(false) };
    for element in elements {
        let element = element?;
        let has_elements = matches!(
            element.element_type(),
            ElementType::EmbeddedDocument
                | ElementType::Array
                | ElementType::JavaScriptCodeWithScope
        );
        if !has_elements {
            continue;
        }
        let is_within = match element.value()? {
            RawBsonRef::Document(document) => is_nested_within(document.iter_elements(), below)?,
            RawBsonRef::Array(array) => is_nested_within(array.iter_elements(), below)?,
            RawBsonRef::JavaScriptCodeWithScope(code) => {
                is_nested_within(code.scope.iter_elements(), below)?
            }
            _ => true,
        };
        if !is_within {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The most levels of a command's part. A document of the greatest depth has to fit in.
const COMMAND_LEVELS: usize = 256;

/// Refuses a part of a command that is nested too deep to be looked at.
pub(crate) fn check_nesting(elements: RawIter<'_>) -> Result<()> {
    if is_nested_within(elements, COMMAND_LEVELS)? {
        return Ok(());
    }
    Err(Error::new(Code::OVERFLOW, "nesting too deep"))
}

/// A document that is written from front to back.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    bytes: Vec<u8>,
}

/// Where a document or an array began.
#[derive(Clone, Copy, Debug)]
#[must_use = "whatever is opened has to be closed"]
pub(crate) struct Opened(usize);

impl Writer {
    /// Begins a document that will have about as many bytes.
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        let mut bytes = Vec::with_capacity(capacity);
        bytes.extend([0; 4]);
        Self { bytes }
    }

    fn header(&mut self, kind: u8, name: &str) {
        self.bytes.push(kind);
        self.bytes.extend(name.as_bytes());
        self.bytes.push(0);
    }

    /// Appends an element as it is.
    pub(crate) fn copy(&mut self, element: &Element<'_>) {
        self.bytes.extend(element.bytes);
    }

    /// Appends an element's value under another name.
    pub(crate) fn copy_as(&mut self, name: &str, element: &Element<'_>) {
        self.header(element.raw.element_type() as u8, name);
        self.bytes.extend(element.value_bytes());
    }

    /// Appends a field.
    pub(crate) fn field(&mut self, name: &str, value: RawBsonRef<'_>) {
        self.header(value.element_type() as u8, name);
        write_value(value, &mut self.bytes);
    }

    /// Begins a document within the document.
    pub(crate) fn open_document(&mut self, name: &str) -> Opened {
        self.open(0x03, name)
    }

    /// Begins an array.
    pub(crate) fn open_array(&mut self, name: &str) -> Opened {
        self.open(0x04, name)
    }

    fn open(&mut self, kind: u8, name: &str) -> Opened {
        self.header(kind, name);
        let start = self.bytes.len();
        self.bytes.extend([0; 4]);
        Opened(start)
    }

    /// Ends what was opened.
    pub(crate) fn close(&mut self, opened: Opened) {
        self.bytes.push(0);
        let length = self.bytes.len() - opened.0;
        // Documents are far from 2 GiB: whoever writes them checks their size.
        let length = i32::try_from(length).unwrap_or(i32::MAX);
        self.bytes[opened.0..opened.0 + 4].copy_from_slice(&length.to_le_bytes());
    }

    /// Ends the document.
    pub(crate) fn finish(mut self) -> Result<RawDocumentBuf> {
        if self.bytes.len() >= i32::MAX as usize {
            return Err(Error::new(Code::DOCUMENT_TOO_LARGE, "document is larger than 2 GiB"));
        }
        self.close(Opened(0));
        Ok(RawDocumentBuf::from_bytes(self.bytes)?)
    }
}

/// Whether two values are the same to the byte.
pub(crate) fn identical(a: RawBsonRef<'_>, b: RawBsonRef<'_>) -> bool {
    if a.element_type() != b.element_type() {
        return false;
    }
    match (a, b) {
        (RawBsonRef::Document(a), RawBsonRef::Document(b)) => a.as_bytes() == b.as_bytes(),
        (RawBsonRef::Array(a), RawBsonRef::Array(b)) => a.as_bytes() == b.as_bytes(),
        (RawBsonRef::String(a), RawBsonRef::String(b)) => a == b,
        (a, b) => {
            let (mut left, mut right) = (Vec::new(), Vec::new());
            write_value(a, &mut left);
            write_value(b, &mut right);
            left == right
        }
    }
}

fn write_text(text: &str, out: &mut Vec<u8>) {
    let length = i32::try_from(text.len() + 1).unwrap_or(i32::MAX);
    out.extend(length.to_le_bytes());
    out.extend(text.as_bytes());
    out.push(0);
}

fn write_value(value: RawBsonRef<'_>, out: &mut Vec<u8>) {
    use RawBsonRef as V;
    match value {
        V::Int32(integer) => out.extend(integer.to_le_bytes()),
        V::Int64(integer) => out.extend(integer.to_le_bytes()),
        V::Double(double) => out.extend(double.to_le_bytes()),
        V::Decimal128(decimal) => out.extend(decimal.bytes()),
        V::String(text) | V::Symbol(text) | V::JavaScriptCode(text) => write_text(text, out),
        V::Document(document) => out.extend(document.as_bytes()),
        V::Array(array) => out.extend(array.as_bytes()),
        V::Boolean(is_true) => out.push(is_true.into()),
        V::ObjectId(id) => out.extend(id.bytes()),
        V::DateTime(date) => out.extend(date.timestamp_millis().to_le_bytes()),
        V::Timestamp(timestamp) => {
            out.extend(timestamp.increment.to_le_bytes());
            out.extend(timestamp.time.to_le_bytes());
        }
        V::Binary(binary) => {
            let length = i32::try_from(binary.bytes.len()).unwrap_or(i32::MAX);
            let is_old = binary.subtype == BinarySubtype::BinaryOld;
            out.extend(if is_old { length + 4 } else { length }.to_le_bytes());
            out.push(binary.subtype.into());
            if is_old {
                out.extend(length.to_le_bytes());
            }
            out.extend(binary.bytes);
        }
        V::RegularExpression(regex) => {
            out.extend(regex.pattern.as_str().as_bytes());
            out.push(0);
            out.extend(regex.options.as_str().as_bytes());
            out.push(0);
        }
        // The library does not show the parts of these two.
        V::DbPointer(_) | V::JavaScriptCodeWithScope(_) => {
            let mut document = RawDocumentBuf::new();
            document.append(bson::raw::cstr!(""), value);
            let bytes = document.as_bytes();
            out.extend(&bytes[6..bytes.len() - 1]);
        }
        V::Null | V::Undefined | V::MinKey | V::MaxKey => {}
    }
}

#[cfg(test)]
mod tests {
    use bson::{Bson, doc};
    use proptest::prelude::*;

    use super::*;
    use crate::testing;

    #[test]
    fn documents_are_written_piece_by_piece() {
        let mut writer = Writer::with_capacity(64);
        writer.field("a", RawBsonRef::Int32(1));
        let inner = writer.open_document("b");
        let list = writer.open_array("c");
        writer.field("0", RawBsonRef::String("x"));
        writer.close(list);
        writer.close(inner);
        let written = writer.finish().unwrap();
        let expected = doc! {"a": 1, "b": {"c": ["x"]}};
        assert_eq!(written, RawDocumentBuf::try_from(&expected).unwrap());
    }

    #[test]
    fn rare_types_are_written() {
        let mut pointer = vec![0x0C, b'p', 0, 3, 0, 0, 0, b'd', b'b', 0];
        pointer.extend([7; 12]);
        let code = [0x0F, b's', 0, 18, 0, 0, 0, 2, 0, 0, 0, b'f', 0];
        let scope = [8, 0, 0, 0, 0x0A, b'x', 0, 0];
        let scoped = [&code[..], &scope].concat();
        let binary = [0x05, b'b', 0, 6, 0, 0, 0, 2, 2, 0, 0, 0, 9, 9];
        let elements = [&pointer[..], &scoped, &binary].concat();
        let length = u8::try_from(elements.len() + 5).unwrap();
        let bytes = [&[length, 0, 0, 0][..], &elements, &[0]].concat();
        let document = RawDocumentBuf::from_bytes(bytes).unwrap();
        let (mut copied, mut written) = (Writer::with_capacity(0), Writer::with_capacity(0));
        for element in Elements::of(&document) {
            let element = element.unwrap();
            copied.copy(&element);
            written.field(element.name, element.value().unwrap());
        }
        assert_eq!(copied.finish().unwrap(), document);
        assert_eq!(written.finish().unwrap(), document);
    }

    proptest! {
        #[test]
        fn copies_are_the_same_to_the_byte(values in proptest::collection::vec(testing::bson(), 0..5)) {
            let document = doc! {"list": values.clone(), "first": values.first().cloned().unwrap_or(Bson::Null)};
            let raw = RawDocumentBuf::try_from(&document).unwrap();
            let (mut copied, mut renamed, mut written) =
                (Writer::with_capacity(0), Writer::with_capacity(0), Writer::with_capacity(0));
            for element in Elements::of(&raw) {
                let element = element.unwrap();
                copied.copy(&element);
                renamed.copy_as(element.name, &element);
                let value = element.value().unwrap();
                written.field(element.name, value);
                prop_assert!(identical(value, value));
            }
            for writer in [copied, renamed, written] {
                let again = writer.finish().unwrap();
                prop_assert_eq!(again.as_bytes(), raw.as_bytes());
            }
        }
    }
}
