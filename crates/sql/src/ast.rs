//! The syntax tree of a query. It represents what was written, not what it means: names are not
//! resolved, and parentheses only affect the shape of the tree.
//!
//! A planner may build its own trees; the printer gives their text. Nodes made that way have the
//! default span.

use crate::error::Span;
use value::Value;

/// A query, or a subquery.
#[derive(Clone, Debug)]
pub struct Query {
    /// SELECT.
    pub select: Select,
    /// The sources of FROM, the first and then each JOIN; empty without FROM.
    pub from: Vec<Source>,
    /// WHERE.
    pub filter: Option<Expr>,
    /// GROUP BY; empty without.
    pub group_by: Vec<Expr>,
    /// ORDER BY.
    pub order_by: Option<OrderBy>,
    /// OFFSET and LIMIT.
    pub offset_limit: Option<OffsetLimit>,
    /// From SELECT to the last token.
    pub span: Span,
}

impl Query {
    /// The expressions of SELECT; empty for `*`.
    pub fn projected(&self) -> Vec<&Expr> {
        match &self.select.projection {
            Projection::Star(_) => Vec::new(),
            Projection::Value(expr) => vec![expr],
            Projection::List(items) => items.iter().map(|item| &item.expr).collect(),
        }
    }
}

/// A name as written, without quotes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Name {
    /// The name.
    pub text: String,
    /// Its place in the text.
    pub span: Span,
}

/// The SELECT clause.
#[derive(Clone, Debug)]
pub struct Select {
    /// Whether DISTINCT was written.
    pub is_distinct: bool,
    /// TOP and its count.
    pub top: Option<Top>,
    /// The projection.
    pub projection: Projection,
}

/// `TOP n`.
#[derive(Clone, Debug)]
pub struct Top {
    /// The n.
    pub count: Count,
    /// The span of both words.
    pub span: Span,
}

/// A number of rows. Literals fit into 32 bits: the service rejects larger ones.
#[derive(Clone, Debug)]
pub enum Count {
    /// A number.
    Literal(u32),
    /// A parameter, with its `@`.
    Parameter(Name),
}

/// The result of a query for each row.
#[derive(Clone, Debug)]
pub enum Projection {
    /// `*`, with the span of the star.
    Star(Span),
    /// `VALUE e`.
    Value(Expr),
    /// A list of properties.
    List(Vec<SelectItem>),
}

/// One property of the result.
#[derive(Clone, Debug)]
pub struct SelectItem {
    /// Its value.
    pub expr: Expr,
    /// Its name, if given. It may have been written as a string and need not be an identifier.
    pub alias: Option<Name>,
}

/// One source of FROM.
#[derive(Clone, Debug)]
pub struct Source {
    /// The collection that is read.
    pub collection: Collection,
    /// The name of its values, if given.
    pub alias: Option<Name>,
    /// Whether it was written `alias IN collection`: the elements of an array, one by one.
    /// The alias is there then.
    pub is_iterator: bool,
    /// Its place in the text.
    pub span: Span,
}

/// The collection that a source reads.
#[derive(Clone, Debug)]
pub enum Collection {
    /// A name and a path from there.
    Path {
        /// The container, or the alias of an earlier source.
        root: Name,
        /// The steps down.
        steps: Vec<Step>,
    },
    /// A subquery.
    Subquery(Box<Query>),
}

/// One step of a path in FROM.
#[derive(Clone, Debug)]
pub enum Step {
    /// `.name`.
    Member(Name),
    /// `["name"]`.
    Key(Name),
    /// `[0]`.
    Index(u64),
}

/// The ORDER BY clause.
#[derive(Clone, Debug)]
pub struct OrderBy {
    /// The sort criterion.
    pub kind: OrderByKind,
    /// The span of the clause.
    pub span: Span,
}

/// The sort criterion.
#[derive(Clone, Debug)]
pub enum OrderByKind {
    /// Expressions; never empty.
    Items(Vec<OrderItem>),
    /// `RANK` and a scoring expression.
    Rank(Expr),
}

/// One expression of ORDER BY.
#[derive(Clone, Debug)]
pub struct OrderItem {
    /// The expression.
    pub expr: Expr,
    /// The direction if it was written; printing keeps a written ASC.
    pub direction: Option<Direction>,
}

/// The direction of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// ASC.
    Ascending,
    /// DESC.
    Descending,
}

