//! The rows of child resources, keyed by a prefix for the kind and the rid. The row of number 0
//! holds the next number.

use std::{fmt::Display, sync::Arc};

use protocol::{
    request::ScriptKind,
    rid::{ChildRid, CollectionRid, DatabaseRid, EncryptionKeyRid, PermissionRid, UserRid},
};
use store::Batch;
use value::key::u64_at;
use value::{Object, Value};

use crate::{
    Version,
    children::{Child, Children},
    rows::{self, DAMAGED, Damaged},
    to_bytes,
};

/// The rid of a child: its owner, and its number there.
pub trait Rid: Copy + PartialEq + Display + Send + Sync + 'static {
    /// The type of the owner's rid.
    type Owner: Copy + Send;

    /// The rid of the child with this number; number 0 is the row of the next number.
    fn of(owner: Self::Owner, number: u64) -> Self;

    /// The child's number among its owner's children of this kind.
    fn number(self) -> u64;

    /// Parses a rid from a link; `None` if the text is a name or a rid of another kind.
    fn parse(text: &str) -> Option<Self>;

    /// The rid's bytes, which end the key of its row.
    fn bytes(self) -> Vec<u8>;
}

macro_rules! rids {
    ($($rid:ident of $owner:ty: $of:expr;)*) => {$(
        impl Rid for $rid {
            type Owner = $owner;

            fn of(owner: $owner, number: u64) -> Self {
                $of(owner, number)
            }

            fn number(self) -> u64 {
                self.number.into()
            }

            fn parse(text: &str) -> Option<Self> {
                Self::parse(text)
            }

            fn bytes(self) -> Vec<u8> {
                self.bytes().to_vec()
            }
        }
    )*};
}

rids! {
    ChildRid of (CollectionRid, ScriptKind): |(collection, kind), number| {
        CollectionRid::script(collection, kind, number)
    };
    EncryptionKeyRid of DatabaseRid: |database, number| {
        EncryptionKeyRid { database, number: word(number, u32::MAX) }
    };
    UserRid of DatabaseRid: |database, number| {
        UserRid { database, number: word(number, u32::MAX >> 1) }
    };
    PermissionRid of UserRid: |user, number| PermissionRid { user, number };
}

/// Narrows a number to at most 32 bits. Every new child is a commit, so numbers stay far below
/// that.
fn word(number: u64, max: u32) -> u32 {
    u32::try_from(number).unwrap_or(max)
}

/// A child resource with its own row.
pub trait Stored: Child + Sized {
    /// The rid at the end of its row's key.
    type Rid: Rid;

    /// The prefix of its row's key.
    const PREFIX: u8;

    /// The rid in its row's key.
    fn rid(&self) -> Self::Rid;

    /// The version that conditional requests are compared with.
    fn version(&self) -> Version;

    /// Encodes its row, without the rid, which is in the key.
    fn encode(&self) -> Object;

    /// Decodes the row with this rid.
    fn decode(rid: Self::Rid, row: &Value) -> Result<Self, Damaged>;

    /// Deletes rows that it owns.
    fn delete_inside(&self, _batch: &mut Batch) {}
}

fn key<T: Stored>(rid: T::Rid) -> Vec<u8> {
    [&[T::PREFIX], &rid.bytes()[..]].concat()
}

/// Writes the row of a new or changed child.
pub fn put<T: Stored>(batch: &mut Batch, child: &T) {
    batch.put(key::<T>(child.rid()), to_bytes(child.encode()));
}

/// Deletes a child with everything it owns.
pub fn delete<T: Stored>(batch: &mut Batch, child: &T) {
    batch.delete(key::<T>(child.rid()));
    child.delete_inside(batch);
}

impl<T: Stored> Children<T> {
    /// Finds a child by name, then by rid.
    pub fn find(&self, name: &str) -> Option<&Arc<T>> {
        let by_rid = || {
            let rid = T::Rid::parse(name)?;
            self.numbered(rid.number()).filter(|child| child.rid() == rid)
        };
        self.named(name).or_else(by_rid)
    }

    /// Allocates the rid of a new child.
    pub fn take_rid(&mut self, owner: <T::Rid as Rid>::Owner) -> T::Rid {
        let rid = |number| T::Rid::of(owner, number);
        rid(self.take_number(|number| rid(number).to_string()))
    }

    /// Writes the next number; called whenever a child is created.
    pub fn put_next(&self, batch: &mut Batch, owner: <T::Rid as Rid>::Owner) {
        batch.put(key::<T>(T::Rid::of(owner, 0)), self.next().to_be_bytes().to_vec());
    }

    /// Deletes all of them, when their owner is deleted.
    pub(crate) fn delete_all(&self, batch: &mut Batch, owner: <T::Rid as Rid>::Owner) {
        for child in self.iter() {
            delete(batch, &**child);
        }
        batch.delete(key::<T>(T::Rid::of(owner, 0)));
    }

    /// Reads the row of a child, or of the next number.
    pub(crate) fn load(&mut self, rid: T::Rid, row: &[u8]) -> Result<(), Damaged> {
        if rid.number() == 0 {
            self.set_next(u64_at(row, 0).ok_or(DAMAGED)?);
            return Ok(());
        }
        let child = T::decode(rid, &rows::parse(row)?)?;
        if self.named(child.id()).is_some() {
            return Err(DAMAGED);
        }
        self.insert(child.into());
        Ok(())
    }
}
