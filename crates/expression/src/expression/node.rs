//! The compiled form of an expression, and how it is evaluated.

use bson::raw::CString;
use bson::{RawArrayBuf, RawBson, RawBsonRef};

use super::build::{Fields, List};
use super::operator::Call;
use super::paths::{FieldPath, FieldPaths};
use super::{Computed, Scope};
use crate::error::Result;

/// A part of a compiled expression.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// A value that was in the query, or came of such values.
    Constant(RawBson),
    /// Always missing.
    Nothing,
    /// An argument that was not given.
    Absent,
    /// A path in the document or in a variable; the empty path is the whole of it.
    Field { source: Source, path: FieldPath },
    /// An object of expressions.
    Object(Vec<(CString, Node)>),
    /// An array of expressions.
    Array(Vec<Node>),
    /// An operator with its arguments.
    Call(Box<Call>),
}

/// Where a path begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// `$$ROOT`
    Root,
    /// `$$CURRENT`
    Current,
    /// A variable: how many frames to leave, and its position.
    Variable(usize, usize),
    /// `$$NOW`
    Now,
    /// `$$CLUSTER_TIME`
    ClusterTime,
    /// `$$USER_ROLES`
    UserRoles,
}

impl Node {
    pub(super) fn evaluate<'a>(&'a self, scope: &Scope<'a>) -> Result<Computed<'a>> {
        match self {
            Self::Constant(value) => Ok(Computed::Borrowed(value.as_raw_bson_ref())),
            Self::Nothing | Self::Absent => Ok(Computed::Missing),
            Self::Field { source, path } => Ok(path.of(source.value(scope))),
            Self::Object(fields) => object(fields, scope),
            Self::Array(elements) => array(elements, scope),
            Self::Call(call) => (call.operator.evaluate)(call, scope),
        }
    }

    /// An object, or a constant if all of its fields are.
    pub(super) fn object(fields: Vec<(CString, Self)>) -> Result<Self> {
        if !fields.iter().all(|(_, node)| node.constant().is_some()) {
            return Ok(Self::Object(fields));
        }
        let mut document = Fields::default();
        for (name, node) in &fields {
            if let Some(value) = node.constant().as_ref().and_then(Computed::as_ref) {
                document.append(name, value)?;
            }
        }
        Ok(Self::Constant(document.finish()))
    }

    /// An array, or a constant if all of its elements are.
    pub(super) fn array(elements: Vec<Self>) -> Result<Self> {
        if !elements.iter().all(|node| node.constant().is_some()) {
            return Ok(Self::Array(elements));
        }
        let mut array = List::default();
        for node in &elements {
            array.push(node.constant().as_ref().and_then(Computed::as_ref))?;
        }
        Ok(Self::Constant(array.finish()))
    }

    /// The value, if it is always the same.
    pub(super) fn constant(&self) -> Option<Computed<'_>> {
        match self {
            Self::Constant(value) => Some(Computed::Borrowed(value.as_raw_bson_ref())),
            Self::Nothing | Self::Absent => Some(Computed::Missing),
            _ => None,
        }
    }

    pub(super) fn add_paths(&self, paths: &mut FieldPaths) {
        match self {
            Self::Field { source: Source::Root | Source::Current, path } => paths.add(path),
            Self::Constant(_) | Self::Nothing | Self::Absent | Self::Field { .. } => {}
            Self::Object(fields) => fields.iter().for_each(|(_, node)| node.add_paths(paths)),
            Self::Array(elements) => elements.iter().for_each(|node| node.add_paths(paths)),
            Self::Call(call) => call.arguments.iter().for_each(|node| node.add_paths(paths)),
        }
    }
}

impl Source {
    fn value<'a>(self, scope: &Scope<'a>) -> Computed<'a> {
        let borrowed = match self {
            Self::Root => scope.root,
            Self::Current => scope.current,
            Self::Variable(leave, position) => {
                let value = scope.frame.and_then(|frame| frame.value(leave, position));
                return match value.and_then(Computed::as_ref) {
                    Some(value) => Computed::Borrowed(value),
                    None => Computed::Missing,
                };
            }
            Self::Now => RawBsonRef::DateTime(scope.context.now),
            Self::ClusterTime => RawBsonRef::Timestamp(scope.context.cluster_time),
            Self::UserRoles => match scope.context.user_roles {
                Some(roles) => RawBsonRef::Array(roles),
                None => return Computed::from(RawArrayBuf::new()),
            },
        };
        Computed::Borrowed(borrowed)
    }
}

fn object<'a>(fields: &'a [(CString, Node)], scope: &Scope<'a>) -> Result<Computed<'a>> {
    let mut document = Fields::default();
    for (name, node) in fields {
        if let Some(value) = node.evaluate(scope)?.as_ref() {
            document.append(name, value)?;
        }
    }
    Ok(document.finish().into())
}

fn array<'a>(elements: &'a [Node], scope: &Scope<'a>) -> Result<Computed<'a>> {
    let mut array = List::default();
    for node in elements {
        array.push(node.evaluate(scope)?.as_ref())?;
    }
    Ok(array.finish().into())
}