/// `OFFSET n LIMIT m`.
#[derive(Clone, Debug)]
pub struct OffsetLimit {
    /// How many rows to skip.
    pub offset: Count,
    /// How many to return.
    pub limit: Count,
    /// The span of the clause.
    pub span: Span,
}

/// An expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// The kind of expression.
    pub kind: ExprKind,
    /// Its place in the text, without the parentheses around it.
    pub span: Span,
}

impl Expr {
    /// Creates an expression at `span`.
    pub fn new(kind: ExprKind, span: Span) -> Expr {
        Expr { kind, span }
    }

    /// The expressions right within this one. Subqueries are left out: they have aggregates and
    /// names of their own.
    pub fn children(&self) -> Vec<&Expr> {
        match &self.kind {
            ExprKind::Literal(_)
            | ExprKind::Parameter(_)
            | ExprKind::Identifier(_)
            | ExprKind::Subquery { .. }
            | ExprKind::Verbatim(_) => Vec::new(),
            ExprKind::Member { base, .. } => vec![base],
            ExprKind::Index { base, index } => vec![base, index],
            ExprKind::Array(items) => items.iter().collect(),
            ExprKind::Object(members) => members.iter().map(|member| &member.value).collect(),
            ExprKind::Call(call) => call.args.iter().collect(),
            ExprKind::Unary { operand, .. } => vec![operand],
            ExprKind::Binary { left, right, .. } => vec![left, right],
            ExprKind::Logical { operands, .. } => operands.iter().collect(),
            ExprKind::Conditional { condition, then, otherwise } => {
                vec![condition, then, otherwise]
            }
            ExprKind::In { needle, items, .. } => {
                std::iter::once(needle.as_ref()).chain(items).collect()
            }
            ExprKind::Between { operand, low, high, .. } => vec![operand, low, high],
            ExprKind::Like { operand, pattern, .. } => vec![operand, pattern],
            ExprKind::Let { value, body, .. } => vec![value, body],
        }
    }

    /// The expressions right within this one, to be changed. Subqueries are left out.
    pub fn children_mut(&mut self) -> Vec<&mut Expr> {
        match &mut self.kind {
            ExprKind::Literal(_)
            | ExprKind::Parameter(_)
            | ExprKind::Identifier(_)
            | ExprKind::Subquery { .. }
            | ExprKind::Verbatim(_) => Vec::new(),
            ExprKind::Member { base, .. } => vec![base],
            ExprKind::Index { base, index } => vec![base, index],
            ExprKind::Array(items) => items.iter_mut().collect(),
            ExprKind::Object(members) => {
                members.iter_mut().map(|member| &mut member.value).collect()
            }
            ExprKind::Call(call) => call.args.iter_mut().collect(),
            ExprKind::Unary { operand, .. } => vec![operand],
            ExprKind::Binary { left, right, .. } => vec![left, right],
            ExprKind::Logical { operands, .. } => operands.iter_mut().collect(),
            ExprKind::Conditional { condition, then, otherwise } => {
                vec![condition, then, otherwise]
            }
            ExprKind::In { needle, items, .. } => {
                std::iter::once(needle.as_mut()).chain(items).collect()
            }
            ExprKind::Between { operand, low, high, .. } => vec![operand, low, high],
            ExprKind::Like { operand, pattern, .. } => vec![operand, pattern],
            ExprKind::Let { value, body, .. } => vec![value, body],
        }
    }
}

impl From<ExprKind> for Expr {
    /// Creates an expression without a place in the text.
    fn from(kind: ExprKind) -> Expr {
        Expr { kind, span: Span::default() }
    }
}

