//! A filter as a tree, for whoever plans how to find the documents that it matches.

use std::sync::Arc;

use bson::RawBson;

use super::bits::Bits;
use super::geo::{Near, Region, Shape};
use super::modulus::Modulus;
use super::pattern::Pattern;
use super::schema::Schema;
use super::set::Set;
use super::types::Types;
use crate::expression::Expression;
use crate::path::Path;

/// A condition on a document.
#[derive(Clone, Debug)]
pub enum Node {
    /// All of them hold. Without any it is true.
    And(Vec<Node>),
    /// At least one of them holds.
    Or(Vec<Node>),
    /// None of them holds.
    Nor(Vec<Node>),
    /// It does not hold. `$ne`, `$nin`, `$not` and `{$exists: false}` are made of this.
    Not(Box<Node>),
    /// A condition on what a path leads to.
    Field(Field),
    /// True or false, whatever the document.
    Constant(bool),
    /// `$expr`: the expression is truthy.
    Expression(Arc<Expression>),
    /// `$jsonSchema`.
    Schema(Arc<Schema>),
    /// `$sampleRate`: this part of all documents, at random.
    Sample(f64),
}

/// A condition on what a path leads to. It holds if any value there passes the test: a value, or an
/// element of an array that the path leads to or through.
#[derive(Clone, Debug)]
pub struct Field {
    /// Where.
    pub path: Path,
    /// What.
    pub test: Test,
}

/// How a value is compared with an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `$eq`
    Equal,
    /// `$lt`
    Less,
    /// `$lte`
    LessOrEqual,
    /// `$gt`
    Greater,
    /// `$gte`
    GreaterOrEqual,
}

/// A condition on one value.
#[derive(Clone, Debug)]
pub enum Test {
    /// A comparison, which only values of the operand's class can pass. Smallest and greatest keys
    /// are compared with everything, and null is equal to what is missing.
    Compare(Comparison, RawBson),
    /// `$in`
    In(Set),
    /// `$regex`
    Pattern(Arc<Pattern>),
    /// `{$exists: true}`
    Exists,
    /// `$type`
    Type(Types),
    /// `$mod`
    Modulus(Modulus),
    /// `$size`, of the array itself.
    Size(i64),
    /// `$bitsAllSet` and its kin.
    Bits(Bits),
    /// `$elemMatch` with a filter: an element that is a document, or an array, which counts as a
    /// document with its positions as names.
    AnyDocument(Box<Node>),
    /// `$elemMatch` with operators: an element passes all of them. The paths of the fields in it are
    /// empty and mean the element itself.
    AnyElement(Box<Node>),
    /// `$geoWithin`
    Within(Arc<Region>),
    /// `$geoIntersects`
    Intersects(Arc<Shape>),
    /// `$near` or `$nearSphere`: something with a position, no nearer or farther than wanted. The
    /// caller sorts by the distance.
    Near(Arc<Near>),
}

impl Test {
    /// Whether the test is made with an array as a whole and not with its elements.
    pub(super) fn is_of_array(&self) -> bool {
        matches!(self, Self::Size(_) | Self::AnyDocument(_) | Self::AnyElement(_))
    }
}

impl Node {
    /// The conditions that all have to hold, with those inside `$and` beside the others.
    pub fn conjuncts(&self) -> Vec<&Node> {
        let mut found = Vec::new();
        let mut open = vec![self];
        while let Some(node) = open.pop() {
            match node {
                Self::And(nodes) => open.extend(nodes.iter().rev()),
                other => found.push(other),
            }
        }
        found
    }
}
