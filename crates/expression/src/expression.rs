//! Aggregation expressions: what `$project`, `$group`, `$expr` and updates by pipeline compute.
//!
//! [`Expression::parse`] checks the whole expression and computes what depends on constants alone;
//! [`Expression::evaluate`] then runs it for one document after another. Fields and constants are
//! never copied on the way: see [`Computed`].
//!
//! In reading order: [`variables`](Variables) (which names are defined), [`scope`](Scope) (what they
//! stand for), `node` (the compiled form), `parser`, `paths`, then `operators`, the table of all
//! operators, which leads to one file for each family.

use bson::{RawBson, RawBsonRef};

use crate::error::Result;

mod build;
mod calendar;
mod computed;
mod node;
mod operator;
mod operators;
mod parser;
mod paths;
mod scope;
mod variables;
mod zone;

#[cfg(test)]
mod tests;

pub use build::check_depth;
pub use computed::Computed;
pub use operators::accumulate::{Average, Deviation, Sum};
pub use paths::FieldPaths;
pub use scope::{Checkpoint, Context, Frame, Random, Scope};
pub use variables::Variables;

use node::Node;
use parser::Parser;

/// The deepest nesting of an expression, as of documents.
pub const DEPTH_MAX: usize = 200;

/// A compiled expression.
#[derive(Debug, Clone)]
pub struct Expression {
    node: Node,
}

impl Expression {
    /// Compiles what stands where an expression is expected: `"$a.b"`, `{$add: [..]}`, an object or an
    /// array of expressions, or a constant.
    pub fn parse(value: RawBsonRef<'_>, variables: &Variables) -> Result<Self> {
        let node = Parser::new(variables).operand(value)?;
        Ok(Self { node })
    }

    /// An expression that is always this value, whatever it contains.
    pub fn literal(value: RawBson) -> Self {
        Self { node: Node::Constant(value) }
    }

    /// The value for one document. It borrows from the document, the variables or the expression
    /// wherever it can.
    pub fn evaluate<'a>(&'a self, scope: &Scope<'a>) -> Result<Computed<'a>> {
        let value = self.node.evaluate(scope)?;
        if let Computed::Owned(value) = &value {
            check_depth(value.as_raw_bson_ref())?;
        }
        Ok(value)
    }

    /// The value, if it is the same for all documents.
    pub fn constant(&self) -> Option<Computed<'_>> {
        self.node.constant()
    }

    /// The path, if the expression is a field of the document (`"$a.b"`) and nothing else.
    pub fn field(&self) -> Option<String> {
        match &self.node {
            Node::Field { path, .. } if !path.is_empty() => Some(path.text()),
            _ => None,
        }
    }

    /// Which fields of the document it reads.
    pub fn field_paths(&self) -> FieldPaths {
        let mut paths = FieldPaths::default();
        self.node.add_paths(&mut paths);
        paths
    }
}
