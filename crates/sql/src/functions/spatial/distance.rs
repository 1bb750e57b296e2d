//! The shortest distance between shapes: metres along the ellipsoid of the Earth, or units of the
//! plane.
//!
//! Two shapes that do not meet are nearest at a corner of one of them. Which corner and which arc
//! is found with straight distances through the Earth; these order pairs almost as distances along
//! it do, and the best of them are measured exactly.

use std::cell::Cell;
use std::sync::LazyLock;

use geographiclib_rs::{Geodesic, InverseGeodesic};

use super::geojson::{Geometry, Position};
use super::relate;
use super::shape::{ECCENTRICITY_SQUARED, Shape, position};
use super::vector::{Arc, Surface, Vector};

/// The ellipsoid of WGS 84.
pub(super) static EARTH: LazyLock<Geodesic> = LazyLock::new(Geodesic::wgs84);

/// The mean radius of the Earth in metres; steps of the search are measured with it.
const EARTH_RADIUS: f64 = 6_371_008.8;
/// The radii of the Earth at the equator and at the poles, in metres.
const EQUATOR_RADIUS: f64 = 6_378_137.0;
const POLE_RADIUS: f64 = 6_356_752.0;
/// The pairs that are measured exactly. Only shapes of great symmetry have more that are about as
/// near, to a hundred-thousandth of the distance.
const PAIRS_MAX: usize = 64;
/// A step of the search, in metres, after which the distance no longer changes.
const STEP_MIN: f64 = 1e-4;
/// Steps of the search; each is a hundred times shorter than the one before.
const STEPS_MAX: usize = 10;

/// The distance between two shapes of one surface.
pub(super) fn distance(a: &Shape, b: &Shape) -> f64 {
    if let (Geometry::Points(from), Geometry::Points(to)) = (&a.geometry, &b.geometry)
        && let ([from], [to], false) = (from.as_slice(), to.as_slice(), a.surface.is_planar)
    {
        return geodesic(*from, *to).0;
    }
    if relate::intersects(a, b) {
        return 0.0;
    }
    let mut nearest = Nearest::new(a.surface);
    nearest.search(a, b);
    nearest.search(b, a);
    nearest.shorten();
    let measured = nearest.pairs.into_iter().map(|pair| match &pair.to {
        _ if a.surface.is_planar => pair.straight,
        Target::Point(point) => geodesic(position(pair.from), position(*point)).0,
        Target::Arc(arc) => to_arc(pair.from, arc, a.surface),
    });
    measured.fold(f64::INFINITY, f64::min)
}

/// The distance in metres, and the direction at the start in radians.
fn geodesic([a_lon, a_lat]: Position, [b_lon, b_lat]: Position) -> (f64, f64) {
    let (metres, direction, _, _) = EARTH.inverse(a_lat, a_lon, b_lat, b_lon);
    (metres, direction.to_radians())
}

/// A corner and what it may be nearest to.
struct Pair<'a> {
    from: Vector,
    to: Target<'a>,
    /// The distance straight through space.
    straight: f64,
}

enum Target<'a> {
    Point(Vector),
    Arc(&'a Arc),
}

/// The pairs that may be the nearest.
struct Nearest<'a> {
    surface: Surface,
    /// The least straight distance so far.
    best: Cell<f64>,
    pairs: Vec<Pair<'a>>,
}

impl<'a> Nearest<'a> {
    fn new(surface: Surface) -> Self {
        Nearest { surface, best: Cell::new(f64::INFINITY), pairs: Vec::new() }
    }

    /// Adds the points and corners of `a` with the parts of `b` nearest to them.
    fn search(&mut self, a: &Shape, b: &'a Shape) {
        let ends = a.lines.iter().filter_map(|line| line.arcs.last().map(|arc| arc.end));
        let starts = a.chains().flat_map(|chain| &chain.arcs).map(|arc| arc.start);
        for from in a.points.iter().copied().chain(starts).chain(ends) {
            for point in &b.points {
                self.add(from, Target::Point(*point), *point);
            }
            for chain in b.chains() {
                let best = self.best.clone();
                let unit = if self.surface.is_planar { 1.0 } else { POLE_RADIUS };
                for arc in chain.near(from, || limit(best.get()) / unit) {
                    self.add(from, Target::Arc(arc), arc.nearest(from, self.surface));
                    best.set(self.best.get());
                }
            }
        }
    }

    fn add(&mut self, from: Vector, to: Target<'a>, foot: Vector) {
        let straight = if self.surface.is_planar {
            from.distance(foot)
        } else {
            on_the_ellipsoid(from).distance(on_the_ellipsoid(foot))
        };
        let best = self.best.get().min(straight);
        if straight <= limit(best) {
            self.best.set(best);
            self.pairs.push(Pair { from, to, straight });
            if self.pairs.len() > PAIRS_MAX * 16 {
                self.shorten();
            }
        }
    }

    /// Drops the pairs that are not among the best.
    fn shorten(&mut self) {
        let limit = limit(self.best.get());
        self.pairs.retain(|pair| pair.straight <= limit);
        self.pairs.sort_by(|a, b| a.straight.total_cmp(&b.straight));
        self.pairs.truncate(PAIRS_MAX);
    }
}

/// How far a pair may be straight through the Earth and yet be the nearest along it. The farther,
/// the more it matters that the Earth is not equally curved everywhere.
fn limit(straight: f64) -> f64 {
    let share = straight / EQUATOR_RADIUS;
    straight * (1.0 + 1e-5 + 2e-3 * share * share)
}

/// The point of the Earth in a direction from its centre, in metres.
fn on_the_ellipsoid(direction: Vector) -> Vector {
    let shrunk = 1.0 - ECCENTRICITY_SQUARED * (1.0 - direction.z * direction.z);
    direction * (EQUATOR_RADIUS * ((1.0 - ECCENTRICITY_SQUARED) / shrunk).sqrt())
}

/// The distance in metres from a point to an arc: walks along the arc to where the way to the
/// point leaves at a right angle, or to an end.
fn to_arc(from: Vector, arc: &Arc, surface: Surface) -> f64 {
    let target = position(from);
    let mut foot = arc.nearest(from, surface);
    let mut best = f64::INFINITY;
    for _ in 0..STEPS_MAX {
        let here = position(foot);
        let (metres, direction) = geodesic(here, target);
        best = best.min(metres);
        // The direction of the arc here, from a point a few metres on.
        let normal = arc.start.cross(arc.end - arc.start).unit();
        let tangent = normal.cross(foot);
        let (_, onward) = geodesic(here, position((foot + tangent * 1e-6).unit()));
        let angle = metres / EARTH_RADIUS;
        // Near a quarter of the way round all points of the arc are equally far.
        let step =
            if angle < 1.5 { (angle.tan() * (direction - onward).cos()).atan() } else { 0.0 };
        if (step * EARTH_RADIUS).abs() < STEP_MIN {
            break;
        }
        let next = (foot * step.cos() + tangent * step.sin()).unit();
        let clamped = arc.nearest(next, surface);
        let is_stuck = clamped.distance(foot) < surface.tolerance;
        foot = clamped;
        if is_stuck {
            break;
        }
    }
    best
}
