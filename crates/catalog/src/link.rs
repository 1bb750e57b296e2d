//! The link of a permission: its resource, by names or by rids.

use protocol::{
    Error,
    limits::DOCUMENT_ID_BYTES_MAX,
    request::{AttachmentPath, CollectionPath, DatabasePath, DocumentPath, ScriptKind, ScriptPath},
};

use crate::definition::shown;

/// The most bytes in a link.
const BYTES_MAX: usize = 4096;

/// The resource of a permission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Link {
    /// A database with everything in it.
    Database(DatabasePath),
    /// A collection with its documents and scripts.
    Collection(CollectionPath),
    /// One document with its attachments.
    Document(DocumentPath),
    /// A stored procedure, a trigger or a function.
    Script(ScriptPath),
    /// One attachment of a document.
    Attachment(AttachmentPath),
}

impl Link {
    /// Parses a link as clients send it: with or without slashes around it, keywords in any case.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let parts: Vec<&str> = text.trim_matches('/').split('/').collect();
        let is_name = |name: &&str| !name.is_empty() && name.len() <= DOCUMENT_ID_BYTES_MAX;
        let is_whole =
            parts.len().is_multiple_of(2) && parts.iter().skip(1).step_by(2).all(is_name);
        if !is_whole || text.len() > BYTES_MAX {
            return Err(invalid(text));
        }
        let words: Vec<String> =
            parts.iter().step_by(2).map(|word| word.to_ascii_lowercase()).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let names: Vec<&str> = parts.into_iter().skip(1).step_by(2).collect();
        let collection = || CollectionPath {
            database: DatabasePath(names[0].to_owned()),
            collection: names[1].to_owned(),
        };
        let document = || DocumentPath { collection: collection(), document: names[2].to_owned() };
        Ok(match words.as_slice() {
            ["dbs"] => Self::Database(DatabasePath(names[0].to_owned())),
            ["dbs", "colls"] => Self::Collection(collection()),
            ["dbs", "colls", "docs"] => Self::Document(document()),
            ["dbs", "colls", "docs", "attachments"] => Self::Attachment(AttachmentPath {
                document: document(),
                attachment: names[3].to_owned(),
            }),
            ["dbs", "colls", word] => {
                let kind = ScriptKind::ALL.into_iter().find(|kind| kind.segment() == *word);
                let kind = kind.ok_or_else(|| invalid(text))?;
                Self::Script(ScriptPath {
                    collection: collection(),
                    kind,
                    script: names[2].to_owned(),
                })
            }
            _ => return Err(invalid(text)),
        })
    }

    /// The database of the resource, or the resource itself.
    pub fn database(&self) -> &DatabasePath {
        match self {
            Self::Database(path) => path,
            Self::Collection(path) => &path.database,
            Self::Document(path) => &path.collection.database,
            Self::Attachment(path) => &path.document.collection.database,
            Self::Script(path) => &path.collection.database,
        }
    }

    /// The collection of the resource, or the resource itself; `None` for a database.
    pub fn collection(&self) -> Option<&CollectionPath> {
        match self {
            Self::Database(_) => None,
            Self::Collection(path) => Some(path),
            Self::Document(path) => Some(&path.collection),
            Self::Attachment(path) => Some(&path.document.collection),
            Self::Script(path) => Some(&path.collection),
        }
    }
}

fn invalid(text: &str) -> Error {
    Error::bad_request(format!(
        "The resource '{}' of the permission is not a link to a database, collection, document, \
         stored procedure, trigger, user-defined function or attachment.",
        shown(text)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_every_kind() {
        for (text, shape) in [
            ("dbs/d", "Database("),
            ("/dbs/d/", "Database("),
            ("DBS/d/Colls/c", "Collection("),
            ("dbs/d/colls/c/docs/x y", "Document("),
            ("dbs/d/colls/c/sprocs/x", "Script("),
            ("dbs/d/colls/c/triggers/x", "Script("),
            ("dbs/d/colls/c/udfs/x", "Script("),
            ("dbs/d/colls/c/docs/x/attachments/a/", "Attachment("),
        ] {
            let link = Link::parse(text).expect(text);
            assert!(format!("{link:?}").starts_with(shape), "{text}: {link:?}");
            assert_eq!(link.database().0, "d");
        }
    }

    #[test]
    fn nothing_else_is_one() {
        let long = format!("dbs/{}", "a".repeat(1024));
        let all = "dbs/d/colls/c/docs/x/attachments/a/more/b";
        for bad in [
            "",
            "/",
            "dbs",
            "dbs//",
            "d",
            "offers/x",
            "dbs/d/users/u",
            "dbs/d/colls",
            "dbs//colls/c",
            "dbs/d/colls/c/pkranges/0",
            "dbs/d/colls/c/conflicts/x",
            "colls/c",
            &long,
            all,
        ] {
            assert!(Link::parse(bad).is_err(), "{bad}");
        }
    }
}
