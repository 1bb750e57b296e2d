//! Schemas: each keyword, and how schemas are refused.

use bson::{Bson, Document, doc};

use crate::filter::tests::{matches, refusal};

/// Checks which of the values, as field `a`, are valid for a schema of that field.
fn check(schema: Document, values: Vec<(Bson, bool)>) {
    let filter = doc! {"$jsonSchema": {"properties": {"a": schema}}};
    for (value, expected) in values {
        let document = doc! {"a": value};
        assert_eq!(matches(&filter, &document), expected, "{filter} on {document}");
    }
    assert!(matches(&filter, &doc! {}), "{filter} is not about documents without the field");
}

fn decimal(text: &str) -> Bson {
    Bson::Decimal128(text.parse().unwrap())
}

#[test]
fn types() {
    check(doc! {"bsonType": "int"}, vec![(1.into(), true), (1_i64.into(), false)]);
    check(doc! {"bsonType": ["int", "string"]}, vec![("x".into(), true), (Bson::Null, false)]);
    check(doc! {"type": "number"}, vec![(1.5.into(), true), ("1".into(), false)]);
    check(doc! {"type": "boolean"}, vec![(true.into(), true), (1.into(), false)]);
    // Arrays are not entered.
    check(doc! {"type": "number"}, vec![(vec![1].into(), false)]);
    check(doc! {"type": "array"}, vec![(vec![1].into(), true), (doc! {}.into(), false)]);
}

#[test]
fn numbers() {
    check(
        doc! {"minimum": 2, "maximum": 5.0},
        vec![
            (2.into(), true),
            (decimal("5"), true),
            (1.into(), false),
            (5.5.into(), false),
            ("x".into(), true),
            (Bson::Double(f64::NAN), false),
        ],
    );
    check(doc! {"minimum": 2, "exclusiveMinimum": true}, vec![(2.into(), false), (3.into(), true)]);
    check(doc! {"maximum": 2, "exclusiveMaximum": true}, vec![(2.into(), false), (1.into(), true)]);
    check(doc! {"maximum": 2, "exclusiveMaximum": false}, vec![(2.into(), true)]);
    check(
        doc! {"multipleOf": 3},
        vec![
            (9.into(), true),
            (10.into(), false),
            (Bson::Double(9.0), true),
            (Bson::Double(f64::INFINITY), false),
        ],
    );
    check(
        doc! {"multipleOf": 0.1},
        vec![(Bson::Double(0.3), true), (decimal("0.35"), false), (7.into(), true)],
    );
}

#[test]
fn texts() {
    check(
        doc! {"minLength": 2, "maxLength": 3},
        vec![("éé".into(), true), ("a".into(), false), ("abcd".into(), false), (1.into(), true)],
    );
    check(doc! {"pattern": "^a"}, vec![("ab".into(), true), ("ba".into(), false)]);
}

#[test]
fn arrays() {
    check(
        doc! {"minItems": 1, "maxItems": 2.0},
        vec![
            (vec![1].into(), true),
            (Bson::from(Vec::<i32>::new()), false),
            (vec![1, 2, 3].into(), false),
        ],
    );
    check(
        doc! {"items": {"type": "number"}},
        vec![(vec![1, 2].into(), true), (Bson::from(vec![Bson::from(1), "x".into()]), false)],
    );
    let listed = doc! {"items": [{"type": "number"}, {"type": "string"}]};
    check(
        listed.clone(),
        vec![
            (vec![1].into(), true),
            (Bson::from(vec![Bson::from(1), "x".into(), true.into()]), true),
            (Bson::from(vec![Bson::from(1), 2.into()]), false),
        ],
    );
    let mut strict = listed.clone();
    strict.insert("additionalItems", false);
    check(
        strict,
        vec![
            (Bson::from(vec![Bson::from(1), "x".into()]), true),
            (Bson::from(vec![Bson::from(1), "x".into(), true.into()]), false),
        ],
    );
    let mut restricted = listed;
    restricted.insert("additionalItems", doc! {"type": "boolean"});
    check(
        restricted,
        vec![
            (Bson::from(vec![Bson::from(1), "x".into(), true.into()]), true),
            (Bson::from(vec![Bson::from(1), "x".into(), 3.into()]), false),
        ],
    );
    check(
        doc! {"uniqueItems": true},
        vec![
            (vec![1, 2].into(), true),
            (Bson::from(vec![Bson::from(1), 1.0.into()]), false),
            (Bson::from(vec![doc! {"x": 1, "y": 2}, doc! {"y": 2, "x": 1}]), false),
            (Bson::from(vec![doc! {"x": 1}, doc! {"x": 2}]), true),
        ],
    );
}

