//! `$bucketAuto`: buckets of about the same number of documents.

use std::collections::BTreeMap;
use std::sync::Arc;

use bson::raw::cstr;
use bson::{RawBson, RawBsonRef, RawDocumentBuf, rawdoc};
use expression::number::Number;
use expression::{Code, Error, Expression, Result, class, key, show};

use crate::accumulator::Accumulator;
use crate::bucket::check_expression;
use crate::execution::{Budget, Environment, Flow, Operator, Out, Start, check_depth};
use crate::options::PipelineOptions;
use crate::state::{State, size};

/// What a document costs besides its bytes.
const OVERHEAD: usize = 96;

/// `$bucketAuto`
#[derive(Debug)]
pub(crate) struct BucketAuto {
    group_by: Expression,
    buckets: usize,
    accumulators: Vec<Accumulator>,
}

impl BucketAuto {
    pub(crate) fn parse(value: RawBsonRef<'_>, options: &PipelineOptions) -> Result<Self> {
        let found = class::type_name(value);
        let document = value.as_document().ok_or_else(|| {
            let message =
                format!("The argument to $bucketAuto must be an object, but found type: {found}.");
            Error::location(40_240, message)
        })?;
        let variables = &options.filter.names;
        let (mut group_by, mut buckets, mut accumulators) = (None, None, None);
        for field in document {
            let (name, value) = field?;
            match name.as_str() {
                "groupBy" => {
                    if check_expression(value, [0; 3]).is_err() {
                        return Err(Error::location(
                            40_239,
                            format!(
                                "The $bucketAuto 'groupBy' field must be defined as a $-prefixed \
                                 path or an expression object, but found: {}",
                                show::value(value)
                            ),
                        ));
                    }
                    group_by = Some(Expression::parse(value, variables)?);
                }
                "buckets" => buckets = Some(count(value)?),
                "output" => accumulators = Some(output(value, options)?),
                "granularity" => {
                    return Err(Error::new(
                        Code::NOT_IMPLEMENTED,
                        "The option granularity of $bucketAuto is not supported",
                    ));
                }
                other => {
                    return Err(Error::location(
                        40_245,
                        format!("Unrecognized option to $bucketAuto: {other}."),
                    ));
                }
            }
        }
        let (Some(group_by), Some(buckets)) = (group_by, buckets) else {
            return Err(Error::location(
                40_246,
                "$bucketAuto requires 'groupBy' and 'buckets' to be specified.",
            ));
        };
        let accumulators = match accumulators.filter(|accumulators| !accumulators.is_empty()) {
            Some(accumulators) => accumulators,
            None => output(RawBsonRef::Document(&rawdoc! {"count": {"$sum": 1}}), options)?,
        };
        Ok(Self { group_by, buckets, accumulators })
    }
}

fn count(value: RawBsonRef<'_>) -> Result<usize> {
    let shown = show::value(value);
    let number = Number::of(value).ok_or_else(|| {
        Error::location(
            40_241,
            format!(
                "The $bucketAuto 'buckets' field must be a numeric value, but found type: {}.",
                class::type_name(value)
            ),
        )
    })?;
    let whole = number.exact_i64().and_then(|whole| i32::try_from(whole).ok()).ok_or_else(|| {
        Error::location(
            40_242,
            format!(
                "The $bucketAuto 'buckets' field must be representable as a 32-bit integer, but \
                 found {shown}."
            ),
        )
    })?;
    usize::try_from(whole).ok().filter(|buckets| *buckets > 0).ok_or_else(|| {
        Error::location(
            40_243,
            format!("The $bucketAuto 'buckets' field must be greater than 0, but found: {whole}"),
        )
    })
}

fn output(value: RawBsonRef<'_>, options: &PipelineOptions) -> Result<Vec<Accumulator>> {
    let document = value.as_document().ok_or_else(|| {
        Error::location(
            40_244,
            format!(
                "The $bucketAuto 'output' field must be an object, but found type: {}.",
                class::type_name(value)
            ),
        )
    })?;
    let fields = document.iter().map(|field| {
        let (name, value) = field?;
        Accumulator::parse(name.as_str(), value, &options.filter.names)
    });
    fields.collect()
}

