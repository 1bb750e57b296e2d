//! `$unwind`: one document for each element of an array.

use std::sync::Arc;

use bson::raw::CStr;
use bson::{RawBsonRef, RawDocument, RawDocumentBuf};
use expression::path::{Part, Path};
use expression::{Error, Result, class};

use crate::execution::{Budget, Environment, Flow, Operator, Out, Start};
use crate::refuse;

/// `$unwind`
#[derive(Debug)]
pub(crate) struct Unwind {
    path: Path,
    index: Option<Path>,
    keeps_empty: bool,
}

impl Unwind {
    pub(crate) fn parse(value: RawBsonRef<'_>) -> Result<Self> {
        match value {
            RawBsonRef::String(path) => {
                Ok(Self { path: prefixed(path)?, index: None, keeps_empty: false })
            }
            RawBsonRef::Document(document) => Self::parse_options(document),
            other => Err(Error::location(
                15_981,
                format!(
                    "expected either a string or an object as specification for $unwind stage, got \
                     {}",
                    class::type_name(other)
                ),
            )),
        }
    }

    fn parse_options(document: &RawDocument) -> Result<Self> {
        let (mut path, mut index, mut keeps_empty) = (None, None, false);
        for field in document {
            let (name, value) = field?;
            let found = class::type_name(value);
            match name.as_str() {
                "path" => {
                    path = Some(prefixed(value.as_str().ok_or_else(|| {
                        Error::location(
                            28_808,
                            format!("expected a string as the path for $unwind stage, got {found}"),
                        )
                    })?)?);
                }
                "preserveNullAndEmptyArrays" => {
                    keeps_empty = value.as_bool().ok_or_else(|| {
                        Error::location(
                            28_809,
                            format!(
                                "expected a boolean for the preserveNullAndEmptyArrays option to \
                                 $unwind stage, got {found}"
                            ),
                        )
                    })?;
                }
                "includeArrayIndex" => {
                    let text = value.as_str().filter(|text| !text.is_empty()).ok_or_else(|| {
                        Error::location(
                            28_810,
                            format!(
                                "expected a non-empty string for the includeArrayIndex option to \
                                 $unwind stage, got {found}"
                            ),
                        )
                    })?;
                    if text.starts_with('$') {
                        return Err(Error::location(
                            28_822,
                            format!(
                                "includeArrayIndex option to $unwind stage should not be prefixed \
                                 with a '$': {text}"
                            ),
                        ));
                    }
                    index = Some(refuse::field_path(text)?);
                }
                other => {
                    return Err(Error::location(
                        28_811,
                        format!("unrecognized option to $unwind stage: {other}"),
                    ));
                }
            }
        }
        let path =
            path.ok_or_else(|| Error::location(28_812, "no path specified to $unwind stage"))?;
        Ok(Self { path, index, keeps_empty })
    }

    /// The document with an element, or nothing, in place of the array.
    fn with(
        &self,
        document: &RawDocument,
        element: Option<RawBsonRef<'_>>,
        index: Option<i64>,
    ) -> Result<RawDocumentBuf> {
        let unwound = replaced(Some(document), self.path.parts(), element)?;
        self.with_index(unwound, index)
    }

    fn with_index(&self, document: RawDocumentBuf, index: Option<i64>) -> Result<RawDocumentBuf> {
        let Some(path) = &self.index else { return Ok(document) };
        let index = index.map_or(RawBsonRef::Null, RawBsonRef::Int64);
        replaced(Some(&document), path.parts(), Some(index))
    }
}

fn prefixed(path: &str) -> Result<Path> {
    let path = path.strip_prefix('$').ok_or_else(|| {
        Error::location(
            28_818,
            format!("path option to $unwind stage should be prefixed with a '$': {path}"),
        )
    })?;
    refuse::field_path(path)
}

/// The value at a path through documents alone.
fn find<'a>(document: &'a RawDocument, path: &Path) -> Option<RawBsonRef<'a>> {
    path.parts().iter().try_fold(RawBsonRef::Document(document), |value, part| {
        value.as_document()?.get(&part.name).ok().flatten()
    })
}

/// The document with another value at a path, or without any.
fn replaced(
    document: Option<&RawDocument>,
    parts: &[Part],
    value: Option<RawBsonRef<'_>>,
) -> Result<RawDocumentBuf> {
    let mut out = RawDocumentBuf::new();
    let Some((first, rest)) = parts.split_first() else { return Ok(out) };
    let name = <&CStr>::try_from(first.name.as_str())?;
    let mut is_written = false;
    for field in document.into_iter().flatten() {
        let (known, old) = field?;
        if is_written || known.as_str() != first.name {
            out.append(known, old);
            continue;
        }
        is_written = true;
        append(name, Some(old), rest, value, &mut out)?;
    }
    if !is_written {
        append(name, None, rest, value, &mut out)?;
    }
    Ok(out)
}

fn append(
    name: &CStr,
    old: Option<RawBsonRef<'_>>,
    rest: &[Part],
    value: Option<RawBsonRef<'_>>,
    out: &mut RawDocumentBuf,
) -> Result<()> {
    let below = old.and_then(RawBsonRef::as_document);
    match value {
        Some(value) if rest.is_empty() => out.append(name, value),
        None if rest.is_empty() => {}
        value => out.append(name, replaced(below, rest, value)?),
    }
    Ok(())
}

impl Start for Unwind {
    fn start(self: Arc<Self>, _budget: &Arc<Budget>) -> Box<dyn Operator> {
        Box::new(Unwinding(self))
    }
}

struct Unwinding(Arc<Unwind>);

impl Operator for Unwinding {
    fn push(
        &mut self,
        document: RawDocumentBuf,
        environment: &Environment<'_>,
        out: &mut Out<'_>,
    ) -> Result<Flow> {
        let unwind = &self.0;
        let array = match find(&document, &unwind.path) {
            Some(RawBsonRef::Array(array)) => array,
            None | Some(RawBsonRef::Null | RawBsonRef::Undefined) if !unwind.keeps_empty => {
                return Ok(Flow::More);
            }
            _ => return out(unwind.with_index(document, None)?),
        };
        if array.is_empty() {
            let keeps_empty = unwind.keeps_empty;
            return if keeps_empty {
                out(unwind.with(&document, None, None)?)
            } else {
                Ok(Flow::More)
            };
        }
        for (element, index) in array.into_iter().zip(0..) {
            environment.check()?;
            if out(unwind.with(&document, Some(element?), Some(index))?)? == Flow::Enough {
                return Ok(Flow::Enough);
            }
        }
        Ok(Flow::More)
    }
}
