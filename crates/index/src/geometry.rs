//! The bounds of a GeoJSON geometry. Geometries are not validated here; the query does that. The
//! index must only never make one too small.

use value::Value;

use crate::ring::{self, COMPARISONS_MAX};

/// The bounds of a geometry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Shape {
    /// Least x and y, greatest x and y.
    Within([f64; 4]),
    /// No simple bounds: it crosses the 180th meridian, contains a pole, is or may be the outside
    /// of its ring, or lies outside the Earth's coordinates. Never used in the plane.
    Everything,
}

/// The bounds of the geometry; `None` if the value has no positions.
pub(crate) fn shape(value: &Value, is_planar: bool) -> Option<Shape> {
    let comparisons_left = COMPARISONS_MAX;
    let mut reach = Reach { bounds: None, is_everything: false, is_planar, comparisons_left };
    reach.geometry(value);
    match reach.bounds {
        Some(_) if reach.is_everything => Some(Shape::Everything),
        bounds => bounds.map(Shape::Within),
    }
}

struct Reach {
    bounds: Option<[f64; 4]>,
    is_everything: bool,
    is_planar: bool,
    /// See [`ring::encloses_its_left`].
    comparisons_left: usize,
}

impl Reach {
    /// Recurses no deeper than the value, like `coordinates`.
    fn geometry(&mut self, value: &Value) {
        if let Some(geometries) = value.get("geometries").as_array() {
            for geometry in geometries {
                self.geometry(geometry);
            }
        }
        let is_polygon = value.get("type").as_str().is_some_and(|kind| {
            kind.eq_ignore_ascii_case("Polygon") || kind.eq_ignore_ascii_case("MultiPolygon")
        });
        self.coordinates(value.get("coordinates"), is_polygon);
    }

    /// A position, a line of positions, or nested lists of them.
    fn coordinates(&mut self, value: &Value, is_polygon: bool) {
        if let Some(position) = position(value) {
            self.position(position);
            return;
        }
        let Some(elements) = value.as_array() else { return };
        let line: Vec<[f64; 2]> = elements.iter().filter_map(position).collect();
        if !line.is_empty() {
            self.line(&line);
            return;
        }
        // The first ring is the outer one; the others are holes.
        if let (Some(outer), true, false) = (elements.first(), is_polygon, self.is_planar) {
            let outer = outer.as_array().unwrap_or_default();
            let outer: Vec<[f64; 2]> = outer.iter().filter_map(position).collect();
            self.is_everything |=
                !outer.is_empty() && !ring::encloses_its_left(&outer, &mut self.comparisons_left);
        }
        for element in elements {
            self.coordinates(element, is_polygon);
        }
    }

    fn line(&mut self, line: &[[f64; 2]]) {
        for position in line {
            self.position(*position);
        }
        if !self.is_planar {
            for (from, to) in line.iter().zip(line.iter().skip(1)) {
                self.edge(*from, *to);
            }
        }
    }

    fn position(&mut self, [x, y]: [f64; 2]) {
        let is_on_earth = x.abs() <= 180.0 && y.abs() <= 90.0;
        self.is_everything |= !self.is_planar && !is_on_earth;
        let [west, south, east, north] = self.bounds.unwrap_or([x, y, x, y]);
        self.bounds = Some([west.min(x), south.min(y), east.max(x), north.max(y)]);
    }

    /// The shortest path between two positions on Earth bends towards the nearer pole. It rises
    /// highest when both ends are at the higher of their latitudes: then `tan(latitude)` at its
    /// middle is that of the ends divided by the cosine of half the difference in longitude.
    fn edge(&mut self, from: [f64; 2], to: [f64; 2]) {
        let half_turn = (from[0] - to[0]).abs().to_radians() / 2.0;
        let is_short = half_turn < 89.9_f64.to_radians();
        if !is_short {
            self.is_everything = true;
            return;
        }
        // Slightly further, to allow for floating-point error.
        let bend = |latitude: f64| {
            (latitude.to_radians().tan() / half_turn.cos()).atan().to_degrees() * (1.0 + 1e-12)
        };
        let north = from[1].max(to[1]);
        let south = from[1].min(to[1]);
        if north > 0.0 {
            self.position([to[0], bend(north).min(90.0)]);
        }
        if south < 0.0 {
            self.position([to[0], bend(south).max(-90.0)]);
        }
    }
}

/// The first two numbers of an array of numbers.
fn position(value: &Value) -> Option<[f64; 2]> {
    match value.as_array()? {
        [x, y, ..] => Some([x.as_f64()?, y.as_f64()?]),
        _ => None,
    }
}
