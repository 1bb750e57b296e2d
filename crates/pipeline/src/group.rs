//! `$group`.

use std::collections::HashMap;
use std::sync::Arc;

use bson::raw::cstr;
use bson::{RawBson, RawBsonRef, RawDocumentBuf};
use expression::{Error, Expression, Result, key};

use crate::accumulator::Accumulator;
use crate::execution::{Budget, Environment, Flow, Operator, Out, Start, check_depth};
use crate::options::PipelineOptions;
use crate::refuse;
use crate::state::{State, size};

/// What a group, and each accumulator of it, costs besides the bytes of values.
const OVERHEAD: usize = 128;

/// `$group`
#[derive(Debug)]
pub(crate) struct Group {
    id: Expression,
    accumulators: Vec<Accumulator>,
}

impl Group {
    pub(crate) fn parse(value: RawBsonRef<'_>, options: &PipelineOptions) -> Result<Self> {
        let document = refuse::document(value, 15_947, |_| {
            "a group's fields must be specified in an object".to_owned()
        })?;
        let variables = &options.filter.names;
        let (mut id, mut accumulators) = (None, Vec::new());
        for field in document {
            let (name, value) = field?;
            if name.as_str() != "_id" {
                accumulators.push(Accumulator::parse(name.as_str(), value, variables)?);
            } else if id.replace(Expression::parse(value, variables)?).is_some() {
                return Err(Error::location(15_948, "a group's _id may only be specified once"));
            }
        }
        let id =
            id.ok_or_else(|| Error::location(15_955, "a group specification must include an _id"))?;
        Ok(Self { id, accumulators })
    }
}

impl Start for Group {
    fn start(self: Arc<Self>, budget: &Arc<Budget>) -> Box<dyn Operator> {
        Box::new(Grouping {
            group: self,
            budget: Arc::clone(budget),
            places: HashMap::new(),
            groups: Vec::new(),
            held: 0,
        })
    }
}

struct Grouping {
    group: Arc<Group>,
    budget: Arc<Budget>,
    /// The number of each group, by its key.
    places: HashMap<Vec<u8>, usize>,
    /// In the order of their first documents.
    groups: Vec<(RawBson, Vec<State>)>,
    /// How many bytes were taken from the budget.
    held: usize,
}

impl Grouping {
    fn take(&mut self, bytes: usize) -> Result<()> {
        self.held += bytes;
        self.budget.take(bytes, "$group")
    }

    /// The number of the group with this id.
    fn place(&mut self, id: RawBson, environment: &Environment<'_>) -> Result<usize> {
        let key = key::of(Some(id.as_raw_bson_ref()), environment.context.collation);
        if let Some(place) = self.places.get(&key) {
            return Ok(*place);
        }
        let accumulators = &self.group.accumulators;
        let bytes = key.len() + size(id.as_raw_bson_ref()) + OVERHEAD * (1 + accumulators.len());
        let nothing = RawDocumentBuf::new();
        let root = id.as_document().unwrap_or(&nothing);
        let states: Result<Vec<State>> =
            accumulators.iter().map(|accumulator| accumulator.begin(root, environment)).collect();
        self.groups.push((id, states?));
        let place = self.groups.len() - 1;
        self.places.insert(key, place);
        self.take(bytes)?;
        Ok(place)
    }
}

impl Operator for Grouping {
    fn push(
        &mut self,
        document: RawDocumentBuf,
        environment: &Environment<'_>,
        _out: &mut Out<'_>,
    ) -> Result<Flow> {
        let group = Arc::clone(&self.group);
        let id = group.id.evaluate(&environment.scope(&document))?.into_owned();
        let place = self.place(id.unwrap_or(RawBson::Null), environment)?;
        let mut grown = 0;
        let states = &mut self.groups[place].1;
        for (accumulator, state) in group.accumulators.iter().zip(states) {
            grown += accumulator.add(state, &document, environment)?;
        }
        self.take(grown)?;
        Ok(Flow::More)
    }

    fn finish(&mut self, _environment: &Environment<'_>, out: &mut Out<'_>) -> Result<()> {
        self.places.clear();
        for (id, states) in self.groups.drain(..) {
            let mut document = RawDocumentBuf::new();
            document.append(cstr!("_id"), id.as_raw_bson_ref());
            for (accumulator, state) in self.group.accumulators.iter().zip(states) {
                document.append(&accumulator.name, state.finish().as_raw_bson_ref());
            }
            check_depth(&document)?;
            if out(document)? == Flow::Enough {
                break;
            }
        }
        self.budget.give(std::mem::take(&mut self.held));
        Ok(())
    }
}
