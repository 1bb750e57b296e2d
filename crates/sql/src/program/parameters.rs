//! The parameters of a request while a query is compiled.

use std::collections::HashMap;
use std::sync::Arc;

use value::Value;

use super::Settings;
use super::node::Node;
use super::run::weight;

/// Memory that a program's copies of parameters may take. Beyond it uses share one copy: a long
/// value can be written into a long query very often.
const COPIES_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The parameters by name.
pub(super) struct Parameters<'q> {
    values: HashMap<&'q str, &'q Value>,
    /// How much each takes, and the copy that is shared, of those that were used.
    used: HashMap<&'q str, (usize, Option<Arc<Value>>)>,
    copies_bytes_left: usize,
}

impl<'q> Parameters<'q> {
    pub(super) fn new(settings: &Settings<'q>) -> Parameters<'q> {
        Parameters {
            values: settings.parameters_by_name(),
            used: HashMap::new(),
            copies_bytes_left: COPIES_BYTES_MAX,
        }
    }

    /// How much the copies take.
    pub(super) fn copied_bytes(&self) -> usize {
        COPIES_BYTES_MAX - self.copies_bytes_left
    }

    /// The value of a parameter.
    pub(super) fn get(&self, name: &str) -> Option<&'q Value> {
        self.values.get(name).copied()
    }

    /// The node for a parameter: a constant, which is folded with others as long as copies are
    /// cheap.
    pub(super) fn node(&mut self, name: &str) -> Node {
        let Some((name, value)) = self.values.get_key_value(name) else {
            return Node::Constant(Value::Undefined);
        };
        let (bytes, shared) = self.used.entry(name).or_insert_with(|| (weight(value), None));
        if let Some(left) = self.copies_bytes_left.checked_sub(*bytes) {
            self.copies_bytes_left = left;
            return Node::Constant((*value).clone());
        }
        Node::Shared(Arc::clone(shared.get_or_insert_with(|| Arc::new((*value).clone()))))
    }
}
