//! `$sort`, and `$sample`, which sorts by chance.

use std::collections::BTreeMap;
use std::sync::Arc;

use bson::{RawBsonRef, RawDocumentBuf};
use expression::number::Number;
use expression::{Error, Result};

use crate::execution::{Budget, Environment, Flow, Operator, Out, Start};
use crate::refuse;
use crate::sort_key::SortKey;

/// What a document costs besides its bytes.
const OVERHEAD: usize = 64;

/// `$sort` and `$sample`
#[derive(Debug)]
pub(crate) struct Sort {
    by: By,
    /// How many documents are wanted.
    limit: usize,
}

#[derive(Debug, Clone)]
enum By {
    Key(SortKey),
    Chance,
}

impl Sort {
    pub(crate) fn parse(value: RawBsonRef<'_>) -> Result<Self> {
        Ok(Self { by: By::Key(SortKey::parse(value)?), limit: usize::MAX })
    }

    /// Reads `{size: n}` of `$sample`.
    pub(crate) fn parse_sample(value: RawBsonRef<'_>) -> Result<Self> {
        let document = refuse::document(value, 28_745, |_| {
            "the $sample stage specification must be an object".to_owned()
        })?;
        let mut size = None;
        for field in document {
            let (name, value) = field?;
            if name.as_str() != "size" {
                return Err(Error::location(
                    28_748,
                    format!("unrecognized option to $sample: {}", name.as_str()),
                ));
            }
            let number = Number::of(value).ok_or_else(|| {
                Error::location(28_746, "size argument to $sample must be a number")
            })?;
            let whole = number.truncated_i64().and_then(|whole| usize::try_from(whole).ok());
            size = Some(whole.ok_or_else(|| {
                Error::location(28_747, "size argument to $sample must not be negative")
            })?);
        }
        let limit =
            size.ok_or_else(|| Error::location(28_749, "$sample stage must specify a size"))?;
        Ok(Self { by: By::Chance, limit })
    }
}

impl Start for Sort {
    fn start(self: Arc<Self>, budget: &Arc<Budget>) -> Box<dyn Operator> {
        let kept = match self.limit {
            usize::MAX => Kept::All(Vec::new()),
            limit => Kept::Few(limit, BTreeMap::new()),
        };
        Box::new(Sorting { by: self.by.clone(), budget: Arc::clone(budget), kept, next: 0 })
    }

    fn with_limit(&self, limit: usize) -> Option<Arc<dyn Start>> {
        Some(Arc::new(Self { by: self.by.clone(), limit: self.limit.min(limit) }))
    }
}

/// The key, and the number of the document: documents of one key keep their order.
type Place = (Vec<u8>, u64);

/// Documents with their places.
enum Kept {
    /// As they came.
    All(Vec<(Place, RawDocumentBuf)>),
    /// The first few.
    Few(usize, BTreeMap<Place, RawDocumentBuf>),
}

struct Sorting {
    by: By,
    budget: Arc<Budget>,
    kept: Kept,
    next: u64,
}

fn cost(place: &Place, document: &RawDocumentBuf) -> usize {
    place.0.len() + document.as_bytes().len() + OVERHEAD
}

impl Kept {
    /// Keeps a document, if it is one of those that are wanted.
    fn add(&mut self, place: Place, document: RawDocumentBuf, budget: &Budget) -> Result<()> {
        match self {
            Self::All(kept) => {
                budget.take(cost(&place, &document), "$sort")?;
                kept.push((place, document));
            }
            Self::Few(limit, kept) => {
                let is_full = kept.len() >= *limit;
                if is_full && kept.last_key_value().is_none_or(|(last, _)| place > *last) {
                    return Ok(());
                }
                if is_full && let Some((last, dropped)) = kept.pop_last() {
                    budget.give(cost(&last, &dropped));
                }
                budget.take(cost(&place, &document), "$sort")?;
                kept.insert(place, document);
            }
        }
        Ok(())
    }

    /// All that was kept, in order.
    fn sorted(&mut self) -> Box<dyn Iterator<Item = (Place, RawDocumentBuf)>> {
        match self {
            Self::All(kept) => {
                kept.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
                Box::new(std::mem::take(kept).into_iter())
            }
            Self::Few(_, kept) => Box::new(std::mem::take(kept).into_iter()),
        }
    }
}

impl Operator for Sorting {
    fn push(
        &mut self,
        document: RawDocumentBuf,
        environment: &Environment<'_>,
        _out: &mut Out<'_>,
    ) -> Result<Flow> {
        let key = match &self.by {
            By::Key(key) => key.of(&document, environment.context.collation)?,
            By::Chance => environment.context.random.next().to_bits().to_be_bytes().into(),
        };
        let place = (key, self.next);
        self.next += 1;
        self.kept.add(place, document, &self.budget)?;
        Ok(Flow::More)
    }

    fn finish(&mut self, _environment: &Environment<'_>, out: &mut Out<'_>) -> Result<()> {
        let mut flow = Flow::More;
        for (place, document) in self.kept.sorted() {
            self.budget.give(cost(&place, &document));
            if flow == Flow::More {
                flow = out(document)?;
            }
        }
        Ok(())
    }
}
