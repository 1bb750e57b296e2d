//! The target of a request: an account, a database, a collection, or something in a collection.

use crate::args::{CollectionArgs, escaped};

/// The database and collection that a request names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) database: Option<String>,
    pub(crate) collection: Option<String>,
    /// The item within the collection, in words: `document `1``.
    pub(crate) item: Option<String>,
}

impl Place {
    /// The account itself.
    pub(crate) fn account() -> Self {
        Self::default()
    }

    /// A database.
    pub(crate) fn database(id: &str) -> Self {
        Self { database: Some(id.to_owned()), ..Self::default() }
    }

    /// A collection.
    pub(crate) fn collection(database: &str, id: &str) -> Self {
        Self { collection: Some(id.to_owned()), ..Self::database(database) }
    }

    /// An item in this collection.
    pub(crate) fn with_item(self, item: String) -> Self {
        Self { item: Some(item), ..self }
    }

    /// The path, escaped, with a leading slash; empty for the account.
    pub(crate) fn path(&self) -> String {
        self.link_of(escaped).map_or_else(String::new, |link| format!("/{link}"))
    }

    /// The link for the signature, not escaped; empty for the account.
    pub(crate) fn link(&self) -> String {
        self.link_of(str::to_owned).unwrap_or_default()
    }

    fn link_of(&self, shown: impl Fn(&str) -> String) -> Option<String> {
        let database = format!("dbs/{}", shown(self.database.as_deref()?));
        Some(match &self.collection {
            Some(collection) => format!("{database}/colls/{}", shown(collection)),
            None => database,
        })
    }
}

impl From<&CollectionArgs> for Place {
    fn from(args: &CollectionArgs) -> Self {
        Self::collection(&args.database, &args.collection)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_where_they_travel() {
        let place = Place::collection("d", "c/é");
        assert_eq!(place.path(), "/dbs/d/colls/c%2F%C3%A9");
        assert_eq!(place.link(), "dbs/d/colls/c/é");
        assert_eq!((Place::account().path(), Place::account().link()), Default::default());
        assert_eq!(Place::database("a b").path(), "/dbs/a%20b");
    }
}
