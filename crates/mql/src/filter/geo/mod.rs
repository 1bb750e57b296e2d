//! Shapes: what lies within a region, what meets a shape, and what is near a place.
//!
//! GeoJSON lies on a sphere, where edges are parts of great circles and a polygon is the smaller
//! side of its ring. Legacy points (`[x, y]`) and regions (`$box`, `$center`, `$polygon`) lie in the
//! plane; `$centerSphere` is a circle on the sphere.
//!
//! In reading order: `geojson` reads shapes, `vector` and `sphere` compare them on the sphere,
//! `plane` in the plane, and `near` measures distances.
// COMPAT: a line or polygon that only the parts of a multi-polygon together contain is not within
// it, and polygons larger than a hemisphere (strict winding) are refused.

use bson::{RawBsonRef, RawDocument};

use crate::error::{Error, Result};
use crate::show;

mod geojson;
pub(super) mod near;
mod plane;
mod sphere;
#[cfg(test)]
mod tests;
mod vector;

pub use near::{Near, Surface};

use geojson::Geometry;
use plane::Flat;
use sphere::{Cap, Spherical};

/// The region of `$geoWithin`.
#[derive(Debug)]
pub struct Region(Inner);

#[derive(Debug)]
enum Inner {
    Polygons(Spherical),
    Cap(Cap),
    Flat(Flat),
}

/// The shape of `$geoIntersects`.
#[derive(Debug)]
pub struct Shape(Spherical);

impl Region {
    /// Whether a value is a shape that lies within the region.
    pub(super) fn contains(&self, value: RawBsonRef<'_>) -> bool {
        let Ok(geometry) = Geometry::parse(value) else { return false };
        match &self.0 {
            Inner::Polygons(polygons) => {
                Spherical::new(&geometry).is_some_and(|shape| polygons.contains(&shape))
            }
            Inner::Cap(cap) => Spherical::new(&geometry).is_some_and(|shape| cap.contains(&shape)),
            // Only points can be moved from the sphere to the plane.
            Inner::Flat(flat) => geometry.point().is_some_and(|point| flat.contains(point)),
        }
    }
}

impl Shape {
    /// Whether a value is a shape that meets this one.
    pub(super) fn intersects(&self, value: RawBsonRef<'_>) -> bool {
        let geometry = Geometry::parse(value).ok();
        let shape = geometry.and_then(|geometry| Spherical::new(&geometry));
        shape.is_some_and(|shape| self.0.intersects(&shape))
    }
}

/// The name and the value of the shape in an operand.
fn specifier(operand: RawBsonRef<'_>) -> Result<(&str, RawBsonRef<'_>)> {
    let RawBsonRef::Document(document) = operand else {
        return Err(Error::bad_value("geometry must be an object"));
    };
    for field in document {
        let (name, value) = field?;
        match name.as_str() {
            "$uniqueDocs" => {}
            name @ ("$geometry" | "$box" | "$center" | "$centerSphere" | "$polygon") => {
                return Ok((name, value));
            }
            name => {
                let value = show::value(value);
                return Err(Error::bad_value(format!("unknown geo specifier: {name}: {value}")));
            }
        }
    }
    Err(Error::bad_value("geo query doesn't have any geometry"))
}

/// Reads the operand of `$geoWithin`.
pub(super) fn region(operand: RawBsonRef<'_>) -> Result<Region> {
    let (name, value) = specifier(operand)?;
    let inner = match name {
        "$geometry" => {
            let geometry = query_geometry(value)?;
            if !geometry.is_area() {
                return Err(unsupported("$within", operand));
            }
            Inner::Polygons(on_sphere(&geometry)?)
        }
        "$centerSphere" => {
            let (centre, radius) = geojson::circle(value)?;
            geojson::check_degrees(centre)?;
            Inner::Cap(Cap::new(centre, radius))
        }
        name => Inner::Flat(Flat::parse(name, value)?),
    };
    Ok(Region(inner))
}

/// Reads the operand of `$geoIntersects`.
pub(super) fn shape(operand: RawBsonRef<'_>) -> Result<Shape> {
    match specifier(operand)? {
        ("$geometry", value) => Ok(Shape(on_sphere(&query_geometry(value)?)?)),
        _ => Err(unsupported("$geoIntersect", operand)),
    }
}

fn unsupported(operator: &str, operand: RawBsonRef<'_>) -> Error {
    let shown = show::value(operand);
    Error::bad_value(format!("{operator} not supported with provided geometry: {shown}"))
}

fn query_geometry(value: RawBsonRef<'_>) -> Result<Geometry> {
    if let RawBsonRef::Document(document) = value {
        check_system(document)?;
    }
    Geometry::parse(value)
}

fn on_sphere(geometry: &Geometry) -> Result<Spherical> {
    Spherical::new(geometry).ok_or_else(|| {
        let at = geometry.positions().find(|position| !geojson::are_degrees(**position));
        geojson::out_of_bounds(at.copied().unwrap_or_default())
    })
}

/// Checks the coordinate reference system, which has to be the usual one.
fn check_system(document: &RawDocument) -> Result<()> {
    let Some(system) = document.get("crs")? else { return Ok(()) };
    let name = system
        .as_document()
        .and_then(|system| system.get_document("properties").ok())
        .and_then(|properties| properties.get_str("name").ok());
    match name {
        Some("EPSG:4326" | "urn:ogc:def:crs:OGC:1.3:CRS84") => Ok(()),
        Some("urn:x-mongodb:crs:strictwinding:EPSG:4326") => {
            Err(Error::bad_value("Strict winding order is not supported"))
        }
        Some(name) => Err(Error::bad_value(format!("Unknown CRS name: {name}"))),
        None => Err(Error::bad_value("GeoJSON CRS must be an object")),
    }
}
