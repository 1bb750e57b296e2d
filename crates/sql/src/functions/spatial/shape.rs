//! Shapes prepared for comparison: positions as vectors, rings oriented with the inside to the
//! left, and arcs in runs with a ball around each, so that most of them can be skipped.

use super::geojson::{Geometry, Invalid, Position, parse};
use super::vector::{Arc, Surface, Vector};
use value::Value;

/// The square of the eccentricity of the Earth (WGS 84): how far it is from a sphere.
pub(super) const ECCENTRICITY_SQUARED: f64 = 0.006_694_379_990_141_316_5;
/// Points of the Earth nearer than this are one: six micrometres.
const EARTH_TOLERANCE: f64 = 1e-12;
/// The tolerance in the plane, as a part of the largest coordinate.
const PLANE_TOLERANCE: f64 = 1e-12;
/// Arcs in a run.
const RUN_ARCS: usize = 16;

/// A shape, valid.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) surface: Surface,
    pub(super) geometry: Geometry,
    pub(super) points: Vec<Vector>,
    pub(super) lines: Vec<Chain>,
    pub(super) polygons: Vec<Polygon>,
}

/// A polygon: what lies to the left of all its rings, the first being the outer one.
#[derive(Debug)]
pub(super) struct Polygon {
    pub(super) rings: Vec<Chain>,
}

/// Arcs, each beginning where the one before ends.
#[derive(Debug)]
pub(super) struct Chain {
    pub(super) arcs: Vec<Arc>,
    runs: Vec<Run>,
}

/// Some arcs of a chain within a ball.
#[derive(Debug)]
struct Run {
    from: usize,
    to: usize,
    centre: Vector,
    reach: f64,
}

impl Shape {
    /// Reads GeoJSON.
    pub(super) fn parse(value: &Value, is_planar: bool) -> Result<Shape, Invalid> {
        Ok(Shape::new(parse(value, is_planar)?, is_planar))
    }

    fn new(geometry: Geometry, is_planar: bool) -> Shape {
        let tolerance = if is_planar { plane_tolerance(&geometry) } else { EARTH_TOLERANCE };
        let surface = Surface { is_planar, tolerance };
        let (mut points, mut lines, mut polygons) = (Vec::new(), Vec::new(), Vec::new());
        let vectors = |positions: &[Position]| -> Vec<Vector> {
            positions.iter().map(|position| vector(*position, is_planar)).collect()
        };
        match &geometry {
            Geometry::Points(positions) => points = vectors(positions),
            Geometry::Lines(all) => {
                lines.extend(all.iter().map(|line| Chain::new(&vectors(line), surface)));
            }
            Geometry::Polygons(all) => polygons.extend(all.iter().map(|rings| {
                let turned = rings.iter().enumerate().map(|(place, ring)| {
                    let mut ring = vectors(ring);
                    // On the Earth, the direction of the outer ring determines which side is the
                    // inside; in the plane one side is infinite. Holes are the smaller side, to the
                    // right.
                    let is_left = turn(&ring, is_planar) >= 0.0;
                    let wants_left = if place == 0 { !is_planar || is_left } else { !is_left };
                    if !wants_left {
                        ring.reverse();
                    }
                    Chain::new(&ring, surface)
                });
                Polygon { rings: turned.collect() }
            })),
        }
        Shape { surface, geometry, points, lines, polygons }
    }

    /// All chains: lines, then rings.
    pub(super) fn chains(&self) -> impl Iterator<Item = &Chain> {
        self.lines.iter().chain(self.rings())
    }

    pub(super) fn rings(&self) -> impl Iterator<Item = &Chain> {
        self.polygons.iter().flat_map(|polygon| &polygon.rings)
    }
}

impl Polygon {
    /// Whether this is the larger part of the Earth: what lies around a clockwise ring.
    pub(super) fn is_complement(&self, surface: Surface) -> bool {
        let outer: Vec<Vector> = match self.rings.first() {
            Some(ring) => ring.arcs.iter().map(|arc| arc.start).collect(),
            None => Vec::new(),
        };
        turn(&outer, surface.is_planar) < 0.0
    }
}

