//! Shapes on the sphere and in the plane.

use bson::{Bson, Document, doc};
use proptest::prelude::*;

use super::geojson::Geometry;
use super::sphere::Spherical;
use super::vector::Vector;
use crate::filter::tests::{check_values, refusal, value};

fn geojson(kind: &str, coordinates: impl Into<Bson>) -> Document {
    doc! {"type": kind, "coordinates": coordinates.into()}
}

fn point(x: f64, y: f64) -> Bson {
    geojson("Point", vec![x, y]).into()
}

fn line(positions: &[[f64; 2]]) -> Bson {
    geojson("LineString", ring(positions)).into()
}

fn ring(positions: &[[f64; 2]]) -> Bson {
    positions.iter().map(|position| Bson::from(position.to_vec())).collect::<Vec<_>>().into()
}

/// A square around a place.
fn square([x, y]: [f64; 2], half: f64) -> Bson {
    ring(&[
        [x - half, y - half],
        [x + half, y - half],
        [x + half, y + half],
        [x - half, y + half],
        [x - half, y - half],
    ])
}

fn polygon(rings: Vec<Bson>) -> Document {
    geojson("Polygon", rings)
}

#[test]
fn points_lie_within_polygons() {
    let holed = polygon(vec![square([0.0, 0.0], 10.0), square([0.0, 0.0], 2.0)]);
    check_values(
        doc! {"$geoWithin": {"$geometry": holed}},
        &[
            (point(5.0, 5.0), true),
            (point(0.0, 0.0), false),
            (point(11.0, 0.0), false),
            (point(175.0, 5.0), false),
            (point(180.0, 0.0), false),
            (point(10.0, 10.0), true),
            (point(2.0, 2.0), true),
            (vec![5.0, 5.0].into(), true),
            (doc! {"lng": 5, "lat": 5}.into(), true),
            (Bson::from(vec![Bson::from(vec![50.0, 50.0]), vec![5.0, 5.0].into()]), true),
            (vec![500.0, 5.0].into(), false),
            ("x".into(), false),
            (doc! {"type": "Point"}.into(), false),
            (geojson("MultiPoint", ring(&[[5.0, 5.0], [6.0, 6.0]])).into(), true),
            (geojson("MultiPoint", ring(&[[5.0, 5.0], [0.0, 0.0]])).into(), false),
        ],
    );
    // The direction of the ring does not matter, and neither do the poles and the antimeridian.
    let clockwise = ring(&[[0.0, 0.0], [0.0, 9.0], [9.0, 9.0], [9.0, 0.0], [0.0, 0.0]]);
    check_values(
        doc! {"$geoWithin": {"$geometry": polygon(vec![clockwise])}},
        &[(point(5.0, 5.0), true), (point(-5.0, 5.0), false)],
    );
    let pole = ring(&[[0.0, 80.0], [90.0, 80.0], [180.0, 80.0], [-90.0, 80.0], [0.0, 80.0]]);
    check_values(
        doc! {"$geoWithin": {"$geometry": polygon(vec![pole])}},
        &[
            (point(12.0, 90.0), true),
            (point(-45.0, 89.0), true),
            (point(0.0, 70.0), false),
            (point(0.0, -90.0), false),
        ],
    );
    let across = ring(&[[170.0, -5.0], [-170.0, -5.0], [-170.0, 5.0], [170.0, 5.0], [170.0, -5.0]]);
    check_values(
        doc! {"$geoWithin": {"$geometry": polygon(vec![across])}},
        &[(point(180.0, 0.0), true), (point(-175.0, 1.0), true), (point(0.0, 0.0), false)],
    );
}

