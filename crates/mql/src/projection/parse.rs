//! From a projection as a client sends it to its compiled form.

use bson::{RawBsonRef, RawDocument};

use super::operators::{self, Operator};
use super::tree::{Branch, Kind, Spec};
use super::{Mode, Projection, ProjectionOptions};
use crate::error::{Code, Error, Result};
use crate::expression::Expression;
use crate::number::Number;
use crate::path::PARTS_MAX;
use crate::writer::check_nesting;

/// What is known while parsing.
struct Parser<'p> {
    options: &'p ProjectionOptions,
    root: Branch,
    /// Whether `_id` is named, and stays.
    id: Option<bool>,
    kind: Option<Kind>,
    has_match: bool,
    has_elem_match: bool,
}

/// Reads a whole projection.
pub(super) fn projection(
    document: &RawDocument,
    options: &ProjectionOptions,
) -> Result<Projection> {
    check_nesting(document.iter_elements())?;
    if options.mode == Mode::Aggregate && document.is_empty() {
        return Err(Error::location(
            51_272,
            "projection specification must have at least one field",
        ));
    }
    let mut parser = Parser {
        options,
        root: Branch::default(),
        id: None,
        kind: None,
        has_match: false,
        has_elem_match: false,
    };
    parser.fields(document, "")?;
    parser.finish()
}

impl Parser<'_> {
    fn finish(mut self) -> Result<Projection> {
        let is_inclusion = self.has_elem_match || self.id == Some(true);
        let default = if is_inclusion { Kind::Inclusion } else { Kind::Exclusion };
        let kind = self.kind.unwrap_or(default);
        let is_free = !self.root.specs.contains_key("_id");
        match (kind, self.id) {
            (Kind::Inclusion, None) if is_free => {
                self.root.specs.insert("_id".to_owned(), Spec::Keep);
            }
            (Kind::Inclusion, Some(true)) => self.root.insert("_id", &["_id"], Spec::Keep)?,
            (_, Some(false)) => self.root.insert("_id", &["_id"], Spec::Drop)?,
            _ => {}
        }
        let mut id = None;
        if matches!(self.root.specs.get("_id"), Some(Spec::Computed(_)))
            && let Some(Spec::Computed(expression)) = self.root.specs.remove("_id")
        {
            self.root.appended.retain(|name| name != "_id");
            id = Some(expression);
        }
        Ok(Projection { root: self.root, kind, id, needs_match: self.has_match })
    }

    /// Reads fields below a path.
    fn fields(&mut self, document: &RawDocument, outer: &str) -> Result<()> {
        for field in document {
            let (name, value) = field?;
            let name = name.as_str();
            let path = if outer.is_empty() { name.to_owned() } else { format!("{outer}.{name}") };
            match positional(name) {
                Some(_) if self.options.mode == Mode::Aggregate => {
                    return Err(Error::location(
                        31_324,
                        "Cannot use positional projection in aggregation projection",
                    ));
                }
                Some(_) => self.matched(&path, value)?,
                None => self.field(&path, value)?,
            }
        }
        Ok(())
    }

    fn field(&mut self, path: &str, value: RawBsonRef<'_>) -> Result<()> {
        check_path(path)?;
        if let Some(is_kept) = flag(value) {
            return self.keep_or_drop(path, is_kept);
        }
        let RawBsonRef::Document(document) = value else {
            return self.computed(path, value);
        };
        let Some((first, _)) = document.iter().next().transpose()? else {
            return Err(Error::location(
                51_270,
                "An empty sub-projection is not a valid value. Found empty object at path",
            ));
        };
        if !first.as_str().starts_with('$') {
            return self.fields(document, path);
        }
        if self.options.mode == Mode::Aggregate {
            return self.computed(path, value);
        }
        match operators::parse(path, document, self.options)? {
            Operator::Expression => self.computed(path, value),
            Operator::Slice(slice) => self.insert(path, Spec::Slice(slice)),
            Operator::ElemMatch(filter) => {
                if self.has_match {
                    return Err(both_match(31_255));
                }
                self.has_elem_match = true;
                self.insert(path, Spec::ElemMatch(filter))
            }
        }
    }

    fn insert(&mut self, path: &str, spec: Spec) -> Result<()> {
        let parts: Vec<&str> = path.split('.').collect();
        self.root.insert(path, &parts, spec)
    }

    fn keep_or_drop(&mut self, path: &str, is_kept: bool) -> Result<()> {
        if path == "_id" {
            self.id = Some(is_kept);
            return Ok(());
        }
        let kind = if is_kept { Kind::Inclusion } else { Kind::Exclusion };
        match (*self.kind.get_or_insert(kind), is_kept) {
            (Kind::Inclusion, false) => Err(Error::location(
                31_254,
                format!("Cannot do exclusion on field {path} in inclusion projection"),
            )),
            (Kind::Exclusion, true) => Err(Error::location(
                31_253,
                format!("Cannot do inclusion on field {path} in exclusion projection"),
            )),
            _ => self.insert(path, if is_kept { Spec::Keep } else { Spec::Drop }),
        }
    }

    fn computed(&mut self, path: &str, value: RawBsonRef<'_>) -> Result<()> {
        if *self.kind.get_or_insert(Kind::Inclusion) == Kind::Exclusion {
            let is_literal = !matches!(value, RawBsonRef::Document(_) | RawBsonRef::Array(_));
            return Err(Error::location(
                if is_literal { 31_310 } else { 31_252 },
                "Cannot use an expression other than $meta in exclusion projection",
            ));
        }
        let expression = Expression::parse(value, &self.options.variables)?;
        self.insert(path, Spec::Computed(expression))
    }

    /// `a.b.$`
    fn matched(&mut self, path: &str, value: RawBsonRef<'_>) -> Result<()> {
        let Some((path, "")) = path.split_once(".$") else {
            return Err(Error::location(
                31_394,
                "As of 4.4, it's illegal to specify positional operator in the middle of a \
                 path.Positional projection may only be used at the end, for example: a.b.$. If \
                 the query previously used a form like a.b.$.d, remove the parts following the \
                 '$' and the results will be equivalent.",
            ));
        };
        check_path(path)?;
        match (flag(value), value) {
            (Some(true), _) => {}
            (Some(false), _) => {
                return Err(Error::location(
                    31_395,
                    "positional projection cannot be used with exclusion",
                ));
            }
            (None, RawBsonRef::Document(_)) => {
                return Err(Error::location(
                    31_271,
                    "positional projection cannot be used with an expression or sub object",
                ));
            }
            (None, _) => {
                return Err(Error::location(
                    31_308,
                    "positional projection cannot be used with a literal",
                ));
            }
        }
        if self.has_match {
            return Err(Error::location(
                31_276,
                "Cannot specify more than one positional projection per query.",
            ));
        }
        if self.has_elem_match {
            return Err(both_match(31_256));
        }
        if *self.kind.get_or_insert(Kind::Inclusion) == Kind::Exclusion {
            return Err(Error::location(
                31_253,
                format!("Cannot do inclusion on field {path}.$ in exclusion projection"),
            ));
        }
        self.has_match = true;
        self.insert(path, Spec::Matched)
    }
}

