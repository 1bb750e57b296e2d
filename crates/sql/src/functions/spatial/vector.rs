//! Vectors and arcs, for both the Earth and the plane. A point of the Earth is the direction from
//! its centre, of length 1; a point of the plane is `(x, y, 1)`. In both, the line through two
//! points is the plane through them and the origin, and the sign of a determinant tells on which
//! side of it a third point is.

use std::ops::{Add, Mul, Sub};

/// A vector in space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Vector {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) z: f64,
}

impl Vector {
    pub(super) const ZERO: Vector = Vector { x: 0.0, y: 0.0, z: 0.0 };

    pub(super) fn dot(self, other: Vector) -> f64 {
        self.x * other.x + self.y * other.y + self.z * other.z
    }

    pub(super) fn cross(self, other: Vector) -> Vector {
        Vector {
            x: self.y * other.z - self.z * other.y,
            y: self.z * other.x - self.x * other.z,
            z: self.x * other.y - self.y * other.x,
        }
    }

    pub(super) fn length(self) -> f64 {
        self.dot(self).sqrt()
    }

    pub(super) fn distance(self, other: Vector) -> f64 {
        (self - other).length()
    }

    /// The vector of length 1 in the same direction.
    pub(super) fn unit(self) -> Vector {
        self * self.length().recip()
    }
}

impl Add for Vector {
    type Output = Vector;
    fn add(self, other: Vector) -> Vector {
        Vector { x: self.x + other.x, y: self.y + other.y, z: self.z + other.z }
    }
}

impl Sub for Vector {
    type Output = Vector;
    fn sub(self, other: Vector) -> Vector {
        Vector { x: self.x - other.x, y: self.y - other.y, z: self.z - other.z }
    }
}

impl Mul<f64> for Vector {
    type Output = Vector;
    fn mul(self, factor: f64) -> Vector {
        Vector { x: self.x * factor, y: self.y * factor, z: self.z * factor }
    }
}

/// The surface that the points are on, and how near two of them must be to count as one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Surface {
    pub(super) is_planar: bool,
    pub(super) tolerance: f64,
}

impl Surface {
    /// A point between two others, brought back to the surface.
    pub(super) fn between(self, a: Vector, b: Vector, share: f64) -> Vector {
        self.lift(a + (b - a) * share)
    }

    /// A point of a chord, brought back to the surface.
    fn lift(self, point: Vector) -> Vector {
        if self.is_planar { point } else { point.unit() }
    }
}

/// The shortest way between two points: a straight line, or a part of a great circle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arc {
    pub(super) start: Vector,
    pub(super) end: Vector,
    /// The point in the middle, and how far from it the ends are: no point of the arc is farther.
    pub(super) middle: Vector,
    pub(super) reach: f64,
    /// How much a determinant grows per unit of distance from the line.
    slope: f64,
}

impl Arc {
    /// The arc between two points that are neither the same nor opposite.
    pub(super) fn new(start: Vector, end: Vector, surface: Surface) -> Arc {
        let middle = surface.between(start, end, 0.5);
        let slope =
            if surface.is_planar { start.distance(end) } else { start.cross(end - start).length() };
        Arc { start, end, middle, reach: middle.distance(start), slope }
    }

    /// Positive for points to the left of the line, negative for those to the right. Differences
    /// are taken first: that keeps short arcs exact.
    pub(super) fn side(&self, point: Vector) -> f64 {
        self.start.dot((self.end - self.start).cross(point - self.start))
    }

    /// Whether the point is on the line, including before and after the arc.
    pub(super) fn is_aligned(&self, point: Vector, surface: Surface) -> bool {
        self.side(point).abs() <= surface.tolerance * self.slope
    }

    /// Whether the point lies on the arc.
    pub(super) fn touches(&self, point: Vector, surface: Surface) -> bool {
        self.is_near(point, 0.0, surface)
            && self.is_aligned(point, surface)
            && self.spans(point, surface)
    }

    /// Whether a point of the line lies between the ends.
    fn spans(&self, point: Vector, surface: Surface) -> bool {
        let middle = (self.start + self.end) * 0.5;
        middle.distance(point) <= middle.distance(self.start) + surface.tolerance
    }

    /// Whether a ball around the arc meets a ball around a point: cheap, and false for most.
    pub(super) fn is_near(&self, point: Vector, reach: f64, surface: Surface) -> bool {
        let reach = self.reach + reach + surface.tolerance;
        let apart = self.middle - point;
        apart.dot(apart) <= reach * reach
    }

    /// Whether two arcs cross at a point that is an end of neither.
    pub(super) fn crosses(&self, other: &Arc) -> bool {
        let (start, end) = (-self.side(other.start), self.side(other.end));
        // All four have the same sign: then each arc separates the ends of the other, and they do
        // so at the same point, not at opposite points of the Earth.
        start * end > 0.0
            && start * -other.side(self.end) > 0.0
            && start * other.side(self.start) > 0.0
    }

    /// Whether two arcs have a point in common.
    pub(super) fn meets(&self, other: &Arc, surface: Surface) -> bool {
        self.is_near(other.middle, other.reach, surface)
            && (self.crosses(other)
                || self.touches(other.start, surface)
                || self.touches(other.end, surface)
                || other.touches(self.start, surface)
                || other.touches(self.end, surface))
    }

    /// Appends the points at which another arc meets this one; of a common stretch, its ends.
    pub(super) fn contacts(&self, other: &Arc, surface: Surface, out: &mut Vec<Vector>) {
        if !self.is_near(other.middle, other.reach, surface) {
            return;
        }
        let before = out.len();
        out.extend([other.start, other.end].into_iter().filter(|p| self.touches(*p, surface)));
        out.extend([self.start, self.end].into_iter().filter(|p| other.touches(*p, surface)));
        if out.len() == before && self.crosses(other) {
            let (start, end) = (other.side(self.start), other.side(self.end));
            out.push(surface.between(self.start, self.end, start / (start - end)));
        }
    }

    /// The point of the arc that is nearest to a point.
    pub(super) fn nearest(&self, point: Vector, surface: Surface) -> Vector {
        let along = self.end - self.start;
        let foot = if surface.is_planar {
            self.start + along * ((point - self.start).dot(along) / along.dot(along))
        } else {
            let normal = self.start.cross(along).unit();
            let foot = point - normal * normal.dot(point);
            // At the pole of the great circle all its points are equally near.
            if foot.length() < surface.tolerance { self.start } else { foot.unit() }
        };
        if self.spans(foot, Surface { tolerance: 0.0, ..surface }) {
            foot
        } else if point.distance(self.start) <= point.distance(self.end) {
            self.start
        } else {
            self.end
        }
    }
}