#[test]
fn objects() {
    check(
        doc! {"required": ["x", "y"]},
        vec![
            (doc! {"y": 1, "x": Bson::Null}.into(), true),
            (doc! {"x": 1}.into(), false),
            (1.into(), true),
        ],
    );
    check(
        doc! {"minProperties": 1, "maxProperties": 1},
        vec![
            (doc! {"x": 1}.into(), true),
            (doc! {}.into(), false),
            (doc! {"x": 1, "y": 1}.into(), false),
        ],
    );
    check(
        doc! {
            "properties": {"x": {"type": "number"}}, "patternProperties": {"^s_": {"type": "string"}},
            "additionalProperties": false,
        },
        vec![
            (doc! {"x": 1, "s_a": "b"}.into(), true),
            (doc! {"x": "1"}.into(), false),
            (doc! {"s_a": 1}.into(), false),
            (doc! {"z": 1}.into(), false),
        ],
    );
    check(
        doc! {"properties": {"x": {}}, "additionalProperties": {"type": "number"}},
        vec![(doc! {"x": "any", "z": 1}.into(), true), (doc! {"z": "1"}.into(), false)],
    );
    check(
        doc! {"dependencies": {"x": ["y"], "z": {"required": ["w"]}}},
        vec![
            (doc! {"x": 1, "y": 1}.into(), true),
            (doc! {"x": 1}.into(), false),
            (doc! {"z": 1}.into(), false),
            (doc! {"z": 1, "w": 1}.into(), true),
            (doc! {"y": 1}.into(), true),
        ],
    );
}

#[test]
fn combinations() {
    let low = doc! {"maximum": 5};
    let even = doc! {"multipleOf": 2};
    let values = |expected: [bool; 4]| -> Vec<(Bson, bool)> {
        [4, 3, 8, 7].into_iter().map(Bson::Int32).zip(expected).collect()
    };
    check(doc! {"allOf": [low.clone(), even.clone()]}, values([true, false, false, false]));
    check(doc! {"anyOf": [low.clone(), even.clone()]}, values([true, true, true, false]));
    check(doc! {"oneOf": [low.clone(), even]}, values([false, true, true, false]));
    check(doc! {"not": low}, values([false, false, true, true]));
    check(
        doc! {"enum": [1, "x", {"p": 1, "q": [2]}, Bson::Null]},
        vec![
            (1.0.into(), true),
            ("x".into(), true),
            (doc! {"q": [2_i64], "p": 1}.into(), true),
            (Bson::Null, true),
            ("X".into(), false),
            (vec![1].into(), false),
        ],
    );
}

#[test]
fn the_whole_document_is_an_object() {
    let schema = doc! {"$jsonSchema": {
        "bsonType": "object", "title": "t", "description": "d", "required": ["a"],
    }};
    assert!(matches(&schema, &doc! {"a": 1}));
    assert!(!matches(&schema, &doc! {"b": 1}));
    assert!(matches(&doc! {"$nor": [schema]}, &doc! {"b": 1}));
    assert!(matches(&doc! {"$jsonSchema": {}}, &doc! {}));
}

/// Checks code and text of the refusals of schemas.
fn check_refusals(cases: Vec<(Document, i32, &str)>) {
    for (schema, code, text) in cases {
        let filter = doc! {"$jsonSchema": schema};
        assert_eq!(refusal(&filter), (code, text.to_owned()), "{filter}");
    }
}

#[test]
fn a_schema_is_an_object() {
    let text = "$jsonSchema must be an object".to_owned();
    assert_eq!(refusal(&doc! {"$jsonSchema": 1}), (14, text));
}