#[test]
fn lines_and_polygons_lie_within_polygons() {
    // A polygon with a notch from the right.
    let notched = ring(&[
        [0.0, 0.0],
        [10.0, 0.0],
        [10.0, 4.0],
        [4.0, 5.0],
        [10.0, 6.0],
        [10.0, 10.0],
        [0.0, 10.0],
        [0.0, 0.0],
    ]);
    let holed = Bson::from(vec![square([50.0, 0.0], 5.0), square([50.0, 0.0], 1.0)]);
    let regions = geojson("MultiPolygon", vec![Bson::from(vec![notched]), holed]);
    check_values(doc! {"$geoWithin": {"$geometry": regions}}, &[
        (line(&[[1.0, 1.0], [9.0, 1.0]]), true),
        (line(&[[9.0, 1.0], [9.0, 9.0]]), false),
        (line(&[[1.0, 1.0], [50.0, 3.0]]), false),
        (polygon(vec![square([2.0, 5.0], 1.0)]).into(), true),
        (polygon(vec![square([5.0, 5.0], 2.0)]).into(), false),
        (polygon(vec![square([53.0, 0.0], 1.0)]).into(), true),
        (polygon(vec![square([50.0, 0.0], 4.0)]).into(), false),
        (polygon(vec![square([50.0, 0.0], 4.0), square([50.0, 0.0], 2.0)]).into(), true),
        (
            doc! {"type": "GeometryCollection", "geometries": [point(1.0, 1.0), point(52.0, 0.0)]}
                .into(),
            true,
        ),
    ]);
}

#[test]
fn shapes_intersect() {
    let area = polygon(vec![square([0.0, 0.0], 10.0), square([0.0, 0.0], 2.0)]);
    check_values(
        doc! {"$geoIntersects": {"$geometry": area}},
        &[
            (point(5.0, 5.0), true),
            (point(0.0, 0.0), false),
            (line(&[[-20.0, 0.0], [20.0, 0.0]]), true),
            (line(&[[-1.0, 0.0], [1.0, 0.0]]), false),
            (line(&[[-1.0, 0.0], [5.0, 0.0]]), true),
            (line(&[[20.0, 0.0], [30.0, 0.0]]), false),
            (polygon(vec![square([0.0, 0.0], 1.0)]).into(), false),
            (polygon(vec![square([0.0, 0.0], 20.0)]).into(), true),
            (polygon(vec![square([5.0, 5.0], 1.0)]).into(), true),
            (polygon(vec![square([12.0, 0.0], 3.0)]).into(), true),
            (polygon(vec![square([40.0, 0.0], 3.0)]).into(), false),
        ],
    );
    let way = doc! {"$geoIntersects": {"$geometry": line(&[[0.0, 0.0], [10.0, 0.0]])}};
    check_values(
        way,
        &[
            (point(5.0, 0.0), true),
            (point(5.0, 0.1), false),
            (line(&[[5.0, -5.0], [5.0, 5.0]]), true),
            (line(&[[10.0, 0.0], [20.0, 5.0]]), true),
            (line(&[[5.0, 1.0], [5.0, 5.0]]), false),
        ],
    );
    let place = doc! {"$geoIntersects": {"$geometry": point(5.0, 0.0)}};
    check_values(place, &[(point(5.0, 0.0), true), (vec![5.0, 1.0].into(), false)]);
}

#[test]
fn legacy_regions_lie_in_the_plane() {
    let corners = ring(&[[4.0, 3.0], [0.0, 0.0]]);
    check_values(
        doc! {"$geoWithin": {"$box": corners}},
        &[
            (vec![4, 3].into(), true),
            (vec![2, 1].into(), true),
            (vec![5, 1].into(), false),
            (point(1.0, 1.0), true),
            (line(&[[1.0, 1.0], [2.0, 2.0]]), false),
        ],
    );
    check_values(
        doc! {"$geoWithin": {"$center": [[0, 0], 5]}},
        &[(vec![3, 4].into(), true), (vec![3.1, 4.0].into(), false), (vec![-900, 0].into(), false)],
    );
    let triangle = ring(&[[0.0, 0.0], [6.0, 0.0], [3.0, 6.0]]);
    check_values(
        doc! {"$geoWithin": {"$polygon": triangle}},
        &[
            (vec![3, 3].into(), true),
            (vec![3, 0].into(), true),
            (vec![0, 3].into(), false),
            (vec![3, -1].into(), false),
            (doc! {"x": 3, "y": 1}.into(), true),
        ],
    );
    // 0.1 radians are 5.7 degrees.
    check_values(
        doc! {"$within": {"$centerSphere": [[0, 0], 0.1]}},
        &[
            (vec![5, 0].into(), true),
            (vec![0, 6].into(), false),
            (point(4.0, 4.0), true),
            (line(&[[0.0, 0.0], [5.0, 0.0]]), true),
            (line(&[[0.0, 0.0], [9.0, 0.0]]), false),
        ],
    );
}

