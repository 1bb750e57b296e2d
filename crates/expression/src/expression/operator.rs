//! What the table says about each operator, and the calls that are compiled from it.

use std::fmt;

use bson::{DateTime, RawBsonRef, RawDocument, RawDocumentBuf, Timestamp};

use super::node::Node;
use super::operators::regex::Pattern;
use super::parser::Parser;
use super::{Computed, Context, Random, Scope};
use crate::class;
use crate::error::{Error, Result};

/// Computes the value of a call.
pub(super) type Evaluate = for<'a> fn(&'a Call, &Scope<'a>) -> Result<Computed<'a>>;

/// Reads the arguments of an operator with a form of its own.
pub(super) type Parse = fn(&mut Parser, &'static Operator, RawBsonRef<'_>) -> Result<Node>;

/// Does once what depends on constant arguments.
pub(super) type Prepare = fn(&Call) -> Result<Prepared>;

/// An operator.
pub(super) struct Operator {
    /// With its `$`.
    pub(super) name: &'static str,
    pub(super) form: Form,
    pub(super) evaluate: Evaluate,
    pub(super) fold: Fold,
    pub(super) prepare: Option<Prepare>,
}

/// How the arguments of an operator are written.
pub(super) enum Form {
    /// So many.
    Exactly(usize),
    /// At least and at most.
    Between(usize, usize),
    /// Any number.
    Any,
    /// An object with named arguments.
    Named(&'static Names),
    /// Another form.
    Custom(Parse),
}

/// Named arguments. In messages `{}` stands for the type of what was found.
pub(super) struct Names {
    /// The error if the argument is no object.
    pub(super) not_object: (i32, &'static str),
    /// The error for an unknown name, which is put at the place of `{}`.
    pub(super) unknown: (i32, &'static str),
    /// The names, in the order of the compiled arguments, with the error if a required one is missing.
    pub(super) fields: &'static [(&'static str, Option<(i32, &'static str)>)],
}

/// When a call of constants is itself a constant.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fold {
    /// Always: the value follows from the arguments alone.
    Always,
    /// Unless a collation could matter.
    WithoutText,
    /// Never.
    Never,
}

impl Operator {
    pub(super) const fn exactly(name: &'static str, count: usize, evaluate: Evaluate) -> Self {
        Self::new(name, Form::Exactly(count), evaluate)
    }

    pub(super) const fn any(name: &'static str, evaluate: Evaluate) -> Self {
        Self::new(name, Form::Any, evaluate)
    }

    pub(super) const fn new(name: &'static str, form: Form, evaluate: Evaluate) -> Self {
        Self { name, form, evaluate, fold: Fold::Always, prepare: None }
    }

    /// The operator, whose value depends on the collation.
    pub(super) const fn collated(self) -> Self {
        Self { fold: Fold::WithoutText, ..self }
    }

    /// The operator, whose value is computed for each document.
    pub(super) const fn unfolded(self) -> Self {
        Self { fold: Fold::Never, ..self }
    }

    pub(super) const fn prepared(self, prepare: Prepare) -> Self {
        Self { prepare: Some(prepare), ..self }
    }

    /// Compiles a call.
    pub(super) fn parse(&'static self, parser: &mut Parser, value: RawBsonRef<'_>) -> Result<Node> {
        let arguments = match self.form {
            Form::Custom(parse) => return parse(parser, self, value),
            Form::Named(names) => names.arguments(parser, value)?,
            Form::Any => parser.arguments(value)?,
            Form::Exactly(count) => self.counted(count, parser, value)?,
            Form::Between(least, most) => {
                let arguments = parser.arguments(value)?;
                let found = arguments.len();
                if found < least || found > most {
                    return Err(Error::location(
                        28_667,
                        format!(
                            "Expression {} takes at least {least} arguments, and at most {most}, \
                             but {found} were passed in.",
                            self.name
                        ),
                    ));
                }
                arguments
            }
        };
        self.call(arguments)
    }

    /// Exactly so many arguments.
    pub(super) fn counted(
        &self,
        count: usize,
        parser: &mut Parser,
        value: RawBsonRef<'_>,
    ) -> Result<Vec<Node>> {
        let arguments = parser.arguments(value)?;
        let (name, found) = (self.name, arguments.len());
        if found == count {
            return Ok(arguments);
        }
        Err(Error::location(
            16_020,
            format!("Expression {name} takes exactly {count} arguments. {found} were passed in."),
        ))
    }

    /// A call with compiled arguments, or its value if it is constant.
    pub(super) fn call(&'static self, arguments: Vec<Node>) -> Result<Node> {
        let mut call = Call { operator: self, arguments, prepared: Prepared::Nothing };
        if let Some(prepare) = self.prepare {
            call.prepared = prepare(&call)?;
        }
        Ok(call.folded().unwrap_or_else(|| Node::Call(Box::new(call))))
    }
}

impl Names {
    /// The named arguments, in the order of their names in the table.
    pub(super) fn arguments(
        &self,
        parser: &mut Parser,
        value: RawBsonRef<'_>,
    ) -> Result<Vec<Node>> {
        let document = self.document(value)?;
        let mut arguments = vec![Node::Absent; self.fields.len()];
        for field in document {
            let (name, value) = field?;
            let at = self.position(name.as_str())?;
            arguments[at] = parser.operand(value)?;
        }
        self.check_required(|at| !matches!(arguments[at], Node::Absent))?;
        Ok(arguments)
    }

    /// The object of named arguments.
    pub(super) fn document<'v>(&self, value: RawBsonRef<'v>) -> Result<&'v RawDocument> {
        value.as_document().ok_or_else(|| {
            let (code, text) = self.not_object;
            Error::location(code, text.replace("{}", class::type_name(value)))
        })
    }

