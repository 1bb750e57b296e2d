//! Tests of cells: everything that shares a point with a box is found.

use proptest::prelude::*;

use super::*;
use crate::testing::value_of;

const PLANE: [f64; 4] = [-1000.0, 0.0, 1000.0, 50.0];

fn is_found(grid: Grid, geometry: &Value, bounds: &[f64; 4]) -> bool {
    let ranges = grid.ranges(bounds);
    let is_in = |cell: &u64| ranges.iter().any(|(low, high)| (low..high).contains(&cell));
    grid.cover(geometry).iter().any(is_in)
}

fn point([x, y]: [f64; 2]) -> Value {
    value_of(&format!(r#"{{"type":"Point","coordinates":[{x:?},{y:?}]}}"#))
}

/// A counter-clockwise rectangle.
fn rectangle([west, south, east, north]: [f64; 4]) -> Value {
    value_of(&format!(
        r#"{{"type":"Polygon","coordinates":[[[{west:?},{south:?}],[{east:?},{south:?}],[{east:?},{north:?}],[{west:?},{north:?}],[{west:?},{south:?}]]]}}"#
    ))
}

fn line(positions: &[[f64; 2]]) -> Value {
    let positions: Vec<_> = positions.iter().map(|[x, y]| format!("[{x:?},{y:?}]")).collect();
    value_of(&format!(r#"{{"type":"LineString","coordinates":[{}]}}"#, positions.join(",")))
}

/// A coordinate of `-limit..=limit`, often near the middle or an end.
fn coordinate(limit: f64) -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => -limit..=limit,
        2 => -1e-3..=1e-3,
        1 => Just(limit),
        1 => Just(-limit),
        1 => (limit - 1e-3)..=limit,
        1 => Just(0.0),
    ]
}

fn position() -> impl Strategy<Value = [f64; 2]> {
    (coordinate(180.0), coordinate(90.0)).prop_map(|(x, y)| [x, y])
}

fn bounds() -> impl Strategy<Value = [f64; 4]> {
    let size = || prop_oneof![Just(0.0), 0.0..1e-4, 0.0..1.0, 0.0..200.0];
    (position(), size(), size())
        .prop_map(|([x, y], width, height)| [x, y, (x + width).min(180.0), (y + height).min(90.0)])
}

#[test]
fn cells_are_a_stored_format() {
    let grid = Grid::new(None);
    assert_eq!(grid.cover(&point([-180.0, -90.0])), [1]);
    assert_eq!(grid.cover(&point([180.0, 90.0])), [(1 << 61) - 1]);
    assert_eq!(grid.cover(&point([0.0, 0.0])), [(0b11 << 59) + 1]);
    assert_eq!(grid.cover(&point([0.0, -90.0])), [(0b10 << 59) + 1]);
    assert_eq!(grid.ranges(&[-180.0, -90.0, 180.0, 90.0]), [(1, (1 << 61))]);
}

#[test]
fn what_is_no_geometry_has_no_cells() {
    for text in [
        "1",
        "{}",
        "[1,2]",
        r#"{"type":"Point"}"#,
        r#"{"type":"Point","coordinates":[]}"#,
        r#"{"type":"Point","coordinates":[1]}"#,
        r#"{"type":"Point","coordinates":["1","2"]}"#,
        r#"{"type":"GeometryCollection","geometries":[]}"#,
    ] {
        assert!(Grid::new(None).cover(&value_of(text)).is_empty(), "{text}");
    }
}

#[test]
fn what_cannot_be_bounded_is_everywhere() {
    for text in [
        // Clockwise: everything but the square.
        r#"{"type":"Polygon","coordinates":[[[0,0],[0,1],[1,1],[1,0],[0,0]]]}"#,
        // Across the 180th meridian, and around a pole.
        r#"{"type":"LineString","coordinates":[[170,0],[-170,0]]}"#,
        r#"{"type":"Polygon","coordinates":[[[0,80],[120,80],[-120,80],[0,80]]]}"#,
        // Counter-clockwise on the map, but not along the shortest ways.
        r#"{"type":"Polygon","coordinates":[[[0,60],[90,60],[45,65],[0,60]]]}"#,
        // Crossing itself.
        r#"{"type":"Polygon","coordinates":[[[0,0],[1,0],[0,2],[2,3],[0,0]]]}"#,
        r#"{"type":"Point","coordinates":[190,0]}"#,
        r#"{"type":"MultiPolygon","coordinates":[[[[0,0],[0,1],[1,1],[1,0],[0,0]]]]}"#,
    ] {
        assert_eq!(Grid::new(None).cover(&value_of(text)), [ROOT], "{text}");
    }
}

#[test]
fn in_the_plane_one_side_of_a_ring_is_infinite() {
    let clockwise = r#"{"type":"Polygon","coordinates":[[[0,0],[0,1],[1,1],[1,0],[0,0]]]}"#;
    let grid = Grid::new(Some(PLANE));
    assert!(is_found(grid, &value_of(clockwise), &[0.5, 0.5, 0.6, 0.6]));
    assert!(!is_found(grid, &value_of(clockwise), &[500.0, 20.0, 501.0, 21.0]));
}

#[test]
fn shortest_ways_bend_towards_the_poles() {
    let grid = Grid::new(None);
    // The middle of the way from 60° N to 60° N, a quarter of the Earth apart, is at 67.8° N.
    let way = line(&[[0.0, 60.0], [90.0, 60.0]]);
    assert!(is_found(grid, &way, &[44.9, 67.7, 45.1, 67.8]));
    let way = line(&[[0.0, -60.0], [90.0, -60.0]]);
    assert!(is_found(grid, &way, &[44.9, -67.8, 45.1, -67.7]));
}

#[test]
fn boxes_lead_across_the_180th_meridian() {
    let grid = Grid::new(None);
    for bounds in [[179.0, 0.0, 181.0, 1.0], [179.0, 0.0, -179.0, 1.0], [-181.0, 0.0, -179.0, 1.0]]
    {
        for x in [179.5, -179.5, 180.0, -180.0] {
            assert!(is_found(grid, &point([x, 0.5]), &bounds), "{x} {bounds:?}");
        }
        assert!(!is_found(grid, &point([0.0, 0.5]), &bounds), "{bounds:?}");
    }
    assert!(is_found(grid, &point([-180.0, 0.0]), &[179.0, -1.0, 180.0, 1.0]));
    assert!(is_found(grid, &point([180.0, 0.0]), &[-180.0, -1.0, -179.0, 1.0]));
    assert!(is_found(grid, &point([100.0, 89.99]), &[0.0, 89.0, 1.0, 90.0]), "the pole");
    for bounds in [[f64::NAN, -1.0, 1.0, 1.0], [0.0, -1.0, 1.0, f64::NAN]] {
        assert!(is_found(grid, &point([7.0, 0.0]), &bounds), "{bounds:?}");
    }
}

#[test]
fn small_boxes_leave_out_what_is_far() {
    let grid = Grid::new(None);
    let near = [13.3, 52.4, 13.5, 52.6];
    assert!(is_found(grid, &point([13.4, 52.5]), &near));
    assert!(!is_found(grid, &point([13.4, 53.5]), &near));
    assert!(!is_found(grid, &rectangle([2.0, 48.0, 3.0, 49.0]), &near));
    // Likewise at the point where all first divisions meet.
    assert!(!is_found(grid, &point([0.5, 0.5]), &[-0.1, -0.1, 0.1, 0.1]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn coverings_and_ranges_are_small(geometry in bounds(), bounds in bounds()) {
        let grid = Grid::new(None);
        let cells = grid.cover(&rectangle(geometry));
        prop_assert!((1..=16).contains(&cells.len()));
        let ranges = grid.ranges(&bounds);
        prop_assert!((1..=128).contains(&ranges.len()), "{}", ranges.len());
        prop_assert!(ranges.is_sorted_by(|a, b| a.1 < b.0) && ranges.iter().all(|it| it.0 < it.1));
    }

    #[test]
    fn points_within_are_found(
        [west, south, east, north] in bounds(),
        (x, y) in (0.0..=1.0_f64, 0.0..=1.0_f64),
    ) {
        let inside = [west + (east - west) * x, south + (north - south) * y];
        let inside = [inside[0].clamp(west, east), inside[1].clamp(south, north)];
        prop_assert!(is_found(Grid::new(None), &point(inside), &[west, south, east, north]));
        prop_assert!(is_found(Grid::new(Some(PLANE)), &point(inside), &[west, south, east, north]));
    }

    #[test]
    fn rectangles_that_meet_are_found(a in bounds(), b in bounds()) {
        let meets = a[0] <= b[2] && b[0] <= a[2] && a[1] <= b[3] && b[1] <= a[3];
        for grid in [Grid::new(None), Grid::new(Some(PLANE))] {
            prop_assert!(!meets || is_found(grid, &rectangle(a), &b));
        }
    }

    #[test]
    fn lines_are_found_along_their_way(from in position(), to in position(), share in 0.0..=1.0_f64) {
        // The point on the shortest path, via the straight line through the Earth.
        let vector = |[x, y]: [f64; 2]| {
            let (x, y) = (x.to_radians(), y.to_radians());
            [y.cos() * x.cos(), y.cos() * x.sin(), y.sin()]
        };
        let (a, b) = (vector(from), vector(to));
        let [x, y, z] = [0, 1, 2].map(|axis| a[axis] + (b[axis] - a[axis]) * share);
        let length = (x * x + y * y + z * z).sqrt();
        prop_assume!(length > 1e-6);
        let on_way = [y.atan2(x).to_degrees(), (z / length).asin().to_degrees()];
        let near = 1e-7;
        let bounds =
            [on_way[0] - near, on_way[1] - near, on_way[0] + near, on_way[1] + near];
        prop_assert!(is_found(Grid::new(None), &line(&[from, to]), &bounds));
    }
}
