//! Boxes around shapes, for an index: two shapes whose boxes do not meet do not meet.

use value::Value;

use super::geojson::Geometry;
use super::relate::{self, Place};
use super::shape::{Shape, position, vector};
use super::vector::{Arc, Surface, Vector};

/// Least and greatest longitude and latitude in degrees (or x and y), as longitude least, latitude
/// least, longitude greatest, latitude greatest.
pub type Bounds = [f64; 4];

/// Degrees added on each side of a box on the Earth, since its sides are computed: a millimetre.
const MARGIN: f64 = 1e-8;
/// The least radius of curvature of the Earth, in metres: a distance spans no larger angle.
const EARTH_RADIUS_MIN: f64 = 6_335_000.0;

/// The box of a shape on the Earth; `None` if it is not valid GeoJSON. A shape across the
/// antimeridian has all longitudes; one larger than half of the Earth is the whole world.
pub fn bounds(value: &Value) -> Option<Bounds> {
    bounds_within(value, 0.0)
}

/// The boxes of a shape on the Earth: two if it lies across the antimeridian.
pub fn boxes(value: &Value) -> Option<Vec<Bounds>> {
    boxes_within(value, 0.0)
}

/// A box around everything that lies within a distance, in metres, of a shape on the Earth.
pub fn bounds_within(value: &Value, metres: f64) -> Option<Bounds> {
    let Sides { west, south, east, north } = Sides::of(value)?.wider(metres);
    let is_across = west < -180.0 || east > 180.0;
    let (west, east) = if is_across { (-180.0, 180.0) } else { (west, east) };
    Some([west, south, east, north])
}

/// The boxes around everything that lies within a distance, in metres, of a shape on the Earth: two
/// if they lie across the antimeridian.
pub fn boxes_within(value: &Value, metres: f64) -> Option<Vec<Bounds>> {
    let Sides { west, south, east, north } = Sides::of(value)?.wider(metres);
    Some(if west < -180.0 {
        vec![[west + 360.0, south, 180.0, north], [-180.0, south, east, north]]
    } else if east > 180.0 {
        vec![[west, south, 180.0, north], [-180.0, south, east - 360.0, north]]
    } else {
        vec![[west, south, east, north]]
    })
}

/// The box of a shape in the plane; `None` if it is not valid GeoJSON.
pub fn planar_bounds(value: &Value) -> Option<Bounds> {
    let positions: Vec<_> = match Shape::parse(value, true).ok()?.geometry {
        Geometry::Points(points) => points,
        Geometry::Lines(lines) => lines.concat(),
        Geometry::Polygons(polygons) => polygons.concat().concat(),
    };
    let [mut x_min, mut y_min] = *positions.first()?;
    let [mut x_max, mut y_max] = *positions.first()?;
    for [x, y] in positions {
        (x_min, x_max) = (x_min.min(x), x_max.max(x));
        (y_min, y_max) = (y_min.min(y), y_max.max(y));
    }
    Some([x_min, y_min, x_max, y_max])
}

/// A box around everything that lies within a distance of a shape in the plane.
pub fn planar_bounds_within(value: &Value, distance: f64) -> Option<Bounds> {
    let [x_min, y_min, x_max, y_max] = planar_bounds(value)?;
    let distance = distance.max(0.0);
    Some([x_min - distance, y_min - distance, x_max + distance, y_max + distance])
}

/// A box on the Earth. The east is not west of the west, but may lie beyond the antimeridian.
#[derive(Clone, Copy, Debug)]
struct Sides {
    west: f64,
    south: f64,
    east: f64,
    north: f64,
}

impl Sides {
    const WORLD: Sides = Sides { west: -180.0, south: -90.0, east: 180.0, north: 90.0 };