    pub(super) fn position(&self, name: &str) -> Result<usize> {
        self.fields.iter().position(|(known, _)| *known == name).ok_or_else(|| {
            let (code, text) = self.unknown;
            Error::location(code, text.replace("{}", name))
        })
    }

    pub(super) fn check_required(&self, is_given: impl Fn(usize) -> bool) -> Result<()> {
        for (at, (_, required)) in self.fields.iter().enumerate() {
            match required {
                Some((code, text)) if !is_given(at) => return Err(Error::location(*code, *text)),
                _ => {}
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// An operator with its compiled arguments.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) operator: &'static Operator,
    pub(super) arguments: Vec<Node>,
    pub(super) prepared: Prepared,
}

/// What was done once for all documents.
#[derive(Clone, Debug)]
pub(super) enum Prepared {
    Nothing,
    /// A compiled regular expression.
    Pattern(Box<Pattern>),
}

impl Call {
    /// The operator's name.
    pub(super) fn name(&self) -> &'static str {
        self.operator.name
    }

    /// The value of an argument; missing if it was not given.
    pub(super) fn value<'a>(&'a self, at: usize, scope: &Scope<'a>) -> Result<Computed<'a>> {
        self.arguments.get(at).map_or(Ok(Computed::Missing), |node| node.evaluate(scope))
    }

    /// Whether an argument was given.
    pub(super) fn is_given(&self, at: usize) -> bool {
        self.arguments.get(at).is_some_and(|node| !matches!(node, Node::Absent))
    }

    /// The value as a constant, if all arguments are and computing it succeeds. What fails is left to
    /// be found when it is evaluated.
    fn folded(&self) -> Option<Node> {
        let folds = match self.operator.fold {
            Fold::Always => true,
            Fold::WithoutText => self.arguments.iter().all(is_without_text),
            Fold::Never => false,
        };
        if !folds || !self.arguments.iter().all(|node| node.constant().is_some()) {
            return None;
        }
        let random = Random::new(0);
        let context =
            Context::new(DateTime::from_millis(0), Timestamp { time: 0, increment: 0 }, &random);
        let document = RawDocumentBuf::new();
        let scope = Scope::new(&document, &context);
        let value = (self.operator.evaluate)(self, &scope).ok()?;
        Some(value.into_owned().map_or(Node::Nothing, Node::Constant))
    }
}

/// Whether a constant contains no text, so that no collation changes how it compares.
fn is_without_text(node: &Node) -> bool {
    match node.constant().as_ref().and_then(Computed::as_ref) {
        Some(RawBsonRef::String(_) | RawBsonRef::Symbol(_)) => false,
        Some(RawBsonRef::Document(document)) => document.is_empty(),
        Some(RawBsonRef::Array(array)) => array.is_empty(),
        _ => true,
    }
}
