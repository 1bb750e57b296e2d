//! `$addFields`, also called `$set`.

use bson::raw::CString;
use bson::{RawArray, RawArrayBuf, RawBsonRef, RawDocument, RawDocumentBuf};
use expression::path::{Part, Path};
use expression::{Error, Expression, Result, Scope, show};

use crate::execution::{Each, Environment, check_depth};
use crate::options::PipelineOptions;
use crate::refuse;

/// What a specification is read with.
struct Reader<'r> {
    whole: &'r RawDocument,
    options: &'r PipelineOptions,
    seen: Vec<Path>,
}

/// The fields to set, at one level.
#[derive(Debug, Default)]
pub(crate) struct AddFields(Vec<(CString, Node)>);

#[derive(Debug)]
enum Node {
    Computed(Expression),
    Below(AddFields),
}

impl AddFields {
    /// `called` is the name that the client used.
    pub(crate) fn parse(
        called: &str,
        value: RawBsonRef<'_>,
        options: &PipelineOptions,
    ) -> Result<Self> {
        let document = refuse::document(value, 40_272, |found| {
            format!("{called} specification stage must be an object, got {found}")
        })?;
        let mut fields = Self::default();
        let mut reader = Reader { whole: document, options, seen: Vec::new() };
        reader.read(&mut fields, document, "", 0).map_err(|error| refuse::within(called, error))?;
        if fields.0.is_empty() {
            let error = Error::location(40_177, "specification must have at least one field");
            return Err(refuse::within(called, error));
        }
        Ok(fields)
    }

    fn insert(&mut self, parts: &[Part], expression: Expression) -> Result<()> {
        let Some((first, rest)) = parts.split_first() else { return Ok(()) };
        if rest.is_empty() {
            self.0.push((refuse::name(&first.name)?, Node::Computed(expression)));
            return Ok(());
        }
        let known = self.0.iter_mut().find(|(name, _)| name.as_str() == first.name);
        if let Some((_, Node::Below(below))) = known {
            return below.insert(rest, expression);
        }
        let mut below = Self::default();
        below.insert(rest, expression)?;
        self.0.push((refuse::name(&first.name)?, Node::Below(below)));
        Ok(())
    }

    /// The document with the fields set.
    pub(crate) fn write(
        &self,
        document: Option<&RawDocument>,
        scope: &Scope<'_>,
    ) -> Result<RawDocumentBuf> {
        let mut out = RawDocumentBuf::new();
        let mut is_written = vec![false; self.0.len()];
        for field in document.into_iter().flatten() {
            let (name, value) = field?;
            match self.0.iter().position(|(known, _)| known.as_str() == name.as_str()) {
                None => out.append(name, value),
                Some(at) => {
                    is_written[at] = true;
                    self.write_field(at, Some(value), scope, &mut out)?;
                }
            }
        }
        for (at, is_written) in is_written.into_iter().enumerate() {
            if !is_written {
                self.write_field(at, None, scope, &mut out)?;
            }
        }
        Ok(out)
    }

    fn write_field(
        &self,
        at: usize,
        value: Option<RawBsonRef<'_>>,
        scope: &Scope<'_>,
        out: &mut RawDocumentBuf,
    ) -> Result<()> {
        let (name, node) = &self.0[at];
        match node {
            Node::Computed(expression) => {
                if let Some(value) = expression.evaluate(scope)?.as_ref() {
                    out.append(name, value);
                }
            }
            Node::Below(below) => match value {
                Some(RawBsonRef::Array(array)) => {
                    out.append(name, below.write_array(array, scope)?);
                }
                value => {
                    let document = value.and_then(RawBsonRef::as_document);
                    out.append(name, below.write(document, scope)?);
                }
            },
        }
        Ok(())
    }

    fn write_array(&self, array: &RawArray, scope: &Scope<'_>) -> Result<RawArrayBuf> {
        let mut out = RawArrayBuf::new();
        for element in array {
            match element? {
                RawBsonRef::Array(array) => out.push(self.write_array(array, scope)?),
                other => out.push(self.write(other.as_document(), scope)?),
            }
        }
        Ok(out)
    }
}

impl Reader<'_> {
    fn read(
        &mut self,
        fields: &mut AddFields,
        document: &RawDocument,
        outer: &str,
        depth: usize,
    ) -> Result<()> {
        if depth == expression::DEPTH_MAX {
            return Err(Error::new(expression::Code::OVERFLOW, "nesting too deep"));
        }
        for field in document {
            let (name, value) = field?;
            let path = match outer {
                "" => name.as_str().to_owned(),
                outer => format!("{outer}.{}", name.as_str()),
            };
            if let RawBsonRef::Document(below) = value {
                match below.iter().next().transpose()? {
                    None => {
                        return Err(Error::location(
                            40_180,
                            format!(
                                "an empty object is not a valid value. Found empty object at path \
                                 {path}"
                            ),
                        ));
                    }
                    Some((first, _)) if !first.as_str().starts_with('$') => {
                        self.read(fields, below, &path, depth + 1)?;
                        continue;
                    }
                    Some(_) => {}
                }
            }
            let expression = Expression::parse(value, &self.options.filter.names)?;
            let path = refuse::field_path(&path)?;
            self.check_conflict(&path)?;
            fields.insert(path.parts(), expression)?;
            self.seen.push(path);
        }
        Ok(())
    }

    /// Refuses a path that leads to another one that was given, or through it.
    fn check_conflict(&self, path: &Path) -> Result<()> {
        let other =
            self.seen.iter().find(|seen| seen.is_prefix_of(path) || path.is_prefix_of(seen));
        let Some(other) = other else { return Ok(()) };
        Err(Error::location(
            40_176,
            format!(
                "specification contains two conflicting paths. Cannot specify both '{}' and '{}': {}",
                path.text(),
                other.text(),
                show::document(self.whole)
            ),
        ))
    }
}

impl Each for AddFields {
    fn apply(
        &self,
        document: RawDocumentBuf,
        environment: &Environment<'_>,
    ) -> Result<Option<RawDocumentBuf>> {
        let new = self.write(Some(&document), &environment.scope(&document))?;
        check_depth(&new)?;
        Ok(Some(new))
    }
}
