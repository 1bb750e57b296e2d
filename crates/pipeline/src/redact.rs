//! `$redact`: documents without the parts that an expression prunes, at each level.

use bson::{RawArray, RawArrayBuf, RawBsonRef, RawDocument, RawDocumentBuf};
use expression::{Error, Expression, Result, Scope};

use crate::execution::{Each, Environment};
use crate::options::PipelineOptions;

/// `$redact`
#[derive(Debug)]
pub(crate) struct Redact(Expression);

impl Redact {
    pub(crate) fn parse(value: RawBsonRef<'_>, options: &PipelineOptions) -> Result<Self> {
        Expression::parse(value, &options.filter.names).map(Self)
    }

    fn document(
        &self,
        document: &RawDocument,
        scope: &Scope<'_>,
    ) -> Result<Option<RawDocumentBuf>> {
        let scope = Scope { current: RawBsonRef::Document(document), ..*scope };
        let verdict = self.0.evaluate(&scope)?;
        match verdict.as_text() {
            Some("keep") => return Ok(Some(document.to_owned())),
            Some("prune") => return Ok(None),
            Some("descend") => {}
            _ => {
                return Err(Error::location(
                    17_053,
                    format!(
                        "$redact's expression should not return anything aside from the variables \
                         $$KEEP, $$DESCEND, and $$PRUNE, but returned {}",
                        verdict.shown()
                    ),
                ));
            }
        }
        let mut out = RawDocumentBuf::new();
        for field in document {
            let (name, value) = field?;
            match value {
                RawBsonRef::Document(below) => {
                    if let Some(below) = self.document(below, &scope)? {
                        out.append(name, below);
                    }
                }
                RawBsonRef::Array(array) => out.append(name, self.array(array, &scope)?),
                other => out.append(name, other),
            }
        }
        Ok(Some(out))
    }

    fn array(&self, array: &RawArray, scope: &Scope<'_>) -> Result<RawArrayBuf> {
        let mut out = RawArrayBuf::new();
        for element in array {
            match element? {
                RawBsonRef::Document(below) => {
                    if let Some(below) = self.document(below, scope)? {
                        out.push(below);
                    }
                }
                RawBsonRef::Array(array) => out.push(self.array(array, scope)?),
                other => out.push(other),
            }
        }
        Ok(out)
    }
}

impl Each for Redact {
    fn apply(
        &self,
        document: RawDocumentBuf,
        environment: &Environment<'_>,
    ) -> Result<Option<RawDocumentBuf>> {
        self.document(&document, &environment.scope(&document))
    }
}
