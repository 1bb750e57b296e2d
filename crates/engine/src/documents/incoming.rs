//! Incoming documents: from the body of a request to the row to store.

use bytes::Bytes;
use catalog::definition::validate_document_id;
use index::Directive;
use partition::{
    rows::Header,
    text::{self, own_ttl},
    transaction::NewVersion,
};
use protocol::{
    Error, Options, limits::DOCUMENT_BYTES_MAX, request::IndexingDirective, rid::DocNum,
};
use query::served::Served;
use value::{
    Value,
    json::{self, Document, Member},
};

use catalog::bodies;

use crate::{Inner, documents::Place};

/// Reads a body that must be an object.
pub(super) fn read(body: &[u8]) -> Result<Document<'_>, Error> {
    json::parse_document(body).map_err(|error| bodies::invalid(&error))
}

/// The indexing directive of a request, as the index's type.
pub(super) fn directive(options: &Options) -> Directive {
    match options.indexing_directive {
        IndexingDirective::Default => Directive::Default,
        IndexingDirective::Include => Directive::Include,
        IndexingDirective::Exclude => Directive::Exclude,
    }
}

/// An incoming document, parsed once.
pub(super) struct Incoming<'a> {
    pub(super) body: &'a [u8],
    pub(super) value: Value,
    members: Vec<Member<'a>>,
    is_compact: bool,
    pub(super) id: String,
    ttl: i32,
}

impl<'a> Incoming<'a> {
    pub(super) fn parse(body: &'a [u8], collection: &Served) -> Result<Self, Error> {
        bodies::check_size(body, DOCUMENT_BYTES_MAX)?;
        Self::checked(body, read(body)?, collection)
    }

    /// An incoming document from a body that was already parsed.
    pub(super) fn of(
        body: &'a [u8],
        read: Document<'a>,
        collection: &Served,
    ) -> Result<Self, Error> {
        bodies::check_size(body, DOCUMENT_BYTES_MAX)?;
        Self::checked(body, read, collection)
    }

    fn checked(body: &'a [u8], read: Document<'a>, collection: &Served) -> Result<Self, Error> {
        let Document { value, members, is_compact, escape_bytes } = read;
        if body.len() + escape_bytes > DOCUMENT_BYTES_MAX {
            return Err(bodies::too_large());
        }
        let id = validate_document_id(value.get("id"))?.to_owned();
        let ttl = own_ttl(&value, collection.definition.default_ttl)?;
        Ok(Self { body, value, members, is_compact, id, ttl })
    }

    /// Makes the new version of a document: its row, and the text that the answer returns. The
    /// incoming value becomes the stored one, with its system properties.
    pub(super) fn compose(
        &mut self,
        engine: &Inner,
        place: &Place<'_>,
        number: DocNum,
        options: &Options,
    ) -> (NewVersion, Bytes) {
        let ts = engine.clock.now_seconds();
        let etag = engine.etags.next(ts);
        let header = Header {
            lsn: 0,
            ts,
            ttl: self.ttl,
            index_generation: place.collection.index_generation,
            directive: directive(options),
        };
        let rid = place.collection.rid.document(number);
        let system = text::System::new(rid, etag, ts);
        let Self { body: text, ref members, is_compact, .. } = *self;
        let row = text::compose(&header, text::Source { text, members, is_compact }, &system);
        system.insert_into(&mut self.value);
        let document = if options.minimal_response {
            Bytes::new()
        } else {
            Bytes::copy_from_slice(&row[Header::LENGTH..])
        };
        let expiry = header.expiry(place.collection.definition.default_ttl);
        (NewVersion { etag, ts, expiry, row }, document)
    }
}