/// The kind of expression.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A constant. A minus before a number belongs to it. The parser makes scalars only.
    Literal(Value),
    /// A parameter, with its `@`.
    Parameter(String),
    /// The alias of a source.
    Identifier(String),
    /// `base.name`.
    Member {
        /// The object.
        base: Box<Expr>,
        /// Its name.
        name: Name,
    },
    /// `base[index]`.
    Index {
        /// The array or object.
        base: Box<Expr>,
        /// The index or member name.
        index: Box<Expr>,
    },
    /// `[a, b]`.
    Array(Vec<Expr>),
    /// `{"a": b}`.
    Object(Vec<Property>),
    /// A function and its arguments.
    Call(Call),
    /// An operator before its operand.
    Unary {
        /// The operator.
        op: UnaryOp,
        /// The operand.
        operand: Box<Expr>,
    },
    /// An operator between its operands.
    Binary {
        /// The operator.
        op: BinaryOp,
        /// The left operand.
        left: Box<Expr>,
        /// The right operand.
        right: Box<Expr>,
    },
    /// AND or OR over two or more operands. `(a AND b) AND c` is one node of three; the right
    /// operand is kept apart, as in `a AND (b AND c)`.
    Logical {
        /// The operator.
        op: LogicalOp,
        /// The operands, at least two.
        operands: Vec<Expr>,
    },
    /// `condition ? then : otherwise`.
    Conditional {
        /// The condition.
        condition: Box<Expr>,
        /// The value if true.
        then: Box<Expr>,
        /// The value if not.
        otherwise: Box<Expr>,
    },
    /// `needle IN (a, b)`.
    In {
        /// The value to look for.
        needle: Box<Expr>,
        /// Among which; never empty.
        items: Vec<Expr>,
        /// Whether it was NOT IN.
        is_negated: bool,
    },
    /// `operand BETWEEN low AND high`.
    Between {
        /// The value to compare.
        operand: Box<Expr>,
        /// The lower bound, included.
        low: Box<Expr>,
        /// The upper bound, included.
        high: Box<Expr>,
        /// Whether it was NOT BETWEEN.
        is_negated: bool,
    },
    /// `operand LIKE pattern ESCAPE "!"`.
    Like {
        /// The value to match.
        operand: Box<Expr>,
        /// The pattern.
        pattern: Box<Expr>,
        /// The escape as written; of any length.
        escape: Option<String>,
        /// Whether it was NOT LIKE.
        is_negated: bool,
    },
    /// A subquery in parentheses, with its prefix.
    Subquery {
        /// The prefix.
        kind: SubqueryKind,
        /// The query.
        query: Box<Query>,
    },
    /// `(LET name = value IN body)`.
    Let {
        /// The name.
        name: Name,
        /// Its value.
        value: Box<Expr>,
        /// Where the name is known.
        body: Box<Expr>,
    },
    /// Text that the planner places into a rewritten query, for clients to replace. Printed as it
    /// is; the parser never makes one.
    Verbatim(String),
}

/// One member of an object constructor.
#[derive(Clone, Debug)]
pub struct Property {
    /// Its name.
    pub name: Name,
    /// Its value.
    pub value: Expr,
}

/// A function and its arguments.
#[derive(Clone, Debug)]
pub struct Call {
    /// The name in the case it was written in, without `udf.`.
    pub name: Name,
    /// Whether it is user-defined.
    pub is_udf: bool,
    /// The arguments.
    pub args: Vec<Expr>,
}

/// The prefix of a subquery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubqueryKind {
    /// No prefix: the single value of the subquery.
    Scalar,
    /// EXISTS.
    Exists,
    /// ARRAY.
    Array,
    /// ALL.
    All,
    /// FIRST.
    First,
    /// LAST.
    Last,
}

/// Operators before their operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOp {
    /// `-`.
    Minus,
    /// `+`.
    Plus,
    /// `~`.
    BitNot,
    /// NOT.
    Not,
}

/// AND and OR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogicalOp {
    /// AND.
    And,
    /// OR.
    Or,
}

/// Operators between their operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOp {
    /// `??`.
    Coalesce,
    /// `=`.
    Equal,
    /// `!=`, also written `<>`.
    NotEqual,
    /// `<`.
    Less,
    /// `<=`.
    LessOrEqual,
    /// `>`.
    Greater,
    /// `>=`.
    GreaterOrEqual,
    /// `<<`.
    ShiftLeft,
    /// `>>`, which keeps the sign.
    ShiftRight,
    /// `>>>`, which fills with zeros.
    ShiftRightZero,
    /// `||`.
    Concat,
    /// `+`.
    Add,
    /// `-`.
    Subtract,
    /// `|`.
    BitOr,
    /// `&`.
    BitAnd,
    /// `^`.
    BitXor,
    /// `*`.
    Multiply,
    /// `/`.
    Divide,
    /// `%`.
    Modulo,
}

impl BinaryOp {
    /// Whether it gives true, false or nothing.
    pub fn is_comparison(self) -> bool {
        matches!(
            self,
            Self::Equal
                | Self::NotEqual
                | Self::Less
                | Self::LessOrEqual
                | Self::Greater
                | Self::GreaterOrEqual
        )
    }
}