fn both_match(location: i32) -> Error {
    Error::location(location, "Cannot specify positional operator and $elemMatch.")
}

/// What follows `.$` in a path.
fn positional(name: &str) -> Option<&str> {
    let rest = &name[name.find(".$")? + 2..];
    (rest.is_empty() || rest.starts_with('.')).then_some(rest)
}

/// Whether a number or a boolean counts as true; `None` for anything else.
fn flag(value: RawBsonRef<'_>) -> Option<bool> {
    match value {
        RawBsonRef::Boolean(is_true) => Some(is_true),
        value => Number::of(value).map(|number| number.compare(Number::Int32(0)).is_ne()),
    }
}

fn check_path(path: &str) -> Result<()> {
    if path.is_empty() {
        return Err(Error::location(40_352, "FieldPath cannot be constructed with empty string"));
    }
    if path.ends_with('.') {
        return Err(Error::location(40_353, "FieldPath must not end with a '.'."));
    }
    for (at, part) in path.split('.').enumerate() {
        if at == PARTS_MAX {
            return Err(Error::new(Code::OVERFLOW, "FieldPath is too long"));
        }
        if part.is_empty() {
            return Err(Error::location(15_998, "FieldPath field names may not be empty strings."));
        }
        if part.starts_with('$') {
            return Err(Error::location(
                16_410,
                "FieldPath field names may not start with '$'. Consider using $getField or \
                 $setField.",
            ));
        }
    }
    Ok(())
}
