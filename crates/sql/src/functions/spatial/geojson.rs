//! GeoJSON: converts a value to positions, or gives the reasons why it is invalid.

use value::Value;

/// The most points of one polygon, as documented.
const POLYGON_POINTS_MAX: usize = 4096;
/// The most points of other shapes, and of all polygons of a shape, to bound the cost of comparing
/// two shapes.
const SHAPE_POINTS_MAX: usize = 16_384;

/// Longitude and latitude in degrees, or x and y.
pub(super) type Position = [f64; 2];

/// A shape as written.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Geometry {
    Points(Vec<Position>),
    Lines(Vec<Vec<Position>>),
    /// Each a list of rings, the outer one first. Rings end where they begin.
    Polygons(Vec<Vec<Vec<Position>>>),
}

/// Why a value is not valid GeoJSON. Texts are the service's where they are known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Invalid {
    #[error("The input is not a valid GeoJSON object.")]
    NotGeoJson,
    #[error("The GeoJSON type is missing or not supported.")]
    Type,
    #[error("The coordinates of a {0} are missing or malformed.")]
    Coordinates(&'static str),
    #[error("Latitude values must be between -90 and 90 degrees.")]
    Latitude,
    #[error("Longitude values must be between -180 and 180 degrees.")]
    Longitude,
    #[error(
        "The LineString input is not valid because it does not have enough distinct points. A \
         LineString must have at least two distinct points."
    )]
    ShortLine,
    #[error(
        "The Polygon input is not valid because the ring number {0} does not have enough points. \
         Each ring of a polygon must contain at least four points."
    )]
    ShortRing(usize),
    #[error(
        "The Polygon input is not valid because the ring number {0} does not have enough distinct \
         points. Each ring of a polygon must contain at least three distinct points."
    )]
    FlatRing(usize),
    #[error(
        "The Polygon input is not valid because the start and end points of the ring number {0} \
         are not the same. Each ring of a polygon must have the same start and end points."
    )]
    OpenRing(usize),
    #[error("The input is not valid because an edge connects antipodal points.")]
    Antipodal,
    #[error("The input is not valid because it has more than {0} points.")]
    TooManyPoints(usize),
}

/// Reads a shape. A third number of a position, an altitude, is allowed and ignored.
// COMPAT: MultiPoint and MultiLineString are read too; the service documents four types.
pub(super) fn parse(value: &Value, is_planar: bool) -> Result<Geometry, Invalid> {
    let Some(object) = value.as_object() else { return Err(Invalid::NotGeoJson) };
    let name = object.get("type").and_then(Value::as_str);
    let kind = KINDS.into_iter().find(|kind| Some(*kind) == name).ok_or(Invalid::Type)?;
    let coordinates = object.get("coordinates").ok_or(Invalid::Coordinates(kind))?;
    let mut reader = Reader { is_planar, points_left: SHAPE_POINTS_MAX, kind };
    Ok(match kind {
        "Point" => Geometry::Points(vec![reader.position(coordinates)?]),
        "MultiPoint" => Geometry::Points(reader.some(coordinates, Reader::position)?),
        "LineString" => Geometry::Lines(vec![reader.line(coordinates)?]),
        "MultiLineString" => Geometry::Lines(reader.some(coordinates, Reader::line)?),
        "Polygon" => Geometry::Polygons(vec![reader.polygon(coordinates)?]),
        _ => Geometry::Polygons(reader.some(coordinates, Reader::polygon)?),
    })
}

const KINDS: [&str; 6] =
    ["Point", "MultiPoint", "LineString", "MultiLineString", "Polygon", "MultiPolygon"];

struct Reader {
    is_planar: bool,
    /// How many more points the shape may have.
    points_left: usize,
    kind: &'static str,
}

impl Reader {
    /// Reads every element of an array; there must be one at least.
    fn some<T>(
        &mut self,
        list: &Value,
        mut read: impl FnMut(&mut Self, &Value) -> Result<T, Invalid>,
    ) -> Result<Vec<T>, Invalid> {
        let list = list.as_array().filter(|list| !list.is_empty());
        let list = list.ok_or(Invalid::Coordinates(self.kind))?;
        list.iter().map(|element| read(self, element)).collect()
    }

