//! How shapes lie to each other: whether they meet, whether one lies within the other.
//!
//! Arcs are cut where they meet the arcs of the other shape; between two cuts a piece lies wholly
//! inside, outside or on the border, and its middle tells which.

use super::shape::{Chain, Polygon, Shape};
use super::vector::{Arc, Surface, Vector};

/// Where a point lies in respect to a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    Outside,
    /// On a ring of a polygon, or at the end of a line.
    Border,
    Inside,
}

/// Whether two shapes have a point in common.
pub(super) fn intersects(a: &Shape, b: &Shape) -> bool {
    let surface = common(a, b);
    meet(a, b, surface) || enters(a, b, surface) || enters(b, a, surface)
}

/// Whether every point of `a` is a point of `b`, and not only of its border.
pub(super) fn within(a: &Shape, b: &Shape) -> bool {
    let surface = common(a, b);
    let mut is_inside = false;
    for point in &a.points {
        match locate(b, *point, surface) {
            Place::Outside => return false,
            place => is_inside |= place == Place::Inside,
        }
    }
    for line in &a.lines {
        let mut places = Places::new(b, surface);
        let is_covered = line.arcs.iter().all(|arc| {
            places.of(arc, |place, _| {
                is_inside |= place == Place::Inside;
                place != Place::Outside
            })
        });
        if !is_covered {
            return false;
        }
    }
    if !a.polygons.is_empty()
        && !a.polygons.iter().all(|polygon| polygon_within(polygon, b, surface))
    {
        return false;
    }
    is_inside || !a.polygons.is_empty()
}

/// Whether a polygon lies in the polygons of a shape: its rings do not leave them, and their rings
/// do not come into it.
fn polygon_within(polygon: &Polygon, b: &Shape, surface: Surface) -> bool {
    let mut is_inside = false;
    for ring in &polygon.rings {
        let mut places = Places::new(b, surface);
        let is_covered = ring.arcs.iter().all(|arc| {
            places.of(arc, |place, middle| {
                is_inside |= match place {
                    Place::Inside => true,
                    // Along a common border both are inside if they turn the same way.
                    Place::Border => b.rings().any(|ring| is_along(ring, arc, middle, surface)),
                    Place::Outside => false,
                };
                place != Place::Outside
            })
        });
        if !is_covered {
            return false;
        }
    }
    let mut rings = b.rings();
    is_inside
        && rings.all(|ring| {
            let mut places = Places {
                polygons: std::slice::from_ref(polygon),
                shape: None,
                surface,
                last: None,
            };
            ring.arcs.iter().all(|arc| places.of(arc, |place, _| place != Place::Inside))
        })
}

/// Whether a ring runs through a point of an arc in the arc's direction.
fn is_along(ring: &Chain, arc: &Arc, point: Vector, surface: Surface) -> bool {
    ring.near(point, || surface.tolerance).any(|other| {
        other.touches(point, surface) && (other.end - other.start).dot(arc.end - arc.start) > 0.0
    })
}

/// The surface of both, with the coarser tolerance.
fn common(a: &Shape, b: &Shape) -> Surface {
    Surface { tolerance: a.surface.tolerance.max(b.surface.tolerance), ..a.surface }
}

/// Whether arcs of the shapes have a point in common.
fn meet(a: &Shape, b: &Shape, surface: Surface) -> bool {
    a.chains().flat_map(|chain| &chain.arcs).any(|arc| {
        let reach = || arc.reach + surface.tolerance;
        b.chains().any(|chain| chain.near(arc.middle, reach).any(|other| arc.meets(other, surface)))
    })
}

/// Whether a point of `a`, or the beginning of one of its chains, lies in `b`.
fn enters(a: &Shape, b: &Shape, surface: Surface) -> bool {
    let starts = a.chains().filter_map(|chain| chain.ends().map(|(start, _)| start));
    let mut points = a.points.iter().copied().chain(starts);
    points.any(|point| locate(b, point, surface) != Place::Outside)
}

/// Where a point lies.
pub(super) fn locate(shape: &Shape, point: Vector, surface: Surface) -> Place {
    if shape.points.iter().any(|other| other.distance(point) <= surface.tolerance) {
        return Place::Inside;
    }
    let mut place = locate_in_polygons(&shape.polygons, point, surface);
    for line in &shape.lines {
        if line.near(point, || surface.tolerance).any(|arc| arc.touches(point, surface)) {
            let is_end = line.ends().is_some_and(|(start, end)| {
                let is_at = |end: Vector| end.distance(point) <= surface.tolerance;
                (is_at(start) || is_at(end)) && start.distance(end) > surface.tolerance
            });
            place = place.max(if is_end { Place::Border } else { Place::Inside });
        }
    }
    place
}

