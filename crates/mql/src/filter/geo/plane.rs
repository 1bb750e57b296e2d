//! Regions of the plane, for legacy points.

use bson::RawBsonRef;

use super::geojson::{self, Position};
use crate::error::{Error, Result};

/// A region of the plane. Its edge belongs to it.
#[derive(Debug)]
pub(super) enum Flat {
    /// `$box`: the lower left and the upper right corner.
    Rectangle(Position, Position),
    /// `$center`: the centre and the radius.
    Circle(Position, f64),
    /// `$polygon`: its corners.
    Polygon(Vec<Position>),
}

impl Flat {
    pub(super) fn parse(name: &str, value: RawBsonRef<'_>) -> Result<Self> {
        if name == "$center" {
            let (centre, radius) = geojson::circle(value)?;
            return Ok(Self::Circle(centre, radius));
        }
        let corners: Vec<Position> = match value {
            RawBsonRef::Array(array) => {
                let corners = array.into_iter().map(|corner| geojson::position(corner?));
                corners.collect::<Result<_>>()?
            }
            RawBsonRef::Document(document) => {
                let corners = document.iter().map(|field| geojson::position(field?.1));
                corners.collect::<Result<_>>()?
            }
            _ => return Err(Error::bad_value("Point must be an array or object")),
        };
        if name == "$polygon" {
            if corners.len() < 3 {
                return Err(Error::bad_value("Polygon must have at least 3 points"));
            }
            return Ok(Self::Polygon(corners));
        }
        let [a, b, ..] = corners[..] else {
            return Err(Error::bad_value("Point must be an array or object"));
        };
        let low = [a[0].min(b[0]), a[1].min(b[1])];
        let high = [a[0].max(b[0]), a[1].max(b[1])];
        Ok(Self::Rectangle(low, high))
    }

    pub(super) fn contains(&self, point: Position) -> bool {
        let [x, y] = point;
        match self {
            Self::Rectangle(low, high) => {
                (low[0]..=high[0]).contains(&x) && (low[1]..=high[1]).contains(&y)
            }
            Self::Circle(centre, radius) => distance(*centre, point) <= *radius,
            Self::Polygon(corners) => has(corners, point),
        }
    }
}

/// The distance of two points.
pub(super) fn distance(a: Position, b: Position) -> f64 {
    (a[0] - b[0]).hypot(a[1] - b[1])
}

/// Whether a point lies inside a polygon: a ray from it crosses an odd number of edges. A point on
/// an edge lies inside.
fn has(corners: &[Position], [x, y]: Position) -> bool {
    let Some(mut from) = corners.last() else { return false };
    let mut is_inside = false;
    for to in corners {
        let ([ax, ay], [bx, by]) = (*from, *to);
        let side = (bx - ax) * (y - ay) - (by - ay) * (x - ax);
        let is_between =
            (ax.min(bx)..=ax.max(bx)).contains(&x) && (ay.min(by)..=ay.max(by)).contains(&y);
        if side == 0.0 && is_between {
            return true;
        }
        if (ay > y) != (by > y) && (side < 0.0) == (by < ay) {
            is_inside = !is_inside;
        }
        from = to;
    }
    is_inside
}
