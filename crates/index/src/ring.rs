//! Decides which side of a polygon's outer ring is its inside, on Earth: the left one. So a
//! counter-clockwise ring means what it encloses on the map, and a clockwise one everything else. A
//! ring that crosses itself has no sides.

/// Longitude and latitude in degrees.
type Position = [f64; 2];

/// The most pairs of edges to compare per geometry. Rings of a few thousand positions stay far
/// below, because only edges above each other on the map are compared.
pub(crate) const COMPARISONS_MAX: usize = 1 << 17;

/// Whether the left side of a ring is its inside, for a ring that neither crosses the 180th
/// meridian nor touches a pole. `false` if unclear: if straight edges on the map and shortest paths
/// disagree, if the ring touches itself, or if the budget of comparisons runs out.
pub(crate) fn encloses_its_left(ring: &[Position], comparisons_left: &mut usize) -> bool {
    flat_area(ring) > 0.0 && round_area(ring) > 0.0 && is_simple(ring, comparisons_left)
}

fn edges(ring: &[Position]) -> impl Iterator<Item = (Position, Position)> {
    ring.iter().copied().zip(ring.iter().copied().cycle().skip(1))
}

/// Twice the area on the map, positive for counter-clockwise rings.
fn flat_area(ring: &[Position]) -> f64 {
    // Relative to the first position, so that small rings far from the origin keep their precision.
    let [x, y] = ring.first().copied().unwrap_or_default();
    edges(ring).map(|(a, b)| (a[0] - x) * (b[1] - y) - (b[0] - x) * (a[1] - y)).sum()
}

/// Half the area on a unit sphere, positive for counter-clockwise rings: the sum of the areas
/// between each edge and the equator.
fn round_area(ring: &[Position]) -> f64 {
    let between = |(a, b): (Position, Position)| {
        let turn = ((a[0] - b[0]).to_radians() / 2.0).tan();
        let [from, to] = [a[1], b[1]].map(|latitude| (latitude.to_radians() / 2.0).tan());
        (turn * (from + to)).atan2(1.0 + from * to)
    };
    edges(ring).map(between).sum()
}

/// An edge as two directions from the centre of the Earth, with its index in the ring.
struct Edge {
    place: usize,
    ends: [[f64; 3]; 2],
    west: f64,
    east: f64,
}

/// Whether no two edges meet except at their common ends.
fn is_simple(ring: &[Position], comparisons_left: &mut usize) -> bool {
    #[expect(clippy::float_cmp, reason = "a position that is written twice makes no edge")]
    let long = edges(ring).filter(|(a, b)| a != b).enumerate();
    let mut edges: Vec<Edge> = long
        .map(|(place, (a, b))| Edge {
            place,
            ends: [direction(a), direction(b)],
            west: a[0].min(b[0]),
            east: a[0].max(b[0]),
        })
        .collect();
    edges.sort_unstable_by(|a, b| a.west.total_cmp(&b.west));
    let last = edges.len().saturating_sub(1);
    for (index, edge) in edges.iter().enumerate() {
        for other in edges[index + 1..].iter().take_while(|other| other.west <= edge.east) {
            let Some(left) = comparisons_left.checked_sub(1) else { return false };
            *comparisons_left = left;
            let apart = edge.place.abs_diff(other.place);
            let are_neighbours = apart == 1 || apart == last;
            if !are_neighbours && may_meet(&edge.ends, &other.ends) {
                return false;
            }
        }
    }
    true
}

fn direction([longitude, latitude]: Position) -> [f64; 3] {
    let (x, y) = (longitude.to_radians(), latitude.to_radians());
    [y.cos() * x.cos(), y.cos() * x.sin(), y.sin()]
}

/// Whether two shortest paths may share a point: not if both ends of one are on the same side of
/// the other. On an ellipsoid directions differ by a factor along the axis, which does not change
/// sides.
fn may_meet(a: &[[f64; 3]; 2], b: &[[f64; 3]; 2]) -> bool {
    let is_split = |by: &[[f64; 3]; 2], [from, to]: &[[f64; 3]; 2]| {
        let (from, to) = (side(by, from), side(by, to));
        !(from > 0.0 && to > 0.0 || from < 0.0 && to < 0.0)
    };
    is_split(a, b) && is_split(b, a)
}

/// Positive to the left of the path. Uses differences, to stay precise at short distances.
fn side([from, to]: &[[f64; 3]; 2], point: &[f64; 3]) -> f64 {
    let less = |vector: &[f64; 3]| [0, 1, 2].map(|axis| vector[axis] - from[axis]);
    let (way, point) = (less(to), less(point));
    let cross = [
        from[1] * way[2] - from[2] * way[1],
        from[2] * way[0] - from[0] * way[2],
        from[0] * way[1] - from[1] * way[0],
    ];
    cross[0] * point[0] + cross[1] * point[1] + cross[2] * point[2]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_inside_left(ring: &[Position]) -> bool {
        encloses_its_left(ring, &mut COMPARISONS_MAX.clone())
    }

    #[test]
    fn the_turn_decides() {
        for scale in [1e-6, 1e-3, 1.0, 40.0] {
            for [x, y] in [[0.0, 0.0], [100.0, 45.0], [-120.0, -48.0], [139.0, 10.0]] {
                let at = |positions: &[Position]| -> Vec<Position> {
                    positions.iter().map(|[a, b]| [x + a * scale, y + b * scale]).collect()
                };
                let mut square = at(&[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.0, 0.0]]);
                assert!(is_inside_left(&square), "{square:?}");
                assert!(is_inside_left(&square[..4]), "unclosed");
                square.reverse();
                assert!(!is_inside_left(&square), "{square:?}");
                let notched = at(&[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.5, 0.2], [0.0, 1.0]]);
                assert!(is_inside_left(&notched), "{notched:?}");
                let crossed = at(&[[0.0, 0.0], [1.0, 0.0], [0.2, 1.0], [0.8, 0.8], [0.0, 0.1]]);
                assert!(!is_inside_left(&crossed), "{crossed:?}");
            }
        }
    }

    #[test]
    fn what_is_flat_or_bent_over_is_hard_to_say() {
        assert!(!is_inside_left(&[]));
        assert!(!is_inside_left(&[[1.0, 1.0]; 4]));
        assert!(!is_inside_left(&[[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [0.0, 0.0]]));
        // Counter-clockwise only on the map: the shortest path passes north of the third corner.
        assert!(!is_inside_left(&[[0.0, 60.0], [90.0, 60.0], [45.0, 65.0], [0.0, 60.0]]));
    }

    #[test]
    fn large_rings_are_decided_in_bounded_time() {
        let circle = |positions: usize, reach: f64| -> Vec<Position> {
            let angle = |n: usize| n as f64 / positions as f64 * std::f64::consts::TAU;
            let at = |n| [10.0 + reach * angle(n).cos(), 50.0 + reach * angle(n).sin()];
            (0..=positions).map(at).collect()
        };
        assert!(is_inside_left(&circle(4096, 2.0)));
        // Every edge is above all others.
        let comb: Vec<Position> = (0..4096)
            .map(|n| [if n % 2 == 0 { 0.0 } else { 1.0 }, f64::from(n) * 1e-3])
            .chain([[2.0, 5.0], [2.0, -1.0]])
            .rev()
            .collect();
        let mut left = COMPARISONS_MAX;
        assert!(!encloses_its_left(&comb, &mut left));
        assert_eq!(left, 0);
    }
}
