//! Families: the small resources of one kind under one parent, such as the users of a database. All
//! are created, read, replaced, deleted and listed alike, by the code in `requests`. The [`Family`]
//! trait has what differs.

pub(crate) mod requests;

use std::sync::Arc;

use bytes::Bytes;
use catalog::{
    Catalog, Collection, Database, Version,
    child_rows::{Rid, Stored},
    children::Children,
};
use partition::errors;
use protocol::{Error, Options, Owner, continuation::Feed, response::FeedKind};
use query::served::View;

use crate::{call::Call, family::requests::Put};

/// A resource that has children.
pub(crate) trait Parent: Send + Sync + Sized + 'static {
    /// The owner, as answers name it.
    fn owner(&self) -> Arc<Owner>;

    /// The owner in the continuation tokens of its feeds.
    fn rid_bytes(&self) -> Vec<u8>;

    /// Replaces the parent in the catalog. It keeps its own version, since only a child has
    /// changed.
    fn store(&self, catalog: &mut Catalog);
}

impl Parent for Arc<Database> {
    fn owner(&self) -> Arc<Owner> {
        Database::owner(self)
    }

    fn rid_bytes(&self) -> Vec<u8> {
        self.rid.bytes().to_vec()
    }

    fn store(&self, catalog: &mut Catalog) {
        catalog.insert_database(Self::clone(self));
    }
}

impl Parent for Arc<Collection> {
    fn owner(&self) -> Arc<Owner> {
        Collection::owner(self)
    }

    fn rid_bytes(&self) -> Vec<u8> {
        self.rid.bytes().to_vec()
    }

    fn store(&self, catalog: &mut Catalog) {
        if let Some(database) = catalog.database_mut(self.rid.database) {
            database.insert_collection(Self::clone(self));
        }
    }
}

type ChildRid<F> = <<F as Family>::Child as Stored>::Rid;
type ParentRid<F> = <ChildRid<F> as Rid>::Owner;

/// A family, under the parent that a request names. The defaults suit most families.
pub(crate) trait Family: Send + Sync + Sized + 'static {
    /// The path of a child.
    type Path: Send;
    type Parent: Parent;
    type Child: Stored + Send + Sync;
    /// The contents of a request body for a child.
    type Draft: Send + Sync;

    /// Whether a reader who already has the child's version gets no body.
    const CAN_BE_UNCHANGED: bool = true;

    /// The family of a child, and the child's name or rid.
    fn of(path: Self::Path) -> (Self, String);

    fn feed(&self) -> (Feed, FeedKind);

    /// The most children that a parent may have, and the words for children and parent.
    fn limit(&self) -> (usize, &'static str, &'static str);

    fn parent(&self, catalog: &Catalog, options: &Options) -> Result<Self::Parent, Error>;

    fn parent_rid(&self, parent: &Self::Parent) -> ParentRid<Self>;

    fn children<'a>(&self, parent: &'a Self::Parent) -> &'a Children<Self::Child>;

    fn children_mut<'a>(&self, parent: &'a mut Self::Parent) -> &'a mut Children<Self::Child>;

    /// Parses the body of a request.
    fn parse(&self, body: &[u8]) -> Result<Self::Draft, Error>;

    /// The name in a draft.
    fn id(draft: &Self::Draft) -> &str;

    /// Makes a child from a draft; `old` is the child it replaces, if any.
    fn make(
        draft: Self::Draft,
        rid: ChildRid<Self>,
        version: Version,
        old: Option<&Self::Child>,
    ) -> Self::Child;

    fn to_json(child: &Self::Child, options: &Options) -> Bytes;

    /// Whether a child may be replaced by one of this name. `namesake` is the child that already
    /// has the name. By default a child may be renamed, but not to another child's name.
    fn check_name(
        _id: &str,
        old: &Self::Child,
        namesake: Option<&Arc<Self::Child>>,
    ) -> Result<(), Error> {
        match namesake {
            Some(other) if other.rid() != old.rid() => Err(errors::taken()),
            _ => Ok(()),
        }
    }

    /// Checks a draft against the rest of the catalog.
    fn check(
        &self,
        _view: &View,
        _parent: &Self::Parent,
        _old: Option<&Arc<Self::Child>>,
        _draft: &Self::Draft,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        async { Ok(()) }
    }

    /// Whether there is room for a draft, apart from the number of children.
    fn check_room(
        &self,
        _parent: &Self::Parent,
        _old: Option<&Arc<Self::Child>>,
        _draft: &Self::Draft,
    ) -> Result<(), Error> {
        Ok(())
    }

    /// Work to do before the catalog changes, without holding up other changes.
    fn prepare(_put: &Put<Self>, _call: &Call) -> impl Future<Output = Result<(), Error>> + Send {
        async { Ok(()) }
    }
}
