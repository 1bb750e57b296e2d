//! Shapes: GeoJSON on the Earth (WGS 84, metres) or in the plane, and the boxes by which an index
//! finds them.
//!
//! In reading order:
//! - `geojson`: a value becomes positions, or a reason why not,
//! - `vector`: points and arcs, on the Earth and in the plane alike,
//! - `shape`: positions become arcs,
//! - `relate`: what meets and what lies within,
//! - `distance`, `area`: how far and how large,
//! - `bounds`: boxes.
//!
//! Edges on the Earth are parts of great ellipses: planes through its centre. Nothing is special
//! about the antimeridian, the poles, or a polygon larger than half of the Earth.
// COMPAT: edges as in the spatial library of the service; those of the plane are used when the
// container is of type Geometry.

use std::sync::{Arc, Mutex, PoisonError};

use value::{Object, Value};

use super::{Context, Function};
use shape::Shape;

mod area;
mod bounds;
mod distance;
mod geojson;
#[cfg(test)]
mod properties;
mod relate;
mod shape;
#[cfg(test)]
mod tests;
mod vector;

pub use bounds::{
    Bounds, bounds, bounds_within, boxes, boxes_within, planar_bounds, planar_bounds_within,
};

pub(super) static FUNCTIONS: &[Function] = &[
    Function::new("ST_DISTANCE", 2..=2, |args, context| {
        two(args, context, |a, b| Value::from(distance::distance(a, b)))
    }),
    Function::new("ST_WITHIN", 2..=2, |args, context| {
        two(args, context, |a, b| Value::from(relate::within(a, b)))
    }),
    Function::new("ST_INTERSECTS", 2..=2, |args, context| {
        two(args, context, |a, b| Value::from(relate::intersects(a, b)))
    }),
    Function::new("ST_AREA", 1..=1, |args, context| {
        let geometry = args.first().and_then(|arg| geojson::parse(arg, context.is_planar).ok());
        let area = geometry.map(|geometry| area::area(&geometry, context.is_planar));
        area.map(Value::from).unwrap_or_default()
    }),
    Function::new("ST_ISVALID", 1..=1, |args, context| {
        let is_valid = |arg| Value::from(geojson::parse(arg, context.is_planar).is_ok());
        defined(args).map(is_valid).unwrap_or_default()
    }),
    Function::new("ST_ISVALIDDETAILED", 1..=1, |args, context| {
        defined(args).map(|arg| detailed(arg, context)).unwrap_or_default()
    }),
];

fn defined(args: &[Value]) -> Option<&Value> {
    args.first().filter(|arg| !arg.is_undefined())
}

/// Whether the value is a shape, and if not, why.
fn detailed(value: &Value, context: &Context) -> Value {
    let invalid = geojson::parse(value, context.is_planar).err();
    let mut answer = Object::new();
    answer.insert("valid", invalid.is_none());
    if let Some(reason) = invalid {
        answer.insert("reason", reason.to_string());
    }
    Value::from(answer)
}

fn two(args: &[Value], context: &Context, compare: fn(&Shape, &Shape) -> Value) -> Value {
    let shape = |place: usize| context.shapes.get(args.get(place)?, context.is_planar);
    shape(0).zip(shape(1)).map(|(a, b)| compare(&a, &b)).unwrap_or_default()
}

/// Shapes read lately: the constant polygon of a filter is read once, not once per item. Points
/// cost nothing to read and are not kept.
#[derive(Default)]
pub(super) struct Cache(Mutex<Vec<(Value, Arc<Shape>)>>);

/// Shapes kept: the two of a call, and those of a second one in the same filter.
const CACHE_ENTRIES_MAX: usize = 4;

impl Cache {
    fn get(&self, value: &Value, is_planar: bool) -> Option<Arc<Shape>> {
        let read = || Shape::parse(value, is_planar).ok().map(Arc::new);
        if value.get("type").as_str() == Some("Point") {
            return read();
        }
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = entries.iter().rposition(|(known, _)| known == value) {
            entries[place..].rotate_left(1);
            return entries.last().map(|(_, shape)| Arc::clone(shape));
        }
        let shape = read()?;
        if entries.len() == CACHE_ENTRIES_MAX {
            entries.remove(0);
        }
        entries.push((value.clone(), Arc::clone(&shape)));
        Some(shape)
    }
}
