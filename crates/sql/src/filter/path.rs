//! Paths as an index knows them: names of members, and "any element" for arrays.

use std::fmt;

use value::Value;

/// One step from a value to a value within it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Segment {
    /// The member of an object.
    Key(String),
    /// Any element of an array.
    Element,
}

/// A path from the root of an item.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path(pub Vec<Segment>);

impl Path {
    /// Whether an item has at most one value at this path: no step goes through an array.
    pub fn is_single_valued(&self) -> bool {
        !self.0.contains(&Segment::Element)
    }

    /// This path and one more step.
    pub(super) fn then(&self, segment: Segment) -> Path {
        let mut segments = Vec::with_capacity(self.0.len() + 1);
        segments.extend_from_slice(&self.0);
        segments.push(segment);
        Path(segments)
    }

    /// Whether the value at this path, or any of the values, passes. A path that leads through
    /// no array has one value even where nothing is: undefined.
    pub(super) fn any(&self, item: &Value, passes: &mut dyn FnMut(&Value) -> bool) -> bool {
        any_at(item, &self.0, passes)
    }
}

fn any_at(value: &Value, steps: &[Segment], passes: &mut dyn FnMut(&Value) -> bool) -> bool {
    match steps.split_first() {
        None => passes(value),
        Some((Segment::Key(key), rest)) => any_at(value.get(key), rest, passes),
        Some((Segment::Element, rest)) => {
            let elements = value.as_array().unwrap_or_default();
            elements.iter().any(|element| any_at(element, rest, passes))
        }
    }
}

impl fmt::Display for Path {
    /// `/tags/[]/name`, for people.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for segment in &self.0 {
            match segment {
                Segment::Key(key) => write!(f, "/{key}")?,
                Segment::Element => f.write_str("/[]")?,
            }
        }
        Ok(())
    }
}