    fn position(&mut self, value: &Value) -> Result<Position, Invalid> {
        self.points_left =
            self.points_left.checked_sub(1).ok_or(Invalid::TooManyPoints(SHAPE_POINTS_MAX))?;
        let malformed = Invalid::Coordinates(self.kind);
        let numbers = value.as_array().filter(|numbers| (2..=3).contains(&numbers.len()));
        let numbers = numbers.ok_or_else(|| malformed.clone())?;
        if !numbers.iter().all(|number| number.as_f64().is_some_and(f64::is_finite)) {
            return Err(malformed);
        }
        let number = |place: usize| numbers.get(place).and_then(Value::as_f64).unwrap_or_default();
        let (x, y) = (number(0), number(1));
        if !self.is_planar && !(-90.0..=90.0).contains(&y) {
            return Err(Invalid::Latitude);
        }
        if !self.is_planar && !(-180.0..=180.0).contains(&x) {
            return Err(Invalid::Longitude);
        }
        Ok(if self.is_planar { [x, y] } else { normal([x, y]) })
    }

    fn line(&mut self, list: &Value) -> Result<Vec<Position>, Invalid> {
        let line = self.some(list, Self::position)?;
        if !line.iter().any(|position| differs(position, &line[0])) {
            return Err(Invalid::ShortLine);
        }
        self.edges(line)
    }

    fn polygon(&mut self, list: &Value) -> Result<Vec<Vec<Position>>, Invalid> {
        let points_before = self.points_left;
        let mut number = 0;
        let rings = self.some(list, |reader, ring| {
            number += 1;
            reader.ring(ring, number)
        })?;
        if points_before - self.points_left > POLYGON_POINTS_MAX {
            return Err(Invalid::TooManyPoints(POLYGON_POINTS_MAX));
        }
        Ok(rings)
    }

    fn ring(&mut self, list: &Value, number: usize) -> Result<Vec<Position>, Invalid> {
        let ring = self.some(list, Self::position)?;
        if ring.first().zip(ring.last()).is_some_and(|(first, last)| differs(first, last)) {
            return Err(Invalid::OpenRing(number));
        }
        if ring.len() < 4 {
            return Err(Invalid::ShortRing(number));
        }
        let mut others = ring.iter().filter(|position| differs(position, &ring[0]));
        let second = others.next();
        if !second.is_some_and(|second| others.any(|position| differs(position, second))) {
            return Err(Invalid::FlatRing(number));
        }
        self.edges(ring)
    }

    /// Points opposite to each other have no shortest way between them.
    fn edges(&self, line: Vec<Position>) -> Result<Vec<Position>, Invalid> {
        let is_opposite = |pair: &[Position]| {
            let ([a_lon, a_lat], [b_lon, b_lat]) = (pair[0], pair[1]);
            let is_pole = a_lat.abs() >= 90.0;
            (a_lat + b_lat).abs() < OPPOSITE_DEGREES
                && (is_pole || ((a_lon - b_lon).abs() - 180.0).abs() < OPPOSITE_DEGREES)
        };
        if !self.is_planar && line.windows(2).any(is_opposite) {
            return Err(Invalid::Antipodal);
        }
        Ok(line)
    }
}

/// One way to write every position of the Earth: the poles lie on all meridians, and the first
/// meridian is the last.
#[expect(clippy::float_cmp, reason = "the ends of the ranges, not something near them")]
fn normal([longitude, latitude]: Position) -> Position {
    if latitude.abs() == 90.0 {
        [0.0, latitude]
    } else if longitude == -180.0 {
        [180.0, latitude]
    } else {
        [longitude, latitude]
    }
}

#[expect(clippy::float_cmp, reason = "a ring ends exactly where it begins")]
fn differs(a: &Position, b: &Position) -> bool {
    a != b
}

/// How near to opposite two points may not be: a decimetre, below which directions are noise.
const OPPOSITE_DEGREES: f64 = 1e-6;
