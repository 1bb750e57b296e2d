//! What each operator makes of a value, or of a field that is missing.

use bson::{RawBson, RawBsonRef};

use super::apply::{Applier, Outcome};
use super::arithmetic::{Bits, combine, zero_like};
use super::array::{self, Effect};
use super::node::Node;
use super::operator::Operator;
use super::rename;
use crate::error::Result;
use crate::number::Number;
use crate::order;
use crate::writer::identical;

impl<'a> Applier<'a> {
    /// Applies an operator to a value.
    pub(super) fn operate(&self, operator: &'a Operator, node: &mut Node<'a>) -> Result<Outcome> {
        let value = node.value()?;
        let outcome = match operator {
            Operator::Unset | Operator::RenameFrom => {
                super::immutable::check_path(&self.path, &self.immutable)?;
                return Ok(Outcome::Removed);
            }
            Operator::RenameTo { from } => match self.renamed(from)? {
                None => Outcome::Unchanged,
                Some(value) => replace(node, Node::Given(value)),
            },
            Operator::CurrentDate { is_timestamp } => replace(node, self.now(*is_timestamp)),
            Operator::Push(_)
            | Operator::AddToSet(_)
            | Operator::Pop { .. }
            | Operator::Pull(_)
            | Operator::PullAll(_) => self.operate_on_array(operator, value, node)?,
            operator => match self.scalar(operator, value)? {
                Some(new) if !identical(as_ref(&new)?, value) => replace(node, new),
                _ => Outcome::Unchanged,
            },
        };
        if outcome != Outcome::Unchanged {
            self.check_change()?;
        }
        Ok(outcome)
    }

    /// The value after an operator that does not look into it.
    fn scalar(&self, operator: &'a Operator, value: RawBsonRef<'a>) -> Result<Option<Node<'a>>> {
        let order = |new: &RawBson| order::compare(new.as_raw_bson_ref(), value, self.collation);
        let given = |new: &'a RawBson| Some(Node::Given(new.as_raw_bson_ref()));
        let arithmetic = |is_product, operand: Number| {
            let number = combine(is_product, self.name(), value, operand, || self.id())?;
            Ok(Some(Node::Made(number.into())))
        };
        match operator {
            Operator::Set(new) => Ok(given(new)),
            Operator::SetOnInsert(new) if self.is_insert => Ok(given(new)),
            Operator::Min(new) if order(new).is_lt() => Ok(given(new)),
            Operator::Max(new) if order(new).is_gt() => Ok(given(new)),
            Operator::Inc(operand) => arithmetic(false, *operand),
            Operator::Mul(operand) => arithmetic(true, *operand),
            Operator::Bit(bits) => {
                let made = Bits::apply(bits, self.name(), value, || self.id())?;
                Ok(Some(Node::Made(made)))
            }
            _ => Ok(None),
        }
    }

    fn operate_on_array(
        &self,
        operator: &'a Operator,
        value: RawBsonRef<'a>,
        node: &mut Node<'a>,
    ) -> Result<Outcome> {
        let name = match operator {
            Operator::Push(_) => "$push",
            Operator::AddToSet(_) => "$addToSet",
            Operator::Pop { .. } => "$pop",
            Operator::Pull(_) => "$pull",
            _ => "$pullAll",
        };
        let RawBsonRef::Array(array) = value else { return Err(self.not_an_array(name, value)) };
        let effect = match operator {
            Operator::Push(push) => push.apply(node, array, self.collation)?,
            Operator::AddToSet(add) => add.apply(node, array, self.collation)?,
            Operator::Pop { is_first } => array::pop(node, *is_first)?,
            Operator::Pull(condition) => array::pull(node, condition, self.collation)?,
            Operator::PullAll(values) => array::pull_all(node, values, self.collation)?,
            _ => Effect::Unchanged,
        };
        Ok(match effect {
            Effect::Unchanged => Outcome::Unchanged,
            Effect::Appended => Outcome::Inside,
            Effect::Replaced => Outcome::Replaced,
        })
    }

    /// What an operator makes where nothing is.
    pub(super) fn create(&self, operator: &'a Operator) -> Result<Option<Node<'a>>> {
        if !operator.creates(self.is_insert) {
            return Ok(None);
        }
        let node = match operator {
            Operator::Set(value)
            | Operator::SetOnInsert(value)
            | Operator::Min(value)
            | Operator::Max(value) => Node::Given(value.as_raw_bson_ref()),
            Operator::Inc(operand) => Node::Made((*operand).into()),
            Operator::Mul(operand) => Node::Made(zero_like(*operand)),
            Operator::CurrentDate { is_timestamp } => self.now(*is_timestamp),
            Operator::Bit(bits) => {
                let zero = RawBsonRef::Int32(0);
                Node::Made(Bits::apply(bits, self.name(), zero, || self.id())?)
            }
            Operator::Push(push) => Node::Made(push.create(self.collation)?),
            Operator::AddToSet(add) => Node::Made(add.create(self.collation)?),
            Operator::RenameTo { from } => match self.renamed(from)? {
                None => return Ok(None),
                Some(value) => Node::Given(value),
            },
            _ => return Ok(None),
        };
        self.check_change()?;
        Ok(Some(node))
    }

    fn renamed(&self, from: &super::path::UpdatePath) -> Result<Option<RawBsonRef<'a>>> {
        let value = rename::source(self.original, from)?;
        if value.is_some() {
            rename::check_destination(self.original, &self.path)?;
        }
        Ok(value)
    }

    fn now(&self, is_timestamp: bool) -> Node<'a> {
        Node::Made(if is_timestamp {
            RawBson::Timestamp(self.context.timestamp)
        } else {
            RawBson::DateTime(self.context.now)
        })
    }
}

fn replace<'a>(node: &mut Node<'a>, new: Node<'a>) -> Outcome {
    *node = new;
    Outcome::Replaced
}

/// The value of a node that was just made.
fn as_ref<'n>(node: &'n Node<'_>) -> Result<RawBsonRef<'n>> {
    match node {
        Node::Made(value) => Ok(value.as_raw_bson_ref()),
        node => node.value(),
    }
}
