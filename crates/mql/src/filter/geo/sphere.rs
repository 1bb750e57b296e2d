//! Shapes on the sphere: what contains what, and what meets.

use std::f64::consts::PI;

use super::geojson::{Geometry, Position, are_degrees};
use super::vector::{Arc, Vector};

/// A shape on the sphere.
#[derive(Debug)]
pub(super) struct Spherical {
    points: Vec<Vector>,
    lines: Vec<Vec<Arc>>,
    polygons: Vec<Polygon>,
}

/// The smaller side of a ring, without the smaller sides of other rings.
#[derive(Debug)]
struct Polygon {
    outer: Ring,
    holes: Vec<Ring>,
}

/// Arcs around the smaller side, which is on their left.
#[derive(Debug)]
struct Ring {
    arcs: Vec<Arc>,
    /// A circle around all of it: its centre, and the cosine of its radius.
    centre: Vector,
    reach: f64,
}

/// A circle.
#[derive(Debug)]
pub(super) struct Cap {
    centre: Vector,
    /// The angle from the centre to the edge.
    radius: f64,
}

fn chain(positions: &[Position]) -> Vec<Arc> {
    let points = positions.iter().map(|position| Vector::of(*position));
    let points: Vec<Vector> = points.collect();
    let pairs = points.windows(2).filter(|pair| !pair[0].is_at(pair[1]));
    pairs.map(|pair| Arc::new(pair[0], pair[1])).collect()
}

impl Spherical {
    /// `None` if a position is out of bounds.
    pub(super) fn new(geometry: &Geometry) -> Option<Self> {
        if !geometry.positions().all(|position| are_degrees(*position)) {
            return None;
        }
        let polygons = geometry.polygons.iter().filter_map(|rings| {
            let mut rings = rings.iter().map(|ring| Ring::new(ring));
            Some(Polygon { outer: rings.next()?, holes: rings.collect() })
        });
        Some(Self {
            points: geometry.points.iter().map(|position| Vector::of(*position)).collect(),
            lines: geometry.lines.iter().map(|line| chain(line)).collect(),
            polygons: polygons.collect(),
        })
    }

    /// Whether each part of a shape lies in one of these polygons.
    pub(super) fn contains(&self, shape: &Self) -> bool {
        let any = |test: &dyn Fn(&Polygon) -> bool| self.polygons.iter().any(test);
        shape.points.iter().all(|point| any(&|polygon| polygon.has(*point)))
            && shape.lines.iter().all(|line| any(&|polygon| polygon.has_line(line)))
            && shape.polygons.iter().all(|inner| any(&|polygon| polygon.has_polygon(inner)))
    }

    /// Whether two shapes have a point in common.
    pub(super) fn intersects(&self, other: &Self) -> bool {
        self.points.iter().any(|point| other.has(*point))
            || other.points.iter().any(|point| self.has(*point))
            || self.arcs().any(|arc| other.arcs().any(|other| arc.meets(*other)))
            || self.holds_start_of(other)
            || other.holds_start_of(self)
    }

    /// Whether the beginning of a line or a ring lies in one of these polygons: so it is if they
    /// lie inside each other without meeting at an edge.
    fn holds_start_of(&self, other: &Self) -> bool {
        let rings = other.polygons.iter().map(|polygon| &polygon.outer.arcs);
        let mut starts = other.lines.iter().chain(rings).filter_map(|arcs| arcs.first());
        starts.any(|arc| self.polygons.iter().any(|polygon| polygon.has(arc.start)))
    }

    /// Whether a point belongs to the shape.
    fn has(&self, point: Vector) -> bool {
        self.points.iter().any(|other| other.is_at(point))
            || self.lines.iter().flatten().any(|arc| arc.has(point))
            || self.polygons.iter().any(|polygon| polygon.has(point))
    }

    fn arcs(&self) -> impl Iterator<Item = &Arc> {
        self.lines.iter().flatten().chain(self.polygons.iter().flat_map(Polygon::arcs))
    }

    /// The angle to a point from the nearest point of the shape.
    pub(super) fn distance(&self, point: Vector) -> f64 {
        if self.polygons.iter().any(|polygon| polygon.has(point)) {
            return 0.0;
        }
        let points = self.points.iter().map(|other| other.angle(point));
        points.chain(self.arcs().map(|arc| arc.distance(point))).fold(f64::INFINITY, f64::min)
    }
}

impl Polygon {
    fn arcs(&self) -> impl Iterator<Item = &Arc> {
        self.outer.arcs.iter().chain(self.holes.iter().flat_map(|hole| &hole.arcs))
    }

    /// Whether a point lies inside or on the edge.
    fn has(&self, point: Vector) -> bool {
        self.outer.has(point)
            && !self.holes.iter().any(|hole| hole.has(point) && !hole.has_on_edge(point))
    }

    fn has_line(&self, line: &[Arc]) -> bool {
        let is_inside =
            |arc: &Arc| self.has(arc.start) && self.has(arc.end) && self.has(arc.middle());
        line.iter().all(is_inside)
            && !line.iter().any(|arc| self.arcs().any(|edge| edge.crosses(*arc)))
    }

    fn has_polygon(&self, inner: &Self) -> bool {
        let is_strictly_inside =
            |point: Vector| inner.has(point) && !inner.arcs().any(|arc| arc.has(point));
        self.has_line(&inner.outer.arcs)
            && !self.holes.iter().any(|hole| {
                hole.arcs
                    .iter()
                    .any(|arc| is_strictly_inside(arc.start) || is_strictly_inside(arc.middle()))
            })
    }
}

impl Ring {
    fn new(positions: &[Position]) -> Self {
        let mut arcs = chain(positions);
        let mut area = Vector::ZERO;
        let mut sum = Vector::ZERO;
        for arc in &arcs {
            area = area + arc.start.cross(arc.end);
            sum = sum + arc.start;
        }
        if area.dot(sum) < 0.0 {
            arcs = arcs.iter().rev().map(|arc| Arc::new(arc.end, arc.start)).collect();
        }
        let centre = sum.scaled(sum.dot(sum).sqrt().max(f64::MIN_POSITIVE).recip());
        let farthest = arcs.iter().map(|arc| centre.dot(arc.start)).fold(1.0, f64::min);
        Self { arcs, centre, reach: farthest }
    }

    /// Whether a point lies inside or on the edge.
    fn has(&self, point: Vector) -> bool {
        // A circle smaller than a hemisphere is convex: arcs between points in it stay inside.
        if self.reach > 0.0 && self.centre.dot(point) < self.reach - 1e-9 {
            return false;
        }
        let turns: f64 = self.arcs.iter().map(|arc| arc.turn(point)).sum();
        turns > PI || self.has_on_edge(point)
    }

    fn has_on_edge(&self, point: Vector) -> bool {
        self.arcs.iter().any(|arc| arc.has(point))
    }
}

impl Cap {
    pub(super) fn new(centre: Position, radius: f64) -> Self {
        Self { centre: Vector::of(centre), radius }
    }

    /// Whether all corners of a shape lie in the circle.
    pub(super) fn contains(&self, shape: &Spherical) -> bool {
        let has = |point: Vector| self.centre.angle(point) <= self.radius;
        shape.points.iter().all(|point| has(*point))
            && shape.arcs().all(|arc| has(arc.start) && has(arc.end) && has(arc.middle()))
    }
}