    fn of(value: &Value) -> Option<Sides> {
        let shape = Shape::parse(value, false).ok()?;
        if shape.polygons.iter().any(|polygon| polygon.is_complement(shape.surface)) {
            return Some(Sides::WORLD);
        }
        let mut south = f64::INFINITY;
        let mut north = f64::NEG_INFINITY;
        let mut reach = |latitude: f64| (south, north) = (south.min(latitude), north.max(latitude));
        // The same longitudes from -180 to 180 and from 0 to 360: a shape that crosses the end of
        // one range is in the middle of the other.
        let mut ranges = [Range::new(-180.0), Range::new(0.0)];
        for point in &shape.points {
            let [longitude, latitude] = position(*point);
            reach(latitude);
            for range in &mut ranges {
                range.add(longitude, longitude);
            }
        }
        for arc in shape.chains().flat_map(|chain| &chain.arcs) {
            let ([start, start_latitude], [end, end_latitude]) =
                (position(arc.start), position(arc.end));
            reach(start_latitude);
            reach(end_latitude);
            for range in &mut ranges {
                range.add(start, end);
            }
            tops(arc, shape.surface).for_each(&mut reach);
        }
        let mut has_pole = false;
        for latitude in [-90.0, 90.0] {
            let pole = vector([0.0, latitude], false);
            if relate::locate(&shape, pole, shape.surface) != Place::Outside {
                has_pole = true;
                reach(latitude);
            }
        }
        let range = ranges.iter().filter(|range| !range.is_full && !has_pole);
        let range = range.min_by(|a, b| (a.high - a.low).total_cmp(&(b.high - b.low)));
        let (west, east) = range.map_or((-180.0, 180.0), |range| {
            let turn = if range.low > 180.0 { 360.0 } else { 0.0 };
            (range.low - turn, range.high - turn)
        });
        Some(Sides { west, south, east, north })
    }

    /// With everything that lies within a distance, in metres, and a little more.
    fn wider(self, metres: f64) -> Sides {
        let degrees = (metres.max(0.0) / EARTH_RADIUS_MIN).to_degrees() + MARGIN;
        let (south, north) = (self.south - degrees, self.north + degrees);
        // Longitudes are narrowest at the parallel farthest from the equator; along it is a longer
        // way than the straight one.
        let farthest = south.abs().max(north.abs());
        let wider = degrees / farthest.to_radians().cos();
        let (west, east) = (self.west - wider, self.east + wider);
        let (south, north) = (south.max(-90.0), north.min(90.0));
        if farthest < 90.0 && east - west < 360.0 {
            Sides { west, south, east, north }
        } else {
            Sides { south, north, ..Sides::WORLD }
        }
    }
}

/// Longitudes, counted from some meridian on.
struct Range {
    from: f64,
    low: f64,
    high: f64,
    /// Whether something lies across that meridian.
    is_full: bool,
}

impl Range {
    fn new(from: f64) -> Range {
        Range { from, low: f64::INFINITY, high: f64::NEG_INFINITY, is_full: false }
    }

    /// Makes room for an arc by the longitudes of its ends.
    fn add(&mut self, start: f64, end: f64) {
        let count =
            |longitude: f64| if longitude < self.from { longitude + 360.0 } else { longitude };
        let (start, end) = (count(start), count(end));
        self.low = self.low.min(start).min(end);
        self.high = self.high.max(start).max(end);
        let is_end = |longitude: f64| {
            longitude - self.from < MARGIN || self.from + 360.0 - longitude < MARGIN
        };
        self.is_full |= (start - end).abs() > 180.0 - MARGIN || is_end(start) || is_end(end);
    }
}

/// The latitudes at which an arc is nearest to a pole, if that is not at an end: a way along a
/// great circle leads over higher latitudes than those of its ends.
fn tops(arc: &Arc, surface: Surface) -> impl Iterator<Item = f64> {
    let normal = arc.start.cross(arc.end - arc.start).unit();
    let top = Vector { x: 0.0, y: 0.0, z: 1.0 } - normal * normal.z;
    // The equator has no top.
    let top = if top.length() > MARGIN { top.unit() } else { arc.start };
    let tops = [top, top * -1.0].into_iter().filter(move |top| arc.touches(*top, surface));
    tops.map(|top| position(top)[1])
}
