//! The matrix of null, missing and arrays.

use bson::{Bson, Document, doc};

use super::matches;

/// Documents with a name each, in the order of the columns below.
fn documents() -> Vec<Document> {
    vec![
        doc! {},
        doc! {"a": Bson::Null},
        doc! {"a": Bson::Undefined},
        doc! {"a": 1},
        doc! {"a": []},
        doc! {"a": [Bson::Null]},
        doc! {"a": [1, Bson::Null]},
        doc! {"a": [[Bson::Null]]},
        doc! {"a": {}},
        doc! {"a": {"b": Bson::Null}},
        doc! {"a": {"b": 1}},
        doc! {"a": [{}]},
        doc! {"a": [{"b": 1}, {}]},
        doc! {"a": [{"b": 1}, {"b": Bson::Null}]},
        doc! {"a": [{"b": 1}, 5]},
        doc! {"a": [{"b": [Bson::Null]}]},
        doc! {"a": [[{"b": Bson::Null}]]},
    ]
}

/// Checks which documents match: `x` for those that do.
#[track_caller]
fn check(filter: Document, expected: &str) {
    let documents = documents();
    assert_eq!(documents.len(), expected.len());
    let found: String = documents
        .iter()
        .map(|document| if matches(&filter, document) { 'x' } else { '.' })
        .collect();
    assert_eq!(found, expected, "{filter}");
}

/// The opposite of what is expected.
fn opposite(expected: &str) -> String {
    expected.chars().map(|mark| if mark == 'x' { '.' } else { 'x' }).collect()
}

#[test]
fn a_field_is_null() {
    // Columns: missing, null, undefined, 1, [], [null], [1, null], [[null]], {}, {b: null}, {b: 1},
    // [{}], [{b: 1}, {}], [{b: 1}, {b: null}], [{b: 1}, 5], [{b: [null]}], [[{b: null}]]
    let is_null = "xxx..xx..........";
    check(doc! {"a": Bson::Null}, is_null);
    check(doc! {"a": {"$eq": Bson::Null}}, is_null);
    check(doc! {"a": {"$gte": Bson::Null}}, is_null);
    check(doc! {"a": {"$lte": Bson::Null}}, is_null);
    check(doc! {"a": {"$in": [Bson::Null, "x"]}}, is_null);
    check(doc! {"a": {"$all": [Bson::Null]}}, is_null);
    check(doc! {"a": {"$ne": Bson::Null}}, &opposite(is_null));
    check(doc! {"a": {"$nin": [Bson::Null]}}, &opposite(is_null));
    check(doc! {"a": {"$not": {"$eq": Bson::Null}}}, &opposite(is_null));
    check(doc! {"$nor": [{"a": Bson::Null}]}, &opposite(is_null));
    check(doc! {"a": {"$gt": Bson::Null}}, ".................");
    check(doc! {"a": {"$lt": Bson::Null}}, ".................");
    check(doc! {"a": {"$type": "null"}}, ".x...xx..........");
    check(doc! {"a": {"$type": 10}}, ".x...xx..........");
    check(doc! {"a": {"$elemMatch": {"$eq": Bson::Null}}}, ".....xx..........");
    check(doc! {"a": [Bson::Null]}, ".....x.x.........");
}

#[test]
fn a_field_exists() {
    let exists = ".xxxxxxxxxxxxxxxx";
    check(doc! {"a": {"$exists": true}}, exists);
    check(doc! {"a": {"$exists": 1}}, exists);
    check(doc! {"a": {"$exists": "x"}}, exists);
    check(doc! {"a": {"$exists": false}}, &opposite(exists));
    check(doc! {"a": {"$exists": 0}}, &opposite(exists));
    check(doc! {"a": {"$exists": Bson::Null}}, &opposite(exists));
}

#[test]
fn a_field_inside_is_null() {
    // What is no document lacks the field, and an element that is no document is passed over.
    let is_null = "xxxx....xx.xxx.x.";
    check(doc! {"a.b": Bson::Null}, is_null);
    check(doc! {"a.b": {"$in": [Bson::Null]}}, is_null);
    check(doc! {"a.b": {"$ne": Bson::Null}}, &opposite(is_null));
    check(doc! {"a.b": {"$type": "null"}}, ".........x...x.x.");
    let exists = ".........xx.xxxx.";
    check(doc! {"a.b": {"$exists": true}}, exists);
    check(doc! {"a.b": {"$exists": false}}, &opposite(exists));
    check(doc! {"a.0": Bson::Null}, "xxxx.x..xxxxxxxx.");
    check(doc! {"a.0": {"$exists": true}}, ".....xxx...xxxxxx");
    check(doc! {"a.0.b": {"$exists": true}}, "............xxxxx");
}

#[test]
fn other_values_and_types_match_negations() {
    check(doc! {"a": {"$not": {"$gt": 0}}}, "xxx.xx.xxxxxxx.xx");
    check(doc! {"a": {"$ne": 1}}, "xxx.xx.xxxxxxxxxx");
    check(doc! {"a.b": {"$not": {"$gt": 0}}}, "xxxxxxxxxx.x...xx");
    check(doc! {"a": {"$nin": []}}, "xxxxxxxxxxxxxxxxx");
    check(doc! {"a": {"$in": []}}, ".................");
}
