//! Why a query that parses is refused nevertheless, in the words of the service where we know
//! them.

use crate::error::Span;

/// One complaint about a query.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}")]
pub struct Error {
    /// Which complaint.
    pub kind: Kind,
    /// What it is about; a few errors are about the query as a whole.
    pub span: Option<Span>,
}

impl Error {
    /// A complaint about the text at `span`.
    pub fn new(kind: Kind, span: Span) -> Error {
        Error { kind, span: Some(span) }
    }
}

/// What is wrong. The text is the service's sentence, except where noted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Kind {
    /// A name that no source binds.
    #[error("Identifier '{0}' could not be resolved.")]
    UnresolvedIdentifier(String),
    /// A function that does not exist.
    #[error("'{0}' is not a recognized built-in function name.")]
    UnknownFunction(String),
    /// A `*` without FROM. The number is a guess.
    #[error("'SELECT *' is not valid if FROM clause is omitted.")]
    StarWithoutFrom,
    /// A `*` with GROUP BY.
    #[error("'SELECT *' is not allowed with GROUP BY.")]
    StarWithGroupBy,
    /// A `*` over several sources. The number is a guess.
    #[error("'SELECT *' is only valid with a single input set.")]
    StarOverSeveral,
    /// A function with too few or too many arguments.
    #[error("The {name} function requires {expected} argument(s).")]
    ArgumentCount {
        /// The function, in upper case.
        name: String,
        /// `2`, `2 to 3` or `at least 2`.
        expected: String,
    },
    /// The parameter of TOP is no whole number of 32 bits.
    #[error("The count value provided for a TOP clause must be an integer.")]
    TopCount,
    /// The parameter of LIMIT is no whole number of 32 bits.
    #[error("The LIMIT count value exceeds the maximum allowed value.")]
    LimitCount,
    /// The parameter of OFFSET is no whole number of 32 bits.
    #[error("The OFFSET count value exceeds the maximum allowed value.")]
    OffsetCount,
    /// An aggregate over an aggregate or a subquery.
    #[error(
        "Cannot perform an aggregate function on an expression containing an aggregate or a \
         subquery."
    )]
    NestedAggregate,
    /// A property that differs within a group.
    #[error(
        "Property reference '{0}' is invalid in the select list because it is not contained in \
         either an aggregate function or the GROUP BY clause."
    )]
    NotGrouped(String),
    /// ORDER BY in a subquery.
    #[error("'ORDER BY' is not supported in subqueries.")]
    OrderByInSubquery,
    /// TOP in a subquery.
    #[error("'TOP' is not supported in subqueries.")]
    TopInSubquery,
    /// OFFSET and LIMIT in a subquery.
    #[error("'OFFSET LIMIT' clause is not supported in subqueries.")]
    OffsetLimitInSubquery,
    /// ORDER BY over something that no index holds.
    #[error(
        "Unsupported ORDER BY clause. ORDER BY item expression could not be mapped to a document \
         path."
    )]
    OrderByWithoutPath,
    /// ORDER BY over the elements of an array.
    #[error("Order-by over correlated collections is not supported.")]
    OrderByCorrelated,
    /// ORDER BY RANK in a subquery.
    #[error("The ORDER BY RANK clause is not supported in subqueries.")]
    RankInSubquery,
    /// A subquery in place of a value that may have several.
    #[error("The cardinality of a scalar subquery result set cannot be greater than one.")]
    ScalarCardinality,
    /// An aggregate outside of SELECT. The text is ours.
    #[error("Aggregate function '{0}' is only allowed in the SELECT clause.")]
    MisplacedAggregate(String),
    /// A parameter without a value. The text is ours.
    #[error("Parameter '{0}' has no value.")]
    MissingParameter(String),
    /// Two sources of one name. The text is ours.
    #[error("The input alias '{0}' is specified more than once in the FROM clause.")]
    DuplicateAlias(String),
    /// Two properties of one name. The text is ours.
    #[error("The property name '{0}' is specified more than once in the SELECT clause.")]
    DuplicateProperty(String),
    /// ESCAPE with a backslash, or with other than one character. The text is ours.
    #[error("The ESCAPE of LIKE must be one character other than a backslash.")]
    InvalidEscape,
    /// Something this evaluator does not do. The text is ours.
    #[error("{0} is not supported.")]
    Unsupported(&'static str),
}

impl Kind {
    /// The number behind `SC`, where we know or guess one.
    pub fn number(&self) -> Option<u16> {
        Some(match self {
            Kind::UnresolvedIdentifier(_) => 2001,
            Kind::UnknownFunction(_) => 2005,
            Kind::StarWithoutFrom => 2040,
            Kind::StarWithGroupBy => 2041,
            Kind::StarOverSeveral => 2043,
            Kind::ArgumentCount { .. } => 2050,
            Kind::TopCount => 2060,
            Kind::LimitCount => 2061,
            Kind::OffsetCount => 2062,
            Kind::NestedAggregate => 2101,
            Kind::NotGrouped(_) => 2102,
            Kind::OrderByInSubquery => 2202,
            Kind::TopInSubquery => 2203,
            Kind::OffsetLimitInSubquery => 2204,
            Kind::OrderByWithoutPath => 2206,
            Kind::RankInSubquery => 2228,
            Kind::OrderByCorrelated
            | Kind::ScalarCardinality
            | Kind::MisplacedAggregate(_)
            | Kind::MissingParameter(_)
            | Kind::DuplicateAlias(_)
            | Kind::DuplicateProperty(_)
            | Kind::InvalidEscape
            | Kind::Unsupported(_) => return None,
        })
    }
}