impl Start for BucketAuto {
    fn start(self: Arc<Self>, budget: &Arc<Budget>) -> Box<dyn Operator> {
        Box::new(Filling {
            stage: self,
            budget: Arc::clone(budget),
            kept: BTreeMap::new(),
            next: 0,
            held: 0,
        })
    }
}

/// By the key of its value and by its number: a document and its value.
type Kept = BTreeMap<(Vec<u8>, u64), (RawBson, RawDocumentBuf)>;

struct Filling {
    stage: Arc<BucketAuto>,
    budget: Arc<Budget>,
    kept: Kept,
    next: u64,
    /// How many bytes were taken from the budget.
    held: usize,
}

impl Operator for Filling {
    fn push(
        &mut self,
        document: RawDocumentBuf,
        environment: &Environment<'_>,
        _out: &mut Out<'_>,
    ) -> Result<Flow> {
        let value = self.stage.group_by.evaluate(&environment.scope(&document))?;
        let value = value.into_owned().unwrap_or(RawBson::Null);
        let key = key::of(Some(value.as_raw_bson_ref()), environment.context.collation);
        let bytes = key.len() + size(value.as_raw_bson_ref()) + document.as_bytes().len();
        self.held += bytes + OVERHEAD;
        self.budget.take(bytes + OVERHEAD, "$bucketAuto")?;
        self.kept.insert((key, self.next), (value, document));
        self.next += 1;
        Ok(Flow::More)
    }

    fn finish(&mut self, environment: &Environment<'_>, out: &mut Out<'_>) -> Result<()> {
        let buckets = self.stage.buckets;
        // Rounded, at least one.
        let wanted = ((self.kept.len() * 2 + buckets) / (buckets * 2)).max(1);
        for number in 1..=buckets {
            if self.kept.is_empty() {
                break;
            }
            let wanted = if number == buckets { usize::MAX } else { wanted };
            let bucket = self.bucket(wanted, environment)?;
            check_depth(&bucket)?;
            if out(bucket)? == Flow::Enough {
                break;
            }
        }
        self.kept.clear();
        self.budget.give(std::mem::take(&mut self.held));
        Ok(())
    }
}

impl Filling {
    /// Takes so many documents out, and all further ones whose value equals the last.
    fn bucket(&mut self, wanted: usize, environment: &Environment<'_>) -> Result<RawDocumentBuf> {
        let accumulators = &self.stage.accumulators;
        let nothing = RawDocumentBuf::new();
        let states = accumulators.iter().map(|each| each.begin(&nothing, environment));
        let mut states: Vec<State> = states.collect::<Result<_>>()?;
        let (mut count, mut least, mut last) = (0, None, None);
        while let Some(entry) = self.kept.first_entry() {
            if count >= wanted && last.as_ref().is_some_and(|(key, _)| *key != entry.key().0) {
                break;
            }
            let ((key, _), (value, document)) = entry.remove_entry();
            for (accumulator, state) in accumulators.iter().zip(&mut states) {
                let grown = accumulator.add(state, &document, environment)?;
                self.held += grown;
                self.budget.take(grown, "$bucketAuto")?;
            }
            count += 1;
            least.get_or_insert_with(|| value.clone());
            last = Some((key, value));
        }
        let next = self.kept.first_key_value().map(|(_, (value, _))| value);
        let end = next.or_else(|| last.as_ref().map(|(_, value)| value));
        let id = bounds(least.as_ref(), end);
        let mut bucket = RawDocumentBuf::new();
        bucket.append(cstr!("_id"), RawBsonRef::Document(&id));
        for (accumulator, state) in accumulators.iter().zip(states) {
            bucket.append(&accumulator.name, state.finish().as_raw_bson_ref());
        }
        Ok(bucket)
    }
}

fn bounds(least: Option<&RawBson>, end: Option<&RawBson>) -> RawDocumentBuf {
    let value = |bound: Option<&RawBson>| bound.cloned().unwrap_or(RawBson::Null);
    rawdoc! {"min": value(least), "max": value(end)}
}
