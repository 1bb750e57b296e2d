//! The operators of a field: `{$gt: 1, $lt: 9}`.

use std::sync::Arc;

use bson::{RawArray, RawBsonRef, RawDocument};

use super::bits::{Bits, BitsKind};
use super::geo::{self, near};
use super::modulus::Modulus;
use super::operand;
use super::parse::{Parser, and, equal, has_operators, not, test};
use super::pattern::{self, Pattern};
use super::set::Set;
use super::tree::{Comparison, Node, Test};
use super::types::Types;
use crate::error::{Error, Result};
use crate::expression::Computed;
use crate::path::Path;

/// A regular expression where a value could be.
pub(super) fn pattern_literal(path: Path, value: RawBsonRef<'_>) -> Result<Node> {
    Ok(test(path, Test::Pattern(Arc::new(Pattern::literal(value)?))))
}

impl Parser<'_> {
    /// A document of operators, which all have to hold.
    pub(super) fn operators(
        &mut self,
        path: &Path,
        name: &str,
        document: &RawDocument,
    ) -> Result<Node> {
        if near::is_near(document) {
            return near::parse(path, document);
        }
        let mut nodes = Vec::new();
        for field in document {
            let (operator, operand) = field?;
            let node = match operator.as_str() {
                "$regex" => regex(path, document)?,
                "$options" if matches!(document.get("$regex"), Ok(Some(_))) => continue,
                "$options" => return Err(Error::bad_value("$options needs a $regex")),
                operator => self.operator(path, name, operator, operand)?,
            };
            match node {
                Node::And(inner) => nodes.extend(inner),
                other => nodes.push(other),
            }
        }
        Ok(and(nodes))
    }

    fn operator(
        &mut self,
        path: &Path,
        name: &str,
        operator: &str,
        operand: RawBsonRef<'_>,
    ) -> Result<Node> {
        let is = |made: Test| Ok(test(path.clone(), made));
        match operator {
            "$eq" => equal(path.clone(), operand),
            "$ne" => match operand {
                RawBsonRef::RegularExpression(_) => {
                    Err(Error::bad_value("Can't have regex as arg to $ne."))
                }
                other => Ok(not(equal(path.clone(), other)?)),
            },
            "$lt" => range(path, name, Comparison::Less, operand),
            "$lte" => range(path, name, Comparison::LessOrEqual, operand),
            "$gt" => range(path, name, Comparison::Greater, operand),
            "$gte" => range(path, name, Comparison::GreaterOrEqual, operand),
            "$in" => is(Test::In(self.set(operator, operand)?)),
            "$nin" => Ok(not(test(path.clone(), Test::In(self.set(operator, operand)?)))),
            "$not" => self.negation(path, name, operand),
            "$exists" if Computed::Borrowed(operand).is_truthy() => is(Test::Exists),
            "$exists" => Ok(not(test(path.clone(), Test::Exists))),
            "$type" => is(Test::Type(Types::parse(name, operand)?)),
            "$mod" => is(Test::Modulus(Modulus::parse(operand)?)),
            "$size" => is(Test::Size(size(operand)?)),
            "$all" => self.all(path, name, operand),
            "$elemMatch" => self.any(path, operand),
            "$geoWithin" | "$within" => is(Test::Within(Arc::new(geo::region(operand)?))),
            "$geoIntersects" => is(Test::Intersects(Arc::new(geo::shape(operand)?))),
            "$near" | "$nearSphere" | "$geoNear" => Err(near::not_first(operator, operand)),
            _ => match BitsKind::of(operator) {
                Some(kind) => is(Test::Bits(Bits::parse(name, operator, kind, operand)?)),
                None => Err(Error::bad_value(format!("unknown operator: {operator}"))),
            },
        }
    }

    fn set(&self, operator: &str, operand: RawBsonRef<'_>) -> Result<Set> {
        Set::parse(array_of(operator, operand)?, self.options.collation.as_deref())
    }

    fn negation(&mut self, path: &Path, name: &str, operand: RawBsonRef<'_>) -> Result<Node> {
        match operand {
            RawBsonRef::RegularExpression(_) => Ok(not(pattern_literal(path.clone(), operand)?)),
            RawBsonRef::Document(document) if document.is_empty() => {
                Err(Error::bad_value("$not cannot be empty"))
            }
            RawBsonRef::Document(document) => {
                if near::is_near(document) {
                    return Err(near::not_outermost());
                }
                Ok(not(self.deeper(|parser| parser.operators(path, name, document))?))
            }
            _ => Err(Error::bad_value("$not needs a regex or a document")),
        }
    }

    /// `$all`: a conjunction of equalities and regular expressions, or of `$elemMatch` alone.
    fn all(&mut self, path: &Path, name: &str, operand: RawBsonRef<'_>) -> Result<Node> {
        let array = array_of("$all", operand)?;
        let is_any = |element: RawBsonRef<'_>| {
            let document = element.as_document();
            document.is_some_and(|document| matches!(document.get("$elemMatch"), Ok(Some(_))))
        };
        let mut elements = Vec::new();
        for element in array {
            elements.push(element?);
        }
        let are_any = elements.first().is_some_and(|first| is_any(*first));
        let mut nodes = Vec::new();
        for element in elements {
            let node = match element {
                RawBsonRef::Document(document) if are_any && is_any(element) => {
                    self.deeper(|parser| parser.operators(path, name, document))?
                }
                _ if are_any => {
                    return Err(Error::bad_value("$all/$elemMatch has to be consistent"));
                }
                RawBsonRef::Document(document) if has_operators(document) => {
                    return Err(Error::bad_value("no $ expressions in $all"));
                }
                RawBsonRef::RegularExpression(_) => pattern_literal(path.clone(), element)?,
                value => equal(path.clone(), value)?,
            };
            nodes.push(node);
        }
        Ok(if nodes.is_empty() { Node::Constant(false) } else { and(nodes) })
    }

    /// `$elemMatch`: operators for the element itself, or a filter for the document that it is.
    fn any(&mut self, path: &Path, operand: RawBsonRef<'_>) -> Result<Node> {
        let RawBsonRef::Document(document) = operand else {
            return Err(Error::bad_value("$elemMatch needs an Object"));
        };
        let first = document.iter().next().and_then(std::result::Result::ok);
        let is_filter = match first {
            Some((name, _)) => {
                let is_pathless =
                    matches!(name.as_str(), "$and" | "$or" | "$nor" | "$where" | "$expr");
                is_pathless || !has_operators(document)
            }
            None => true,
        };
        let made = if is_filter {
            Test::AnyDocument(Box::new(self.deeper(|parser| parser.inner_filter(document))?))
        } else {
            if near::is_near(document) {
                return Err(near::not_outermost());
            }
            let node = self.deeper(|parser| parser.operators(&Path::new(""), "", document))?;
            Test::AnyElement(Box::new(node))
        };
        Ok(test(path.clone(), made))
    }
}

fn regex(path: &Path, document: &RawDocument) -> Result<Node> {
    let made = pattern::parse(document)?;
    Ok(test(path.clone(), Test::Pattern(Arc::new(made))))
}

fn array_of<'a>(operator: &str, operand: RawBsonRef<'a>) -> Result<&'a RawArray> {
    operand.as_array().ok_or_else(|| Error::bad_value(format!("{operator} needs an array")))
}

fn range(path: &Path, name: &str, comparison: Comparison, operand: RawBsonRef<'_>) -> Result<Node> {
    match operand {
        RawBsonRef::RegularExpression(_) => Err(Error::bad_value(format!(
            "Can't have RegEx as arg to predicate over field '{name}'."
        ))),
        RawBsonRef::Undefined => Err(Error::bad_value("cannot compare to undefined")),
        other => Ok(test(path.clone(), Test::Compare(comparison, other.into()))),
    }
}

fn size(operand: RawBsonRef<'_>) -> Result<i64> {
    operand::natural("$size", operand)
        .map_err(|what| Error::bad_value(format!("Failed to parse $size. {what}")))
}