impl Chain {
    /// The arcs between points, those of no length left out.
    fn new(points: &[Vector], surface: Surface) -> Chain {
        let pairs = points.windows(2).filter(|pair| pair[0] != pair[1]);
        let arcs: Vec<Arc> = pairs.map(|pair| Arc::new(pair[0], pair[1], surface)).collect();
        let run = |(number, arcs): (usize, &[Arc])| {
            let sum = arcs.iter().fold(Vector::ZERO, |sum, arc| sum + arc.middle);
            let centre = sum * (arcs.len() as f64).recip();
            let reach = arcs.iter().map(|arc| arc.middle.distance(centre) + arc.reach);
            let from = number * RUN_ARCS;
            Run { from, to: from + arcs.len(), centre, reach: reach.fold(0.0, f64::max) }
        };
        let runs = arcs.chunks(RUN_ARCS).enumerate().map(run).collect();
        Chain { arcs, runs }
    }

    /// The arcs in runs that come within `reach` of a point, in which a caller may shrink the
    /// reach as it goes.
    pub(super) fn near(
        &self,
        point: Vector,
        reach: impl Fn() -> f64,
    ) -> impl Iterator<Item = &Arc> {
        let runs = self.runs.iter().filter(move |run| {
            let apart = run.centre - point;
            let reach = run.reach + reach();
            apart.dot(apart) <= reach * reach
        });
        runs.flat_map(|run| &self.arcs[run.from..run.to])
    }

    /// The first and the last point.
    pub(super) fn ends(&self) -> Option<(Vector, Vector)> {
        Some((self.arcs.first()?.start, self.arcs.last()?.end))
    }
}

/// The direction from the centre of the Earth to a position on it, or the point of the plane.
pub(super) fn vector([x, y]: Position, is_planar: bool) -> Vector {
    if is_planar {
        return Vector { x, y, z: 1.0 };
    }
    let (longitude, latitude) = (x.to_radians(), y.to_radians());
    let (sin, cos) = latitude.sin_cos();
    // The cosine of 90 degrees is not quite zero in doubles, but a pole has no longitude.
    let cos = if y.abs() >= 90.0 { 0.0 } else { cos };
    // The ends of the longitudes are the same meridian.
    let (east, front) = if x.abs() >= 180.0 { (0.0, -1.0) } else { longitude.sin_cos() };
    let z = (1.0 - ECCENTRICITY_SQUARED) * sin;
    Vector { x: cos * front, y: cos * east, z }.unit()
}

/// The position of a direction from the centre of the Earth.
pub(super) fn position(vector: Vector) -> Position {
    let across = vector.x.hypot(vector.y);
    let latitude = (vector.z / (1.0 - ECCENTRICITY_SQUARED)).atan2(across);
    [vector.y.atan2(vector.x).to_degrees(), latitude.to_degrees()]
}

/// Positive if the smaller side of a ring lies to its left.
fn turn(ring: &[Vector], is_planar: bool) -> f64 {
    let Some(origin) = ring.first() else { return 0.0 };
    let pairs = ring.windows(2);
    if is_planar {
        let area = |a: Vector, b: Vector| {
            (a.x - origin.x) * (b.y - origin.y) - (a.y - origin.y) * (b.x - origin.x)
        };
        return pairs.map(|pair| area(pair[0], pair[1])).sum();
    }
    let (mut area, mut centre) = (Vector::ZERO, Vector::ZERO);
    for pair in pairs {
        area = area + (pair[0] - *origin).cross(pair[1] - *origin);
        centre = centre + pair[0];
    }
    area.dot(centre)
}

fn plane_tolerance(geometry: &Geometry) -> f64 {
    let largest = |positions: &[Position]| {
        positions.iter().flatten().fold(1.0, |largest: f64, number| largest.max(number.abs()))
    };
    let largest = match geometry {
        Geometry::Points(points) => largest(points),
        Geometry::Lines(lines) => lines.iter().map(|line| largest(line)).fold(1.0, f64::max),
        Geometry::Polygons(polygons) => {
            polygons.iter().flatten().map(|ring| largest(ring)).fold(1.0, f64::max)
        }
    };
    largest * PLANE_TOLERANCE
}
