//! Updates by pipeline.

use bson::{RawArray, RawBson, RawDocument, RawDocumentBuf};
use expression::{Code, Computed, Context, Error, Frame, Random, Result, Scope, Variables};
use mql::update::{self, Transform};

use crate::execution::{Environment, Flow};
use crate::options::PipelineOptions;
use crate::parse::{Pipeline, stage_of};

/// The stages that an update may have.
const ALLOWED: [&str; 6] =
    ["$addFields", "$set", "$project", "$unset", "$replaceRoot", "$replaceWith"];

/// A compiled update by pipeline.
#[derive(Debug)]
pub struct UpdatePipeline {
    pipeline: Pipeline,
    collation: Option<std::sync::Arc<expression::Collation>>,
    values: Vec<Computed<'static>>,
}

impl UpdatePipeline {
    /// Compiles the stages. `variables` are those that the `let` or the constants of the command
    /// define.
    pub fn parse(
        stages: &RawArray,
        variables: Vec<(String, RawBson)>,
        options: &PipelineOptions,
    ) -> Result<Self> {
        let mut options = options.clone();
        let names = variables.iter().map(|(name, _)| name.as_str());
        options.filter.names =
            if variables.is_empty() { Variables::new() } else { Variables::new().with(names)? };
        let pipeline = Pipeline::parse(stages, &options)?;
        for stage in stages {
            let (name, _) = stage_of(stage?)?;
            if !ALLOWED.contains(&name) {
                return Err(Error::new(
                    Code::INVALID_OPTIONS,
                    format!("{name} is not allowed to be used within an update"),
                ));
            }
        }
        let values = variables.into_iter().map(|(_, value)| Computed::Owned(value)).collect();
        Ok(Self { pipeline, collation: options.filter.collation, values })
    }

    fn run(
        &self,
        document: &RawDocument,
        context: &Context<'_>,
        frame: Option<&Frame<'_>>,
    ) -> Result<RawDocumentBuf> {
        let environment = Environment { frame, ..Environment::new(context) };
        let mut execution = self.pipeline.start()?;
        let mut found = None;
        let mut out = |document| {
            found = Some(document);
            Ok(Flow::More)
        };
        execution.push(document.to_owned(), &environment, &mut out)?;
        execution.finish(&environment, &mut out)?;
        Ok(found.unwrap_or_else(|| document.to_owned()))
    }
}

impl Transform for UpdatePipeline {
    fn transform(
        &self,
        document: &RawDocument,
        context: &update::Context,
    ) -> Result<RawDocumentBuf> {
        let timestamp = context.timestamp;
        // `$rand` gives other numbers for each document if time goes on.
        let random = Random::new(u64::from(timestamp.time) << 32 | u64::from(timestamp.increment));
        let context = Context {
            now: context.now,
            cluster_time: timestamp,
            user_roles: None,
            collation: self.collation.as_deref(),
            random: &random,
        };
        if self.values.is_empty() {
            return self.run(document, &context, None);
        }
        let frame = Scope::new(document, &context).frame(&self.values);
        self.run(document, &context, Some(&frame))
    }
}
