//! Single expressions, without a query around them.

use std::fmt;

use value::Value;

use super::compile::Compiler;
use super::frame::{Frame, Frames};
use super::names::{Binding, Name};
use super::node::Node;
use super::run::{Halt, Run};
use super::{Settings, binder};
use crate::ast::Expr;
use crate::error::{Code, Error};

/// An expression over a few names, ready to be evaluated for many values of them.
pub struct Expression {
    node: Node,
}

impl Expression {
    /// Checks and compiles an expression that knows these names. The errors are those of the
    /// service, in the order of the text.
    pub fn compile(
        expr: &Expr,
        names: &[&str],
        settings: &Settings<'_>,
    ) -> Result<Expression, Vec<Error>> {
        let errors = binder::check_expression(expr, names, settings);
        if !errors.is_empty() {
            return Err(errors);
        }
        let mut compiler = Compiler::new(settings);
        compiler.names = names.iter().map(|text| Name { text, binding: Binding::Value }).collect();
        let node = compiler.expr(expr);
        if compiler.errors.is_empty() { Ok(Expression { node }) } else { Err(compiler.errors) }
    }

    /// Its value, where the names have these values, in the same order.
    pub fn evaluate(&self, values: &[&Value], run: &mut Run<'_>) -> Result<Value, Halt> {
        let mark = run.mark();
        let value = self.bind(values, None, run)?;
        run.release(mark);
        Ok(value)
    }

    /// The value once the others are frames too.
    fn bind(
        &self,
        values: &[&Value],
        frames: Frames<'_, '_>,
        run: &mut Run<'_>,
    ) -> Result<Value, Halt> {
        match values {
            [] => Ok(self.node.evaluate(frames, run)?.into_owned()),
            [value, others @ ..] => self.bind(others, Some(&Frame { value, outer: frames }), run),
        }
    }
}

impl fmt::Debug for Expression {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Expression").finish_non_exhaustive()
    }
}

/// Checks and evaluates an expression over names and their values, with the parameters of a
/// request and the time of it in milliseconds since 1970. For many values of the names compile an
/// [`Expression`] once.
pub fn evaluate(
    expr: &Expr,
    bindings: &[(&str, Value)],
    parameters: &[(String, Value)],
    now_millis: i64,
) -> Result<Value, Error> {
    let halted = |message: String| Error::without_span(Code::Halted, message);
    let settings = Settings { parameters, ..Settings::default() };
    let names: Vec<&str> = bindings.iter().map(|(name, _)| *name).collect();
    let values: Vec<&Value> = bindings.iter().map(|(_, value)| value).collect();
    let expression = Expression::compile(expr, &names, &settings).map_err(|errors| {
        errors.into_iter().next().unwrap_or_else(|| halted("The expression is not valid.".into()))
    })?;
    let value = expression.evaluate(&values, &mut Run::new(now_millis, 0));
    value.map_err(|halt| halted(halt.to_string()))
}