#[test]
fn near_has_limits() {
    let place =
        doc! {"$geometry": point(0.0, 0.0), "$minDistance": 100_000, "$maxDistance": 200_000};
    check_values(
        doc! {"$near": place.clone()},
        &[
            (point(1.0, 0.0), true),
            (vec![1, 0].into(), true),
            (point(0.5, 0.0), false),
            (point(2.0, 0.0), false),
            (line(&[[1.0, -9.0], [1.0, 9.0]]), true),
            (line(&[[0.1, -9.0], [0.1, 9.0]]), false),
            (polygon(vec![square([0.0, 0.0], 5.0)]).into(), false),
            ("x".into(), false),
        ],
    );
    check_values(doc! {"$nearSphere": place}, &[(point(1.0, 0.0), true)]);
    check_values(
        doc! {"$near": [0, 0], "$maxDistance": 5},
        &[(vec![3, 4].into(), true), (vec![4, 4].into(), false)],
    );
    check_values(
        doc! {"$near": [0, 0, 5]},
        &[(vec![3, 4].into(), true), (vec![4, 4].into(), false)],
    );
    check_values(
        doc! {"$nearSphere": [0, 0], "$maxDistance": 0.1},
        &[(vec![5, 0].into(), true), (vec![6, 0].into(), false)],
    );
}

/// Checks code and text of the refusals of filters.
fn check_refusals(cases: Vec<(Document, i32, &str)>) {
    for (filter, code, text) in cases {
        assert_eq!(refusal(&filter), (code, text.to_owned()), "{filter}");
    }
}

#[test]
fn shapes_are_checked() {
    let within = |shape: Document| doc! {"a": {"$geoWithin": shape}};
    let of = |geometry: Document| within(doc! {"$geometry": geometry});
    let cases = vec![
        (doc! {"a": {"$geoWithin": 1}}, "geometry must be an object"),
        (within(doc! {}), "geo query doesn't have any geometry"),
        (within(doc! {"$foo": 1}), "unknown geo specifier: $foo: 1"),
        (
            of(doc! {"type": "Point", "coordinates": [1, 2]}),
            "$within not supported with provided geometry: { $geometry: { type: \"Point\", \
             coordinates: [ 1, 2 ] } }",
        ),
        (
            doc! {"a": {"$geoIntersects": {"$center": [[0, 0], 1]}}},
            "$geoIntersect not supported with provided geometry: { $center: [ [ 0, 0 ], 1 ] }",
        ),
        (
            of(doc! {"type": "Foo", "coordinates": [1]}),
            "unknown GeoJSON type: { type: \"Foo\", coordinates: [ 1 ] }",
        ),
        (
            of(geojson("Polygon", vec![ring(&[[0.0, 0.0], [1.0, 0.0]])])),
            "Loop is not closed: [ [ 0.0, 0.0 ], [ 1.0, 0.0 ] ]",
        ),
        (
            of(geojson("Polygon", vec![Bson::from(vec![vec![0, 0], vec![1, 0], vec![0, 0]])])),
            "Loop must have at least 3 different vertices: [ [ 0, 0 ], [ 1, 0 ], [ 0, 0 ] ]",
        ),
        (of(geojson("Polygon", Vec::<Bson>::new())), "Polygon has no loops."),
        (
            of(polygon(vec![square([180.0, 0.0], 1.5)])),
            "Longitude/latitude is out of bounds, lng: 181.5 lat: -1.5",
        ),
        (of(geojson("Polygon", "x")), "GeoJSON coordinates must be an array of coordinates"),
        (within(doc! {"$box": [["x", 1], [2, 3]]}), "Point must only contain numeric elements"),
        (within(doc! {"$box": [1, 2]}), "Point must be an array or object"),
        (within(doc! {"$polygon": [[1, 2], [3, 4]]}), "Polygon must have at least 3 points"),
        (within(doc! {"$center": [[1, 2], -1]}), "radius must be a non-negative number"),
    ];
    let coded = cases.into_iter().map(|(filter, text)| (filter, 2, text));
    check_refusals(coded.collect());
}

