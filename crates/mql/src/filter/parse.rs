//! From a document to the tree: logical operators, and which fields are compared with what.

use std::sync::Arc;

use bson::{RawBsonRef, RawDocument};

use super::schema::Schema;
use super::tree::{Comparison, Field, Node, Test};
use super::{DEPTH_MAX, FilterOptions};
use crate::class::type_name;
use crate::error::{Code, Error, Result};
use crate::expression::{Expression, Variables};
use crate::number::Number;
use crate::path::Path;

/// `QueryFeatureNotAllowed`
const NOT_ALLOWED: Code = Code::location(224);

pub(super) struct Parser<'o> {
    pub(super) options: &'o FilterOptions,
    variables: Variables,
    depth: usize,
    /// Whether this is inside `$elemMatch`, where some operators are not allowed.
    is_inner: bool,
}

impl<'o> Parser<'o> {
    pub(super) fn new(options: &'o FilterOptions) -> Result<Self> {
        let names = options.variables.iter().map(|(name, _)| name.as_str());
        let variables = if options.variables.is_empty() {
            options.names.clone()
        } else {
            options.names.with(names)?
        };
        Ok(Self { options, variables, depth: 0, is_inner: false })
    }

    /// Runs `parse` one level deeper.
    pub(super) fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= DEPTH_MAX {
            return Err(Error::new(Code::OVERFLOW, "nesting too deep"));
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    /// A filter, whose conditions all have to hold.
    pub(super) fn filter(&mut self, document: &RawDocument) -> Result<Node> {
        self.deeper(|parser| {
            let mut nodes = Vec::new();
            for field in document {
                let (name, value) = field?;
                parser.entry(name.as_str(), value, &mut nodes)?;
            }
            Ok(and(nodes))
        })
    }

    /// A filter on the elements of an array.
    pub(super) fn inner_filter(&mut self, document: &RawDocument) -> Result<Node> {
        let was_inner = std::mem::replace(&mut self.is_inner, true);
        let node = self.filter(document);
        self.is_inner = was_inner;
        node
    }

    /// One field of a filter.
    fn entry(&mut self, name: &str, value: RawBsonRef<'_>, nodes: &mut Vec<Node>) -> Result<()> {
        let node = match name {
            "$and" => Node::And(self.filters(name, value)?),
            "$or" => Node::Or(self.filters(name, value)?),
            "$nor" => Node::Nor(self.filters(name, value)?),
            "$comment" => return Ok(()),
            "$alwaysTrue" | "$alwaysFalse" => constant(name, value)?,
            "$expr" => self.expression(value)?,
            "$jsonSchema" => self.schema(value)?,
            "$sampleRate" => self.sample(value)?,
            "$text" => return Err(self.text()),
            "$where" => {
                return Err(Error::new(
                    Code::COMMAND_NOT_SUPPORTED,
                    "$where is not supported: the server does not run JavaScript; use $expr",
                ));
            }
            // Parts of a reference are fields like others.
            "$ref" | "$id" | "$db" => equal(Path::new(name), value)?,
            _ if name.starts_with('$') => {
                return Err(Error::bad_value(format!(
                    "unknown top level operator: {name}. If you have a field name that starts with \
                     a '$' symbol, consider using $getField or $setField."
                )));
            }
            _ => self.field(Path::new(name), name, value)?,
        };
        match node {
            Node::And(inner) => nodes.extend(inner),
            other => nodes.push(other),
        }
        Ok(())
    }

    /// A condition on a field: operators, a regular expression, or a value to be equal to.
    pub(super) fn field(&mut self, path: Path, name: &str, value: RawBsonRef<'_>) -> Result<Node> {
        match value {
            RawBsonRef::Document(document) if has_operators(document) => {
                self.deeper(|parser| parser.operators(&path, name, document))
            }
            RawBsonRef::RegularExpression(_) => super::operators::pattern_literal(path, value),
            other => equal(path, other),
        }
    }

    /// The operands of a logical operator.
    fn filters(&mut self, name: &str, value: RawBsonRef<'_>) -> Result<Vec<Node>> {
        let RawBsonRef::Array(array) = value else {
            return Err(Error::bad_value(format!("{name} must be an array")));
        };
        let mut nodes = Vec::new();
        for element in array {
            let RawBsonRef::Document(document) = element? else {
                return Err(Error::bad_value("$or/$and/$nor entries need to be full objects"));
            };
            nodes.push(self.filter(document)?);
        }
        if nodes.is_empty() {
            return Err(Error::bad_value("$and/$or/$nor must be a nonempty array"));
        }
        Ok(nodes)
    }

    /// Refuses an operator inside `$elemMatch`.
    fn check_outermost(&self, name: &str) -> Result<()> {
        if self.is_inner {
            let text = format!("{name} can only be applied to the top-level document");
            return Err(Error::bad_value(text));
        }
        Ok(())
    }

    fn expression(&self, value: RawBsonRef<'_>) -> Result<Node> {
        self.check_outermost("$expr")?;
        if !self.options.allows_expressions {
            return Err(Error::new(NOT_ALLOWED, "$expr is not allowed in this context"));
        }
        let expression = Expression::parse(value, &self.variables)?;
        Ok(Node::Expression(Arc::new(expression)))
    }

    fn schema(&self, value: RawBsonRef<'_>) -> Result<Node> {
        self.check_outermost("$jsonSchema")?;
        let RawBsonRef::Document(document) = value else {
            return Err(Error::type_mismatch("$jsonSchema must be an object"));
        };
        Ok(Node::Schema(Arc::new(Schema::parse(document)?)))
    }

    fn sample(&self, value: RawBsonRef<'_>) -> Result<Node> {
        self.check_outermost("$sampleRate")?;
        let Some(number) = Number::of(value) else {
            return Err(Error::bad_value("argument to $sampleRate must be a numeric type"));
        };
        let rate = number.to_f64();
        if !(0.0..=1.0).contains(&rate) {
            return Err(Error::bad_value("numeric argument to $sampleRate must be in [0, 1]"));
        }
        if rate <= 0.0 || rate >= 1.0 {
            return Ok(Node::Constant(rate > 0.0));
        }
        if self.options.seed.is_none() {
            return Err(Error::new(NOT_ALLOWED, "$sampleRate is not allowed in this context"));
        }
        Ok(Node::Sample(rate))
    }

    fn text(&self) -> Error {
        match self.check_outermost("$text") {
            Ok(()) => Error::new(Code::INDEX_NOT_FOUND, "text index required for $text query"),
            Err(error) => error,
        }
    }
}

/// The conjunction of some conditions.
pub(super) fn and(mut nodes: Vec<Node>) -> Node {
    match nodes.pop() {
        Some(only) if nodes.is_empty() => only,
        last => {
            nodes.extend(last);
            Node::And(nodes)
        }
    }
}

/// The negation of a condition.
pub(super) fn not(node: Node) -> Node {
    Node::Not(Box::new(node))
}

/// A condition on a field.
pub(super) fn test(path: Path, test: Test) -> Node {
    Node::Field(Field { path, test })
}

/// A comparison for equality.
pub(super) fn equal(path: Path, value: RawBsonRef<'_>) -> Result<Node> {
    if value == RawBsonRef::Undefined {
        return Err(Error::bad_value("cannot compare to undefined"));
    }
    Ok(test(path, Test::Compare(Comparison::Equal, value.into())))
}

/// Whether a document consists of operators rather than being a value. References (`$ref`) are
/// values.
pub(super) fn has_operators(document: &RawDocument) -> bool {
    let first = document.iter().next().and_then(std::result::Result::ok);
    first.is_some_and(|(name, _)| {
        let name = name.as_str();
        name.starts_with('$') && !matches!(name, "$ref" | "$id" | "$db")
    })
}

fn constant(name: &str, value: RawBsonRef<'_>) -> Result<Node> {
    match Number::of(value) {
        Some(number) if number.exact_i64() == Some(1) => Ok(Node::Constant(name == "$alwaysTrue")),
        Some(_) => Err(Error::failed_to_parse(format!("{name} must be an integer value of 1"))),
        None => Err(Error::failed_to_parse(format!(
            "{name} must be an integer value of 1, not of type {}",
            type_name(value)
        ))),
    }
}
