//! The accumulators of `$group`, compiled.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashSet, VecDeque};

use bson::raw::CString;
use bson::{RawArrayBuf, RawBson, RawBsonRef, RawDocument};
use expression::number::Number;
use expression::{
    Average, Code, Deviation, Error, Expression, Result, Scope, Sum, Variables, key, show,
};

use crate::execution::Environment;
use crate::percentile::{Arguments, Percentiles};
use crate::refuse;
use crate::sort_key::SortKey;
use crate::state::{Merged, Ranked, State};

/// A field of `$group` with its accumulator.
#[derive(Debug)]
pub(crate) struct Accumulator {
    pub(crate) name: CString,
    kind: Kind,
    input: Expression,
    n: Option<Expression>,
    by: Option<SortKey>,
    /// Of percentiles.
    parts: Vec<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Sum,
    Average,
    Extreme(Ordering),
    Deviation(u32),
    First,
    Last,
    Push,
    Set,
    Count,
    Merge,
    FirstN,
    LastN,
    /// The least few values, or the greatest.
    ExtremeN(Ordering),
    Percentile {
        is_single: bool,
    },
    /// The beginning or the end of an order, of one value or of several.
    Place {
        keeps_last: bool,
        is_single: bool,
    },
}

impl Kind {
    fn find(name: &str) -> Option<Self> {
        Some(match name {
            "$sum" => Self::Sum,
            "$avg" => Self::Average,
            "$min" => Self::Extreme(Ordering::Less),
            "$max" => Self::Extreme(Ordering::Greater),
            "$stdDevPop" => Self::Deviation(0),
            "$stdDevSamp" => Self::Deviation(1),
            "$first" => Self::First,
            "$last" => Self::Last,
            "$push" => Self::Push,
            "$addToSet" => Self::Set,
            "$count" => Self::Count,
            "$mergeObjects" => Self::Merge,
            "$firstN" => Self::FirstN,
            "$lastN" => Self::LastN,
            "$minN" => Self::ExtremeN(Ordering::Less),
            "$maxN" => Self::ExtremeN(Ordering::Greater),
            "$top" => Self::Place { keeps_last: false, is_single: true },
            "$topN" => Self::Place { keeps_last: false, is_single: false },
            "$bottom" => Self::Place { keeps_last: true, is_single: true },
            "$bottomN" => Self::Place { keeps_last: true, is_single: false },
            "$median" => Self::Percentile { is_single: true },
            "$percentile" => Self::Percentile { is_single: false },
            _ => return None,
        })
    }
}

impl Accumulator {
    /// Reads `name: {$operator: argument}`.
    pub(crate) fn parse(name: &str, value: RawBsonRef<'_>, variables: &Variables) -> Result<Self> {
        let document = value.as_document().filter(|document| !document.is_empty());
        let document = document.ok_or_else(|| {
            Error::location(40_234, format!("The field '{name}' must be an accumulator object"))
        })?;
        if name.contains('.') {
            return Err(Error::location(
                40_235,
                format!("The field name '{name}' cannot contain '.'"),
            ));
        }
        if name.starts_with('$') {
            return Err(Error::location(
                40_236,
                format!("The field name '{name}' cannot be an operator name"),
            ));
        }
        let mut operators = document.iter();
        let (Some(operator), None) = (operators.next(), operators.next()) else {
            return Err(Error::location(
                40_238,
                format!("The field '{name}' must specify one accumulator"),
            ));
        };
        let (operator, argument) = operator?;
        let operator = operator.as_str();
        if operator == "$accumulator" {
            return Err(Error::new(
                Code::NOT_IMPLEMENTED,
                format!("The accumulator {operator} is not supported"),
            ));
        }
        let kind = Kind::find(operator).ok_or_else(|| {
            Error::location(15_952, format!("unknown group operator '{operator}'"))
        })?;
        Parts { operator, kind, variables }.read(refuse::name(name)?, argument)
    }

    /// The state of a new group, whose key is the root for the expression of `n`.
    pub(crate) fn begin(
        &self,
        group: &RawDocument,
        environment: &Environment<'_>,
    ) -> Result<State> {
        let n = match &self.n {
            Some(n) => count(n, &environment.scope(group))?,
            None => 1,
        };
        let ranked = |keeps_last, is_single| {
            State::Ranked(Ranked { n, keeps_last, is_single, kept: BTreeMap::new(), next: 0 })
        };
        Ok(match self.kind {
            Kind::Sum => State::Sum(Sum::default()),
            Kind::Average => State::Average(Average::default()),
            Kind::Extreme(wanted) => State::Extreme(wanted, None),
            Kind::Deviation(freedom) => State::Deviation(Deviation::default(), freedom),
            Kind::First => State::First(None),
            Kind::Last => State::Last(RawBson::Null),
            Kind::Push => State::Push(RawArrayBuf::new()),
            Kind::Set => State::Set(HashSet::new(), RawArrayBuf::new()),
            Kind::Count => State::Count(0),
            Kind::Merge => State::Merge(Merged::default()),
            Kind::FirstN => State::FirstN(n, Vec::new()),
            Kind::LastN => State::LastN(n, VecDeque::new()),
            Kind::ExtremeN(_) => ranked(false, false),
            Kind::Percentile { is_single } => {
                let parts = self.parts.clone();
                State::Percentiles(Percentiles { parts, is_single, numbers: Vec::new() })
            }
            Kind::Place { keeps_last, is_single } => ranked(keeps_last, is_single),
        })
    }

