//! `$facet`: several pipelines over the same documents.

use std::sync::Arc;

use bson::raw::CString;
use bson::{RawArray, RawArrayBuf, RawBsonRef, RawDocumentBuf};
use expression::{Error, Result, class};

use crate::execution::{
    Budget, Environment, Execution, Flow, Operator, Out, Start, check_depth, check_size,
};
use crate::refuse;
use crate::stage::{self, Stage};

/// Stages that cannot be in a facet.
const FORBIDDEN: [&str; 8] = [
    "$facet",
    "$out",
    "$merge",
    "$collStats",
    "$geoNear",
    "$indexStats",
    "$documents",
    "$changeStream",
];

/// `$facet`
#[derive(Debug)]
pub(crate) struct Facet(Vec<(CString, Vec<Stage>)>);

impl Facet {
    /// `compile` is how each of its pipelines is compiled.
    pub(crate) fn parse(
        value: RawBsonRef<'_>,
        compile: &dyn Fn(&RawArray) -> Result<Vec<Stage>>,
    ) -> Result<Self> {
        let document = value.as_document().filter(|document| !document.is_empty());
        let document = document.ok_or_else(|| {
            Error::location(40_169, "the $facet specification must be a non-empty object")
        })?;
        let mut facets = Vec::new();
        for field in document {
            let (name, value) = field?;
            refuse::field_path(name.as_str())?;
            if name.as_str().contains('.') {
                let message =
                    format!("FieldPath field names may not contain '.': {}", name.as_str());
                return Err(Error::location(16_412, message));
            }
            let stages = value.as_array().ok_or_else(|| {
                Error::location(
                    40_170,
                    format!(
                        "arguments to $facet must be arrays, {} is type {}",
                        name.as_str(),
                        class::type_name(value)
                    ),
                )
            })?;
            for stage in stages {
                let first = stage?.as_document().and_then(|stage| stage.iter().next());
                let Some((stage, _)) = first.transpose()? else { continue };
                if FORBIDDEN.contains(&stage.as_str()) {
                    return Err(Error::location(
                        40_600,
                        format!(
                            "{} is not allowed to be used within a $facet stage",
                            stage.as_str()
                        ),
                    ));
                }
            }
            // Nobody could run stages here that need the database.
            let stages = compile(stages)?;
            stage::check_inside(&stages)?;
            facets.push((name.to_owned(), stages));
        }
        Ok(Self(facets))
    }
}

impl Start for Facet {
    fn start(self: Arc<Self>, budget: &Arc<Budget>) -> Box<dyn Operator> {
        let runs = self.0.iter().map(|(_, stages)| Run {
            execution: stage::start_inside(stages, budget),
            found: RawArrayBuf::new(),
            flow: Flow::More,
        });
        let runs = runs.collect();
        Box::new(Faceting { facet: self, budget: Arc::clone(budget), runs, held: 0 })
    }
}

struct Run {
    execution: Execution,
    found: RawArrayBuf,
    flow: Flow,
}

struct Faceting {
    facet: Arc<Facet>,
    budget: Arc<Budget>,
    runs: Vec<Run>,
    /// How many bytes were taken from the budget.
    held: usize,
}

/// Appends to what a facet found.
fn keep(
    found: &mut RawArrayBuf,
    held: &mut usize,
    budget: &Budget,
    document: RawDocumentBuf,
) -> Result<Flow> {
    *held += document.as_bytes().len();
    budget.take(document.as_bytes().len(), "$facet")?;
    found.push(document);
    check_size(found.as_bytes().len())?;
    Ok(Flow::More)
}

impl Operator for Faceting {
    fn push(
        &mut self,
        document: RawDocumentBuf,
        environment: &Environment<'_>,
        _out: &mut Out<'_>,
    ) -> Result<Flow> {
        let mut flow = Flow::Enough;
        for run in self.runs.iter_mut().filter(|run| run.flow == Flow::More) {
            let (found, held, budget) = (&mut run.found, &mut self.held, &self.budget);
            run.flow = run.execution.push(document.clone(), environment, &mut |document| {
                keep(found, held, budget, document)
            })?;
            if run.flow == Flow::More {
                flow = Flow::More;
            }
        }
        Ok(flow)
    }

    fn finish(&mut self, environment: &Environment<'_>, out: &mut Out<'_>) -> Result<()> {
        let mut document = RawDocumentBuf::new();
        for (run, (name, _)) in self.runs.iter_mut().zip(&self.facet.0) {
            let (found, held, budget) = (&mut run.found, &mut self.held, &self.budget);
            run.execution
                .finish(environment, &mut |document| keep(found, held, budget, document))?;
            let found = std::mem::take(&mut run.found);
            document.append(name, found);
            check_size(document.as_bytes().len())?;
        }
        self.budget.give(std::mem::take(&mut self.held));
        check_depth(&document)?;
        out(document).map(|_| ())
    }
}
