//! Parses and checks attachments that clients send.

use bytes::Bytes;
use catalog::definition::{shown, validate_name};
use protocol::{
    Code, Error,
    limits::{ATTACHMENT_BYTES_MAX, MEDIA_BYTES_MAX},
    request::MediaHead,
};
use value::{Object, Value, json};

use catalog::bodies;

/// Properties that only the server sets.
const SYSTEM: [&str; 4] = ["_rid", "_self", "_etag", "_ts"];

/// The allowed media types.
const MEDIA_TYPES: [&str; 10] = [
    "application",
    "audio",
    "example",
    "font",
    "image",
    "message",
    "model",
    "multipart",
    "text",
    "video",
];

/// Most bytes of a media type: it is returned as a header.
const MEDIA_TYPE_BYTES_MAX: usize = 255;

/// An attachment as a client sends it.
pub(super) struct Incoming {
    /// `None` for media without a slug, which are named after their rid.
    pub(super) id: Option<String>,
    pub(super) properties: Object,
    pub(super) media: Option<Bytes>,
}

impl Incoming {
    /// Parses a description.
    pub(super) fn parse(text: &[u8]) -> Result<Self, Error> {
        bodies::check_size(text, ATTACHMENT_BYTES_MAX)?;
        let value = bodies::parse(text)?;
        let id = validate_name(value.get("id"))?;
        for name in ["contentType", "media"] {
            bodies::string(&value, name)?;
        }
        let properties = bodies::properties(value, &SYSTEM)?;
        Ok(Self { id: Some(id), properties, media: None })
    }

    /// Media as sent. The server makes the link to them.
    pub(super) fn media(head: MediaHead, content: Bytes) -> Result<Self, Error> {
        let MediaHead { slug, content_type } = head;
        check_media(&content_type, &content)?;
        let id = match slug {
            Some(slug) => Some(validate_name(&slug.into())?),
            None => None,
        };
        let mut properties = Object::new();
        properties.insert("contentType", content_type);
        Ok(Self { id, properties, media: Some(content) })
    }

    /// The number of bytes that the client sent.
    pub(super) fn length(&self) -> usize {
        let media = self.media.as_ref().map_or(0, Bytes::len);
        media + json::print(&Value::Object(self.properties.clone())).len()
    }
}

/// Refuses media that are too large or of an unknown type.
pub(super) fn check_media(content_type: &str, content: &Bytes) -> Result<(), Error> {
    if content.len() > MEDIA_BYTES_MAX {
        return Err(Error::new(
            Code::TooLarge,
            format!("The media of an attachment may have at most {MEDIA_BYTES_MAX} bytes."),
        ));
    }
    let name = content_type.split(';').next().unwrap_or_default().trim();
    let is_known = name.split_once('/').is_some_and(|(kind, rest)| {
        let is_own = kind.get(..2).is_some_and(|start| start.eq_ignore_ascii_case("x-"));
        let is_kind = is_own || MEDIA_TYPES.iter().any(|known| known.eq_ignore_ascii_case(kind));
        is_kind && !rest.is_empty() && !rest.contains(['/', ' '])
    });
    if is_known && content_type.len() <= MEDIA_TYPE_BYTES_MAX {
        return Ok(());
    }
    Err(Error::bad_request(format!(
        "The value '{}' specified for the header 'Content-Type' is invalid.",
        shown(content_type)
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions() {
        let good = br#"{"id":"a","contentType":"x","media":"http:\\\\xstore.","n":1.0,"_ts":5}"#;
        let incoming = Incoming::parse(good).expect("good");
        assert_eq!(incoming.id.as_deref(), Some("a"));
        assert!(incoming.properties.get("_ts").is_none());
        for bad in [
            "",
            "[]",
            r#"{"contentType":"x","media":"m"}"#,
            r#"{"id":"a","media":"m"}"#,
            r#"{"id":"a","contentType":"x"}"#,
            r#"{"id":"a","contentType":1,"media":"m"}"#,
            r#"{"id":"a","contentType":"x","media":{}}"#,
            r#"{"id":"a/b","contentType":"x","media":"m"}"#,
        ] {
            assert!(Incoming::parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn media_types() {
        let check = |name: &str| check_media(name, &Bytes::new()).is_ok();
        for good in ["text/plain", "Application/Text", "image/jpg; q=1", "x-own/y", "audio/x-y+z"] {
            assert!(check(good), "{good}");
        }
        let long = format!("text/{}", "x".repeat(300));
        for bad in ["", "text", "text/", "/plain", "junt/test", "a b/c", "text/a/b", &long] {
            assert!(!check(bad), "{bad}");
        }
        let large = Bytes::from(vec![0; MEDIA_BYTES_MAX + 1]);
        assert_eq!(check_media("text/plain", &large).expect_err("large").code, Code::TooLarge);
    }
}
