//! The values of a query's names, as a stack of frames. Frames are on the machine stack: a row of a
//! nested loop costs no allocation.

use value::Value;

use super::node::PathStep;

/// The innermost frame, if there is one.
pub(super) type Frames<'s, 'v> = Option<&'s Frame<'s, 'v>>;

/// One bound value, and those bound before it.
#[derive(Clone, Copy)]
pub(super) struct Frame<'s, 'v> {
    pub(super) value: &'v Value,
    pub(super) outer: Frames<'s, 'v>,
}

/// One row of a query: a value for each of its sources. It lives as long as the call that is
/// given it.
pub struct Row<'r> {
    pub(super) frames: Frames<'r, 'r>,
}

/// The value of everything absent.
pub(super) static UNDEFINED: Value = Value::Undefined;

/// The value `hops` frames up. There always is one: the compiler counted.
pub(super) fn lookup<'v>(frames: Frames<'_, 'v>, hops: usize) -> &'v Value {
    let mut frame = frames;
    for _ in 0..hops {
        frame = frame.and_then(|frame| frame.outer);
    }
    frame.map_or(&UNDEFINED, |frame| frame.value)
}

/// The value that the steps lead to.
pub(super) fn descend<'v>(value: &'v Value, steps: &[PathStep]) -> &'v Value {
    let mut value = value;
    for step in steps {
        value = match (step, value) {
            (PathStep::Key(name), Value::Object(members)) => {
                members.get(name).unwrap_or(&UNDEFINED)
            }
            (PathStep::Index(index), Value::Array(items)) => {
                items.get(*index).unwrap_or(&UNDEFINED)
            }
            _ => return &UNDEFINED,
        };
    }
    value
}
