//! From BSON to positions: GeoJSON, and legacy points.

use bson::{RawArray, RawBsonRef, RawDocument};

use crate::error::{Error, Result};
use crate::number::Number;
use crate::show;

/// Longitude and latitude in degrees, or x and y.
pub(super) type Position = [f64; 2];

/// The deepest nesting of collections of geometries.
const COLLECTIONS_MAX: usize = 8;

/// What was read. On the sphere it may be out of bounds yet.
#[derive(Debug, Default)]
pub(super) struct Geometry {
    pub(super) points: Vec<Position>,
    pub(super) lines: Vec<Vec<Position>>,
    /// Rings, whose last position is the first again. The first ring is the outer one.
    pub(super) polygons: Vec<Vec<Vec<Position>>>,
    /// Whether it is one point, GeoJSON or legacy.
    is_point: bool,
}

impl Geometry {
    /// Reads GeoJSON or a legacy point.
    pub(super) fn parse(value: RawBsonRef<'_>) -> Result<Self> {
        let mut geometry = Self::default();
        match value {
            RawBsonRef::Document(document) if is_geojson(document) => {
                geometry.add(document, 0)?;
            }
            _ => {
                geometry.points.push(position(value)?);
                geometry.is_point = true;
            }
        }
        Ok(geometry)
    }

    /// The only point.
    pub(super) fn point(&self) -> Option<Position> {
        self.points.first().copied().filter(|_| self.is_point)
    }

    /// Whether it consists of polygons.
    pub(super) fn is_area(&self) -> bool {
        self.points.is_empty() && self.lines.is_empty() && !self.polygons.is_empty()
    }

    pub(super) fn positions(&self) -> impl Iterator<Item = &Position> {
        let rings = self.polygons.iter().flatten();
        self.points.iter().chain(self.lines.iter().chain(rings).flatten())
    }

    fn add(&mut self, document: &RawDocument, depth: usize) -> Result<()> {
        let unknown =
            || Error::bad_value(format!("unknown GeoJSON type: {}", show::document(document)));
        let kind = document.get_str("type").map_err(|_| unknown())?;
        if kind == "GeometryCollection" {
            return self.add_collection(document, depth);
        }
        let coordinates = document.get("coordinates")?;
        let coordinates = coordinates.and_then(RawBsonRef::as_array);
        let coordinates = coordinates.ok_or_else(|| {
            Error::bad_value("GeoJSON coordinates must be an array of coordinates")
        })?;
        match kind {
            "Point" => {
                self.points.push(position(RawBsonRef::Array(coordinates))?);
                self.is_point = depth == 0;
            }
            "MultiPoint" => self.points.extend(positions(coordinates)?),
            "LineString" => self.lines.push(line(coordinates)?),
            "Polygon" => self.polygons.push(polygon(coordinates)?),
            "MultiLineString" => {
                for part in parts(coordinates) {
                    self.lines.push(line(part?)?);
                }
            }
            "MultiPolygon" => {
                for part in parts(coordinates) {
                    self.polygons.push(polygon(part?)?);
                }
            }
            _ => return Err(unknown()),
        }
        Ok(())
    }

    fn add_collection(&mut self, document: &RawDocument, depth: usize) -> Result<()> {
        let wrong = || Error::bad_value("GeometryCollection geometries must be an array");
        let geometries = document.get_array("geometries").map_err(|_| wrong())?;
        if depth >= COLLECTIONS_MAX {
            return Err(Error::bad_value("GeometryCollection is nested too deeply"));
        }
        for geometry in geometries {
            match geometry? {
                RawBsonRef::Document(geometry) => self.add(geometry, depth + 1)?,
                _ => {
                    return Err(Error::bad_value("Element of GeometryCollection is not an object"));
                }
            }
        }
        Ok(())
    }
}

/// Whether a document is GeoJSON rather than a legacy point.
fn is_geojson(document: &RawDocument) -> bool {
    matches!(document.get("type"), Ok(Some(RawBsonRef::String(_))))
}

