//! `$documents`: documents that are part of the pipeline.

use std::sync::Arc;

use bson::{RawBsonRef, RawDocumentBuf};
use expression::{Error, Expression, Result};

use crate::execution::{Budget, Environment, Flow, Operator, Out, Start};
use crate::options::PipelineOptions;

/// `$documents`
#[derive(Debug)]
pub(crate) struct Documents(Expression);

impl Documents {
    pub(crate) fn parse(value: RawBsonRef<'_>, options: &PipelineOptions) -> Result<Self> {
        Expression::parse(value, &options.filter.names).map(Self)
    }
}

impl Start for Documents {
    fn start(self: Arc<Self>, _budget: &Arc<Budget>) -> Box<dyn Operator> {
        Box::new(Giving(self))
    }
}

struct Giving(Arc<Documents>);

impl Operator for Giving {
    fn push(
        &mut self,
        _document: RawDocumentBuf,
        _environment: &Environment<'_>,
        _out: &mut Out<'_>,
    ) -> Result<Flow> {
        Ok(Flow::Enough)
    }

    fn finish(&mut self, environment: &Environment<'_>, out: &mut Out<'_>) -> Result<()> {
        let nothing = RawDocumentBuf::new();
        let scope = environment.scope(&nothing);
        let value = self.0.0.evaluate(&scope)?;
        let refuse = || Error::location(5_858_203, "an array is expected");
        for element in value.as_array().ok_or_else(refuse)? {
            let RawBsonRef::Document(document) = element? else {
                return Err(Error::location(
                    40_228,
                    "'replacement document' must evaluate to an object",
                ));
            };
            if out(document.to_owned())? == Flow::Enough {
                break;
            }
        }
        Ok(())
    }
}
