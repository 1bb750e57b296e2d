//! The stored procedures, triggers and functions of a collection.

use std::sync::Arc;

use bytes::Bytes;
pub use protocol::request::ScriptKind;
use protocol::{
    Error,
    rid::{ChildRid, CollectionRid},
};
use value::{Object, Value, json};

use crate::{
    Version,
    child_rows::Stored,
    children::{Child, Children},
    definition::{missing, shown},
    number, quoted,
    rows::{self, Damaged},
    to_bytes,
};

/// When a trigger runs, and for which writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TriggerKind {
    /// Whether it runs before or after the write.
    pub when: TriggerType,
    /// The writes that may use it.
    pub operation: TriggerOperation,
}

/// Before or after the write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerType {
    /// Runs before the write and may change the document to be written.
    Pre,
    /// Runs after the write, in the same transaction, and may make it fail.
    Post,
}

/// The writes that a trigger can be used with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerOperation {
    /// Every write that supports triggers.
    All,
    /// Creations and upserts.
    Create,
    /// Replacements and upserts, like `Replace`.
    Update,
    /// Upserts only, whether they create or replace.
    Upsert,
    /// Replacements and upserts.
    Replace,
    /// Deletions only.
    Delete,
}

impl TriggerType {
    const ALL: [Self; 2] = [Self::Pre, Self::Post];

    /// Parses the wire name, ignoring case.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name().eq_ignore_ascii_case(text))
    }

    /// The wire name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pre => "Pre",
            Self::Post => "Post",
        }
    }
}

impl TriggerOperation {
    const ALL: [Self; 6] =
        [Self::All, Self::Create, Self::Update, Self::Upsert, Self::Replace, Self::Delete];

    /// Parses the wire name, ignoring case.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name().eq_ignore_ascii_case(text))
    }

    /// The wire name.
    pub fn name(self) -> &'static str {
        match self {
            Self::All => "All",
            Self::Create => "Create",
            Self::Update => "Update",
            Self::Upsert => "Upsert",
            Self::Replace => "Replace",
            Self::Delete => "Delete",
        }
    }
}

/// A stored procedure, trigger or function.
#[derive(Clone, Debug)]
pub struct Script {
    /// The script's number in its collection, and its kind.
    pub rid: ChildRid,
    /// Whether it is a stored procedure, a trigger or a function.
    pub kind: ScriptKind,
    /// The name by which requests and queries call it.
    pub id: String,
    /// Its source.
    pub body: Arc<str>,
    /// The version of the script; it changes when the source or another property is replaced.
    pub version: Version,
    /// When it runs; only for triggers.
    pub trigger: Option<TriggerKind>,
    /// Everything that the client sent, except the source, unchanged.
    pub properties: Object,
}

impl Child for Script {
    fn number(&self) -> u64 {
        self.rid.number
    }

    fn id(&self) -> &str {
        &self.id
    }
}

impl Stored for Script {
    type Rid = ChildRid;

    const PREFIX: u8 = b'S';

    fn rid(&self) -> ChildRid {
        self.rid
    }

    fn version(&self) -> Version {
        self.version
    }

    fn encode(&self) -> Object {
        let mut row = Object::new();
        rows::insert_version(&mut row, self.version);
        row.insert("properties", Value::Object(self.properties.clone()));
        row.insert("body", &*self.body);
        row
    }

    fn decode(rid: ChildRid, row: &Value) -> Result<Self, Damaged> {
        let kind = rid.kind.script().ok_or(rows::DAMAGED)?;
        let properties = rows::object(row, "properties")?;
        Ok(Self {
            rid,
            kind,
            id: rows::text(row.get("properties"), "id")?,
            body: rows::text(row, "body")?.into(),
            version: rows::version(row)?,
            trigger: trigger_of(kind, &properties).map_err(|_| rows::DAMAGED)?,
            properties,
        })
    }
}

impl Script {
    /// The script's `_self`: its path by rids, with a slash at the end.
    pub fn self_link(&self) -> String {
        let CollectionRid { database, .. } = self.rid.collection;
        let (collection, segment) = (self.rid.collection, self.kind.segment());
        format!("dbs/{database}/colls/{collection}/{segment}/{}/", self.rid)
    }

    /// The script as clients see it: what they sent, with system properties.
    pub fn to_json(&self) -> Bytes {
        let mut object = Object::new();
        object.insert("body", &*self.body);
        for (name, value) in self.properties.iter() {
            object.insert(name, value.clone());
        }
        object.insert("_rid", self.rid.to_string());
        object.insert("_ts", number(self.version.ts));
        object.insert("_self", self.self_link());
        object.insert("_etag", quoted(self.version.etag));
        to_bytes(object)
    }
}

/// The scripts of a collection. A change builds a new value next to the old one.
#[derive(Clone, Debug, Default)]
pub struct Scripts {
    procedures: Children<Script>,
    triggers: Children<Script>,
    functions: Children<Script>,
}

impl Scripts {
    /// Finds a script by name, then by rid.
    pub fn find(&self, kind: ScriptKind, name_or_rid: &str) -> Option<&Arc<Script>> {
        self.of(kind).find(name_or_rid)
    }

    /// The scripts of one kind.
    pub fn of(&self, kind: ScriptKind) -> &Children<Script> {
        match kind {
            ScriptKind::StoredProcedure => &self.procedures,
            ScriptKind::Trigger => &self.triggers,
            ScriptKind::Function => &self.functions,
        }
    }

    /// The scripts of one kind, mutable.
    pub fn of_mut(&mut self, kind: ScriptKind) -> &mut Children<Script> {
        match kind {
            ScriptKind::StoredProcedure => &mut self.procedures,
            ScriptKind::Trigger => &mut self.triggers,
            ScriptKind::Function => &mut self.functions,
        }
    }

    /// The size of all sources. Computed on demand, since there are few scripts.
    pub fn bytes(&self) -> usize {
        let all = ScriptKind::ALL.into_iter().flat_map(|kind| self.of(kind).iter());
        all.map(|script| script.body.len()).sum()
    }
}

/// The kind of trigger; `None` for other scripts.
pub fn trigger_of(kind: ScriptKind, properties: &Object) -> Result<Option<TriggerKind>, Error> {
    if kind != ScriptKind::Trigger {
        return Ok(None);
    }
    let when = word(properties, "triggerType", TriggerType::parse)?;
    let operation = word(properties, "triggerOperation", TriggerOperation::parse)?;
    Ok(Some(TriggerKind { when, operation }))
}

/// COMPAT: keywords ignore case but are returned as sent: SDKs send `pre` or `Pre` and check that
/// they get the same back.
fn word<T>(properties: &Object, name: &str, parse: impl Fn(&str) -> Option<T>) -> Result<T, Error> {
    match properties.get(name) {
        None | Some(Value::Null) => Err(missing(name)),
        Some(value) => value.as_str().and_then(parse).ok_or_else(|| {
            let found = json::print(value);
            Error::bad_request(format!("The value {} of '{name}' is invalid.", shown(&found)))
        }),
    }
}
