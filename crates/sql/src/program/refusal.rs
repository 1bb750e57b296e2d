//! The errors of the checks, in the words of the service where we know them.

use crate::ast::Expr;
use crate::error::{Code, Error, Span};

/// A name that no source binds.
pub(super) fn unresolved(name: &str, span: Span) -> Error {
    let message = format!("Identifier '{name}' could not be resolved.");
    Error::new(Code::UnresolvedIdentifier, message, span)
}

/// A function that does not exist.
pub(super) fn unknown_function(name: &str, span: Span) -> Error {
    let message = format!("'{name}' is not a recognized built-in function name.");
    Error::new(Code::UnknownFunction, message, span)
}

/// A user-defined function that does not exist. Number and text are guessed from those of
/// built-in functions.
pub(super) fn unknown_udf(name: &str, span: Span) -> Error {
    let message = format!("'{name}' is not a recognized user-defined function name.");
    Error::new(Code::UnknownUdf, message, span)
}

/// A function with too few or too many arguments; `expected` is `2`, `2 to 3` or `at least 2`.
pub(super) fn argument_count(name: &str, expected: &str, span: Span) -> Error {
    let name = name.to_ascii_uppercase();
    let message = format!("The {name} function requires {expected} argument(s).");
    Error::new(Code::ArgumentCount, message, span)
}

/// A property that differs within a group.
pub(super) fn not_grouped(expr: &Expr) -> Error {
    let message = format!(
        "Property reference '{expr}' is invalid in the select list because it is not contained in \
         either an aggregate function or the GROUP BY clause."
    );
    Error::new(Code::NotGrouped, message, expr.span)
}

/// Too many calls of user-defined functions.
pub(super) fn too_many_udf_calls(limit: usize) -> Error {
    let message = format!(
        "The SQL query exceeded the maximum number of user-defined function calls. The allowed \
         limit is {limit}."
    );
    Error::without_span(Code::TooManyUdfCalls, message)
}

/// Too many joins. The sentence is that of user-defined functions, with another noun.
pub(super) fn too_many_joins(limit: usize) -> Error {
    let message = format!(
        "The SQL query exceeded the maximum number of joins. The allowed limit is {limit}."
    );
    Error::without_span(Code::TooManyJoins, message)
}

/// A parameter without a value. The text is ours.
pub(super) fn missing_parameter(name: &str, span: Span) -> Error {
    Error::new(Code::MissingParameter, format!("Parameter '{name}' has no value."), span)
}

/// Two sources of one name. The text is ours.
pub(super) fn duplicate_alias(name: &str, span: Span) -> Error {
    let message =
        format!("The input alias '{name}' is specified more than once in the FROM clause.");
    Error::new(Code::DuplicateAlias, message, span)
}

/// Two properties of one name. The text is ours.
pub(super) fn duplicate_property(name: &str, span: Span) -> Error {
    let message =
        format!("The property name '{name}' is specified more than once in the SELECT clause.");
    Error::new(Code::DuplicateProperty, message, span)
}

/// An aggregate outside of SELECT. The text is ours.
pub(super) fn misplaced_aggregate(name: &str, span: Span) -> Error {
    let message = format!("Aggregate function '{name}' is only allowed in the SELECT clause.");
    Error::new(Code::MisplacedAggregate, message, span)
}

/// Something this database does not do. The text is ours.
pub(super) fn unsupported(what: &str, span: Span) -> Error {
    Error::new(Code::Unsupported, format!("{what} is not supported."), span)
}

/// A subquery that would read the container where no FROM does. The text is ours.
pub(super) fn container_in_subquery(span: Span) -> Error {
    unsupported("A subquery over the container outside of the FROM clause", span)
}

/// An error whose sentence is always the same.
pub(super) fn fixed(code: Code, span: Span) -> Error {
    Error::new(code, sentence(code), span)
}

/// A refusal of the query as a whole.
pub(super) fn fixed_without_span(code: Code) -> Error {
    Error::without_span(code, sentence(code))
}

fn sentence(code: Code) -> &'static str {
    match code {
        Code::StarWithoutFrom => "'SELECT *' is not valid if FROM clause is omitted.",
        Code::StarWithGroupBy => "'SELECT *' is not allowed with GROUP BY.",
        Code::StarOverSeveral => "'SELECT *' is only valid with a single input set.",
        Code::TopCount => "The count value provided for a TOP clause must be an integer.",
        Code::LimitCount => "The LIMIT count value exceeds the maximum allowed value.",
        Code::OffsetCount => "The OFFSET count value exceeds the maximum allowed value.",
        Code::NestedAggregate => {
            "Cannot perform an aggregate function on an expression containing an aggregate or a \
             subquery."
        }
        Code::OrderByInSubquery => "'ORDER BY' is not supported in subqueries.",
        Code::TopInSubquery => "'TOP' is not supported in subqueries.",
        Code::OffsetLimitInSubquery => "'OFFSET LIMIT' clause is not supported in subqueries.",
        Code::OrderByWithoutPath => {
            "Unsupported ORDER BY clause. ORDER BY item expression could not be mapped to a \
             document path."
        }
        Code::OrderByCorrelated => "Order-by over correlated collections is not supported.",
        Code::RankInSubquery => "The ORDER BY RANK clause is not supported in subqueries.",
        Code::MisplacedScore => {
            "The FullTextScore function is only allowed in the ORDER BY RANK clause."
        }
        Code::MemberIndexer => {
            "The specified query includes 'member indexer' which is currently not supported."
        }
        Code::ScalarCardinality => {
            "The cardinality of a scalar subquery result set cannot be greater than one."
        }
        // The text is ours.
        Code::InvalidEscape => "The ESCAPE of LIKE must be one character other than a backslash.",
        _ => "The query is not valid.",
    }
}