fn locate_in_polygons(polygons: &[Polygon], point: Vector, surface: Surface) -> Place {
    let in_polygon = |polygon: &Polygon| {
        let places = polygon.rings.iter().map(|ring| locate_in_ring(ring, point, surface));
        places.min().unwrap_or(Place::Outside)
    };
    polygons.iter().map(in_polygon).max().unwrap_or(Place::Outside)
}

/// Whether a point lies to the left of a ring. A way from the point to the middle of an arc ends
/// on the side of that arc on which the point is; every arc crossed before changes sides.
fn locate_in_ring(ring: &Chain, point: Vector, surface: Surface) -> Place {
    if ring.near(point, || surface.tolerance).any(|arc| arc.touches(point, surface)) {
        return Place::Border;
    }
    // A path through a corner decides nothing: try the next arc.
    let step = ring.arcs.len().div_ceil(ARCS_TRIED_MAX).max(1);
    let mut is_left = false;
    for (target, arc) in ring.arcs.iter().enumerate().step_by(step) {
        let opposite = arc.middle + point;
        if arc.is_aligned(point, surface) || (!surface.is_planar && opposite.length() < OPPOSITE) {
            continue;
        }
        let way = Arc::new(point, arc.middle, surface);
        is_left = arc.side(point) > 0.0;
        let mut is_clear = true;
        for (place, other) in ring.arcs.iter().enumerate() {
            if place == target || !way.is_near(other.middle, other.reach, surface) {
                continue;
            }
            let is_corner = way.touches(other.start, surface) || way.touches(other.end, surface);
            if is_corner || other.touches(arc.middle, surface) {
                is_clear = false;
                break;
            }
            is_left ^= way.crosses(other);
        }
        if is_clear {
            break;
        }
    }
    if is_left { Place::Inside } else { Place::Outside }
}

/// Arcs tried as targets. One of a few always does, but for rings that cross themselves everywhere.
const ARCS_TRIED_MAX: usize = 32;

/// How near to opposite a point and its target may be for the way between them to be known.
const OPPOSITE: f64 = 1e-6;

/// Where the pieces of a chain lie, arc after arc.
struct Places<'a> {
    polygons: &'a [Polygon],
    /// The shape, if its lines and points count too.
    shape: Option<&'a Shape>,
    surface: Surface,
    /// Where the arc before lies, if it meets nothing: then the next one, if that meets nothing
    /// either, lies there too.
    last: Option<Place>,
}

impl<'a> Places<'a> {
    fn new(shape: &'a Shape, surface: Surface) -> Self {
        Places { polygons: &shape.polygons, shape: Some(shape), surface, last: None }
    }

    /// Calls `check` with the place and the middle of every piece of the arc, while it is true.
    fn of(&mut self, arc: &Arc, mut check: impl FnMut(Place, Vector) -> bool) -> bool {
        let (surface, lines) = (self.surface, self.shape.map_or(&[][..], |shape| &shape.lines));
        let mut cuts = Vec::new();
        let rings = self.polygons.iter().flat_map(|polygon| &polygon.rings);
        for chain in rings.chain(lines) {
            for other in chain.near(arc.middle, || arc.reach + surface.tolerance) {
                arc.contacts(other, surface, &mut cuts);
            }
        }
        if cuts.is_empty() {
            let place = self.last.unwrap_or_else(|| self.locate(arc.middle));
            self.last = Some(place);
            return check(place, arc.middle);
        }
        self.last = None;
        cuts.extend([arc.start, arc.end]);
        cuts.sort_by(|a, b| a.distance(arc.start).total_cmp(&b.distance(arc.start)));
        cuts.windows(2).all(|pair| {
            if pair[0].distance(pair[1]) <= surface.tolerance * 2.0 {
                return true;
            }
            let middle = surface.between(pair[0], pair[1], 0.5);
            check(self.locate(middle), middle)
        })
    }

    fn locate(&self, point: Vector) -> Place {
        match self.shape {
            Some(shape) => locate(shape, point, self.surface),
            None => locate_in_polygons(self.polygons, point, self.surface),
        }
    }
}