#[test]
fn types_are_checked() {
    check_refusals(vec![
        (doc! {"$ref": "#"}, 9, "$jsonSchema keyword '$ref' is not currently supported"),
        (doc! {"type": "integer"}, 9, "$jsonSchema type 'integer' is not currently supported."),
        (doc! {"type": "foo"}, 2, "Unknown type name alias: foo"),
        (doc! {"bsonType": "foo"}, 2, "Unknown type name alias: foo"),
        (
            doc! {"type": 1},
            14,
            "$jsonSchema keyword 'type' must be either a string or an array of strings",
        ),
        (doc! {"type": [1]}, 14, "$jsonSchema keyword 'type' array elements must be strings"),
        (doc! {"type": []}, 9, "$jsonSchema keyword 'type' must name at least one type"),
        (
            doc! {"type": ["null", "null"]},
            9,
            "$jsonSchema keyword 'type' has duplicate value: null",
        ),
        (
            doc! {"type": "null", "bsonType": "null"},
            9,
            "Cannot specify both $jsonSchema keywords 'type' and 'bsonType'",
        ),
    ]);
}

#[test]
fn numbers_and_texts_are_checked() {
    check_refusals(vec![
        (doc! {"minimum": "x"}, 14, "$jsonSchema keyword 'minimum' must be a number"),
        (
            doc! {"exclusiveMinimum": true},
            9,
            "$jsonSchema keyword 'minimum' must be a present if exclusiveMinimum is present",
        ),
        (
            doc! {"maximum": 1, "exclusiveMaximum": 1},
            14,
            "$jsonSchema keyword 'exclusiveMaximum' must be a boolean",
        ),
        (doc! {"multipleOf": 0}, 9, "$jsonSchema keyword 'multipleOf' must have a positive value"),
        (doc! {"minLength": -1}, 9, "Expected a non-negative number in: minLength: -1"),
        (doc! {"maxItems": "x"}, 9, "Expected a number in: maxItems: \"x\""),
        (doc! {"pattern": 1}, 14, "$jsonSchema keyword 'pattern' must be a string"),
        (doc! {"title": 1}, 14, "$jsonSchema keyword 'title' must be of type string"),
    ]);
}

#[test]
fn arrays_and_objects_are_checked() {
    check_refusals(vec![
        (doc! {"foo": 1}, 9, "Unknown $jsonSchema keyword: foo"),
        (doc! {"uniqueItems": 1}, 14, "$jsonSchema keyword 'uniqueItems' must be a boolean"),
        (
            doc! {"items": 1},
            14,
            "$jsonSchema keyword 'items' must be an array or an object, not int",
        ),
        (
            doc! {"items": [1]},
            14,
            "$jsonSchema keyword 'items' requires that each element of the array is an object, but \
             found a int",
        ),
        (
            doc! {"additionalItems": 1},
            14,
            "$jsonSchema keyword 'additionalItems' must be either an object or a boolean, but got a int",
        ),
        (doc! {"properties": 1}, 14, "$jsonSchema keyword 'properties' must be an object"),
        (
            doc! {"properties": {"x": 1}},
            14,
            "Nested schema for $jsonSchema property 'x' must be an object",
        ),
        (
            doc! {"required": 1},
            14,
            "$jsonSchema keyword 'required' must be an array, but found an element of type int",
        ),
        (
            doc! {"required": [1]},
            14,
            "$jsonSchema keyword 'required' must be an array of strings, but found an element of \
             type int",
        ),
        (doc! {"required": []}, 9, "$jsonSchema keyword 'required' cannot be an empty array"),
        (
            doc! {"required": ["x", "x"]},
            9,
            "$jsonSchema keyword 'required' array cannot contain duplicate values",
        ),
    ]);
}

#[test]
fn combinations_are_checked() {
    check_refusals(vec![
        (doc! {"enum": []}, 9, "$jsonSchema keyword 'enum' cannot be an empty array"),
        (
            doc! {"enum": [1, 1.0]},
            9,
            "$jsonSchema keyword 'enum' array cannot contain duplicate values.",
        ),
        (doc! {"allOf": {}}, 14, "$jsonSchema keyword 'allOf' must be an array"),
        (doc! {"anyOf": []}, 2, "$jsonSchema keyword 'anyOf' must be a non-empty array"),
        (
            doc! {"oneOf": [1]},
            14,
            "$jsonSchema keyword 'oneOf' must be an array of objects, but found an element of type int",
        ),
        (
            doc! {"not": 1},
            14,
            "$jsonSchema keyword 'not' must be an object, but found an element of type int",
        ),
        (
            doc! {"dependencies": {"x": 1}},
            14,
            "Dependency for property 'x' in $jsonSchema keyword 'dependencies' must be either an \
             object or an array",
        ),
    ]);
}
