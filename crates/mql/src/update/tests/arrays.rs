//! Operators that add, remove and change elements of arrays.

use bson::{RawBsonRef, doc};

use super::{check, check_errors};

#[test]
fn values_are_pushed() {
    check(&[
        (doc! {}, doc! {"$push": {"a": 1}}, doc! {"a": [1]}),
        (doc! {"a": [1]}, doc! {"$push": {"a": [2]}}, doc! {"a": [1, [2]]}),
        (doc! {"a": [1]}, doc! {"$push": {"a": {"$each": [2, 3]}}}, doc! {"a": [1, 2, 3]}),
        (doc! {"a": [1]}, doc! {"$push": {"a": {"$each": []}}}, doc! {"a": [1]}),
        (doc! {}, doc! {"$push": {"a": {"$each": []}}}, doc! {"a": []}),
        (
            doc! {"a": [1, 2]},
            doc! {"$push": {"a": {"$each": [9], "$position": 0}}},
            doc! {"a": [9, 1, 2]},
        ),
        (
            doc! {"a": [1, 2]},
            doc! {"$push": {"a": {"$each": [8, 9], "$position": -1}}},
            doc! {"a": [1, 8, 9, 2]},
        ),
        (
            doc! {"a": [1, 2]},
            doc! {"$push": {"a": {"$each": [9], "$position": 7}}},
            doc! {"a": [1, 2, 9]},
        ),
    ]);
}

#[test]
fn arrays_are_sorted_and_cut_after_a_push() {
    check(&[
        (
            doc! {"a": [1, 2]},
            doc! {"$push": {"a": {"$each": [3], "$slice": -2}}},
            doc! {"a": [2, 3]},
        ),
        (
            doc! {"a": [1, 2]},
            doc! {"$push": {"a": {"$each": [3], "$slice": 2}}},
            doc! {"a": [1, 2]},
        ),
        (doc! {"a": [1, 2]}, doc! {"$push": {"a": {"$each": [], "$slice": 0}}}, doc! {"a": []}),
        (
            doc! {"a": [3, 1]},
            doc! {"$push": {"a": {"$each": [2], "$sort": 1}}},
            doc! {"a": [1, 2, 3]},
        ),
        (
            doc! {"a": [3, "x", 1]},
            doc! {"$push": {"a": {"$each": [2], "$sort": -1, "$slice": 2}}},
            doc! {"a": ["x", 3]},
        ),
        (
            doc! {"a": [{"q": 2, "w": 1}, {"q": 1}]},
            doc! {"$push": {"a": {"$each": [{"q": 2, "w": 0}], "$sort": {"q": 1, "w": -1}}}},
            doc! {"a": [{"q": 1}, {"q": 2, "w": 1}, {"q": 2, "w": 0}]},
        ),
        (
            doc! {"a": [{"b": {"c": 2}}, 5]},
            doc! {"$push": {"a": {"$each": [{"b": {"c": 1}}], "$sort": {"b.c": 1}}}},
            doc! {"a": [5, {"b": {"c": 1}}, {"b": {"c": 2}}]},
        ),
        (doc! {"l": [[1], [2]]}, doc! {"$push": {"l.1": 3}}, doc! {"l": [[1], [2, 3]]}),
    ]);
}

#[test]
fn wrong_clauses_of_push_are_refused() {
    check_errors(&[
        (
            doc! {"_id": 1, "a": 5},
            doc! {"$push": {"a": 1}},
            2,
            "The field 'a' must be an array but is of type int in document {_id: 1}",
        ),
        (
            doc! {},
            doc! {"$push": {"a": {"$each": 1}}},
            2,
            "The argument to $each in $push must be an array but it was of type: int",
        ),
        (
            doc! {},
            doc! {"$push": {"a": {"$each": [], "$x": 1}}},
            2,
            "Unrecognized clause in $push: $x",
        ),
        (
            doc! {},
            doc! {"$push": {"a": {"$each": [], "$slice": "x"}}},
            2,
            "The value for $slice must be an integer value but was given type: string",
        ),
        (
            doc! {},
            doc! {"$push": {"a": {"$each": [], "$position": 1.5}}},
            2,
            "The value for $position must be an integer value, not of type: double",
        ),
    ]);
}

#[test]
fn wrong_orders_of_push_are_refused() {
    check_errors(&[
        (
            doc! {},
            doc! {"$push": {"a": {"$each": [], "$sort": 2}}},
            2,
            "The $sort element value must be either 1 or -1",
        ),
        (
            doc! {},
            doc! {"$push": {"a": {"$each": [], "$sort": "x"}}},
            2,
            "The $sort is invalid: use 1/-1 to sort the whole element, or {field:1/-1} to sort \
             embedded fields",
        ),
        (
            doc! {},
            doc! {"$push": {"a": {"$each": [], "$sort": {}}}},
            2,
            "The $sort pattern is empty when it should be a set of fields.",
        ),
        (
            doc! {},
            doc! {"$push": {"a": {"$each": [], "$sort": {"": 1}}}},
            2,
            "The $sort field cannot be empty",
        ),
        (
            doc! {},
            doc! {"$push": {"a": {"$each": [], "$sort": {"a..b": 1}}}},
            2,
            "The $sort field is a dotted field but has an empty part: a..b",
        ),
    ]);
}