    /// Takes a document into a state, and says how many bytes more that holds.
    pub(crate) fn add(
        &self,
        state: &mut State,
        document: &RawDocument,
        environment: &Environment<'_>,
    ) -> Result<usize> {
        let collation = environment.context.collation;
        let value = self.input.evaluate(&environment.scope(document))?;
        let place = match (&self.by, self.kind) {
            (Some(by), _) => Some(by.of(document, collation)?),
            (None, Kind::ExtremeN(_)) if value.is_nullish() => return Ok(0),
            (None, Kind::ExtremeN(wanted)) => {
                let mut place = key::of(value.as_ref(), collation);
                if wanted == Ordering::Greater {
                    key::invert(&mut place);
                }
                Some(place)
            }
            (None, _) => None,
        };
        state.add(value.as_ref(), place, collation)
    }
}

/// An accumulator while it is read.
struct Parts<'p> {
    operator: &'p str,
    kind: Kind,
    variables: &'p Variables,
}

impl Parts<'_> {
    fn read(&self, name: CString, argument: RawBsonRef<'_>) -> Result<Accumulator> {
        let (kind, operator) = (self.kind, self.operator);
        match kind {
            Kind::Count => {
                if !argument.as_document().is_some_and(RawDocument::is_empty) {
                    return Err(Error::type_mismatch("$count takes no arguments, i.e. $count:{}"));
                }
                let input = Expression::literal(RawBson::Null);
                Ok(Accumulator { name, kind, input, n: None, by: None, parts: Vec::new() })
            }
            Kind::FirstN | Kind::LastN | Kind::ExtremeN(_) => self.few(name, argument),
            Kind::Percentile { .. } => {
                let Arguments { input, parts } =
                    Arguments::parse(operator, argument, self.variables)?;
                Ok(Accumulator { name, kind, input, n: None, by: None, parts })
            }
            Kind::Place { is_single, .. } => self.place(name, argument, is_single),
            _ => {
                if matches!(argument, RawBsonRef::Array(_)) {
                    return Err(Error::location(
                        40_237,
                        format!("The {operator} accumulator is a unary operator"),
                    ));
                }
                let input = Expression::parse(argument, self.variables)?;
                Ok(Accumulator { name, kind, input, n: None, by: None, parts: Vec::new() })
            }
        }
    }

    fn not_object(&self, location: i32, argument: RawBsonRef<'_>) -> Error {
        let (operator, shown) = (self.operator, show::value(argument));
        Error::location(
            location,
            format!("specification must be an object; found {operator}: {shown}"),
        )
    }

    /// `{input, n}`
    fn few(&self, name: CString, argument: RawBsonRef<'_>) -> Result<Accumulator> {
        let document =
            argument.as_document().ok_or_else(|| self.not_object(5_787_900, argument))?;
        let (mut input, mut n) = (None, None);
        for field in document {
            let (name, value) = field?;
            let place = match name.as_str() {
                "input" => &mut input,
                "n" => &mut n,
                other => {
                    return Err(Error::location(
                        5_787_901,
                        format!("Unknown argument for 'n' operator: {other}"),
                    ));
                }
            };
            *place = Some(Expression::parse(value, self.variables)?);
        }
        let n = n.ok_or_else(|| Error::location(5_787_906, "Missing value for 'n'"))?;
        let input = input.ok_or_else(|| Error::location(5_787_907, "Missing value for 'input'"))?;
        Ok(Accumulator { name, kind: self.kind, input, n: Some(n), by: None, parts: Vec::new() })
    }

    /// `{sortBy, output, n}`
    fn place(
        &self,
        name: CString,
        argument: RawBsonRef<'_>,
        is_single: bool,
    ) -> Result<Accumulator> {
        let document =
            argument.as_document().ok_or_else(|| self.not_object(5_788_001, argument))?;
        let (mut input, mut n, mut by) = (None, None, None);
        for field in document {
            let (name, value) = field?;
            match name.as_str() {
                "output" => input = Some(Expression::parse(value, self.variables)?),
                "n" if !is_single => n = Some(Expression::parse(value, self.variables)?),
                "sortBy" => {
                    if value.as_document().is_none() {
                        return Err(Error::location(
                            10_065,
                            "invalid parameter: expected an object (sortBy)",
                        ));
                    }
                    by = Some(SortKey::parse(value)?);
                }
                other => {
                    return Err(Error::location(
                        5_788_002,
                        format!("Unknown argument to {} '{other}'", self.operator),
                    ));
                }
            }
        }
        if !is_single && n.is_none() {
            return Err(Error::location(5_788_003, "Missing value for 'n'"));
        }
        let input =
            input.ok_or_else(|| Error::location(5_788_004, "Missing value for 'output'"))?;
        if by.is_none() {
            return Err(Error::location(5_788_005, "Missing value for 'sortBy'"));
        }
        Ok(Accumulator { name, kind: self.kind, input, n, by, parts: Vec::new() })
    }
}

fn count(n: &Expression, scope: &Scope<'_>) -> Result<usize> {
    let n = n.evaluate(scope)?;
    let shown = n.shown();
    let whole = n.as_number().and_then(Number::exact_i64).ok_or_else(|| {
        Error::location(
            5_787_902,
            format!("Value for 'n' must be of integral type, but found {shown}"),
        )
    })?;
    usize::try_from(whole).ok().filter(|n| *n > 0).ok_or_else(|| {
        Error::location(5_787_908, format!("'n' must be greater than 0, found {shown}"))
    })
}
