//! Compiled stages.

use std::sync::Arc;

use bson::RawBson;
use expression::{Code, Error, Result};

use crate::execution::{Budget, Each, Execution, Operator, Start, each};

/// A compiled stage.
#[derive(Clone, Debug)]
pub enum Stage {
    /// One that this crate runs.
    Inside(Inside),
    /// One that needs the database.
    Outside {
        /// With its dollar sign.
        name: String,
        /// What the client wrote.
        specification: RawBson,
    },
}

/// A compiled stage that needs no database.
#[derive(Clone, Debug)]
pub struct Inside(pub(crate) Kind);

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// Each document for itself.
    Each(Arc<dyn Each>),
    /// With something to remember.
    Start(Arc<dyn Start>),
}

impl Inside {
    fn start(&self, budget: &Arc<Budget>) -> Box<dyn Operator> {
        match &self.0 {
            Kind::Each(stage) => each(stage),
            Kind::Start(stage) => Arc::clone(stage).start(budget),
        }
    }
}

/// Begins an execution of stages, none of which may need the database.
pub(crate) fn start(stages: &[Stage], budget: &Arc<Budget>) -> Result<Execution> {
    let operators = stages.iter().map(|stage| match stage {
        Stage::Inside(stage) => Ok(stage.start(budget)),
        Stage::Outside { name, .. } => Err(not_here(name)),
    });
    operators.collect::<Result<_>>().map(Execution::new)
}

/// Begins an execution of the stages that need no database.
pub(crate) fn start_inside(stages: &[Stage], budget: &Arc<Budget>) -> Execution {
    let inside = stages.iter().filter_map(|stage| match stage {
        Stage::Inside(stage) => Some(stage.start(budget)),
        Stage::Outside { .. } => None,
    });
    Execution::new(inside.collect())
}

/// Refuses stages that need the database.
pub(crate) fn check_inside(stages: &[Stage]) -> Result<()> {
    stages.iter().try_for_each(|stage| match stage {
        Stage::Inside(_) => Ok(()),
        Stage::Outside { name, .. } => Err(not_here(name)),
    })
}

fn not_here(name: &str) -> Error {
    Error::new(Code::NOT_IMPLEMENTED, format!("The stage {name} is not supported here"))
}
