//! The functions that score rows for ORDER BY RANK, and what the service computes in their place.

use value::Value;

use super::Refusal;
use super::tree::{self, call};
use crate::ast::{BinaryOp, Call, Direction, Expr, ExprKind, OrderBy, OrderByKind, OrderItem};
use crate::error::{Code, Error, Span};

/// How many scores may be fused: the query for each has all of them.
const COMPONENTS_MAX: usize = 32;

const DOCUMENT_COUNT: &str = "{documentdb-formattablehybridsearchquery-totaldocumentcount}";
const WORD_COUNT: &str = "{documentdb-formattablehybridsearchquery-totalwordcount-";
const HIT_COUNTS: &str = "{documentdb-formattablehybridsearchquery-hitcountsarray-";

/// The score of rows without one. The service prints six digits.
const LEAST: &str = "-1.79769e+308";
const GREATEST: &str = "1.79769e+308";

/// One function that scores rows.
pub(super) struct Component<'q> {
    /// The service's internal function in its place.
    pub(super) score: Expr,
    /// The text to search and the words; `None` if it compares vectors.
    pub(super) words: Option<(&'q Expr, &'q [Expr])>,
    /// Whether a negative weight makes the lowest score the best.
    is_reversed: bool,
}

/// The scores that RANK orders by, and the weights of RRF, `None` if all are the same.
pub(super) fn components(
    rank: &Expr,
    span: Option<Span>,
) -> Result<(Vec<Component<'_>>, Vec<f64>), Refusal> {
    let (calls, weights) = calls(rank).ok_or_else(|| not_a_score(span))?;
    let weights = match weights {
        None => Vec::new(),
        Some(weights) => literal_numbers(weights)
            .filter(|numbers| numbers.len() == calls.len())
            .ok_or_else(|| not_weights(weights.span))?,
    };
    if calls.len() > COMPONENTS_MAX {
        let sentence = format!("More than {COMPONENTS_MAX} component scores are not supported.");
        return Err(Refusal::Plain(vec![sentence]));
    }
    let is_reversed = |place: usize| weights.get(place).is_some_and(|weight| *weight < 0.0);
    let components = calls
        .iter()
        .enumerate()
        .map(|(place, call)| component(call, place, is_reversed(place)))
        .collect::<Option<Vec<_>>>();
    Ok((components.ok_or_else(|| not_a_score(span))?, weights))
}

/// RANK is followed by something else.
pub(super) fn not_a_score(span: Option<Span>) -> Refusal {
    let message = "The ORDER BY RANK clause must be followed by a VectorDistance and/or a \
                   FullTextScore function call.";
    Error { code: Code::RankWithoutScore, message: message.to_owned(), span }.into()
}

fn not_weights(span: Span) -> Refusal {
    let message = "The last parameter of the RRF function is an optional array of weights. When \
                   present, it must be a literal array of numbers, one for each of the component \
                   scores used for the RRF function. The length of this array must be the same as \
                   the number of the component scores.";
    Error::new(Code::RankWeights, message, span).into()
}

/// The calls after RANK: a single one, or those of RRF, and the expression for weights. `None` if
/// it is something else.
fn calls(rank: &Expr) -> Option<(Vec<&Call>, Option<&Expr>)> {
    let outer = as_call(rank)?;
    if !outer.name.text.eq_ignore_ascii_case("RRF") {
        return Some((vec![outer], None));
    }
    let (functions, weights) = match outer.args.split_last()? {
        (last, functions) if as_call(last).is_none() => (functions, Some(last)),
        _ => (outer.args.as_slice(), None),
    };
    let calls: Vec<&Call> = functions.iter().map(as_call).collect::<Option<_>>()?;
    (!calls.is_empty()).then_some((calls, weights))
}

fn as_call(expr: &Expr) -> Option<&Call> {
    match &expr.kind {
        ExprKind::Call(call) if !call.is_udf => Some(call),
        _ => None,
    }
}

fn literal_numbers(expr: &Expr) -> Option<Vec<f64>> {
    let ExprKind::Array(items) = &expr.kind else { return None };
    let number = |item: &Expr| match &item.kind {
        ExprKind::Literal(value) => value.as_f64(),
        _ => None,
    };
    items.iter().map(number).collect()
}

fn component(function: &Call, place: usize, is_reversed: bool) -> Option<Component<'_>> {
    if tree::is_vector_distance(function) {
        let score = call("_VectorScore", function.args.clone());
        return Some(Component { score, words: None, is_reversed });
    }
    if !function.name.text.eq_ignore_ascii_case("FullTextScore") {
        return None;
    }
    let (path, words) = function.args.split_first()?;
    // Older clients write the words as one array.
    let words = match words {
        [Expr { kind: ExprKind::Array(words), .. }] => words.as_slice(),
        words => words,
    };
    let verbatim = |text: String| ExprKind::Verbatim(text).into();
    let score = call(
        "_FullTextScore",
        vec![
            path.clone(),
            ExprKind::Array(words.to_vec()).into(),
            verbatim(DOCUMENT_COUNT.to_owned()),
            verbatim(format!("{WORD_COUNT}{place}}}")),
            verbatim(format!("{HIT_COUNTS}{place}}}")),
        ],
    );
    (!words.is_empty()).then_some(Component { score, words: Some((path, words)), is_reversed })
}

impl Component<'_> {
    /// The score, with the worst there is for rows without one.
    pub(super) fn defined(&self) -> Expr {
        let worst: Expr = match (self.is_reversed, &self.words) {
            (true, _) => ExprKind::Verbatim(GREATEST.to_owned()).into(),
            (false, None) => ExprKind::Verbatim(LEAST.to_owned()).into(),
            (false, Some(_)) => ExprKind::Literal(Value::from(-1_i64)).into(),
        };
        binary(BinaryOp::Coalesce, self.score.clone(), worst)
    }

    /// The score with the best the highest.
    pub(super) fn best_high(&self) -> Expr {
        if !self.is_reversed {
            return self.defined();
        }
        let minus_one = ExprKind::Literal(Value::from(-1_i64)).into();
        binary(BinaryOp::Multiply, minus_one, self.defined())
    }

    /// The direction in which the best comes first.
    pub(super) fn direction(&self) -> Direction {
        if self.is_reversed { Direction::Ascending } else { Direction::Descending }
    }

    /// Best first. Vectors are ordered so without a word, unless it is the other way round.
    pub(super) fn order(&self) -> OrderBy {
        let direction = match (self.is_reversed, &self.words) {
            (true, _) => Some(Direction::Ascending),
            (false, Some(_)) => Some(Direction::Descending),
            (false, None) => None,
        };
        let item = OrderItem { expr: self.score.clone(), direction };
        OrderBy { kind: OrderByKind::Items(vec![item]), span: Span::default() }
    }
}

fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    ExprKind::Binary { op, left: Box::new(left), right: Box::new(right) }.into()
}
