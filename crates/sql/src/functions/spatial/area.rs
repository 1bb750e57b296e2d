//! The area of a shape: square metres on the ellipsoid of the Earth, or square units of the plane.

use geographiclib_rs::{PolygonArea, Winding};

use super::distance::EARTH;
use super::geojson::{Geometry, Position};

/// The area; zero for points and lines. What lies around a clockwise ring is the rest of the Earth.
pub(super) fn area(geometry: &Geometry, is_planar: bool) -> f64 {
    let Geometry::Polygons(polygons) = geometry else { return 0.0 };
    let of_polygon = |rings: &Vec<Vec<Position>>| {
        let areas = rings.iter().enumerate().map(|(place, ring)| {
            let left = if is_planar { planar(ring).abs() } else { on_the_left(ring) };
            match place {
                0 => left,
                // A hole is the smaller side, whichever way it turns.
                _ if is_planar => -left,
                _ => -left.min(EARTH.area() - left),
            }
        });
        areas.sum::<f64>().max(0.0)
    };
    polygons.iter().map(of_polygon).sum()
}

/// The area to the left of a ring on the Earth.
fn on_the_left(ring: &[Position]) -> f64 {
    let mut area = PolygonArea::new(&EARTH, Winding::CounterClockwise);
    // The last position is the first again.
    for [longitude, latitude] in &ring[..ring.len().saturating_sub(1)] {
        area.add_point(*latitude, *longitude);
    }
    area.compute(false).1
}

/// Twice the sum of the triangles from the first point, halved; negative for clockwise rings.
fn planar(ring: &[Position]) -> f64 {
    let Some([x, y]) = ring.first() else { return 0.0 };
    let triangle = |pair: &[Position]| {
        let ([a_x, a_y], [b_x, b_y]) = (pair[0], pair[1]);
        (a_x - x) * (b_y - y) - (a_y - y) * (b_x - x)
    };
    ring.windows(2).map(triangle).sum::<f64>() / 2.0
}
