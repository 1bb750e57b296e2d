//! A request: one document, the command, and sequences of documents beside it (what to insert, to
//! update, to delete), which count as fields of it.

use std::ops::Range;

use bson::{RawBsonRef, RawDocument};
use bytes::Bytes;
use mql::Error;

use super::Broken;
use super::compression::{Compressor, unpack};
use super::header::{Header, kind};
use super::valid::{check, first_document};

const CHECKSUM_PRESENT: u32 = 1;
const MORE_TO_COME: u32 = 1 << 1;
const EXHAUST_ALLOWED: u32 = 1 << 16;
/// Bits that must be understood.
const REQUIRED: u32 = 0xFFFF;

const CHECKSUM_BYTES: usize = 4;

/// The most sequences beside a command: `bulkWrite` has two.
const SEQUENCES_MAX: usize = 8;

/// A command with all its documents.
#[derive(Clone, Debug)]
pub struct Message {
    /// The client's number of it, which the reply repeats.
    pub request_id: i32,
    /// How it came, and so how the reply goes.
    pub form: Form,
    /// The compressor that the client used.
    pub compressor: Option<Compressor>,
    /// Whether the client waits for no reply.
    pub is_unanswered: bool,
    /// Whether several replies may follow each other.
    pub allows_exhaust: bool,
    /// The database, if the form of the message names it; otherwise `$db` does.
    pub database: Option<String>,
    /// Set if a document is nested too deep: the command gets this error.
    pub refused: Option<Error>,
    body: Bytes,
    command: Range<usize>,
    sequences: Vec<Sequence>,
}

/// The form of a message and its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The present one.
    Msg,
    /// The earlier one, with which connections begin.
    Query,
}

/// Documents beside a command, under the name of the field that they stand for.
#[derive(Clone, Debug)]
struct Sequence {
    name: String,
    documents: Range<usize>,
}

impl Message {
    /// Reads a message. `whole` is all of it, header included; `None` if it asks for nothing.
    pub fn read(whole: Bytes) -> Result<Option<Self>, Broken> {
        let header = Header::read(whole.first_chunk().ok_or(Broken::Length)?)?;
        if header.length != whole.len() {
            return Err(Broken::Length);
        }
        let (kind, compressor, whole) = if header.kind == kind::COMPRESSED {
            let (kind, body, compressor) = unpack(&whole[super::header::HEADER_BYTES..])?;
            // The checksum inside is that of a message that was never sent with this header.
            let mut inner = Vec::with_capacity(super::header::HEADER_BYTES + body.len());
            Header::write(header.request_id, header.response_to, kind, &mut inner);
            inner.extend(body);
            super::header::finish(0, &mut inner);
            (kind, Some(compressor), Bytes::from(inner))
        } else {
            (header.kind, None, whole)
        };
        let mut message = match kind {
            kind::MSG => read_msg(header.request_id, whole)?,
            kind::QUERY => read_query(header.request_id, whole)?,
            kind::KILL_CURSORS => return Ok(None),
            other => return Err(Broken::Kind(other)),
        };
        message.compressor = compressor;
        Ok(Some(message))
    }

    /// The command.
    pub fn command(&self) -> &RawDocument {
        document_at(&self.body, self.command.clone())
    }

    /// The documents of a field: of the sequence with this name, or of the array in the command.
    /// `None` if there is neither; what is no document in an array is left out.
    pub fn documents(&self, name: &str) -> Option<Vec<&RawDocument>> {
        if let Some(sequence) = self.sequences.iter().find(|sequence| sequence.name == name) {
            return Some(self.sequence(sequence.documents.clone()));
        }
        let Ok(Some(RawBsonRef::Array(array))) = self.command().get(name) else { return None };
        Some(array.into_iter().flatten().filter_map(RawBsonRef::as_document).collect())
    }

    fn sequence(&self, mut range: Range<usize>) -> Vec<&RawDocument> {
        let mut documents = Vec::new();
        while let Ok(document) = first_document(&self.body[range.clone()]) {
            range.start += document.as_bytes().len();
            documents.push(document);
        }
        documents
    }
}

