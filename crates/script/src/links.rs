//! Links by which scripts name resources: by ids or by rids, with or without a trailing slash.
//!
//! The host parses them, so that whatever a worker sends, no call leaves its collection.

use std::borrow::Cow;

use crate::host::{Name, Operation, Target};

/// The kind of resource that a link must name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resource {
    Document,
    Attachment,
}

/// Resolves `link` for an operation on a resource, in the collection with these two links. On error
/// the script gets status 400 and this text.
pub(crate) fn resolve(
    link: &str,
    operation: Operation,
    resource: Resource,
    self_link: &str,
    alt_link: &str,
) -> Result<Target, String> {
    let is_feed = matches!(
        operation,
        Operation::ReadFeed | Operation::Query | Operation::Create | Operation::Upsert
    );
    // Most scripts pass on what `getSelfLink` returned.
    if is_feed && resource == Resource::Document && (link == self_link || link == alt_link) {
        return Ok(Target::Documents);
    }
    let trimmed = link.trim_matches('/');
    let mut segments: Vec<Cow<'_, str>> = trimmed.split('/').map(Cow::Borrowed).collect();
    let owner = segments.get(..4).map(|owner| owner.join("/")).unwrap_or_default();
    let is_by_name = owner == alt_link.trim_matches('/');
    let (segments_expected, what) = match (resource, is_feed) {
        (Resource::Document, true) => (4, "collection"),
        (Resource::Document, false) | (Resource::Attachment, true) => (6, "document"),
        (Resource::Attachment, false) => (8, "attachment"),
    };
    // A document's id may contain slashes.
    if is_by_name && segments_expected > 4 && segments.len() > segments_expected {
        let id = 5..=5 + segments.len() - segments_expected;
        let whole = segments[id.clone()].join("/");
        segments.splice(id, [Cow::Owned(whole)]);
    }
    let types = ["dbs", "colls", "docs", "attachments"];
    let is_well_formed = segments.len() == segments_expected
        && segments.chunks(2).zip(types).all(|(pair, name)| {
            matches!(pair, [kind, id] if kind.eq_ignore_ascii_case(name) && !id.is_empty())
        });
    if !is_well_formed {
        return Err(format!("Invalid {what} link: \"{}\".", shorten(link)));
    }
    let name: fn(&str) -> Name = if owner == self_link.trim_matches('/') {
        |id| Name::Rid(id.to_owned())
    } else if is_by_name {
        |id| Name::Id(id.to_owned())
    } else {
        return Err(format!(
            "The {what} link \"{}\" is outside the collection that this script belongs to.",
            shorten(link)
        ));
    };
    Ok(match segments.get(4..).unwrap_or_default() {
        [_, document] if is_feed => Target::Attachments(name(document)),
        [_, document] => Target::Document(name(document)),
        [_, document, _, attachment] => Target::Attachment(name(document), name(attachment)),
        _ => Target::Documents,
    })
}

/// Links come from the script, so an error repeats only the beginning.
fn shorten(link: &str) -> String {
    link.chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(link: &str) -> Result<Target, String> {
        resolve(link, Operation::Read, Resource::Document, "dbs/A==/colls/B=/", "dbs/d/colls/c")
    }

    #[test]
    fn both_forms_and_slashes() {
        let by_rid = Ok(Target::Document(Name::Rid("C==".to_owned())));
        assert_eq!(document("dbs/A==/colls/B=/docs/C==/"), by_rid);
        assert_eq!(document("/dbs/A==/colls/B=/docs/C=="), by_rid);
        assert_eq!(
            document("dbs/d/colls/c/docs/x"),
            Ok(Target::Document(Name::Id("x".to_owned())))
        );
    }

    #[test]
    fn malformed_and_foreign() {
        for link in ["", "docs/x", "dbs/d/colls/c", "dbs/d/colls/c/docs/", "dbs/d/colls/c/sprocs/x"]
        {
            assert!(document(link).unwrap_err().starts_with("Invalid document link"), "{link}");
        }
        let foreign = document("dbs/d/colls/other/docs/x").unwrap_err();
        assert!(foreign.contains("outside the collection"), "{foreign}");
    }

    /// Only the ids of documents may contain slashes.
    #[test]
    fn ids_with_slashes() {
        let id = |text: &str| Name::Id(text.to_owned());
        assert_eq!(document("dbs/d/colls/c/docs/x/y/z"), Ok(Target::Document(id("x/y/z"))));
        let resolve = |link: &str, operation| {
            resolve(link, operation, Resource::Attachment, "dbs/A==/colls/B=/", "dbs/d/colls/c")
        };
        let one = resolve("dbs/d/colls/c/docs/x/y/attachments/z", Operation::Delete);
        assert_eq!(one, Ok(Target::Attachment(id("x/y"), id("z"))));
        let owner = resolve("dbs/d/colls/c/docs/x/attachments/y", Operation::Create);
        assert_eq!(owner, Ok(Target::Attachments(id("x/attachments/y"))));
        assert!(resolve("dbs/d/colls/c/docs/x/y/files/z", Operation::Delete).is_err());
        assert!(document("dbs/A==/colls/B=/docs/C==/D").is_err(), "rids have none");
        assert!(document("dbs/d/colls/other/docs/x/y").is_err());
    }

    #[test]
    fn feeds_and_attachments() {
        let resolve = |link: &str, operation, resource| {
            resolve(link, operation, resource, "dbs/A==/colls/B=/", "dbs/d/colls/c")
        };
        let id = |text: &str| Name::Id(text.to_owned());
        let feed = resolve("dbs/d/colls/c/", Operation::Query, Resource::Document);
        assert_eq!(feed, Ok(Target::Documents));
        let owner = resolve("dbs/d/colls/c/docs/x", Operation::Create, Resource::Attachment);
        assert_eq!(owner, Ok(Target::Attachments(id("x"))));
        let one =
            resolve("dbs/d/colls/c/docs/x/attachments/y", Operation::Delete, Resource::Attachment);
        assert_eq!(one, Ok(Target::Attachment(id("x"), id("y"))));
    }
}
