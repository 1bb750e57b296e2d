//! Whether a document matches.

use std::cell::Cell;
use std::cmp::Ordering;

use bson::{RawArray, RawBson, RawBsonRef, RawDocument};

use super::Filter;
use super::tree::{Comparison, Field, Node, Test};
use super::walk::{Walk, elements};
use crate::class::Class;
use crate::collation::Collation;
use crate::error::Result;
use crate::expression::Scope;
use crate::number::Number;
use crate::order::compare;

/// A filter with all that it needs for one document.
#[derive(Clone, Copy)]
pub(super) struct Matcher<'m> {
    pub(super) filter: &'m Filter,
    pub(super) collation: Option<&'m Collation>,
    /// The scope of the caller's variables.
    pub(super) scope: Option<&'m Scope<'m>>,
    /// Where to note the position of the element that satisfied a condition.
    pub(super) position: Option<&'m Cell<Option<usize>>>,
}

/// What a condition is applied to.
#[derive(Clone, Copy)]
enum Subject<'a> {
    /// A document, in which paths begin.
    Document(&'a RawDocument),
    /// A value that the first part of every path means.
    Named(RawBsonRef<'a>),
    /// An element of an array, which every path means. It is not entered.
    Element(RawBsonRef<'a>),
}

impl Matcher<'_> {
    pub(super) fn document(self, node: &Node, document: &RawDocument) -> Result<bool> {
        self.node(node, Subject::Document(document))
    }

    pub(super) fn value(self, node: &Node, value: RawBsonRef<'_>) -> Result<bool> {
        self.node(node, Subject::Named(value))
    }

    /// The matcher for conditions whose positions nobody wants.
    fn blind(self) -> Self {
        Self { position: None, ..self }
    }

    fn note(self, position: Option<usize>) {
        if let (Some(noted), Some(_)) = (self.position, position) {
            noted.set(position);
        }
    }

    fn node(self, node: &Node, subject: Subject<'_>) -> Result<bool> {
        match node {
            Node::Field(field) => self.field(field, subject),
            Node::And(nodes) => {
                for node in nodes {
                    if !self.node(node, subject)? {
                        if let Some(noted) = self.position {
                            noted.set(None);
                        }
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Node::Or(nodes) => self.blind().any_of(nodes, subject),
            Node::Nor(nodes) => Ok(!self.blind().any_of(nodes, subject)?),
            Node::Not(node) => Ok(!self.blind().node(node, subject)?),
            Node::Constant(is_true) => Ok(*is_true),
            Node::Expression(expression) => {
                let Subject::Document(document) = subject else { return Ok(false) };
                self.filter.in_scope(document, self.scope, |scope| {
                    Ok(expression.evaluate(scope)?.is_truthy())
                })
            }
            Node::Schema(schema) => match subject {
                Subject::Document(document) => schema.matches(RawBsonRef::Document(document)),
                Subject::Named(value) | Subject::Element(value) => schema.matches(value),
            },
            Node::Sample(rate) => Ok(self.filter.random().next() < *rate),
        }
    }

    fn any_of(self, nodes: &[Node], subject: Subject<'_>) -> Result<bool> {
        for node in nodes {
            if self.node(node, subject)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn field(self, field: &Field, subject: Subject<'_>) -> Result<bool> {
        let walk = Walk { enters_leaves: !field.test.is_of_array() };
        let parts = field.path.parts();
        let visit = &mut |value: Option<RawBsonRef<'_>>, position: Option<usize>| {
            let is_match = self.test(&field.test, value)?;
            if is_match {
                self.note(position);
            }
            Ok(is_match)
        };
        match subject {
            Subject::Document(document) => walk.document(document, parts, None, visit),
            Subject::Named(value) => walk.value(value, &parts[1..], None, visit),
            Subject::Element(value) => self.test(&field.test, Some(value)),
        }
    }

    /// Whether one value passes a test.
    fn test(self, test: &Test, value: Option<RawBsonRef<'_>>) -> Result<bool> {
        match test {
            Test::Compare(comparison, operand) => {
                return Ok(passes(*comparison, value, operand, self.collation));
            }
            Test::In(set) => return set.contains(value, self.collation),
            _ => {}
        }
        let Some(value) = value else { return Ok(false) };
        Ok(match test {
            Test::Compare(..) | Test::In(_) => false,
            Test::Exists => true,
            Test::Pattern(pattern) => pattern.matches(value)?,
            Test::Type(types) => types.contain(value),
            Test::Modulus(modulus) => modulus.matches(value),
            Test::Bits(bits) => bits.matches(value),
            Test::Size(size) => {
                let count = value.as_array().map(|array| array.iter_elements().count());
                count.and_then(|count| i64::try_from(count).ok()) == Some(*size)
            }
            Test::AnyDocument(node) => match value.as_array() {
                Some(array) => self.any_document(node, array)?,
                None => false,
            },
            Test::AnyElement(node) => match value.as_array() {
                Some(array) => self.any_element(node, array)?,
                None => false,
            },
            Test::Within(region) => region.contains(value),
            Test::Intersects(shape) => shape.intersects(value),
            Test::Near(near) => near.accepts(value),
        })
    }

    fn any_document(self, node: &Node, array: &RawArray) -> Result<bool> {
        for (at, element) in elements(array) {
            let document = match element {
                RawBsonRef::Document(document) => document,
                // The bytes of an array are those of a document.
                RawBsonRef::Array(inner) => RawDocument::from_bytes(inner.as_bytes())?,
                _ => continue,
            };
            if self.blind().node(node, Subject::Document(document))? {
                self.note(Some(at));
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn any_element(self, node: &Node, array: &RawArray) -> Result<bool> {
        for (at, element) in elements(array) {
            if self.blind().node(node, Subject::Element(element))? {
                self.note(Some(at));
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Whether a value passes a comparison with an operand.
fn passes(
    comparison: Comparison,
    value: Option<RawBsonRef<'_>>,
    operand: &RawBson,
    collation: Option<&Collation>,
) -> bool {
    let operand = operand.as_raw_bson_ref();
    let wanted = Class::of(operand);
    let class = value.map_or(Class::Undefined, Class::of);
    let Some(value) = value.filter(|_| class == wanted) else {
        return across(comparison, class, wanted);
    };
    let is_nan = |value: RawBsonRef<'_>| Number::of(value).is_some_and(Number::is_nan);
    if wanted == Class::Number && is_nan(value) != is_nan(operand) {
        return false;
    }
    let order = compare(value, operand, collation);
    match comparison {
        Comparison::Equal => order == Ordering::Equal,
        Comparison::Less => order == Ordering::Less,
        Comparison::LessOrEqual => order != Ordering::Greater,
        Comparison::Greater => order == Ordering::Greater,
        Comparison::GreaterOrEqual => order != Ordering::Less,
    }
}

/// Whether values of one class pass a comparison with an operand of another. What is missing is of
/// the class of undefined here.
fn across(comparison: Comparison, class: Class, wanted: Class) -> bool {
    match (wanted, comparison) {
        (Class::Null, Comparison::Less | Comparison::Greater) => false,
        (Class::Null, _) => class == Class::Undefined,
        (Class::MinKey, Comparison::Greater | Comparison::GreaterOrEqual)
        | (Class::MaxKey, Comparison::Less | Comparison::LessOrEqual) => true,
        _ => false,
    }
}
