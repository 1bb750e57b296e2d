//! Checks that bytes are BSON to the last element, so that whoever reads them later need not fear
//! what they are.

use bson::{RawBsonRef, RawDocument};
use mql::{Code, Error};

use super::Broken;

/// The deepest nesting of documents and arrays.
pub const DEPTH_MAX: usize = 200;

/// The document at the beginning of `bytes`, of which it may be a part.
pub fn first_document(bytes: &[u8]) -> Result<&RawDocument, Broken> {
    let length = bytes.first_chunk::<4>().ok_or(Broken::Length)?;
    let length = usize::try_from(i32::from_le_bytes(*length)).map_err(|_| Broken::Length)?;
    let document = bytes.get(..length).ok_or(Broken::Length)?;
    RawDocument::from_bytes(document).map_err(|error| Broken::Bson(error.to_string()))
}

/// Walks all elements of a document. Invalid bytes end the connection; a document that is only too
/// deep gets an error.
pub fn check(document: &RawDocument) -> Result<Result<(), Error>, Broken> {
    let mut is_too_deep = false;
    check_elements(document, 1, &mut is_too_deep)?;
    if is_too_deep {
        let message = format!("BSONObj exceeds maximum nested object depth: {DEPTH_MAX}");
        return Ok(Err(Error::new(Code::OVERFLOW, message)));
    }
    Ok(Ok(()))
}

fn check_elements(
    document: &RawDocument,
    depth: usize,
    is_too_deep: &mut bool,
) -> Result<(), Broken> {
    if depth > DEPTH_MAX {
        *is_too_deep = true;
        return Ok(());
    }
    for element in document {
        let (_, value) = element.map_err(|error| Broken::Bson(error.to_string()))?;
        let inner = match value {
            RawBsonRef::Document(inner) => inner,
            // An array is a document on the wire.
            RawBsonRef::Array(inner) => RawDocument::from_bytes(inner.as_bytes())
                .map_err(|error| Broken::Bson(error.to_string()))?,
            RawBsonRef::JavaScriptCodeWithScope(code) => code.scope,
            _ => continue,
        };
        check_elements(inner, depth + 1, is_too_deep)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use bson::{RawDocumentBuf, rawdoc};
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn depth_is_bounded() {
        let nested = |depth: usize| {
            let mut document = RawDocumentBuf::new();
            for _ in 1..depth {
                document = rawdoc! {"a": document};
            }
            document
        };
        assert_eq!(check(&nested(DEPTH_MAX)), Ok(Ok(())));
        let error = check(&nested(DEPTH_MAX + 1)).unwrap().unwrap_err();
        assert_eq!(error.code, Code::OVERFLOW);
        assert!(check(&nested(2_000)).unwrap().is_err());
    }

    #[test]
    fn invalid_elements_are_found_at_any_depth() {
        let document = rawdoc! {"a": [{"b": "text"}]};
        let mut bytes = document.into_bytes();
        assert_eq!(check(RawDocument::from_bytes(&bytes).unwrap()), Ok(Ok(())));
        let at = bytes.windows(4).position(|window| window == b"text").unwrap();
        bytes[at] = 0xFF;
        assert!(check(RawDocument::from_bytes(&bytes).unwrap()).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            if let Ok(document) = first_document(&bytes) {
                let _ = check(document);
            }
        }

        #[test]
        fn no_changed_byte_makes_it_panic(at in 0_usize..60, byte: u8) {
            let mut bytes = rawdoc! {"a": [1, {"b": "x"}], "c": 1.5, "d": true, "e": "text"}.into_bytes();
            let at = at % bytes.len();
            bytes[at] = byte;
            if let Ok(document) = first_document(&bytes) {
                let _ = check(document);
            }
        }
    }
}