/// A document whose place was checked when the message was read.
fn document_at(body: &Bytes, range: Range<usize>) -> &RawDocument {
    RawDocument::from_bytes(&body[range]).expect("checked when the message was read")
}

/// Walks through a body.
struct Reader<'a> {
    body: &'a [u8],
    at: usize,
    end: usize,
    refused: Option<Error>,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a [u8] {
        &self.body[self.at..self.end]
    }

    fn u32(&mut self) -> Result<u32, Broken> {
        let bytes = self.rest().first_chunk().ok_or(Broken::Length)?;
        self.at += 4;
        Ok(u32::from_le_bytes(*bytes))
    }

    fn text(&mut self) -> Result<String, Broken> {
        let length = self.rest().iter().position(|byte| *byte == 0).ok_or(Broken::Length)?;
        let text = std::str::from_utf8(&self.rest()[..length])
            .map_err(|_| Broken::Bson("a name that is not UTF-8".to_owned()))?;
        self.at += length + 1;
        Ok(text.to_owned())
    }

    fn document(&mut self) -> Result<Range<usize>, Broken> {
        let document = first_document(self.rest())?;
        if let Err(error) = check(document)? {
            self.refused.get_or_insert(error);
        }
        let start = self.at;
        self.at += document.as_bytes().len();
        Ok(start..self.at)
    }
}

fn read_msg(request_id: i32, body: Bytes) -> Result<Message, Broken> {
    let at = super::header::HEADER_BYTES;
    let mut reader = Reader { body: &body, at, end: body.len(), refused: None };
    let flags = reader.u32()?;
    let unknown = flags & REQUIRED & !(CHECKSUM_PRESENT | MORE_TO_COME);
    if unknown != 0 {
        return Err(Broken::Flags(unknown));
    }
    if flags & CHECKSUM_PRESENT != 0 {
        check_sum(&body)?;
        reader.end -= CHECKSUM_BYTES;
    }
    let (mut command, mut sequences) = (None, Vec::new());
    while reader.at < reader.end {
        let section = reader.body[reader.at];
        reader.at += 1;
        match section {
            0 if command.is_none() => command = Some(reader.document()?),
            1 if sequences.len() < SEQUENCES_MAX => sequences.push(read_sequence(&mut reader)?),
            _ => return Err(Broken::Section),
        }
    }
    let command = command.ok_or(Broken::Section)?;
    let mut names: Vec<&str> = sequences.iter().map(|one: &Sequence| one.name.as_str()).collect();
    names.sort_unstable();
    if names.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(Broken::Section);
    }
    let refused = reader.refused;
    Ok(Message {
        request_id,
        form: Form::Msg,
        compressor: None,
        is_unanswered: flags & MORE_TO_COME != 0,
        allows_exhaust: flags & EXHAUST_ALLOWED != 0,
        database: None,
        refused,
        body,
        command,
        sequences,
    })
}

/// The checksum is of everything before it. Its place is after the end of the shortest message.
fn check_sum(body: &Bytes) -> Result<(), Broken> {
    let (before, sum) = body.split_last_chunk::<CHECKSUM_BYTES>().ok_or(Broken::Length)?;
    if before.len() < super::header::HEADER_BYTES + 4 {
        return Err(Broken::Length);
    }
    let is_right = crc32c::crc32c(before) == u32::from_le_bytes(*sum);
    if is_right { Ok(()) } else { Err(Broken::Checksum) }
}

fn read_sequence(reader: &mut Reader<'_>) -> Result<Sequence, Broken> {
    let start = reader.at;
    let length = usize::try_from(reader.u32()?).map_err(|_| Broken::Length)?;
    let end = start.checked_add(length).filter(|end| *end <= reader.end).ok_or(Broken::Length)?;
    let outer = std::mem::replace(&mut reader.end, end);
    if reader.at > end {
        return Err(Broken::Length);
    }
    let name = reader.text()?;
    let first = reader.at;
    while reader.at < end {
        reader.document()?;
    }
    reader.end = outer;
    Ok(Sequence { name, documents: first..end })
}

