//! Tests of what a policy answers.

use super::*;
use crate::testing::{composite, definition, policy, spatial, value_of};

fn keys(names: &[&str]) -> Path {
    Path::of_keys(names)
}

#[test]
fn coverage_follows_the_rules() {
    use Coverage::{Explicit, NotIndexed, Wildcard};
    let policy = policy(&definition(
        &["/*", "/b/c/?", "/l/[]/x/?", "/pk/?"],
        &["/b/*", "/_etag/?", "/id/?", "/l/*"],
    ));
    for (path, expected) in [
        (keys(&[]), NotIndexed),
        (keys(&["a"]), Wildcard),
        (keys(&["a", "z"]), Wildcard),
        (keys(&["b"]), NotIndexed),
        (keys(&["b", "c"]), Explicit),
        (keys(&["b", "c", "d"]), NotIndexed),
        // An index through an array has no entries for documents without a value.
        (Path::of_steps(&[Step::Key("l"), Step::Element, Step::Key("x")]), Wildcard),
        (Path::of_steps(&[Step::Key("l"), Step::Element]), NotIndexed),
        // Regardless of the rules.
        (keys(&["id"]), Wildcard),
        (keys(&["_ts"]), Wildcard),
        (keys(&["pk"]), Explicit),
        // System properties, at the top level only.
        (keys(&["_etag"]), NotIndexed),
        (keys(&["_self"]), NotIndexed),
        (keys(&["_rid"]), NotIndexed),
        (keys(&["a", "_rid"]), Wildcard),
    ] {
        assert_eq!(policy.coverage(&path), expected, "{path}");
    }
}

#[test]
fn nothing_is_indexed_under_the_mode_none() {
    let mut definition = definition(&["/*", "/a/?"], &[]);
    definition.mode = Mode::None;
    definition.composites = vec![composite(&["/a", "/b"])];
    definition.spatial = vec![spatial("/*")];
    let policy = policy(&definition);
    let document = value_of(r#"{"id":"x","a":1,"at":{"type":"Point","coordinates":[0,0]}}"#);
    assert!(policy.is_none() && !policy.is_indexed(Directive::Include));
    assert!(
        crate::Terms::of(&policy, &document, Directive::Include, &mut crate::HashIds).is_empty()
    );
    assert_eq!(policy.coverage(&keys(&["a"])), Coverage::NotIndexed);
    assert!(policy.composites().is_empty() && !policy.has_spatial(&keys(&["at"])));
    assert_eq!(policy.indexed_values(&document, Directive::Include), 0);
}

#[test]
fn an_order_is_served_as_declared_or_reversed() {
    let mut definition = definition(&["/*"], &[]);
    definition.composites = vec![
        composite(&["/a", "-/b"]),
        composite(&["-/a", "/b"]),
        composite(&["-/a", "-/b", "-/c"]),
        composite(&["/l/[]/x", "/l/[]/y", "/a"]),
        composite(&["/l/[]/x", "/m/[]/y"]),
    ];
    let policy = policy(&definition);
    let lengths: Vec<_> = policy.composites().iter().map(|it| it.members.len()).collect();
    assert_eq!(lengths, [2, 3, 3], "the second is the first, the last would need pairs");
    assert!(policy.composites().iter().all(|composite| !composite.members[0].1));
    for (order, expected) in [
        (&["/a", "-/b"][..], Some((0, false))),
        (&["-/a", "/b"], Some((0, true))),
        (&["/a", "/b"], None),
        (&["-/b", "/a"], None),
        (&["/a"], None),
        (&[], None),
        (&["/a", "/b", "/c"], Some((1, false))),
        (&["-/a", "-/b", "-/c"], Some((1, true))),
        (&["/a", "/b", "-/c"], None),
    ] {
        let served = policy.composite_for_order(&composite(order));
        let served = served.map(|(composite, is_backward)| {
            (policy.composites().iter().position(|it| it.id == composite.id).unwrap(), is_backward)
        });
        assert_eq!(served, expected, "{order:?}");
    }
}

#[test]
fn the_ids_of_composite_indexes_are_a_stored_format() {
    let id = |members: &[&str]| Composite::new(&composite(members)).unwrap().id;
    assert_eq!(id(&["/a", "/b"]), 0xbf_4e67_10f8);
    assert_eq!(id(&["/a", "-/b"]), 0xbf_4e66_10f8);
    assert_eq!(id(&["-/a", "/b"]), id(&["/a", "-/b"]));
    assert_ne!(id(&["/a", "/b"]), id(&["/b", "/a"]));
}

#[test]
fn composite_indexes_of_one_hash_are_told_apart() {
    let twins = [composite(&["/a", "/p1594950"]), composite(&["/a", "/p2121783"])];
    let alone = twins.each_ref().map(|members| Composite::new(members).unwrap());
    assert_eq!(alone[0].id, alone[1].id, "the names are chosen so");
    let mut definition = definition(&["/*"], &[]);
    definition.composites = [&twins[..], &twins[..]].concat();
    let policy = policy(&definition);
    let [first, second] = policy.composites() else { panic!("one for each") };
    assert_eq!(first, &alone[0]);
    assert_eq!(second.members, alone[1].members);
    assert_ne!(second.id, first.id);
}

#[test]
fn spatial_indexes_cover_their_paths() {
    let mut definition = definition(&["/*"], &[]);
    let plane = Some([0.0, 0.0, 10.0, 10.0]);
    definition.spatial = vec![spatial("/at/?"), spatial("/in/*"), spatial("/l/[]/*")];
    definition.spatial[0].bounds = plane;
    let policy = policy(&definition);
    assert_eq!(policy.spatial(&keys(&["at"])), Some(&Grid::new(plane)));
    assert_eq!(policy.spatial(&keys(&["in", "x"])), Some(&Grid::new(None)));
    assert!(policy.has_spatial(&keys(&["in"])));
    assert!(policy.has_spatial(&Path::of_steps(&[Step::Key("l"), Step::Element])));
    assert!(!policy.has_spatial(&keys(&["at", "x"])) && !policy.has_spatial(&keys(&["l"])));
}
