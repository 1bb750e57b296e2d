//! Shapes against each other, most of them where planar thinking about degrees goes wrong.

use value::{Value, json};

use super::{bounds, bounds_within, boxes, boxes_within, planar_bounds};
use crate::functions::{Context, lookup};

fn call(name: &str, shapes: &[&str], is_planar: bool) -> Value {
    let mut context = Context::new(0);
    context.is_planar = is_planar;
    let args: Vec<_> = shapes.iter().map(|shape| read(shape)).collect();
    (lookup(name).unwrap().call)(&args, &context)
}

/// Reads a shape: `point [..]` and so on, or any JSON.
fn read(shape: &str) -> Value {
    let text = match shape.split_once(' ') {
        Some(("point", rest)) => format!(r#"{{"type":"Point","coordinates":{rest}}}"#),
        Some(("line", rest)) => format!(r#"{{"type":"LineString","coordinates":{rest}}}"#),
        Some(("polygon", rest)) => format!(r#"{{"type":"Polygon","coordinates":{rest}}}"#),
        Some(("multi", rest)) => format!(r#"{{"type":"MultiPolygon","coordinates":{rest}}}"#),
        _ => shape.to_owned(),
    };
    json::parse(text.as_bytes()).unwrap()
}

/// A rectangle, counter-clockwise.
fn square(west: f64, south: f64, east: f64, north: f64) -> String {
    format!(
        "polygon [[[{west},{south}],[{east},{south}],[{east},{north}],[{west},{north}],[{west},{south}]]]"
    )
}

/// The ring of a rectangle, clockwise: everything but the rectangle.
fn around(west: f64, south: f64, east: f64, north: f64) -> String {
    format!(
        "polygon [[[{west},{south}],[{west},{north}],[{east},{north}],[{east},{south}],[{west},{south}]]]"
    )
}

fn assert_near(got: &Value, expected: f64, tolerance: f64, what: &str) {
    let got = got.as_f64().unwrap_or_else(|| panic!("{what}: {got:?}"));
    assert!((got - expected).abs() <= tolerance, "{what}: {got} is not {expected}");
}

#[test]
fn distances_on_the_earth() {
    // The equator has a radius of 6378137 m; the quarter of a meridian is 10001965.729 m.
    let degree = 6_378_137.0 * std::f64::consts::PI / 180.0;
    let polygon = square(10.0, -1.0, 11.0, 1.0);
    let holed = "polygon [[[0,0],[4,0],[4,4],[0,4],[0,0]],[[1,1],[3,1],[3,3],[1,3],[1,1]]]";
    let cases: [(&str, &str, f64); 12] = [
        ("point [0,0]", "point [1,0]", degree),
        ("point [0,0]", "point [0,90]", 10_001_965.729),
        ("point [174.81,-41.32]", "point [-5.5,40.96]", 19_959_679.267),
        ("point [179.5,0]", "point [-179.5,0]", degree),
        ("point [9,0]", &polygon, degree),
        ("point [10.5,0]", &polygon, 0.0),
        ("point [0,0]", "line [[-1,1],[1,1]]", 110_574.389 + 0.0),
        ("point [5,0]", "line [[0,0],[10,0]]", 0.0),
        // Past the ends the ends count.
        ("point [-1,0]", "line [[0,0],[10,0]]", degree),
        ("line [[0,0],[1,0]]", "line [[2,0],[3,0]]", degree),
        // From the middle of the hole to its nearest side.
        ("point [1,2]", holed, 0.0),
        (&around(0.0, 0.0, 1.0, 1.0), "point [50,50]", 0.0),
    ];
    for (a, b, expected) in cases {
        // The line along a parallel bulges towards the pole by 17 m on a degree to each side.
        let tolerance = if b.starts_with("line [[-1,1]") { 20.0 } else { 0.002 };
        let what = format!("{a} {b}");
        assert_near(&call("ST_DISTANCE", &[a, b], false), expected, tolerance, &what);
        assert_near(&call("ST_DISTANCE", &[b, a], false), expected, tolerance, &what);
    }
}

/// The foot on a long slanted line, found by brute force on the same line.
#[test]
fn distances_to_lines_are_those_of_their_nearest_points() {
    let lines = [
        ([-5.0, 40.0], [30.0, 62.0]),
        ([100.0, -3.0], [101.0, 8.0]),
        ([170.0, 10.0], [-160.0, -30.0]),
    ];
    let points = [[0.0, 55.0], [103.5, 1.0], [-175.0, 20.0], [20.0, 20.0]];
    for (start, end) in lines {
        for point in points {
            let line = format!("line [[{},{}],[{},{}]]", start[0], start[1], end[0], end[1]);
            let (a, b) = (super::shape::vector(start, false), super::shape::vector(end, false));
            let mut least = f64::INFINITY;
            for step in 0..=20_000 {
                let middle = (a + (b - a) * (f64::from(step) / 20_000.0)).unit();
                let [lon, lat] = super::shape::position(middle);
                let from = format!("point [{},{}]", point[0], point[1]);
                let got = call("ST_DISTANCE", &[&from, &format!("point [{lon},{lat}]")], false);
                least = least.min(got.as_f64().unwrap());
            }
            let point = format!("point [{},{}]", point[0], point[1]);
            let got = call("ST_DISTANCE", &[&point, &line], false).as_f64().unwrap();
            // The samples lie up to 200 m apart: none is nearer, and the nearest is hardly farther.
            assert!(got <= least + 1e-6 && least - got < 0.1, "{point} {line}: {got} {least}");
        }
    }
}

#[test]
fn areas() {
    let earth = 510_065_621_724_088.5;
    let cases: [(&str, f64, f64); 6] = [
        ("polygon [[[0,0],[90,0],[0,90],[0,0]]]", earth / 8.0, 1.0),
        ("polygon [[[0,0],[0,90],[90,0],[0,0]]]", earth * 7.0 / 8.0, 1.0),
        (&square(0.0, 0.0, 1.0, 1.0), 12_308_778_361.469, 0.01),
        (&square(179.5, 0.0, -179.5, 1.0), 12_308_778_361.469, 0.01),
        ("point [1,2]", 0.0, 0.0),
        ("line [[1,2],[3,4]]", 0.0, 0.0),
    ];
    for (shape, expected, tolerance) in cases {
        assert_near(&call("ST_AREA", &[shape], false), expected, tolerance, shape);
    }
    let holed = "polygon [[[0,0],[4,0],[4,4],[0,4],[0,0]],[[1,1],[3,1],[3,3],[1,3],[1,1]]]";
    assert_near(&call("ST_AREA", &[holed], true), 12.0, 0.0, holed);
    let whole = call("ST_AREA", &[&square(0.0, 0.0, 4.0, 4.0)], false).as_f64().unwrap();
    let hole = call("ST_AREA", &[&square(1.0, 1.0, 3.0, 3.0)], false).as_f64().unwrap();
    assert_near(&call("ST_AREA", &[holed], false), whole - hole, 0.1, holed);
}

/// Each pair with what holds of it: `w` the first is within the second, `i` they meet.
#[test]
fn relations() {
    let big = square(0.0, 0.0, 4.0, 4.0);
    let holed = "polygon [[[0,0],[4,0],[4,4],[0,4],[0,0]],[[1,1],[3,1],[3,3],[1,3],[1,1]]]";
    let across = square(170.0, -10.0, -170.0, 10.0);
    let north = "polygon [[[0,80],[90,80],[180,80],[-90,80],[0,80]]]";
    let rest = around(0.0, 0.0, 4.0, 4.0);
    let cases: [(&str, &str, &str); 34] = [
        ("point [1,1]", &big, "wi"),
        ("point [5,1]", &big, ""),
        ("point [4,0]", &big, "i"),
        ("point [0,2]", &big, "i"),
        ("point [2,2]", holed, ""),
        ("point [0.5,2]", holed, "wi"),
        ("point [1,1]", holed, "i"),
        // The side from (0,4) to (4,4) bulges to the north.
        ("point [2,4.001]", &big, "wi"),
        ("point [180,0]", &across, "wi"),
        ("point [-180,0]", &across, "wi"),
        ("point [-175,5]", &across, "wi"),
        ("point [0,0]", &across, ""),
        ("point [12,90]", north, "wi"),
        ("point [12,85]", north, "wi"),
        ("point [12,70]", north, ""),
        ("point [10,10]", &rest, "wi"),
        ("point [1,1]", &rest, ""),
        ("line [[-1,1],[5,1]]", &big, "i"),
        ("line [[1,1],[3,3]]", &big, "wi"),
        ("line [[0,0],[0,4]]", &big, "i"),
        ("line [[0.5,0.5],[3.5,3.5]]", holed, "i"),
        ("line [[10,10],[20,20]]", &rest, "wi"),
        ("line [[10,10],[20,20]]", &big, ""),
        ("line [[1,0],[2,0]]", "line [[0,0],[3,0]]", "wi"),
        ("line [[1,0],[5,0]]", "line [[0,0],[3,0]]", "i"),
        ("line [[0,-1],[0,1]]", "line [[-1,0],[1,0]]", "i"),
        (&square(1.0, 1.0, 2.0, 2.0), &big, "wi"),
        (&big, &big, "wi"),
        (&square(3.0, 3.0, 5.0, 5.0), &big, "i"),
        (&square(4.0, 0.0, 8.0, 4.0), &big, "i"),
        (&square(1.0, 1.0, 3.0, 3.0), holed, "i"),
        (&big, holed, "i"),
        (holed, &big, "wi"),
        (&square(10.0, 10.0, 12.0, 12.0), &rest, "wi"),
    ];
    for (a, b, expected) in cases {
        let what = format!("{a} {b}");
        let is = |mark| Value::from(expected.contains(mark));
        assert_eq!(call("ST_WITHIN", &[a, b], false), is('w'), "within {what}");
        assert_eq!(call("ST_INTERSECTS", &[a, b], false), is('i'), "intersects {what}");
        assert_eq!(call("ST_INTERSECTS", &[b, a], false), is('i'), "intersects {what}");
    }
    assert_eq!(call("ST_WITHIN", &[&rest, &big], false), Value::from(false));
    assert_eq!(call("ST_INTERSECTS", &[&rest, &big], false), Value::from(true));
    assert_eq!(call("ST_WITHIN", &[&big, "point [1,1]"], false), Value::from(false));
    assert_eq!(
        call("ST_WITHIN", &["line [[0,0],[1,1]]", "point [0,0]"], false),
        Value::from(false)
    );
}

#[test]
fn the_plane_is_flat() {
    let big = square(0.0, 0.0, 4e6, 4e6);
    // Which way a ring turns does not matter here, nor do ranges.
    let clockwise = around(0.0, 0.0, 4e6, 4e6);
    for polygon in [&big, &clockwise] {
        let cases =
            [("point [1,1]", true), ("point [2e6,4000001]", false), ("point [5e6,1]", false)];
        for (point, expected) in cases {
            assert_eq!(
                call("ST_WITHIN", &[point, polygon], true),
                Value::from(expected),
                "{point}"
            );
        }
        assert_near(&call("ST_AREA", &[polygon], true), 1.6e13, 0.0, polygon);
    }
    assert_eq!(call("ST_DISTANCE", &["point [0,0]", "point [3,4]"], true), Value::from(5.0));
    let distance = call("ST_DISTANCE", &["point [-3,-4]", &big], true);
    assert_eq!(distance, Value::from(5.0));
    let slanted = call("ST_DISTANCE", &["point [0,2]", "line [[0,0],[2,2]]"], true);
    assert_near(&slanted, 2.0_f64.sqrt(), 1e-12, "slanted");
}

#[test]
fn boxes_hold_their_shapes() {
    let close = |got: Option<[f64; 4]>, expected: [f64; 4]| {
        let got = got.unwrap();
        let is_close = got.iter().zip(expected).all(|(a, b)| (a - b).abs() < 0.01);
        assert!(is_close, "{got:?} {expected:?}");
    };
    close(bounds(&read("point [1,2]")), [1.0, 2.0, 1.0, 2.0]);
    close(bounds(&read("point [-180,2]")), [-180.0, 2.0, 180.0, 2.0]);
    let across = boxes(&read(&square(170.0, -10.0, -170.0, 10.0))).unwrap();
    close(across.first().copied(), [170.0, -10.15, 180.0, 10.15]);
    close(across.get(1).copied(), [-180.0, -10.15, -170.0, 10.15]);
    let near = boxes_within(&read("point [-179.99,0]"), 111_319.5).unwrap();
    close(near.first().copied(), [179.0, -1.0, 180.0, 1.0]);
    close(near.get(1).copied(), [-180.0, -1.0, -178.98, 1.0]);
    close(bounds(&read(&square(170.0, -10.0, -170.0, 10.0))), [-180.0, -10.15, 180.0, 10.15]);
    close(
        bounds(&read("polygon [[[0,80],[90,80],[180,80],[-90,80],[0,80]]]")),
        [-180.0, 80.0, 180.0, 90.0],
    );
    close(bounds(&read(&around(0.0, 0.0, 1.0, 1.0))), [-180.0, -90.0, 180.0, 90.0]);
    // A line between two places at 45 degrees a quarter of the way round rises to 54.7 degrees,
    // seen from the centre of a sphere.
    let [_, _, _, top] = bounds(&read("line [[0,45],[90,45]]")).unwrap();
    assert!((54.6..54.9).contains(&top), "{top}");
    assert_eq!(planar_bounds(&read("line [[500,2],[3,-4e5]]")), Some([3.0, -4e5, 500.0, 2.0]));
    assert_eq!(bounds(&read("point [500,2]")), None);
    assert_eq!(bounds(&Value::Undefined), None);
}

/// Points at a distance from a shape lie in the box of that distance.
#[test]
fn boxes_hold_what_is_near() {
    for (lon, lat) in [(0.0, 0.0), (10.0, 60.0), (-179.99, 30.0), (120.0, -89.0), (5.0, 89.9999)] {
        let point = format!("point [{lon},{lat}]");
        for metres in [0.5, 1_000.0, 250_000.0, 3e6] {
            let boxes = boxes_within(&read(&point), metres).unwrap();
            for turn in 0..36 {
                let (other_lat, other_lon) = geographiclib_rs::DirectGeodesic::direct(
                    &*super::distance::EARTH,
                    lat,
                    lon,
                    f64::from(turn) * 10.0,
                    metres * 0.9999,
                );
                let is_held = boxes.iter().any(|bounds| {
                    (bounds[0]..=bounds[2]).contains(&other_lon)
                        && (bounds[1]..=bounds[3]).contains(&other_lat)
                });
                assert!(is_held, "{point} {metres} {turn}: {boxes:?} {other_lon} {other_lat}");
            }
        }
    }
    let everywhere = bounds_within(&read("point [1,2]"), f64::INFINITY).unwrap();
    assert_eq!(everywhere.map(f64::to_bits), [-180.0, -90.0, 180.0, 90.0_f64].map(f64::to_bits));
}

/// Polygons of the largest size, against each other, in a time that tests can bear.
#[test]
fn the_largest_polygons_are_compared() {
    // A negative width turns the circle round.
    let circle = |lon: f64, width: f64, radius: f64| {
        let point = |step: u32| {
            let angle = f64::from(step % 4095) / 4095.0 * std::f64::consts::TAU;
            format!("[{},{}]", lon + width * angle.cos(), radius * angle.sin())
        };
        let points: Vec<_> = (0..4096).map(point).collect();
        format!("polygon [[{}]]", points.join(","))
    };
    let (inner, outer, far) = (circle(0.0, 1.0, 1.0), circle(0.0, 2.0, 2.0), circle(9.0, 2.0, 2.0));
    assert_eq!(call("ST_WITHIN", &[&inner, &outer], false), Value::from(true));
    assert_eq!(call("ST_WITHIN", &[&outer, &inner], false), Value::from(false));
    assert_eq!(call("ST_INTERSECTS", &[&inner, &far], false), Value::from(false));
    let six_degrees = 6.0 * 111_319.490_793;
    assert_near(&call("ST_DISTANCE", &[&inner, &far], false), six_degrees, 5.0, "circles");
    let concentric = call("ST_DISTANCE", &[&inner, &circle(0.0, -2.0, 2.0)], false);
    assert_near(&concentric, 110_575.0, 5.0, "concentric");
    // From the centre all arcs are about as near.
    let radius = call("ST_DISTANCE", &["point [0,0]", &circle(0.0, -2.0, 2.0)], false);
    assert_near(&radius, 2.0 * 110_574.4, 2.0, "centre");
}
