//! From BSON to compiled expressions.

use bson::raw::CString;
use bson::{RawArray, RawBsonRef, RawDocument};

use super::node::{Node, Source};
use super::paths::{FieldPath, check_name};
use super::variables::{Variables, check_readable};
use super::{DEPTH_MAX, operators};
use crate::error::{Code, Error, Result};
use crate::show;

/// What is known while parsing: the variables in reach, and how deep it is.
pub(super) struct Parser {
    pub(super) variables: Variables,
    depth: usize,
}

impl Parser {
    pub(super) fn new(variables: &Variables) -> Self {
        Self { variables: variables.clone(), depth: 0 }
    }

    /// Whatever stands where an expression is expected.
    pub(super) fn operand(&mut self, value: RawBsonRef<'_>) -> Result<Node> {
        if self.depth == DEPTH_MAX {
            return Err(Error::new(Code::OVERFLOW, "nesting too deep"));
        }
        self.depth += 1;
        let node = match value {
            RawBsonRef::String(text) if text.starts_with('$') => self.path(text),
            RawBsonRef::Document(document) => self.document(document),
            RawBsonRef::Array(array) => self.array(array),
            constant => Ok(Node::Constant(constant.into())),
        };
        self.depth -= 1;
        node
    }

    /// `$a.b` or `$$variable.a.b`
    fn path(&mut self, text: &str) -> Result<Node> {
        let Some(name_and_path) = text.strip_prefix("$$") else {
            let path = &text[1..];
            if path.is_empty() {
                return Err(Error::location(16_872, "'$' by itself is not a valid FieldPath"));
            }
            let source = self.source("CURRENT")?.unwrap_or(Source::Current);
            return Ok(Node::Field { source, path: FieldPath::parse(path)? });
        };
        let (name, path) = match name_and_path.split_once('.') {
            Some((name, path)) => (name, FieldPath::parse(path)?),
            None => (name_and_path, FieldPath::whole()),
        };
        check_readable(name)?;
        if let Some(source) = self.source(name)? {
            return Ok(Node::Field { source, path });
        }
        match name {
            "DESCEND" | "PRUNE" | "KEEP" if path.is_empty() => {
                Ok(Node::Constant(name.to_ascii_lowercase().into()))
            }
            _ => Ok(Node::Nothing),
        }
    }

    /// Where the value of a variable comes from; `None` for those that are constant.
    fn source(&self, name: &str) -> Result<Option<Source>> {
        if let Some((leave, position)) = self.variables.find(name) {
            return Ok(Some(Source::Variable(leave, position)));
        }
        match name {
            "ROOT" => Ok(Some(Source::Root)),
            "CURRENT" => Ok(Some(Source::Current)),
            "NOW" => Ok(Some(Source::Now)),
            "CLUSTER_TIME" => Ok(Some(Source::ClusterTime)),
            "USER_ROLES" => Ok(Some(Source::UserRoles)),
            "REMOVE" | "DESCEND" | "PRUNE" | "KEEP" => Ok(None),
            _ => Err(Error::location(17_276, format!("Use of undefined variable: {name}"))),
        }
    }

    fn array(&mut self, array: &RawArray) -> Result<Node> {
        let elements: Vec<Node> =
            array.into_iter().map(|element| self.operand(element?)).collect::<Result<_>>()?;
        Node::array(elements)
    }

    fn document(&mut self, document: &RawDocument) -> Result<Node> {
        match document.iter().next().transpose()? {
            Some((name, _)) if name.as_str().starts_with('$') => self.operator(document),
            _ => self.object(document),
        }
    }

    /// An object whose fields are expressions.
    fn object(&mut self, document: &RawDocument) -> Result<Node> {
        let mut fields: Vec<(CString, Node)> = Vec::new();
        for field in document {
            let (name, value) = field?;
            check_name(name.as_str())?;
            if fields.iter().any(|(known, _)| known.as_str() == name.as_str()) {
                return Err(Error::location(
                    16_406,
                    format!(
                        "duplicate field name specified in object literal: {}",
                        show::document(document)
                    ),
                ));
            }
            fields.push((name.to_owned(), self.operand(value)?));
        }
        Node::object(fields)
    }

    /// `{$operator: arguments}`
    fn operator(&mut self, document: &RawDocument) -> Result<Node> {
        let mut fields = document.iter();
        let (Some(field), None) = (fields.next(), fields.next()) else {
            return Err(Error::location(
                15_983,
                format!(
                    "An object representing an expression must have exactly one field: {}",
                    show::document(document)
                ),
            ));
        };
        let (name, arguments) = field?;
        if matches!(name.as_str(), "$literal" | "$const") {
            return Ok(Node::Constant(arguments.into()));
        }
        let operator = operators::find(name.as_str()).ok_or_else(|| {
            Error::new(
                Code::INVALID_PIPELINE_OPERATOR,
                format!("Unrecognized expression '{}'", name.as_str()),
            )
        })?;
        operator.parse(self, arguments)
    }

    /// An argument list: an array, or a single argument without one.
    pub(super) fn arguments(&mut self, value: RawBsonRef<'_>) -> Result<Vec<Node>> {
        match value {
            RawBsonRef::Array(array) => {
                array.into_iter().map(|element| self.operand(element?)).collect()
            }
            single => Ok(vec![self.operand(single)?]),
        }
    }

    /// An expression that sees more variables.
    pub(super) fn operand_with(
        &mut self,
        names: Vec<String>,
        value: RawBsonRef<'_>,
    ) -> Result<Node> {
        self.variables.push(names);
        let node = self.operand(value);
        self.variables.pop();
        node
    }
}
