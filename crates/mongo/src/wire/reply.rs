//! Replies, in the form in which the request came.

use bson::RawDocument;

use super::compression::{Compressor, pack};
use super::header::{Header, finish, kind};
use super::message::Form;

/// In a reply of the earlier form: the server can wait for data.
const AWAIT_CAPABLE: u32 = 8;

/// What a reply answers.
#[derive(Clone, Copy, Debug)]
pub struct Answered {
    /// The number of the request.
    pub request_id: i32,
    /// Its form.
    pub form: Form,
    /// How it was compressed, as the reply then is.
    pub compressor: Option<Compressor>,
}

/// The bytes of a reply with a number of its own.
pub fn encode(document: &RawDocument, reply_id: i32, to: Answered) -> Vec<u8> {
    let bytes = document.as_bytes();
    let mut out = Vec::with_capacity(bytes.len() + 64);
    match to.form {
        Form::Msg => {
            Header::write(reply_id, to.request_id, kind::MSG, &mut out);
            out.extend([0; 4]);
            out.push(0);
        }
        Form::Query => {
            Header::write(reply_id, to.request_id, kind::REPLY, &mut out);
            out.extend(AWAIT_CAPABLE.to_le_bytes());
            // No cursor, from the first document on, one document.
            out.extend([0; 12]);
            out.extend(1_i32.to_le_bytes());
        }
    }
    out.extend(bytes);
    finish(0, &mut out);
    match to.compressor {
        Some(compressor) => pack(out, compressor),
        None => out,
    }
}

#[cfg(test)]
mod tests {
    use bson::rawdoc;

    use super::*;
    use crate::wire::compression::unpack;
    use crate::wire::header::HEADER_BYTES;

    #[test]
    fn replies_have_the_form_of_their_requests() {
        let document = rawdoc! {"ok": 1.0};
        let to = Answered { request_id: 7, form: Form::Msg, compressor: None };
        let bytes = encode(&document, 1, to);
        let header = Header::read(bytes.first_chunk().unwrap()).unwrap();
        let expected =
            Header { length: bytes.len(), request_id: 1, response_to: 7, kind: kind::MSG };
        assert_eq!(header, expected);
        assert_eq!(&bytes[HEADER_BYTES..HEADER_BYTES + 5], [0; 5]);
        assert_eq!(&bytes[HEADER_BYTES + 5..], document.as_bytes());

        let bytes = encode(&document, 1, Answered { form: Form::Query, ..to });
        let header = Header::read(bytes.first_chunk().unwrap()).unwrap();
        assert_eq!(header.kind, kind::REPLY);
        assert_eq!(&bytes[HEADER_BYTES + 20..], document.as_bytes());

        let compressor = Some(Compressor::Zlib);
        let packed = encode(&document, 1, Answered { compressor, ..to });
        let (kind, body, _) = unpack(&packed[HEADER_BYTES..]).unwrap();
        assert_eq!((kind, &body[5..]), (kind::MSG, document.as_bytes()));
    }
}
