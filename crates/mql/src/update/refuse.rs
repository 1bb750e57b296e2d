//! What operators must not do at their place.

use bson::RawBsonRef;

use super::apply::{Applier, Trees};
use super::node::Node;
use super::operator::Operator;
use super::tree::Tree;
use super::{immutable, rename};
use crate::class::type_name;
use crate::error::{Code, Error, Result};
use crate::show;

impl<'a> Applier<'a> {
    /// Refuses operators below a scalar that create fields.
    pub(super) fn check_blocked(&mut self, trees: &Trees<'a>, node: &Node<'a>) -> Result<()> {
        for tree in trees {
            let Tree::Fields(fields) = tree else { continue };
            for (name, trees) in self.merged(&[fields])? {
                self.path.push(name);
                let result = self.refuse(&trees, node, self.path.len() - 1);
                self.path.pop();
                result?;
            }
        }
        Ok(())
    }

    /// Refuses operators at a path whose part `at` cannot be in a value.
    pub(super) fn refuse(
        &mut self,
        trees: &Trees<'a>,
        blocker: &Node<'a>,
        at: usize,
    ) -> Result<()> {
        for tree in trees {
            match tree {
                Tree::Leaf(operator) => self.refuse_operator(operator, blocker, at)?,
                Tree::Fields(fields) => {
                    for (name, trees) in self.merged(&[fields])? {
                        self.path.push(name);
                        self.refuse(&trees, blocker, at)?;
                        self.path.pop();
                    }
                }
                Tree::Elements(_) => return Err(self.no_array()),
            }
        }
        Ok(())
    }

    fn refuse_operator(&self, operator: &Operator, blocker: &Node<'a>, at: usize) -> Result<()> {
        let creates = match operator {
            Operator::RenameTo { from } => rename::source(self.original, from)?.is_some(),
            operator => operator.creates(self.is_insert),
        };
        if !creates && !operator.needs_viable_path() {
            return Ok(());
        }
        let value = blocker.to_value()?;
        let outer = at.checked_sub(1).map_or("", |at| &self.path[at]);
        let element = format!("{{{outer}: {}}}", show::value(value.as_raw_bson_ref()));
        let (part, path) = (&self.path[at], self.path_text());
        let message = if creates {
            format!("Cannot create field '{part}' in element {element}")
        } else {
            format!("Cannot use the part ({part}) of ({path}) to traverse the element ({element})")
        };
        Err(Error::new(Code::PATH_NOT_VIABLE, message))
    }

    /// The error for filtered elements of an array that is missing.
    pub(super) fn no_array(&self) -> Error {
        Error::bad_value(format!(
            "The path '{}' must exist in the document in order to apply array updates.",
            self.path_text()
        ))
    }

    /// The error for operators that meet at one place.
    pub(super) fn conflict(&self) -> Error {
        Error::new(
            Code::CONFLICTING_UPDATE_OPERATORS,
            format!("Update created a conflict at '{}'", self.path_text()),
        )
    }

    /// Refuses to change what must stay, and names that only commands may have.
    pub(super) fn check_change(&self) -> Result<()> {
        immutable::check_path(&self.path, &self.immutable)?;
        match self.path.as_slice() {
            [name] if name.starts_with('$') => Err(super::dollar_prefixed(name)),
            _ => Ok(()),
        }
    }

    /// The error for a field that has to be an array.
    pub(super) fn not_an_array(&self, operator: &str, value: RawBsonRef<'_>) -> Error {
        let (kind, path) = (type_name(value), self.path_text());
        match operator {
            "$push" => Error::bad_value(format!(
                "The field '{path}' must be an array but is of type {kind} in document {{{}}}",
                self.id()
            )),
            "$addToSet" => Error::bad_value(format!(
                "Cannot apply $addToSet to non-array field. Field named '{}' has non-array type \
                 {kind}",
                self.name()
            )),
            "$pop" => Error::type_mismatch(format!(
                "Path '{path}' contains an element of non-array type '{kind}'"
            )),
            operator => Error::bad_value(format!("Cannot apply {operator} to a non-array value")),
        }
    }
}
