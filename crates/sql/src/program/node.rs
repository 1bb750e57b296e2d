//! The compiled form of a query: names are places on the stack of frames, functions are resolved,
//! parameters and constant expressions are values.

use std::sync::Arc;

use value::Value;

use super::aggregate::Aggregate;
use super::like::Pattern;
use crate::ast::{BinaryOp, LogicalOp, SubqueryKind, UnaryOp};
use crate::functions::Function;

/// One step down a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathStep {
    /// To the member of that name.
    Key(String),
    /// To the element at that place.
    Index(usize),
}

/// A compiled expression.
pub(super) enum Node {
    Constant(Value),
    /// A constant that is too long for every use of it to have a copy.
    Shared(Arc<Value>),
    /// From the value that many frames up, down the steps.
    Path {
        hops: usize,
        steps: Vec<PathStep>,
    },
    Member {
        base: Box<Node>,
        name: String,
    },
    Index {
        base: Box<Node>,
        index: Box<Node>,
    },
    Array(Vec<Node>),
    Object(Vec<(String, Node)>),
    Call {
        function: &'static Function,
        args: Vec<Node>,
    },
    Udf {
        /// Its place among the calls of the query.
        site: usize,
        name: String,
        args: Vec<Node>,
    },
    IsDefined(Box<Node>),
    /// `ARRAY_CONTAINS(array, needle)`, without copying the array.
    ArrayContains {
        array: Box<Node>,
        needle: Box<Node>,
    },
    Unary {
        op: UnaryOp,
        operand: Box<Node>,
    },
    Binary {
        op: BinaryOp,
        left: Box<Node>,
        right: Box<Node>,
    },
    Logical {
        op: LogicalOp,
        operands: Vec<Node>,
    },
    Conditional {
        condition: Box<Node>,
        then: Box<Node>,
        otherwise: Box<Node>,
    },
    In {
        needle: Box<Node>,
        items: Vec<Node>,
        is_negated: bool,
    },
    /// IN over constants.
    OneOf {
        needle: Box<Node>,
        values: SortedValues,
        is_negated: bool,
    },
    Between {
        operand: Box<Node>,
        low: Box<Node>,
        high: Box<Node>,
        is_negated: bool,
    },
    Like {
        operand: Box<Node>,
        pattern: LikePattern,
        is_negated: bool,
    },
    Subquery {
        kind: SubqueryKind,
        select: Box<Select>,
    },
    /// The value becomes the next frame of the body.
    Let {
        value: Box<Node>,
        body: Box<Node>,
    },
    /// The expression of a computed property, whose only frame is the document that many up.
    Computed {
        hops: usize,
        body: Arc<Node>,
    },
}

/// Constants to find a value among.
pub(super) struct SortedValues {
    /// Defined, in their order.
    sorted: Vec<Value>,
    /// Whether one of them was undefined, which makes the result undefined if none matches.
    has_undefined: bool,
}

impl SortedValues {
    pub(super) fn new(mut values: Vec<Value>) -> SortedValues {
        let count = values.len();
        values.retain(|value| !value.is_undefined());
        let has_undefined = values.len() < count;
        values.sort_by(value::order::compare);
        SortedValues { sorted: values, has_undefined }
    }

    /// Whether a value equals one of them; unknown as an OR of comparisons is.
    pub(super) fn contains(&self, needle: &Value) -> Option<bool> {
        if needle.is_undefined() {
            return None;
        }
        let found =
            self.sorted.binary_search_by(|known| value::order::compare(known, needle)).is_ok();
        if found || !self.has_undefined { Some(found) } else { None }
    }
}

/// The pattern of LIKE.
pub(super) enum LikePattern {
    Constant(Pattern),
    Computed { pattern: Box<Node>, escape: Option<char> },
}

/// A compiled query or subquery, without what only the outermost has: ORDER BY, TOP and so on.
pub(super) struct Select {
    pub(super) sources: Vec<Source>,
    pub(super) filter: Option<Node>,
    /// The keys of GROUP BY, for a row.
    pub(super) keys: Vec<Node>,
    /// The aggregates of SELECT, for a row.
    pub(super) aggregates: Vec<AggregateCall>,
    /// Whether all rows become one.
    pub(super) is_aggregate: bool,
    /// For a row; or for a group, where one frame holds the array of its keys and aggregates.
    pub(super) projection: Projection,
    pub(super) is_distinct: bool,
}

impl Select {
    pub(super) fn is_grouped(&self) -> bool {
        !self.keys.is_empty()
    }
}

/// One source of FROM. Each of its values becomes the next frame.
pub(super) struct Source {
    pub(super) kind: SourceKind,
    /// Whether the elements of its values are what is bound.
    pub(super) is_iterator: bool,
}

pub(super) enum SourceKind {
    /// The document that the program runs over.
    Document {
        steps: Vec<PathStep>,
    },
    /// A path from a value that is bound already.
    Bound(Node),
    Subquery(Box<Select>),
}

pub(super) struct AggregateCall {
    pub(super) aggregate: Aggregate,
    pub(super) argument: Node,
}

impl AggregateCall {
    /// Whether its value depends on the order of the rows.
    pub(super) fn lists_rows(&self) -> bool {
        matches!(self.aggregate, Aggregate::MakeList | Aggregate::MakeSet)
    }
}

/// SELECT.
pub(super) enum Projection {
    /// `*`: the innermost frame.
    Frame,
    Value(Node),
    List(Vec<(String, Node)>),
}
