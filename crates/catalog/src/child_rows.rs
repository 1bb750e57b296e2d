//! The rows of children: each lies under the prefix of its kind and its rid. In the place of number 0
//! is the next number.

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

/// What a child is linked by: its owner, and its number there.
pub trait Rid: Copy + PartialEq + Display + Send + Sync + 'static {
    /// What has the children.
    type Owner: Copy + Send;

    /// The rid of the child with this number; number 0 stands for the row of the next number.
    fn of(owner: Self::Owner, number: u64) -> Self;

    /// The child's number among its owner's children of this kind.
    fn number(self) -> u64;

    /// Reads a rid as links have it; `None` if the text is a rid of another kind, or a name.
    fn parse(text: &str) -> Option<Self>;

    /// As they end the keys of rows.
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

/// A number of up to 32 bits. Those of children are far from the end: each is a commit.
fn word(number: u64, max: u32) -> u32 {
    u32::try_from(number).unwrap_or(max)
}

/// A child with a row of its own.
pub trait Stored: Child + Sized {
    /// The rid that the keys of its rows end with.
    type Rid: Rid;

    /// What the keys of its rows begin with.
    const PREFIX: u8;

    /// The rid under which its row lies.
    fn rid(&self) -> Self::Rid;

    /// The version that conditional requests compare with.
    fn version(&self) -> Version;

    /// Its row, without the rid, which is in the key.
    fn encode(&self) -> Object;

    /// Reads the row that lies under a rid.
    fn decode(rid: Self::Rid, row: &Value) -> Result<Self, Damaged>;

    /// Removes what it has itself.
    fn delete_inside(&self, _batch: &mut Batch) {}
}

fn key<T: Stored>(rid: T::Rid) -> Vec<u8> {
    [&[T::PREFIX], &rid.bytes()[..]].concat()
}

/// Writes the row of a child, new or changed.
pub fn put<T: Stored>(batch: &mut Batch, child: &T) {
    batch.put(key::<T>(child.rid()), to_bytes(child.encode()));
}

/// Removes a child with everything that it has.
pub fn delete<T: Stored>(batch: &mut Batch, child: &T) {
    batch.delete(key::<T>(child.rid()));
    child.delete_inside(batch);
}

impl<T: Stored> Children<T> {
    /// Finds one by name, then by rid.
    pub fn find(&self, name: &str) -> Option<&Arc<T>> {
        let by_rid = || {
            let rid = T::Rid::parse(name)?;
            self.numbered(rid.number()).filter(|child| child.rid() == rid)
        };
        self.named(name).or_else(by_rid)
    }

    /// A rid for a new one.
    pub fn take_rid(&mut self, owner: <T::Rid as Rid>::Owner) -> T::Rid {
        let rid = |number| T::Rid::of(owner, number);
        rid(self.take_number(|number| rid(number).to_string()))
    }

    /// The next number, whenever one is created.
    pub fn put_next(&self, batch: &mut Batch, owner: <T::Rid as Rid>::Owner) {
        batch.put(key::<T>(T::Rid::of(owner, 0)), self.next().to_be_bytes().to_vec());
    }

    /// Removes them all, when their owner goes.
    pub(crate) fn delete_all(&self, batch: &mut Batch, owner: <T::Rid as Rid>::Owner) {
        for child in self.iter() {
            delete(batch, &**child);
        }
        batch.delete(key::<T>(T::Rid::of(owner, 0)));
    }

    /// Reads the row of one, or of the next number.
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
