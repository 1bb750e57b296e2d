//! `$near` and `$nearSphere`: what has a position at a distance.

use std::sync::Arc;

use bson::{RawBsonRef, RawDocument};

use super::geojson::{self, Geometry, Position};
use super::sphere::Spherical;
use super::vector::Vector;
use super::{plane, query_geometry};
use crate::error::{Error, Result};
use crate::filter::parse::test;
use crate::filter::tree::{Field, Node, Test};
use crate::filter::walk::Walk;
use crate::number::Number;
use crate::path::Path;
use crate::show;

/// The radius of the Earth, in metres, that MongoDB measures with.
const EARTH_RADIUS: f64 = 6_378_100.0;

/// How distances are measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Surface {
    /// In the plane, in the unit of the coordinates.
    Plane,
    /// On the sphere, in metres on the Earth.
    Metres,
    /// On the sphere, in radians.
    Radians,
}

/// A place, and how near something has to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Near {
    /// Longitude and latitude, or x and y.
    pub centre: [f64; 2],
    /// How the distances are measured.
    pub surface: Surface,
    /// The least distance.
    pub min: f64,
    /// The greatest distance.
    pub max: f64,
}

impl Near {
    /// The distance of the shape that a value is; `None` if it is none, or too near, or too far.
    pub fn distance(&self, value: RawBsonRef<'_>) -> Option<f64> {
        let geometry = Geometry::parse(value).ok()?;
        let distance = match self.surface {
            Surface::Plane => plane::distance(self.centre, geometry.point()?),
            Surface::Metres => EARTH_RADIUS * self.angle(&geometry)?,
            Surface::Radians => self.angle(&geometry)?,
        };
        (self.min..=self.max).contains(&distance).then_some(distance)
    }

    fn angle(&self, geometry: &Geometry) -> Option<f64> {
        Some(Spherical::new(geometry)?.distance(Vector::of(self.centre)))
    }

    /// The least distance of what a path of a document leads to: what the result is sorted by.
    pub fn distance_in(&self, document: &RawDocument, path: &Path) -> Option<f64> {
        let mut least: Option<f64> = None;
        let walk = Walk { enters_leaves: true };
        // Nothing here fails.
        let _ = walk.document(document, path.parts(), None, &mut |value, _| {
            let distance = value.and_then(|value| self.distance(value));
            least = match (least, distance) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
            Ok(false)
        });
        least
    }

    pub(in crate::filter) fn accepts(&self, value: RawBsonRef<'_>) -> bool {
        self.distance(value).is_some()
    }
}

/// Whether a document of operators begins with one of nearness.
pub(in crate::filter) fn is_near(document: &RawDocument) -> bool {
    let first = document.iter().flatten().next();
    first.is_some_and(|(name, _)| matches!(name.as_str(), "$near" | "$nearSphere" | "$geoNear"))
}

/// The error for an operator of nearness behind others.
pub(in crate::filter) fn not_first(operator: &str, operand: RawBsonRef<'_>) -> Error {
    let shown = show::value(operand);
    Error::bad_value(format!("near must be first in: {{ {operator}: {shown} }}"))
}

/// The error for an operator of nearness inside others.
pub(in crate::filter) fn not_outermost() -> Error {
    Error::bad_value("geo $near must be top-level expr")
}

/// Reads a document of operators that begins with one of nearness.
pub(in crate::filter) fn parse(path: &Path, document: &RawDocument) -> Result<Node> {
    let mut near =
        Near { centre: [0.0, 0.0], surface: Surface::Plane, min: 0.0, max: f64::INFINITY };
    for field in document {
        let (name, value) = field?;
        match name.as_str() {
            operator @ ("$near" | "$nearSphere" | "$geoNear") => {
                place(operator, value, &mut near)?;
            }
            name => limit(name, value, &mut near)?,
        }
    }
    Ok(test(path.clone(), Test::Near(Arc::new(near))))
}

fn place(operator: &str, value: RawBsonRef<'_>, near: &mut Near) -> Result<()> {
    match value {
        RawBsonRef::Document(document) if has(document, "$geometry") => {
            near.surface = Surface::Metres;
            for field in document {
                let (name, value) = field?;
                match name.as_str() {
                    "$geometry" => near.centre = point(value)?,
                    name => limit(name, value, near)?,
                }
            }
            return Ok(());
        }
        RawBsonRef::Array(array) => {
            near.centre = geojson::position(value)?;
            // A third number is the greatest distance.
            if let Some(max) = array.get(2)? {
                limit("$maxDistance", max, near)?;
            }
        }
        RawBsonRef::Document(_) => {
            near.centre = geojson::position(value).map_err(|_| {
                let shown = show::value(value);
                Error::bad_value(format!("invalid point provided to geo near query: {shown}"))
            })?;
        }
        _ => return Err(not_first(operator, value)),
    }
    if operator == "$nearSphere" {
        geojson::check_degrees(near.centre)?;
        near.surface = Surface::Radians;
    }
    Ok(())
}

fn has(document: &RawDocument, name: &str) -> bool {
    matches!(document.get(name), Ok(Some(_)))
}

fn point(value: RawBsonRef<'_>) -> Result<Position> {
    let point = query_geometry(value)?.point().ok_or_else(|| {
        let shown = show::value(value);
        Error::location(16_885, format!("$near requires a point, given {shown}"))
    })?;
    geojson::check_degrees(point)?;
    Ok(point)
}

fn limit(name: &str, value: RawBsonRef<'_>, near: &mut Near) -> Result<()> {
    let (slot, code) = match name {
        "$minDistance" => (&mut near.min, 16_893),
        "$maxDistance" => (&mut near.max, 16_895),
        "$uniqueDocs" => return Ok(()),
        _ => {
            let text = format!("invalid argument in geo near query: {name}");
            return Err(Error::bad_value(text));
        }
    };
    let Some(number) = Number::of(value) else {
        return Err(Error::location(code, format!("{name} must be a number")));
    };
    let distance = number.to_f64();
    if distance.is_nan() || distance < 0.0 {
        return Err(Error::location(code + 1, format!("{name} must be non-negative")));
    }
    *slot = distance;
    Ok(())
}

/// Refuses more than one operator of nearness, and one that is not a conjunct of the whole filter.
pub(in crate::filter) fn check_place(root: &Node) -> Result<()> {
    let mut count = 0;
    for node in root.conjuncts() {
        match node {
            Node::Field(Field { test: Test::Near(_), .. }) => count += 1,
            other if contains_near(other) => return Err(not_outermost()),
            _ => {}
        }
    }
    if count > 1 {
        return Err(Error::bad_value("Too many geoNear expressions"));
    }
    Ok(())
}

fn contains_near(node: &Node) -> bool {
    match node {
        Node::And(nodes) | Node::Or(nodes) | Node::Nor(nodes) => nodes.iter().any(contains_near),
        Node::Not(node) => contains_near(node),
        Node::Field(Field { test, .. }) => match test {
            Test::Near(_) => true,
            Test::AnyDocument(node) | Test::AnyElement(node) => contains_near(node),
            _ => false,
        },
        _ => false,
    }
}
