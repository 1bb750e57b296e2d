//! Stages that handle one document at a time: `$match`, `$project`, `$unset`, `$replaceRoot`.

use bson::{RawBson, RawBsonRef, RawDocumentBuf};
use expression::{Computed, Error, Expression, Result, class, show};
use mql::filter::Filter;
use mql::projection::{Mode, Projection, ProjectionOptions};

use crate::execution::{Each, Environment, check_depth};
use crate::options::PipelineOptions;
use crate::refuse;

/// `$match`
#[derive(Debug)]
pub(crate) struct Match(Filter);

impl Match {
    pub(crate) fn parse(value: RawBsonRef<'_>, options: &PipelineOptions) -> Result<Self> {
        let document = refuse::document(value, 15_959, |_| {
            "the match filter must be an expression in an object".to_owned()
        })?;
        let filter = Filter::parse(document, &options.filter)?;
        if filter.near().is_some() {
            return Err(Error::location(
                5_626_500,
                "$geoNear, $near, and $nearSphere are not allowed in this context, as these \
                 operators require sorting geospatial data. If you do not need sort, consider using \
                 $geoWithin instead.",
            ));
        }
        Ok(Self(filter))
    }
}

impl Each for Match {
    fn apply(
        &self,
        document: RawDocumentBuf,
        environment: &Environment<'_>,
    ) -> Result<Option<RawDocumentBuf>> {
        let is_match = self.0.matches_in(&document, &environment.scope(&document))?;
        Ok(is_match.then_some(document))
    }
}

/// `$project` and `$unset`
#[derive(Debug)]
pub(crate) struct Project(Projection);

impl Project {
    pub(crate) fn parse(value: RawBsonRef<'_>, options: &PipelineOptions) -> Result<Self> {
        let document = refuse::document(value, 15_969, |_| {
            "$project specification must be an object".to_owned()
        })?;
        let options = ProjectionOptions {
            mode: Mode::Aggregate,
            variables: options.filter.names.clone(),
            filter: options.filter.clone(),
        };
        let projection = Projection::parse(document, &options);
        Ok(Self(projection.map_err(|error| refuse::within("$project", error))?))
    }

    pub(crate) fn parse_unset(value: RawBsonRef<'_>) -> Result<Self> {
        let mut names: Vec<&str> = Vec::new();
        match value {
            RawBsonRef::String(name) => names.push(name),
            RawBsonRef::Array(array) => {
                for element in array {
                    names.push(element?.as_str().ok_or_else(|| {
                        Error::location(
                            31_120,
                            "$unset specification must be a string or an array containing only \
                             string values",
                        )
                    })?);
                }
            }
            _ => {
                return Err(Error::location(
                    31_002,
                    "$unset specification must be a string or an array",
                ));
            }
        }
        if names.is_empty() {
            return Err(Error::location(
                31_119,
                "$unset specification must be a string or an array with at least one field",
            ));
        }
        let mut document = RawDocumentBuf::new();
        for name in names {
            document.append(refuse::name(name)?, false);
        }
        let projection = Projection::parse(&document, &ProjectionOptions::new(Mode::Aggregate));
        Ok(Self(projection.map_err(|error| refuse::within("$unset", error))?))
    }
}

impl Each for Project {
    fn apply(
        &self,
        document: RawDocumentBuf,
        environment: &Environment<'_>,
    ) -> Result<Option<RawDocumentBuf>> {
        let new = self.0.apply(&document, &environment.scope(&document), None)?;
        if !self.0.is_exclusion() {
            check_depth(&new)?;
        }
        Ok(Some(new))
    }
}

/// `$replaceRoot` and `$replaceWith`
#[derive(Debug)]
pub(crate) struct ReplaceRoot {
    expression: Expression,
    /// What error messages call the expression.
    called: &'static str,
}

impl ReplaceRoot {
    pub(crate) fn parse(value: RawBsonRef<'_>, options: &PipelineOptions) -> Result<Self> {
        let document = refuse::document(value, 40_229, |found| {
            format!("expected an object as specification for $replaceRoot stage, got {found}")
        })?;
        let mut expression = None;
        for field in document {
            let (name, value) = field?;
            if name.as_str() != "newRoot" {
                return Err(Error::location(
                    40_230,
                    format!(
                        "unrecognized option to $replaceRoot stage: {}, only valid option is \
                         'newRoot'.",
                        name.as_str()
                    ),
                ));
            }
            expression = Some(Expression::parse(value, &options.filter.names)?);
        }
        let expression = expression.ok_or_else(|| {
            Error::location(40_231, "no newRoot specified for the $replaceRoot stage")
        })?;
        Ok(Self { expression, called: "'newRoot' expression" })
    }

    pub(crate) fn parse_with(value: RawBsonRef<'_>, options: &PipelineOptions) -> Result<Self> {
        let expression = Expression::parse(value, &options.filter.names)?;
        Ok(Self { expression, called: "'replacement document'" })
    }
}

impl Each for ReplaceRoot {
    fn apply(
        &self,
        document: RawDocumentBuf,
        environment: &Environment<'_>,
    ) -> Result<Option<RawDocumentBuf>> {
        match self.expression.evaluate(&environment.scope(&document))? {
            Computed::Owned(RawBson::Document(new)) => Ok(Some(new)),
            Computed::Borrowed(RawBsonRef::Document(new)) => Ok(Some(new.to_owned())),
            other => Err(Error::location(
                40_228,
                format!(
                    "{} must evaluate to an object, but resulting value was: {}. Type of resulting \
                     value: '{}'. Input document: {}",
                    self.called,
                    other.shown(),
                    other.as_ref().map_or("missing", class::type_name),
                    show::document(&document)
                ),
            )),
        }
    }
}