/// A query of the collection `$cmd` is a command. Its document may be wrapped in `$query`.
fn read_query(request_id: i32, body: Bytes) -> Result<Message, Broken> {
    let at = super::header::HEADER_BYTES;
    let mut reader = Reader { body: &body, at, end: body.len(), refused: None };
    reader.u32()?;
    let namespace = reader.text()?;
    reader.u32()?;
    reader.u32()?;
    let mut command = reader.document()?;
    if reader.at < reader.end {
        // What to return of each document, which a command has no use for.
        reader.document()?;
    }
    if reader.at != reader.end {
        return Err(Broken::Length);
    }
    let refused = reader.refused;
    let whole = document_at(&body, command.clone());
    let wrapped = ["$query", "query"].iter().find_map(|name| match whole.iter().next() {
        Some(Ok((first, RawBsonRef::Document(inner)))) if first.as_str() == *name => Some(inner),
        _ => None,
    });
    if let Some(inner) = wrapped {
        // It begins behind the length, the type and the name of the first field.
        let name = if whole.as_bytes().get(5) == Some(&b'$') { "$query" } else { "query" };
        let start = command.start + 4 + 1 + name.len() + 1;
        command = start..start + inner.as_bytes().len();
    }
    let database = namespace.strip_suffix(".$cmd").map(str::to_owned);
    Ok(Message {
        request_id,
        form: Form::Query,
        compressor: None,
        is_unanswered: false,
        allows_exhaust: false,
        database,
        refused,
        body,
        command,
        sequences: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use bson::{RawDocumentBuf, rawdoc};
    use proptest::prelude::*;

    use super::*;
    use crate::wire::compression::pack;
    use crate::wire::header::finish;

    /// A message with a document and perhaps a sequence.
    fn msg(
        flags: u32,
        document: &RawDocumentBuf,
        sequence: Option<(&str, &[RawDocumentBuf])>,
    ) -> Vec<u8> {
        let mut out = Vec::new();
        Header::write(9, 0, kind::MSG, &mut out);
        out.extend(flags.to_le_bytes());
        if let Some((name, documents)) = sequence {
            out.push(1);
            let start = out.len();
            out.extend([0; 4]);
            out.extend(name.as_bytes());
            out.push(0);
            for document in documents {
                out.extend(document.as_bytes());
            }
            finish(start, &mut out);
        }
        out.push(0);
        out.extend(document.as_bytes());
        finish(0, &mut out);
        if flags & CHECKSUM_PRESENT != 0 {
            out.extend([0; 4]);
            finish(0, &mut out);
            let end = out.len() - 4;
            let sum = crc32c::crc32c(&out[..end]);
            out[end..].copy_from_slice(&sum.to_le_bytes());
        }
        out
    }

    fn read(bytes: Vec<u8>) -> Result<Message, Broken> {
        Message::read(Bytes::from(bytes)).map(|message| message.expect("a command"))
    }

    #[test]
    fn commands_have_documents_in_arrays_or_in_sequences() {
        let inline = rawdoc! {"insert": "c", "documents": [{"_id": 1}, {"_id": 2}], "$db": "d"};
        let message = read(msg(0, &inline, None)).unwrap();
        assert_eq!(message.command(), &*inline);
        assert_eq!(message.documents("documents").unwrap().len(), 2);
        assert_eq!(message.documents("updates"), None);

        let command = rawdoc! {"insert": "c", "$db": "d"};
        let documents = [rawdoc! {"_id": 1}, rawdoc! {"_id": 2}, rawdoc! {"_id": 3}];
        let flags = CHECKSUM_PRESENT | MORE_TO_COME | EXHAUST_ALLOWED | 1 << 20;
        let message = read(msg(flags, &command, Some(("documents", &documents)))).unwrap();
        assert_eq!(message.command(), &*command);
        let found: Vec<&[u8]> =
            message.documents("documents").unwrap().iter().map(|one| one.as_bytes()).collect();
        assert_eq!(found, documents.each_ref().map(|one| one.as_bytes()));
        assert!(message.is_unanswered && message.allows_exhaust);
    }

    #[test]
    fn compressed_messages_are_read() {
        let command = rawdoc! {"ping": 1, "$db": "admin"};
        for compressor in [Compressor::Noop, Compressor::Snappy, Compressor::Zlib, Compressor::Zstd]
        {
            let message = read(pack(msg(0, &command, None), compressor)).unwrap();
            assert_eq!(message.compressor, Some(compressor));
            assert_eq!(message.command(), &*command);
            assert_eq!(message.request_id, 9);
        }
    }

    #[test]
    fn what_cannot_be_read_ends_the_connection() {
        let command = rawdoc! {"ping": 1};
        let mut wrong_sum = msg(CHECKSUM_PRESENT, &command, None);
        *wrong_sum.last_mut().unwrap() ^= 1;
        assert_eq!(read(wrong_sum).unwrap_err(), Broken::Checksum);
        assert_eq!(read(msg(1 << 3, &command, None)).unwrap_err(), Broken::Flags(8));
        let mut section = msg(0, &command, None);
        section[20] = 2;
        assert_eq!(read(section).unwrap_err(), Broken::Section);
        let mut two = msg(0, &command, None);
        two.push(0);
        two.extend(command.as_bytes());
        finish(0, &mut two);
        assert_eq!(read(two).unwrap_err(), Broken::Section);
        let mut insert = msg(0, &command, None);
        insert[12..16].copy_from_slice(&2002_i32.to_le_bytes());
        assert_eq!(read(insert).unwrap_err(), Broken::Kind(2002));
        let mut longer = msg(0, &command, None);
        longer.push(0);
        assert_eq!(read(longer).unwrap_err(), Broken::Length);
    }

    #[test]
    fn a_document_that_is_too_deep_refuses_the_command_only() {
        let mut document = RawDocumentBuf::new();
        for _ in 0..300 {
            document = rawdoc! {"a": document};
        }
        let message =
            read(msg(0, &rawdoc! {"insert": "c"}, Some(("documents", &[document])))).unwrap();
        assert_eq!(message.refused.unwrap().code, mql::Code::OVERFLOW);
    }

    #[test]
    fn connections_begin_with_queries() {
        let query = |document: RawDocumentBuf| {
            let mut out = Vec::new();
            Header::write(3, 0, kind::QUERY, &mut out);
            out.extend([0; 4]);
            out.extend(b"admin.$cmd\0");
            out.extend([0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF]);
            out.extend(document.as_bytes());
            finish(0, &mut out);
            read(out).unwrap()
        };
        let plain = rawdoc! {"isMaster": 1, "helloOk": true};
        let message = query(plain.clone());
        assert_eq!((message.form, message.database.as_deref()), (Form::Query, Some("admin")));
        assert_eq!(message.command(), &*plain);
        let message =
            query(rawdoc! {"$query": plain.clone(), "$readPreference": {"mode": "primary"}});
        assert_eq!(message.command(), &*plain);
        let message = query(rawdoc! {"query": plain.clone()});
        assert_eq!(message.command(), &*plain);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(kind in prop_oneof![Just(2013_i32), Just(2004), Just(2012)], body: Vec<u8>) {
            let mut out = Vec::new();
            Header::write(1, 0, kind, &mut out);
            out.extend(body);
            finish(0, &mut out);
            let _ = Message::read(Bytes::from(out));
        }

        #[test]
        fn no_changed_byte_makes_it_panic(at in 16_usize..200, byte: u8) {
            let command = rawdoc! {"insert": "c", "$db": "d"};
            let documents = [rawdoc! {"_id": 1}, rawdoc! {"_id": [1, {"a": "x"}]}];
            let mut out = msg(0, &command, Some(("documents", &documents)));
            let at = 16 + at % (out.len() - 16);
            out[at] = byte;
            if let Ok(Some(message)) = Message::read(Bytes::from(out)) {
                let _ = (message.command().iter().count(), message.documents("documents"));
            }
        }
    }
}
