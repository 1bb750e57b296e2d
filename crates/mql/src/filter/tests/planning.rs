//! What a planner and an upsert read from a filter.

use bson::{Bson, Document, doc};

use super::{parse, raw, value};
use crate::filter::{Comparison, Field, Node, Surface, Test};

#[test]
fn conjuncts_are_flat() {
    let filter = doc! {
        "a": {"$gte": 1, "$lt": 5}, "$and": [{"b": 2}, {"$and": [{"c.d": {"$in": [3, 1]}}]}],
        "$or": [{"e": 1}, {"f": 2}], "g": {"$ne": 1},
    };
    let parsed = parse(&filter).unwrap();
    let shown: Vec<String> = parsed.root().conjuncts().into_iter().map(describe).collect();
    let expected = [
        "a GreaterOrEqual Int32(1)",
        "a Less Int32(5)",
        "b Equal Int32(2)",
        "c.d in [Int32(1), Int32(3)]",
        "or 2",
        "not g Equal Int32(1)",
    ];
    assert_eq!(shown, expected);
}

fn describe(node: &Node) -> String {
    match node {
        Node::Field(Field { path, test: Test::Compare(comparison, operand) }) => {
            format!("{} {comparison:?} {operand:?}", path.text())
        }
        Node::Field(Field { path, test: Test::In(set) }) => {
            format!("{} in {:?}", path.text(), set.values())
        }
        Node::Or(nodes) => format!("or {}", nodes.len()),
        Node::Not(node) => format!("not {}", describe(node)),
        other => format!("{other:?}"),
    }
}

#[test]
fn one_condition_stands_alone() {
    let parsed = parse(&doc! {"a": 1}).unwrap();
    let Node::Field(field) = parsed.root() else { panic!("{:?}", parsed.root()) };
    assert!(matches!(field.test, Test::Compare(Comparison::Equal, _)));
}

#[test]
fn equalities_are_those_of_conjuncts() {
    let check = |filter: Document, expected: &[(&str, Bson)]| {
        let parsed = parse(&filter).unwrap();
        let found = parsed.equalities().unwrap();
        let found: Vec<_> = found.iter().map(|(path, value)| (path.text(), *value)).collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|(path, known)| ((*path).to_owned(), value(known.clone())))
            .collect();
        assert_eq!(found.len(), expected.len(), "{filter}");
        for ((path, found), (expected_path, expected)) in found.iter().zip(&expected) {
            assert_eq!(path, expected_path, "{filter}");
            assert_eq!(*found, expected.as_raw_bson_ref(), "{filter}");
        }
    };
    check(
        doc! {"a": 1, "b.c": {"$eq": 2}, "$and": [{"d": 3}, {"e": {"$in": [4]}}]},
        &[("a", 1.into()), ("b.c", 2.into()), ("d", 3.into()), ("e", 4.into())],
    );
    check(doc! {"a": {"$all": [1]}, "$or": [{"b": 2}]}, &[("a", 1.into()), ("b", 2.into())]);
    check(
        doc! {"_id": Bson::Null, "x": {"y": 1}},
        &[("_id", Bson::Null), ("x", doc! {"y": 1}.into())],
    );
    check(
        doc! {
            "a": {"$gt": 1}, "b": {"$in": [1, 2]}, "$or": [{"c": 1}, {"d": 1}], "e": {"$ne": 1},
            "$nor": [{"f": 1}], "g": {"$not": {"$eq": 1}}, "h": {"$elemMatch": {"$eq": 1}},
            "i": {"$regex": "a"}, "j": {"$exists": true},
        },
        &[],
    );
}

#[test]
fn ambiguous_equalities_are_refused() {
    for (filter, text) in [
        (doc! {"a": 1, "$and": [{"a": 2}]}, "path 'a' is matched twice"),
        (doc! {"a": {"$all": [1, 2]}}, "path 'a' is matched twice"),
        (doc! {"a.b": 1, "a": {}}, "both paths 'a' and 'a.b' are matched"),
        (doc! {"a.c": 1, "a-b": 1, "z": 1, "a": 2}, "both paths 'a' and 'a.c' are matched"),
        (doc! {"a": {}, "a.b.c": 1}, "both paths 'a' and 'a.b.c' are matched"),
    ] {
        let error = parse(&filter).unwrap().equalities().unwrap_err();
        assert_eq!(error.code.number(), 54);
        assert_eq!(error.message, format!("cannot infer query fields to set, {text}"));
    }
    assert!(parse(&doc! {"a.b": 1, "a.bc": 2}).unwrap().equalities().is_ok());
}

#[test]
fn nearness_is_shown_to_the_caller() {
    let filter = doc! {
        "x": 1,
        "at": {"$near": {
            "$geometry": {"type": "Point", "coordinates": [0, 0]}, "$maxDistance": 200_000,
        }},
    };
    let parsed = parse(&filter).unwrap();
    let (path, near) = parsed.near().unwrap();
    assert_eq!(path.text(), "at");
    assert_eq!((near.surface, near.centre), (Surface::Metres, [0.0, 0.0]));
    assert!((near.max - 200_000.0).abs() < f64::EPSILON);
    let document = raw(&doc! {"x": 1, "at": [[3, 0], [1, 0]]});
    assert_eq!(parsed.matches(&document), Ok(true));
    let distance = near.distance_in(&document, path).unwrap();
    assert!((distance - 111_318.8).abs() < 1.0, "{distance}");
    assert_eq!(parsed.matches(&raw(&doc! {"x": 1, "at": [3, 0]})), Ok(false));
    assert!(parse(&doc! {"x": 1}).unwrap().near().is_none());
}

#[test]
fn threads_share_a_filter() {
    let parsed = parse(&doc! {"a": {"$regex": "x"}}).unwrap();
    let document = raw(&doc! {"a": "xyz"});
    let found = std::thread::scope(|scope| {
        let threads = [(); 2].map(|()| scope.spawn(|| parsed.matches(&document)));
        threads.map(|thread| thread.join().unwrap())
    });
    assert_eq!(found, [Ok(true), Ok(true)]);
}

#[test]
fn types_are_shown_by_their_names() {
    let parsed = parse(&doc! {"a": {"$type": ["number", 2, -1, 127]}}).unwrap();
    let Node::Field(Field { test: Test::Type(types), .. }) = parsed.root() else {
        panic!("{:?}", parsed.root())
    };
    let names: Vec<_> = types.names().collect();
    assert_eq!(names, ["double", "string", "int", "long", "decimal", "minKey", "maxKey"]);
}
