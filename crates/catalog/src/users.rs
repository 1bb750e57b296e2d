//! The users of a database, and the permissions that each of them has.

use std::sync::Arc;

use bytes::Bytes;
use protocol::{
    Error,
    rid::{PermissionRid, UserRid},
    token::{Grant, TokenMark},
};
use value::{
    Object, Value, json,
    partition_key::{Component, PartitionKey},
};

use crate::{
    Version,
    children::{Child, Children},
    definition::partition_key::check_length,
    link::Link,
    number, quoted, to_bytes,
};

/// A user: a name that permissions belong to.
#[derive(Clone, Debug)]
pub struct User {
    /// The user's number in its database.
    pub rid: UserRid,
    /// The name that the client gave the user.
    pub id: String,
    /// The version of the user; its permissions have versions of their own.
    pub version: Version,
    /// The user's permissions.
    pub permissions: Arc<Children<Permission>>,
}

/// What the holder of a permission's token may do.
#[derive(Clone, Debug)]
pub struct Permission {
    /// The permission's number under its user, which tokens contain.
    pub rid: PermissionRid,
    /// The name that the client gave the permission.
    pub id: String,
    /// The version of the permission; it changes when the rights are replaced.
    pub version: Version,
    /// What is granted, and on which resource.
    pub rights: Rights,
    /// A random number drawn again whenever the rights change, which invalidates older tokens. A
    /// counter would not do: a restored backup would count again from its old value, while later
    /// tokens are still in use.
    pub generation: u64,
}

/// The rights that a permission grants.
#[derive(Clone, Debug, PartialEq)]
pub struct Rights {
    /// How much of the resource is granted.
    pub mode: Mode,
    /// The mode as the client wrote it, which is also what is returned: old libraries compare it.
    pub mode_word: String,
    /// The link as the client sent it, which is also what is returned.
    pub resource: String,
    /// The parsed link.
    pub link: Link,
    /// If set, grants only documents with this partition key or, as a prefix, with keys that begin
    /// with it.
    pub key: Option<PartitionKey>,
}

impl Rights {
    /// Whether both grant the same, even if worded differently.
    pub fn grants_as(&self, other: &Self) -> bool {
        let Self { mode, mode_word: _, resource, link, key } = self;
        (*mode, resource, link, key) == (other.mode, &other.resource, &other.link, &other.key)
    }
}

/// How much of the resource is granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// Reads and queries only.
    Read,
    /// Everything, writes included.
    All,
}

impl Mode {
    /// Parses the wire name, ignoring case.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Read, Self::All].into_iter().find(|it| it.name().eq_ignore_ascii_case(text))
    }

    /// The wire name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "Read",
            Self::All => "All",
        }
    }
}

impl Child for User {
    fn number(&self) -> u64 {
        self.rid.number.into()
    }

    fn id(&self) -> &str {
        &self.id
    }
}

impl Child for Permission {
    fn number(&self) -> u64 {
        self.rid.number
    }

    fn id(&self) -> &str {
        &self.id
    }
}

impl User {
    /// The user's `_self`: its path by rids, with a slash at the end.
    pub fn self_link(&self) -> String {
        format!("dbs/{}/users/{}/", self.rid.database, self.rid)
    }

    /// The user as clients see it, with system properties.
    pub fn to_json(&self) -> Bytes {
        let mut object = Object::new();
        object.insert("id", self.id.as_str());
        object.insert("_rid", self.rid.to_string());
        object.insert("_self", self.self_link());
        object.insert("_etag", quoted(self.version.etag));
        object.insert("_permissions", "permissions/");
        object.insert("_ts", number(self.version.ts));
        to_bytes(object)
    }
}

impl Permission {
    /// The permission as clients see it, with a placeholder for a new token.
    pub fn to_json(&self, mark: Option<TokenMark>) -> Bytes {
        let Self { rid, id, version, rights, generation } = self;
        let mut object = Object::new();
        object.insert("id", id.as_str());
        object.insert("permissionMode", rights.mode_word.as_str());
        object.insert("resource", rights.resource.as_str());
        if let Some(key) = &rights.key {
            object.insert("resourcePartitionKey", key_json(key));
        }
        object.insert("_rid", rid.to_string());
        let user = rid.user;
        object.insert("_self", format!("dbs/{}/users/{user}/permissions/{rid}/", user.database));
        object.insert("_etag", quoted(version.etag));
        object.insert("_ts", number(version.ts));
        if let Some(mark) = mark {
            let grant = Grant { permission: *rid, generation: *generation };
            object.insert("_token", mark.text(grant));
        }
        to_bytes(object)
    }
}

/// A partition key as in its header, where an absent part is an empty object.
pub(crate) fn key_json(key: &PartitionKey) -> Value {
    let part = |part: &Component| match part {
        Component::Undefined => Value::Object(Object::new()),
        part => part.to_value(),
    };
    Value::Array(key.0.iter().map(part).collect())
}

/// Parses a partition key: an array as in its header, or a single value, as JavaScript allows.
pub fn partition_key(value: &Value) -> Result<Option<PartitionKey>, Error> {
    let text = match value {
        Value::Undefined | Value::Null => return Ok(None),
        Value::Array(_) => json::print(value),
        value => json::print(&Value::Array(vec![value.clone()])),
    };
    let key = PartitionKey::parse_header(&text).ok().filter(|key| !key.0.is_empty());
    let key = key.ok_or_else(|| {
        Error::bad_request("The resourcePartitionKey must be an array of one or more scalars.")
    })?;
    check_length(&key)?;
    Ok(Some(key))
}
