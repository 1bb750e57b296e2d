//! Sets of partition keys: unions of cells, each with allowed values per path of the key.

use std::collections::BTreeMap;
use std::rc::Rc;

use value::{Object, Value};

use super::interval::Interval;

/// How many cells an intersection may look at. Beyond, it gives up the larger of the two sets,
/// which allows more keys than need be, but bounds the time.
const CELLS_MAX: usize = 256;

/// The allowed values of one path of the key: single values, or anything in some intervals.
#[derive(Clone, Debug, Default)]
pub(super) struct Allowed {
    /// By their key bytes, so that equal numbers are merged.
    pub(super) points: BTreeMap<Vec<u8>, Value>,
    /// Only for the old kind of keys; they may overlap.
    pub(super) intervals: Vec<Interval>,
}

impl Allowed {
    /// Allows only these values. Undefined allows nothing, because nothing equals it. A key that is
    /// an array or object is stored as one marker, whatever its contents.
    pub(super) fn values(values: impl IntoIterator<Item = Value>) -> Allowed {
        let mut points = BTreeMap::new();
        for value in values {
            let value = match value {
                Value::Undefined => continue,
                Value::Array(_) | Value::Object(_) => Value::Object(Object::new()),
                scalar => scalar,
            };
            let mut key = Vec::new();
            value::key::encode(&value, &mut key);
            points.entry(key).or_insert(value);
        }
        Allowed { points, intervals: Vec::new() }
    }

    /// Anything within the interval.
    pub(super) fn within(interval: Interval) -> Allowed {
        Allowed { points: BTreeMap::new(), intervals: vec![interval] }
    }

    pub(super) fn len(&self) -> usize {
        self.points.len() + self.intervals.len()
    }

    fn union(mut self, mut other: Allowed) -> Allowed {
        if self.points.len() < other.points.len() {
            std::mem::swap(&mut self, &mut other);
        }
        self.points.extend(other.points);
        self.intervals.extend(other.intervals);
        self
    }

    fn intersection(&self, other: &Allowed) -> Allowed {
        let (few, many) =
            if self.points.len() < other.points.len() { (self, other) } else { (other, self) };
        let mut both = Allowed::default();
        for (key, value) in &few.points {
            let is_within = || many.intervals.iter().any(|interval| interval.contains(value));
            if many.points.contains_key(key) || is_within() {
                both.points.insert(key.clone(), value.clone());
            }
        }
        for (key, value) in many.points.iter().filter(|_| !few.intervals.is_empty()) {
            if few.intervals.iter().any(|interval| interval.contains(value)) {
                both.points.insert(key.clone(), value.clone());
            }
        }
        for interval in &few.intervals {
            let overlaps = many.intervals.iter().filter_map(|other| interval.overlap(other));
            both.intervals.extend(overlaps);
        }
        both
    }
}

/// Keys with an allowed value at each path; any value for `None`.
pub(super) type Cell = Vec<Option<Rc<Allowed>>>;

/// A set of partition keys.
#[derive(Clone, Debug)]
pub(super) enum Keys {
    /// All keys.
    Everything,
    /// Some of them.
    Some {
        /// Cells that restrict one path only, the union of them by path.
        singles: Vec<Option<Rc<Allowed>>>,
        /// Cells that restrict several paths.
        cells: Vec<Cell>,
    },
}

impl Keys {
    /// No key, of so many paths.
    pub(super) fn nothing(paths: usize) -> Keys {
        Keys::Some { singles: vec![None; paths], cells: Vec::new() }
    }

    /// The keys with an allowed value at one path.
    pub(super) fn single(paths: usize, path: usize, allowed: Allowed) -> Keys {
        let mut singles = vec![None; paths];
        if allowed.len() > 0 {
            singles[path] = Some(Rc::new(allowed));
        }
        Keys::Some { singles, cells: Vec::new() }
    }

    pub(super) fn union(self, other: Keys) -> Keys {
        match (self, other) {
            (Keys::Everything, _) | (_, Keys::Everything) => Keys::Everything,
            (
                Keys::Some { singles, cells },
                Keys::Some { singles: other_singles, cells: mut other_cells },
            ) => {
                let merge = |(a, b): (Option<Rc<Allowed>>, _)| match (a, b) {
                    (Some(a), Some(b)) => {
                        Some(Rc::new(Rc::unwrap_or_clone(a).union(Rc::unwrap_or_clone(b))))
                    }
                    (a, b) => a.or(b),
                };
                let singles = singles.into_iter().zip(other_singles).map(merge).collect();
                let mut cells = cells;
                cells.append(&mut other_cells);
                Keys::Some { singles, cells }
            }
        }
    }

    /// The keys of all sets, simple sets first: they make the others smaller.
    pub(super) fn intersection_of(mut sets: Vec<Keys>) -> Keys {
        sets.sort_by_key(Keys::complexity);
        sets.into_iter().fold(Keys::Everything, Keys::intersection)
    }

    fn intersection(self, other: Keys) -> Keys {
        let (mine, theirs) = match (&self, &other) {
            (Keys::Everything, _) => return other,
            (_, Keys::Everything) => return self,
            (Keys::Some { .. }, Keys::Some { .. }) => (self.cells(), other.cells()),
        };
        if mine.len().saturating_mul(theirs.len()) > CELLS_MAX {
            return if mine.len() < theirs.len() { self } else { other };
        }
        let mut both = Keys::nothing(self.paths());
        for cell in &mine {
            for other in &theirs {
                if let Some(cell) = meet(cell, other) {
                    both = both.union(Keys::of_cell(cell));
                }
            }
        }
        both
    }

    fn of_cell(cell: Cell) -> Keys {
        let restricted = cell.iter().filter(|allowed| allowed.is_some()).count();
        match restricted {
            0 => Keys::Everything,
            1 => Keys::Some { singles: cell, cells: Vec::new() },
            _ => Keys::Some { singles: vec![None; cell.len()], cells: vec![cell] },
        }
    }

    /// The cells that make up the set; one without restrictions for everything.
    pub(super) fn cells(&self) -> Vec<Cell> {
        let Keys::Some { singles, cells } = self else { return vec![Vec::new()] };
        let mut all = Vec::with_capacity(cells.len() + 1);
        for (path, allowed) in singles.iter().enumerate() {
            if let Some(allowed) = allowed {
                let mut cell = vec![None; singles.len()];
                cell[path] = Some(Rc::clone(allowed));
                all.push(cell);
            }
        }
        all.extend(cells.iter().cloned());
        all
    }

    /// How many cells there are, or somewhat more.
    fn complexity(&self) -> usize {
        match self {
            Keys::Everything => 0,
            Keys::Some { singles, cells } => singles.len() + cells.len(),
        }
    }

    fn paths(&self) -> usize {
        match self {
            Keys::Everything => 0,
            Keys::Some { singles, .. } => singles.len(),
        }
    }
}

/// The intersection of both cells; `None` if it is empty.
fn meet(a: &Cell, b: &Cell) -> Option<Cell> {
    let meet_path = |(a, b): (&Option<Rc<Allowed>>, &Option<Rc<Allowed>>)| match (a, b) {
        (Some(a), Some(b)) => {
            let both = a.intersection(b);
            (both.len() > 0).then(|| Some(Rc::new(both)))
        }
        (a, b) => Some(a.as_ref().or(b.as_ref()).map(Rc::clone)),
    };
    a.iter().zip(b).map(meet_path).collect()
}
