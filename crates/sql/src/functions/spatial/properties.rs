//! Properties of all shapes: the functions agree with each other, on the Earth and in the plane.

use proptest::prelude::*;
use value::Value;

use super::geojson::{Geometry, Position};
use super::shape::Shape;
use super::{Bounds, area, boxes, boxes_within, distance, relate};

fn position() -> impl Strategy<Value = Position> {
    // Whole degrees often, so that corners and sides meet; elsewhere anything.
    prop_oneof![
        (-4_i32..=4, -4_i32..=4).prop_map(|(x, y)| [f64::from(x), f64::from(y)]),
        (-4_i32..=4, -4_i32..=4).prop_map(|(x, y)| {
            let x = 180.0 - f64::from(x);
            [if x > 180.0 { x - 360.0 } else { x }, f64::from(y)]
        }),
        (-179.0..179.0, -89.0..89.0).prop_map(|(x, y)| [x, y]),
    ]
}

/// A polygon without crossings: corners around a centre at growing angles.
fn polygon() -> impl Strategy<Value = Geometry> {
    let corners = prop::collection::vec(0.5..3.0_f64, 3..12);
    let centre = prop_oneof![(-3.0..3.0_f64, -3.0..3.0_f64), (-170.0..170.0_f64, -70.0..70.0_f64)];
    (centre, corners, any::<bool>()).prop_map(|((x, y), corners, is_turned)| {
        let count = corners.len() as f64;
        let corner = |(place, reach): (usize, &f64)| {
            let angle = place as f64 / count * std::f64::consts::TAU;
            [x + reach * angle.cos(), y + reach * angle.sin()]
        };
        let mut ring: Vec<Position> = corners.iter().enumerate().map(corner).collect();
        ring.push(ring[0]);
        if is_turned {
            ring.reverse();
        }
        Geometry::Polygons(vec![vec![ring]])
    })
}

/// West, south, east and north of a rectangle with whole sides, so that many touch.
fn rectangle() -> impl Strategy<Value = [f64; 4]> {
    (-3_i32..4, -3_i32..4, 1_i32..5, 1_i32..5)
        .prop_map(|(x, y, width, height)| [x, y, x + width, y + height].map(f64::from))
}

fn polygon_of([west, south, east, north]: [f64; 4]) -> Geometry {
    let corners = [[west, south], [east, south], [east, north], [west, north], [west, south]];
    Geometry::Polygons(vec![vec![corners.to_vec()]])
}

fn geometry() -> impl Strategy<Value = Geometry> {
    prop_oneof![
        position().prop_map(|point| Geometry::Points(vec![point])),
        prop::collection::vec(position(), 2..6).prop_map(|line| Geometry::Lines(vec![line])),
        polygon(),
        rectangle().prop_map(polygon_of),
    ]
}

fn json(geometry: &Geometry) -> Value {
    let number = |position: &Position| Value::from(position.map(Value::from).to_vec());
    let line = |line: &Vec<Position>| Value::from(line.iter().map(number).collect::<Vec<_>>());
    let (name, coordinates) = match geometry {
        Geometry::Points(points) => ("Point", number(&points[0])),
        Geometry::Lines(lines) => ("LineString", line(&lines[0])),
        Geometry::Polygons(polygons) => {
            ("Polygon", Value::from(polygons[0].iter().map(line).collect::<Vec<_>>()))
        }
    };
    let mut object = value::Object::new();
    object.insert("type", name);
    object.insert("coordinates", coordinates);
    Value::from(object)
}

