//! The place of a document in an order by several fields.

use bson::{RawBsonRef, RawDocument};
use expression::number::Number;
use expression::path::{Part, Path};
use expression::{Collation, Error, Result, key};

use crate::refuse;

/// The most fields of an order.
const FIELDS_MAX: usize = 32;

/// Fields to sort by, as `$sort` names them: `{a: 1, "b.c": -1}`.
#[derive(Debug, Clone)]
pub struct SortKey {
    fields: Vec<(Path, bool)>,
}

/// How far the path of one field was followed.
#[derive(Clone, Copy)]
enum Step<'a> {
    /// To its end.
    Done(Option<RawBsonRef<'a>>),
    /// To a value in which the rest of the path begins.
    At(RawBsonRef<'a>, &'a [Part]),
}

impl SortKey {
    /// Reads the specification of `$sort`.
    pub fn parse(value: RawBsonRef<'_>) -> Result<Self> {
        let document = refuse::document(value, 15_973, |_| {
            "the $sort key specification must be an object".to_owned()
        })?;
        let mut fields = Vec::new();
        for field in document {
            let (name, value) = field?;
            fields.push((refuse::field_path(name.as_str())?, is_descending(value)?));
        }
        if fields.is_empty() {
            return Err(Error::location(15_976, "$sort stage must have at least one sort key"));
        }
        if fields.len() > FIELDS_MAX {
            return Err(Error::location(13_103, "too many compound keys"));
        }
        Ok(Self { fields })
    }

    /// Bytes that sort like the documents. If arrays give a document several places, it is the first
    /// of them in this order: the least elements where it ascends, the greatest where it descends.
    pub fn of(&self, document: &RawDocument, collation: Option<&Collation>) -> Result<Vec<u8>> {
        let whole = RawBsonRef::Document(document);
        let steps = self.fields.iter().map(|(path, _)| Step::At(whole, path.parts())).collect();
        let mut least = None;
        self.follow(steps, collation, &mut least)?;
        Ok(least.unwrap_or_default())
    }

    fn follow<'a>(
        &'a self,
        mut steps: Vec<Step<'a>>,
        collation: Option<&Collation>,
        least: &mut Option<Vec<u8>>,
    ) -> Result<()> {
        let mut stopped: Option<&bson::RawArray> = None;
        for step in &mut steps {
            *step = to_array(*step);
            let Step::At(RawBsonRef::Array(array), _) = *step else { continue };
            if stopped.is_some_and(|other| !std::ptr::eq(other.as_bytes(), array.as_bytes())) {
                return Err(Error::bad_value("cannot sort with keys that are parallel arrays"));
            }
            stopped = Some(array);
        }
        let Some(array) = stopped else {
            let key = self.encode(&steps, collation);
            if least.as_ref().is_none_or(|least| key < *least) {
                *least = Some(key);
            }
            return Ok(());
        };
        let mut is_empty = true;
        for element in array {
            is_empty = false;
            let element = element?;
            self.follow(enter(&steps, element), collation, least)?;
        }
        if is_empty {
            self.follow(enter_empty(&steps), collation, least)?;
        }
        Ok(())
    }

    fn encode(&self, steps: &[Step<'_>], collation: Option<&Collation>) -> Vec<u8> {
        let mut out = Vec::with_capacity(16 * steps.len());
        for (step, (_, is_descending)) in steps.iter().zip(&self.fields) {
            let value = match step {
                Step::Done(Some(value)) => *value,
                _ => RawBsonRef::Null,
            };
            let start = out.len();
            key::encode(value, collation, &mut out);
            if *is_descending {
                key::invert(&mut out[start..]);
            }
        }
        out
    }
}

fn is_descending(value: RawBsonRef<'_>) -> Result<bool> {
    if let RawBsonRef::Document(document) = value {
        return Err(if document.get("$meta")?.is_some() {
            Error::location(40_218, "query requires text score metadata, but it is not available")
        } else {
            Error::location(17_312, "$meta is the only expression supported by $sort right now")
        });
    }
    let number = Number::of(value).ok_or_else(|| {
        Error::location(
            15_974,
            "$sort key ordering must be specified using a number or {$meta: 'textScore'}",
        )
    })?;
    match number.exact_i64() {
        Some(1) => Ok(false),
        Some(-1) => Ok(true),
        _ => Err(Error::location(
            15_975,
            "$sort key ordering must be 1 (for ascending) or -1 (for descending)",
        )),
    }
}

/// Follows a path through documents, and to an element of an array by its position, until it ends
/// or an array has to be entered.
fn to_array(step: Step<'_>) -> Step<'_> {
    let Step::At(mut value, mut parts) = step else { return step };
    loop {
        match (parts.split_first(), value) {
            (None, RawBsonRef::Array(_)) => return Step::At(value, parts),
            (None, value) => return Step::Done(Some(value)),
            (Some((first, rest)), RawBsonRef::Document(document)) => {
                let Ok(Some(below)) = document.get(&first.name) else { return Step::Done(None) };
                (value, parts) = (below, rest);
            }
            (Some((first, rest)), RawBsonRef::Array(array)) => {
                let element = first.index.and_then(|at| expression::path::element(array, at));
                let Some(element) = element else { return Step::At(value, parts) };
                (value, parts) = (element, rest);
            }
            _ => return Step::Done(None),
        }
    }
}

/// The steps inside an element of the array that they stopped at.
fn enter<'a>(steps: &[Step<'a>], element: RawBsonRef<'a>) -> Vec<Step<'a>> {
    let entered = steps.iter().map(|step| match (step, element) {
        (Step::At(_, []), element) => Step::Done(Some(element)),
        (Step::At(_, parts), RawBsonRef::Document(_)) => Step::At(element, parts),
        (Step::At(..), _) => Step::Done(None),
        (done, _) => *done,
    });
    entered.collect()
}

fn enter_empty<'a>(steps: &[Step<'a>]) -> Vec<Step<'a>> {
    let entered = steps.iter().map(|step| match step {
        Step::At(_, []) => Step::Done(Some(RawBsonRef::Undefined)),
        Step::At(..) => Step::Done(None),
        done @ Step::Done(_) => *done,
    });
    entered.collect()
}
