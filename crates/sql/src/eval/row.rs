//! One row: the values of the names known to it. Values are shared, since a JOIN repeats the item
//! in each of its rows.

use std::rc::Rc;

use value::Value;

/// The values of the names known at some place of a query, those of enclosing queries included.
#[derive(Clone, Debug, Default)]
pub(super) struct Row<'q> {
    /// Later names hide earlier ones. A source without a name is called "", which no query can
    /// write.
    bindings: Vec<(&'q str, Rc<Value>)>,
    /// The place of the item that the row comes from, which decides between equal sort keys.
    pub(super) ordinal: usize,
    /// The rows that aggregates run over, if this row stands for a group.
    pub(super) group: Option<Rc<[Row<'q>]>>,
}

impl<'q> Row<'q> {
    /// The value of a name.
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        let (_, value) = self.bindings.iter().rev().find(|(bound, _)| *bound == name)?;
        Some(value)
    }

    /// The value bound last: that of the only source.
    pub(super) fn last(&self) -> Option<&Value> {
        self.bindings.last().map(|(_, value)| value.as_ref())
    }

    /// Whether no name is known, so that a source reads the container.
    pub(super) fn is_empty(&self) -> bool {
        self.bindings.is_empty()
    }

    /// This row with one more name, and as a row of its own rather than a group.
    pub(super) fn with(&self, name: &'q str, value: Rc<Value>) -> Row<'q> {
        let mut row = self.ungrouped();
        row.bindings.push((name, value));
        row
    }

    /// This row without its group, as a subquery sees it.
    pub(super) fn ungrouped(&self) -> Row<'q> {
        Row { bindings: self.bindings.clone(), ordinal: self.ordinal, group: None }
    }
}