/// The numbers of an array or of the fields of a document, of which the first two count.
pub(super) fn position(value: RawBsonRef<'_>) -> Result<Position> {
    let numbers = match value {
        RawBsonRef::Array(array) => numbers(array.into_iter().flatten()),
        RawBsonRef::Document(document) => {
            numbers(document.iter().flatten().map(|(_, value)| value))
        }
        _ => return Err(Error::bad_value("Point must be an array or object")),
    };
    match numbers {
        [Some(x), Some(y)] if x.is_finite() && y.is_finite() => Ok([x, y]),
        _ => Err(Error::bad_value("Point must only contain numeric elements")),
    }
}

fn numbers<'a>(mut values: impl Iterator<Item = RawBsonRef<'a>>) -> [Option<f64>; 2] {
    let mut next = || values.next().and_then(Number::of).map(Number::to_f64);
    [next(), next()]
}

fn positions(array: &RawArray) -> Result<Vec<Position>> {
    array.into_iter().map(|element| position(element?)).collect()
}

fn parts(array: &RawArray) -> impl Iterator<Item = Result<&RawArray>> {
    array.into_iter().map(|part| {
        let wrong = || Error::bad_value("GeoJSON coordinates must be an array of coordinates");
        part?.as_array().ok_or_else(wrong)
    })
}

fn line(array: &RawArray) -> Result<Vec<Position>> {
    let mut line = positions(array)?;
    line.dedup();
    if line.len() < 2 {
        let shown = show::value(RawBsonRef::Array(array));
        let text = format!("GeoJSON LineString must have at least 2 vertices: {shown}");
        return Err(Error::bad_value(text));
    }
    Ok(line)
}

fn polygon(array: &RawArray) -> Result<Vec<Vec<Position>>> {
    let rings: Vec<_> = parts(array).map(|part| ring(part?)).collect::<Result<_>>()?;
    if rings.is_empty() {
        return Err(Error::bad_value("Polygon has no loops."));
    }
    Ok(rings)
}

fn ring(array: &RawArray) -> Result<Vec<Position>> {
    let mut ring = positions(array)?;
    let shown = || show::value(RawBsonRef::Array(array));
    if ring.first() != ring.last() || ring.is_empty() {
        return Err(Error::bad_value(format!("Loop is not closed: {}", shown())));
    }
    ring.dedup();
    if ring.len() < 4 {
        let text = format!("Loop must have at least 3 different vertices: {}", shown());
        return Err(Error::bad_value(text));
    }
    Ok(ring)
}

/// The centre and the radius of `$center` and `$centerSphere`.
pub(super) fn circle(value: RawBsonRef<'_>) -> Result<(Position, f64)> {
    let RawBsonRef::Array(array) = value else {
        return Err(Error::bad_value("Unknown geo specifier: the circle must be an array"));
    };
    let mut parts = array.into_iter().flatten();
    let centre =
        parts.next().ok_or_else(|| Error::bad_value("Point must be an array or object"))?;
    let centre = position(centre)?;
    let radius = parts.next().and_then(Number::of).map(Number::to_f64);
    match radius {
        Some(radius) if radius >= 0.0 => Ok((centre, radius)),
        _ => Err(Error::bad_value("radius must be a non-negative number")),
    }
}

/// Whether a position is one on the Earth.
pub(super) fn are_degrees([longitude, latitude]: Position) -> bool {
    longitude.abs() <= 180.0 && latitude.abs() <= 90.0
}

/// Refuses a position that is not one on the Earth.
pub(super) fn check_degrees(position: Position) -> Result<()> {
    if are_degrees(position) { Ok(()) } else { Err(out_of_bounds(position)) }
}

pub(super) fn out_of_bounds([longitude, latitude]: Position) -> Error {
    Error::bad_value(format!(
        "Longitude/latitude is out of bounds, lng: {longitude} lat: {latitude}"
    ))
}
