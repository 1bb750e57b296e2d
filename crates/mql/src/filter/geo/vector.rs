//! Points of the unit sphere, and the arcs between them.

use std::ops::{Add, Sub};

use super::geojson::Position;

/// Points nearer than this are one: some micrometres on the Earth.
const TOLERANCE: f64 = 1e-12;

/// A direction from the centre of the sphere, mostly of length one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Vector {
    x: f64,
    y: f64,
    z: f64,
}

impl Add for Vector {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { x: self.x + other.x, y: self.y + other.y, z: self.z + other.z }
    }
}

impl Sub for Vector {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self + other.scaled(-1.0)
    }
}

impl Vector {
    pub(super) const ZERO: Self = Self { x: 0.0, y: 0.0, z: 0.0 };

    /// The point of a longitude and a latitude.
    pub(super) fn of([longitude, latitude]: Position) -> Self {
        // The cosine of 90 degrees is not quite zero in doubles, but a pole has no longitude, and
        // both ends of the longitudes are one meridian.
        let (sin, cos) = latitude.to_radians().sin_cos();
        let cos = if latitude.abs() >= 90.0 { 0.0 } else { cos };
        let (east, front) =
            if longitude.abs() >= 180.0 { (0.0, -1.0) } else { longitude.to_radians().sin_cos() };
        Self { x: cos * front, y: cos * east, z: sin }
    }

    pub(super) fn dot(self, other: Self) -> f64 {
        self.x * other.x + self.y * other.y + self.z * other.z
    }

    pub(super) fn cross(self, other: Self) -> Self {
        Self {
            x: self.y * other.z - self.z * other.y,
            y: self.z * other.x - self.x * other.z,
            z: self.x * other.y - self.y * other.x,
        }
    }

    pub(super) fn scaled(self, by: f64) -> Self {
        Self { x: self.x * by, y: self.y * by, z: self.z * by }
    }

    fn length(self) -> f64 {
        self.dot(self).sqrt()
    }

    /// The angle between two points.
    pub(super) fn angle(self, other: Self) -> f64 {
        self.cross(other).length().atan2(self.dot(other))
    }

    /// Whether two points are one.
    pub(super) fn is_at(self, other: Self) -> bool {
        (self - other).length() <= TOLERANCE
    }
}

/// The shorter part of the great circle through two points.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arc {
    pub(super) start: Vector,
    pub(super) end: Vector,
    /// Stands upright on the plane of the arc.
    normal: Vector,
}

impl Arc {
    pub(super) fn new(start: Vector, end: Vector) -> Self {
        Self { start, end, normal: start.cross(end) }
    }

    /// The point halfway.
    pub(super) fn middle(self) -> Vector {
        let sum = self.start + self.end;
        sum.scaled(sum.length().recip())
    }

    /// Whether a point lies on the arc.
    pub(super) fn has(self, point: Vector) -> bool {
        self.distance(point) <= TOLERANCE
    }

    /// Whether the point of the great circle that is nearest to a point lies within the arc.
    fn spans(self, point: Vector) -> bool {
        self.start.cross(point).dot(self.normal) >= 0.0
            && point.cross(self.end).dot(self.normal) >= 0.0
    }

    /// The angle to a point from the nearest point of the arc.
    pub(super) fn distance(self, point: Vector) -> f64 {
        let length = self.normal.length();
        if length > 0.0 && self.spans(point) {
            let sine = self.normal.dot(point).abs() / length;
            return sine.clamp(0.0, 1.0).asin();
        }
        self.start.angle(point).min(self.end.angle(point))
    }

    /// Whether two arcs cross, each between its ends.
    pub(super) fn crosses(self, other: Self) -> bool {
        let at = self.normal.cross(other.normal);
        if at.length() <= TOLERANCE * TOLERANCE {
            return false;
        }
        let is_inside = |arc: Self, point: Vector| {
            arc.start.cross(point).dot(arc.normal) > 0.0
                && point.cross(arc.end).dot(arc.normal) > 0.0
        };
        let touches = self.has(other.start)
            || self.has(other.end)
            || other.has(self.start)
            || other.has(self.end);
        let is_crossing = |at| is_inside(self, at) && is_inside(other, at);
        !touches && (is_crossing(at) || is_crossing(at.scaled(-1.0)))
    }

    /// Whether two arcs have a point in common.
    pub(super) fn meets(self, other: Self) -> bool {
        self.crosses(other)
            || self.has(other.start)
            || self.has(other.end)
            || other.has(self.start)
            || other.has(self.end)
    }

    /// The angle by which the arc turns around a point, counter-clockwise from outside.
    pub(super) fn turn(self, around: Vector) -> f64 {
        let across = around.dot(self.normal);
        let along = self.start.dot(self.end) - around.dot(self.start) * around.dot(self.end);
        across.atan2(along)
    }
}