#[test]
fn nearness_is_checked() {
    let near = |place: Bson| doc! {"a": {"$near": place}};
    let wide = doc! {"$near": {"$geometry": point(181.0, 0.0)}};
    let way = doc! {"type": "LineString", "coordinates": [[0, 0], [1, 1]]};
    check_refusals(vec![
        (doc! {"a": wide}, 2, "Longitude/latitude is out of bounds, lng: 181 lat: 0"),
        (near(Bson::Null), 2, "near must be first in: { $near: null }"),
        (doc! {"a": {"$gt": 1, "$near": [0, 0]}}, 2, "near must be first in: { $near: [ 0, 0 ] }"),
        (near(doc! {"x": "y"}.into()), 2, "invalid point provided to geo near query: { x: \"y\" }"),
        (
            near(doc! {"$geometry": way}.into()),
            16_885,
            "$near requires a point, given { type: \"LineString\", coordinates: [ [ 0, 0 ], \
             [ 1, 1 ] ] }",
        ),
        (doc! {"a": {"$near": [0, 0], "$foo": 1}}, 2, "invalid argument in geo near query: $foo"),
        (
            doc! {"a": {"$near": [0, 0], "$maxDistance": -1}},
            16_896,
            "$maxDistance must be non-negative",
        ),
        (
            doc! {"a": {"$near": [0, 0], "$minDistance": "x"}},
            16_893,
            "$minDistance must be a number",
        ),
        (doc! {"$or": [{"a": {"$near": [0, 0]}}]}, 2, "geo $near must be top-level expr"),
        (doc! {"a": {"$not": {"$near": [0, 0]}}}, 2, "geo $near must be top-level expr"),
        (
            doc! {"a": {"$elemMatch": {"b": {"$near": [0, 0]}}}},
            2,
            "geo $near must be top-level expr",
        ),
        (doc! {"a": {"$near": [0, 0]}, "b": {"$near": [0, 0]}}, 2, "Too many geoNear expressions"),
    ]);
}

fn spherical(shape: impl Into<Bson>) -> Spherical {
    let shape = value(shape);
    Spherical::new(&Geometry::parse(shape.as_raw_bson_ref()).unwrap()).unwrap()
}

fn position() -> impl Strategy<Value = [f64; 2]> {
    (-160..160_i32, -70..70_i32).prop_map(|(x, y)| [f64::from(x), f64::from(y)])
}

proptest! {
    #[test]
    fn a_point_in_a_polygon_has_no_distance(
        centre in position(), half in 1..9_u8, place in position(),
    ) {
        let area = spherical(polygon(vec![square(centre, f64::from(half))]));
        let there = spherical(point(place[0], place[1]));
        let is_inside = area.contains(&there);
        let distance = area.distance(Vector::of(place));
        prop_assert_eq!(is_inside, distance <= 1e-12, "{}", distance);
        prop_assert_eq!(is_inside, area.intersects(&there));
        prop_assert_eq!(is_inside, there.intersects(&area));
        let middle = spherical(point(centre[0], centre[1]));
        prop_assert!(area.contains(&middle), "the middle lies inside");
    }

    #[test]
    fn what_is_within_meets(
        a in position(), a_half in 1..9_u8, shift in (-9..9_i8, -9..9_i8), b_half in 1..9_u8,
    ) {
        let b = [a[0] + f64::from(shift.0), a[1] + f64::from(shift.1)];
        let a = spherical(polygon(vec![square(a, f64::from(a_half))]));
        let b = spherical(polygon(vec![square(b, f64::from(b_half))]));
        prop_assert_eq!(a.intersects(&b), b.intersects(&a));
        if a.contains(&b) {
            prop_assert!(a.intersects(&b), "what lies within meets");
        }
        prop_assert!(a.contains(&a), "a polygon contains itself");
    }
}
