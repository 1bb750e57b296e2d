//! Families: the small resources of one kind under one parent, such as the users of a database. All
//! are created, read, replaced, deleted and listed alike: that is in `requests`. What is a family's
//! own is its [`Family`].

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

/// What has children.
pub(crate) trait Parent: Send + Sync + Sized + 'static {
    /// As answers name it.
    fn owner(&self) -> Owner;

    /// What the tokens of its feeds belong to.
    fn rid_bytes(&self) -> Vec<u8>;

    /// Puts it into the catalog in the place of what it was. Its own version stays: it is not the
    /// parent that changed.
    fn store(&self, catalog: &mut Catalog);
}

impl Parent for Arc<Database> {
    fn owner(&self) -> Owner {
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
    fn owner(&self) -> Owner {
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

/// A family, by the parent that a request names. What is said of no family in particular holds for
/// most.
pub(crate) trait Family: Send + Sync + Sized + 'static {
    /// Where a child is.
    type Path: Send;
    type Parent: Parent;
    type Child: Stored + Send + Sync;
    /// What the body of a request says of a child.
    type Draft: Send + Sync;

    /// Whether a reader who has a child's version need not be sent the child.
    const CAN_BE_UNCHANGED: bool = true;

    /// The family of a child, and its name or rid there.
    fn of(path: Self::Path) -> (Self, String);

    fn feed(&self) -> (Feed, FeedKind);

    /// The most children that a parent may have, and what both are called.
    fn limit(&self) -> (usize, &'static str, &'static str);

    fn parent(&self, catalog: &Catalog, options: &Options) -> Result<Self::Parent, Error>;

    fn parent_rid(&self, parent: &Self::Parent) -> ParentRid<Self>;

    fn children<'a>(&self, parent: &'a Self::Parent) -> &'a Children<Self::Child>;

    fn children_mut<'a>(&self, parent: &'a mut Self::Parent) -> &'a mut Children<Self::Child>;

    /// Reads the body of a request.
    fn parse(&self, body: &[u8]) -> Result<Self::Draft, Error>;

    /// The name that a draft gives.
    fn id(draft: &Self::Draft) -> &str;

    /// The child that a draft makes, anew or of an old one.
    fn make(
        draft: Self::Draft,
        rid: ChildRid<Self>,
        version: Version,
        old: Option<&Self::Child>,
    ) -> Self::Child;

    fn to_json(child: &Self::Child, options: &Options) -> Bytes;

    /// Whether a child may be replaced by one of this name, which `namesake` may have already. It
    /// may be given another name, but not another's.
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

    /// Whether a draft fits to what else there is.
    fn check(
        &self,
        _view: &View,
        _parent: &Self::Parent,
        _old: Option<&Arc<Self::Child>>,
        _draft: &Self::Draft,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        async { Ok(()) }
    }

    /// Whether there is room for a draft, beside the number of children.
    fn check_room(
        &self,
        _parent: &Self::Parent,
        _old: Option<&Arc<Self::Child>>,
        _draft: &Self::Draft,
    ) -> Result<(), Error> {
        Ok(())
    }

    /// What must be done before the catalog changes, while others need not wait for it.
    fn prepare(_put: &Put<Self>, _call: &Call) -> impl Future<Output = Result<(), Error>> + Send {
        async { Ok(()) }
    }
}
