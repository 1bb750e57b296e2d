//! From stages as a client sends them to a compiled pipeline.

use std::ops::Range;
use std::sync::Arc;

use bson::{RawArray, RawBsonRef};
use expression::{Code, Error, Result};

use crate::add_fields::AddFields;
use crate::bucket;
use crate::bucket_auto::BucketAuto;
use crate::documents::Documents;
use crate::execution::{Budget, Each, Execution, Start};
use crate::facet::Facet;
use crate::fields::{Match, Project, ReplaceRoot};
use crate::group::Group;
use crate::limit::{Count, Limit, Skip};
use crate::options::PipelineOptions;
use crate::redact::Redact;
use crate::sort::Sort;
use crate::stage::{self, Inside, Kind, Stage};
use crate::unwind::Unwind;

/// The most stages of a pipeline.
const STAGES_MAX: usize = 1000;

/// Stages that need the database.
const OUTSIDE: [&str; 17] = [
    "$changeStream",
    "$changeStreamSplitLargeEvent",
    "$collStats",
    "$currentOp",
    "$geoNear",
    "$graphLookup",
    "$indexStats",
    "$listLocalSessions",
    "$listSampledQueries",
    "$listSessions",
    "$lookup",
    "$merge",
    "$out",
    "$planCacheStats",
    "$shardedDataDistribution",
    "$unionWith",
    "$querySettings",
];

/// Stages of MongoDB that nobody runs yet.
const MISSING: [&str; 6] =
    ["$densify", "$fill", "$search", "$searchMeta", "$setWindowFields", "$vectorSearch"];

/// A compiled pipeline, which any number of executions share.
#[derive(Clone, Debug)]
pub struct Pipeline {
    stages: Vec<Stage>,
    memory_max: usize,
}

impl Pipeline {
    /// Checks and compiles all stages.
    pub fn parse(stages: &RawArray, options: &PipelineOptions) -> Result<Self> {
        let mut pipeline = Self { stages: Vec::new(), memory_max: options.memory_max };
        for (at, stage) in stages.into_iter().enumerate() {
            let (name, specification) = stage_of(stage?)?;
            if at == STAGES_MAX {
                return Err(Error::location(
                    7_749_501,
                    format!("Pipeline length must be no longer than {STAGES_MAX} stages"),
                ));
            }
            if at > 0 && matches!(name, "$documents" | "$collStats" | "$indexStats" | "$geoNear") {
                return Err(Error::location(
                    40_602,
                    format!("{name} is only valid as the first stage in a pipeline"),
                ));
            }
            pipeline.add(name, specification, options)?;
        }
        Ok(pipeline)
    }

    /// Its stages. A stage that is shorthand for others was replaced by them.
    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }

    /// The position of the first stage from `start` on that needs the database.
    pub fn next_outside(&self, start: usize) -> Option<usize> {
        let mut stages = self.stages.iter().enumerate().skip(start);
        stages.find(|(_, stage)| matches!(stage, Stage::Outside { .. })).map(|(at, _)| at)
    }

    /// Begins an execution of all stages, none of which may need the database.
    pub fn start(&self) -> Result<Execution> {
        self.start_part(0..self.stages.len(), &Budget::new(self.memory_max))
    }

    /// Begins an execution of some stages, with the budget that all parts of a pipeline share.
    pub fn start_part(&self, range: Range<usize>, budget: &Arc<Budget>) -> Result<Execution> {
        stage::start(self.stages.get(range).unwrap_or_default(), budget)
    }

    /// The budget that one execution has.
    pub fn budget(&self) -> Arc<Budget> {
        Budget::new(self.memory_max)
    }

    fn add(&mut self, name: &str, value: RawBsonRef<'_>, options: &PipelineOptions) -> Result<()> {
        match name {
            "$match" => self.each(Match::parse(value, options)?),
            "$project" => self.each(Project::parse(value, options)?),
            "$addFields" | "$set" => self.each(AddFields::parse(name, value, options)?),
            "$unset" => self.each(Project::parse_unset(value)?),
            "$replaceRoot" => self.each(ReplaceRoot::parse(value, options)?),
            "$replaceWith" => self.each(ReplaceRoot::parse_with(value, options)?),
            "$redact" => self.each(Redact::parse(value, options)?),
            "$sort" => self.begin(Sort::parse(value)?),
            "$sample" => self.begin(Sort::parse_sample(value)?),
            "$limit" => self.limit(Limit::parse(value)?),
            "$skip" => self.begin(Skip::parse(value)?),
            "$count" => self.begin(Count::parse(value)?),
            "$unwind" => self.begin(Unwind::parse(value)?),
            "$group" => self.begin(Group::parse(value, options)?),
            "$bucketAuto" => self.begin(BucketAuto::parse(value, options)?),
            "$facet" => self.begin(Facet::parse(value, &|stages| {
                Self::parse(stages, options).map(|pipeline| pipeline.stages)
            })?),
            "$documents" => self.begin(Documents::parse(value, options)?),
            "$bucket" | "$sortByCount" => {
                let (group, sort) = match name {
                    "$bucket" => bucket::bucket(value, options)?,
                    _ => bucket::sort_by_count(value, options)?,
                };
                self.begin(group);
                self.begin(sort);
            }
            name if OUTSIDE.contains(&name) => self
                .stages
                .push(Stage::Outside { name: name.to_owned(), specification: value.into() }),
            name if MISSING.contains(&name) => return Err(not_supported(name)),
            name => {
                return Err(Error::location(
                    40_324,
                    format!("Unrecognized pipeline stage name: '{name}'"),
                ));
            }
        }
        Ok(())
    }

    fn each(&mut self, stage: impl Each + 'static) {
        self.stages.push(Stage::Inside(Inside(Kind::Each(Arc::new(stage)))));
    }

    fn begin(&mut self, stage: impl Start + 'static) {
        self.stages.push(Stage::Inside(Inside(Kind::Start(Arc::new(stage)))));
    }

    /// Adds a limit, and tells the stage before, which may keep less then.
    fn limit(&mut self, limit: Limit) {
        if let Some(Stage::Inside(Inside(Kind::Start(last)))) = self.stages.last_mut()
            && let Ok(limit) = usize::try_from(limit.0)
            && let Some(limited) = last.with_limit(limit)
        {
            *last = limited;
        }
        self.begin(limit);
    }
}

/// The name of a stage, and its specification.
pub(crate) fn stage_of(stage: RawBsonRef<'_>) -> Result<(&str, RawBsonRef<'_>)> {
    let document = stage.as_document().ok_or_else(|| {
        Error::type_mismatch("Each element of the 'pipeline' array must be an object")
    })?;
    let mut fields = document.iter();
    match (fields.next().transpose()?, fields.next()) {
        (Some((name, specification)), None) => Ok((name.as_str(), specification)),
        _ => Err(Error::location(
            40_323,
            "A pipeline stage specification object must contain exactly one field.",
        )),
    }
}

fn not_supported(name: &str) -> Error {
    Error::new(Code::NOT_IMPLEMENTED, format!("The stage {name} is not supported"))
}