/// Two shapes that are valid, far apart or not.
fn shapes() -> impl Strategy<Value = (Value, Value, bool)> {
    (geometry(), geometry(), any::<bool>())
        .prop_map(|(a, b, is_planar)| (json(&a), json(&b), is_planar))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn relations_agree((a, b, is_planar) in shapes()) {
        let (Ok(a), Ok(b)) = (Shape::parse(&a, is_planar), Shape::parse(&b, is_planar)) else {
            return Ok(());
        };
        let meets = relate::intersects(&a, &b);
        prop_assert_eq!(meets, relate::intersects(&b, &a));
        prop_assert!(meets || !relate::within(&a, &b));
        let (there, back) = (distance::distance(&a, &b), distance::distance(&b, &a));
        prop_assert!((there - back).abs() <= 1e-6 * there.max(1.0), "{there} {back}");
        prop_assert_eq!(meets, there == 0.0, "{}", there);
        prop_assert!(relate::within(&a, &a));
    }

    /// A point lies in a polygon or in the same turned round, and on the border it lies in both.
    #[test]
    fn a_polygon_and_its_complement_are_everything(polygon in polygon(), point in position()) {
        let Geometry::Polygons(mut polygons) = polygon.clone() else { return Ok(()) };
        polygons[0][0].reverse();
        let turned = Geometry::Polygons(polygons);
        let shape = |geometry: &Geometry| Shape::parse(&json(geometry), false).unwrap();
        let point = shape(&Geometry::Points(vec![point]));
        let (in_one, in_other) = (
            relate::within(&point, &shape(&polygon)),
            relate::within(&point, &shape(&turned)),
        );
        prop_assert!(in_one ^ in_other || relate::intersects(&point, &shape(&polygon)));
        let areas = area::area(&polygon, false) + area::area(&turned, false);
        prop_assert!((areas - 510_065_621_724_088.5).abs() < 1e3, "{areas}");
    }

    /// Rectangles of the plane, for which all results are known.
    #[test]
    fn rectangles_are_understood(a in rectangle(), b in rectangle(), hole in rectangle()) {
        let shape = |geometry: &Geometry| Shape::parse(&json(geometry), true).unwrap();
        let (one, other) = (shape(&polygon_of(a)), shape(&polygon_of(b)));
        let is_within = a[0] >= b[0] && a[1] >= b[1] && a[2] <= b[2] && a[3] <= b[3];
        prop_assert_eq!(relate::within(&one, &other), is_within);
        let gap = |axis: usize| (a[axis] - b[axis + 2]).max(b[axis] - a[axis + 2]).max(0.0);
        let apart = gap(0).hypot(gap(1));
        prop_assert_eq!(relate::intersects(&one, &other), apart == 0.0);
        prop_assert!((distance::distance(&one, &other) - apart).abs() < 1e-9);
        // Likewise with a hole in a rectangle around everything.
        let (around, inner) = (polygon_of([-10.0, -10.0, 20.0, 20.0]), polygon_of(hole));
        let (Geometry::Polygons(mut around), Geometry::Polygons(mut inner)) = (around, inner) else {
            return Ok(());
        };
        around[0].append(&mut inner[0]);
        let holed = shape(&Geometry::Polygons(around));
        let overlap = |axis: usize| a[axis + 2].min(hole[axis + 2]) - a[axis].max(hole[axis]);
        let is_clear = overlap(0) <= 0.0 || overlap(1) <= 0.0;
        prop_assert_eq!(relate::within(&one, &holed), is_clear);
        let is_in_hole = a[0] > hole[0] && a[1] > hole[1] && a[2] < hole[2] && a[3] < hole[3];
        prop_assert_eq!(relate::intersects(&one, &holed), !is_in_hole);
    }

    /// If a geometry meets a shape or is near it, their boxes meet.
    #[test]
    fn boxes_miss_nothing((a, b, _) in shapes()) {
        let (Ok(a_shape), Ok(b_shape)) = (Shape::parse(&a, false), Shape::parse(&b, false)) else {
            return Ok(());
        };
        let metres = distance::distance(&a_shape, &b_shape);
        let (near, of_b) = (boxes_within(&a, metres).unwrap(), boxes(&b).unwrap());
        let meet = |a: &Bounds, b: &Bounds| {
            a[0] <= b[2] && b[0] <= a[2] && a[1] <= b[3] && b[1] <= a[3]
        };
        let do_meet = near.iter().any(|near| of_b.iter().any(|of_b| meet(near, of_b)));
        prop_assert!(do_meet, "{metres}: {near:?} {of_b:?}");
    }
}