#[test]
fn sets_hold_each_value_once() {
    check(&[
        (doc! {}, doc! {"$addToSet": {"a": 1}}, doc! {"a": [1]}),
        (doc! {"a": [1]}, doc! {"$addToSet": {"a": 1.0}}, doc! {"a": [1]}),
        (doc! {"a": [1]}, doc! {"$addToSet": {"a": {"$each": [1, 2, 2]}}}, doc! {"a": [1, 2]}),
        (doc! {"a": [1, 1]}, doc! {"$addToSet": {"a": [1]}}, doc! {"a": [1, 1, [1]]}),
        (doc! {}, doc! {"$addToSet": {"a": {"$each": [2, 1, 2.0]}}}, doc! {"a": [2, 1]}),
        (
            doc! {"a": [{"x": 1, "y": 2}]},
            doc! {"$addToSet": {"a": {"y": 2, "x": 1}}},
            doc! {"a": [{"x": 1, "y": 2}, {"y": 2, "x": 1}]},
        ),
    ]);
    check_errors(&[
        (
            doc! {"a": 5},
            doc! {"$addToSet": {"a": 1}},
            2,
            "Cannot apply $addToSet to non-array field. Field named 'a' has non-array type int",
        ),
        (
            doc! {},
            doc! {"$addToSet": {"a": {"$each": 1}}},
            14,
            "The argument to $each in $addToSet must be an array but it was of type int",
        ),
        (
            doc! {},
            doc! {"$addToSet": {"a": {"$each": [1], "x": 1}}},
            2,
            "Found unexpected fields after $each in $addToSet: { $each: [ 1 ], x: 1 }",
        ),
    ]);
}

#[test]
fn ends_are_popped() {
    check(&[
        (doc! {"a": [1, 2, 3]}, doc! {"$pop": {"a": 1}}, doc! {"a": [1, 2]}),
        (doc! {"a": [1, 2, 3]}, doc! {"$pop": {"a": -1}}, doc! {"a": [2, 3]}),
        (doc! {"a": []}, doc! {"$pop": {"a": -1.0}}, doc! {"a": []}),
        (doc! {}, doc! {"$pop": {"a.b": 1}}, doc! {}),
    ]);
    check_errors(&[
        (
            doc! {"a": 5},
            doc! {"$pop": {"a": 1}},
            14,
            "Path 'a' contains an element of non-array type 'int'",
        ),
        (doc! {}, doc! {"$pop": {"a": 2}}, 9, "$pop expects 1 or -1, found: 2"),
        (doc! {}, doc! {"$pop": {"a": "x"}}, 9, "Expected a number in: a: \"x\""),
        (
            doc! {"a": 5},
            doc! {"$pop": {"a.b.c": 1}},
            28,
            "Cannot use the part (b) of (a.b.c) to traverse the element ({a: 5})",
        ),
    ]);
}

#[test]
fn values_are_pulled() {
    check(&[
        (doc! {"a": [1, 2, 1.0, "1"]}, doc! {"$pull": {"a": 1}}, doc! {"a": [2, "1"]}),
        (doc! {"a": [1, 2]}, doc! {"$pull": {"a": 3}}, doc! {"a": [1, 2]}),
        (doc! {"a": [[1, 2], 1]}, doc! {"$pull": {"a": [1, 2]}}, doc! {"a": [1]}),
        (doc! {"a": [null, 1]}, doc! {"$pull": {"a": null}}, doc! {"a": [1]}),
        (doc! {}, doc! {"$pull": {"a": 3}}, doc! {}),
        (doc! {"a": [1, 2, 3, 2]}, doc! {"$pullAll": {"a": [2, 3.0]}}, doc! {"a": [1]}),
        (doc! {"a": [1]}, doc! {"$pullAll": {"a": []}}, doc! {"a": [1]}),
        (
            doc! {"a": [{"x": 1}, {"x": 1, "y": 1}]},
            doc! {"$pullAll": {"a": [{"x": 1}]}},
            doc! {"a": [{"x": 1, "y": 1}]},
        ),
    ]);
    check_errors(&[
        (doc! {"a": 5}, doc! {"$pull": {"a": 1}}, 2, "Cannot apply $pull to a non-array value"),
        (
            doc! {"a": 5},
            doc! {"$pullAll": {"a": [1]}},
            2,
            "Cannot apply $pullAll to a non-array value",
        ),
        (
            doc! {},
            doc! {"$pullAll": {"a": 1}},
            2,
            "$pullAll requires an array argument but was given a int",
        ),
    ]);
}

#[test]
fn a_long_padding_is_refused() {
    check(&[(doc! {"a": [1]}, doc! {"$set": {"a.3": 2}}, doc! {"a": [1, null, null, 2]})]);
    let padded = super::apply(&doc! {"a": []}, &doc! {"$set": {"a.1500000": 2}}).unwrap();
    let Ok(Some(RawBsonRef::Array(array))) = padded.document.get("a") else { panic!("{padded:?}") };
    assert_eq!(array.into_iter().count(), 1_500_001);
    let twice = doc! {"$set": {"a.1500000": 2, "b.1500000": 2}};
    check_errors(&[(
        doc! {"a": [], "b": []},
        twice,
        10_334,
        "Resulting document after update is larger than 16777216",
    )]);
    check_errors(&[(
        doc! {"a": []},
        doc! {"$set": {"a.1500001": 2}},
        34,
        "can't backfill more than 1500000 elements",
    )]);
}
