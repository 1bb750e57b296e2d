//! Tests of vector policies and indexes.

use super::*;
use crate::definition::tests::value_of;

fn embedding(members: &str) -> String {
    format!(r#"{{"vectorEmbeddings":[{{"path":"/v",{members}}}]}}"#)
}

const GOOD: &str = r#""dataType":"float32","dimensions":256,"distanceFunction":"cosine""#;

#[test]
fn embeddings() {
    for good in [
        "null".to_owned(),
        r#"{"vectorEmbeddings":[]}"#.to_owned(),
        embedding(GOOD),
        embedding(r#""dataType":"int8","dimensions":4096,"distanceFunction":"dotProduct""#),
    ] {
        assert!(parse_policy(&value_of(&good)).is_ok(), "{good}");
    }
    let twice =
        format!(r#"{{"vectorEmbeddings":[{{"path":"/v",{GOOD}}},{{"path":"/'v'",{GOOD}}}]}}"#);
    for bad in [
        "[]".to_owned(),
        "{}".to_owned(),
        r#"{"vectorEmbeddings":[1]}"#.to_owned(),
        format!(r#"{{"vectorEmbeddings":[{{"path":"v",{GOOD}}}]}}"#),
        twice,
        embedding(r#""dimensions":256,"distanceFunction":"cosine""#),
        embedding(r#""dataType":"float33","dimensions":256,"distanceFunction":"cosine""#),
        embedding(r#""dataType":"float32","dimensions":0,"distanceFunction":"cosine""#),
        embedding(r#""dataType":"float32","dimensions":4097,"distanceFunction":"cosine""#),
        embedding(r#""dataType":"float32","dimensions":"9","distanceFunction":"cosine""#),
        embedding(r#""dataType":"float32","dimensions":9,"distanceFunction":1"#),
    ] {
        assert!(parse_policy(&value_of(&bad)).is_err(), "{bad}");
    }
    let odd = embedding(r#""dataType":"float32","dimensions":9,"distanceFunction":"handMeasured""#);
    assert!(
        parse_policy(&value_of(&odd))
            .unwrap_err()
            .message
            .contains("The Vector Embedding Policy has an invalid DistanceFunction:handMeasured")
    );
    for (dimensions, words) in [
        (
            8000,
            "The Vector Embedding Policy has Dimensions:8000 which is more than the maximum supported value",
        ),
        (-1, "The Vector Embedding Policy has Dimensions:-1"),
        (0, "The Vector Embedding Policy has Dimensions:0"),
    ] {
        let bad = embedding(&GOOD.replace("256", &dimensions.to_string()));
        let message = parse_policy(&value_of(&bad)).unwrap_err().message;
        assert!(message.contains(words), "{message}");
    }
}

/// The result of creating a collection with these indexes and one embedding at `/v`.
fn check(indexes: &str, dimensions: u32) -> Result<(), Error> {
    let indexes = parse_indexes(Some(&value_of(indexes)))?.unwrap();
    let indexing = Object::from_iter([("vectorIndexes".to_owned(), indexes)]);
    let policy = embedding(&GOOD.replace("256", &dimensions.to_string()));
    check_indexes(&indexing, Some(&value_of(&policy)))?;
    check_new(&indexing, &Value::Undefined)
}

#[test]
fn indexes() {
    for (indexes, dimensions) in [
        ("[]", 9),
        (r#"[{"path":"/v","type":"flat"}]"#, 505),
        (r#"[{"path":"/'v'","type":"diskANN","indexingSearchListSize":25}]"#, 4096),
        (r#"[{"path":"/v","type":"quantizedFlat","quantizationByteSize":512}]"#, 4096),
        (r#"[{"path":"/v","type":"diskANN","vectorIndexShardKey":["/t"]}]"#, 9),
        (r#"[{"path":"/v","type":"diskANN","quantizerType":"spherical"}]"#, 9),
    ] {
        check(indexes, dimensions).unwrap();
    }
    for (indexes, fragment) in [
        ("{}", "must be an array"),
        ("[1]", "must be an object"),
        (r#"[{"path":"/v"}]"#, "vectorIndexes.type"),
        (r#"[{"path":"/v/*","type":"flat"}]"#, "invalid Path: /v/*."),
        (r#"[{"path":"/v","type":"notFlat"}]"#, "Index Type::notFlat is invalid"),
        (r#"[{"path":"/w","type":"flat"}]"#, "path::/w not matching in Embedding's path."),
        (r#"[{"path":"/v","type":"flat"},{"path":"/v","type":"flat"}]"#, "twice"),
        (
            r#"[{"path":"/v","type":"diskANN","quantizationByteSize":0}]"#,
            "The Vector Indexing Policy parameter QuantizationByteSize value :: 0 is out of range. The allowed range is between 1 and 256.",
        ),
        (r#"[{"path":"/v","type":"diskANN","indexingSearchListSize":501}]"#, "between 25 and 500"),
        (r#"[{"path":"/v","type":"diskANN","indexingSearchListSize":"x"}]"#, "an integer"),
        (
            r#"[{"path":"/v","type":"diskANN","vectorIndexShardKey":"/t"}]"#,
            "One of the specified inputs is invalid",
        ),
        (
            r#"[{"path":"/v","type":"diskANN","vectorIndexShardKey":["country"]}]"#,
            "The Vector Indexing Policy has an invalid Shard Path: country.",
        ),
        (
            r#"[{"path":"/v","type":"diskANN","vectorIndexShardKey":["/a","/b","/c"]}]"#,
            "The number of shard paths defined in the Vector Indexing Policy: 3 exceeds the maximum: 1.",
        ),
        (
            r#"[{"path":"/v","type":"diskANN","quantizerType":"round"}]"#,
            "The Vector Indexing Policy's Quantizer Type::round is invalid.",
        ),
    ] {
        let message = check(indexes, 256).unwrap_err().message;
        assert!(message.contains(fragment), "{indexes}: {message}");
    }
    assert!(check(r#"[{"path":"/v","type":"flat"}]"#, 506).is_err());
}

#[test]
fn replacements_may_add_and_remove_but_not_change() {
    let body = |kind: &str, function: &str| {
        value_of(&format!(
            r#"{{"indexingPolicy":{{"vectorIndexes":[{{"path":"/v","type":"{kind}"}}]}},
                "vectorEmbeddingPolicy":{{"vectorEmbeddings":[{{"path":"/v","distanceFunction":"{function}"}}]}}}}"#
        ))
    };
    let current = body("flat", "cosine");
    let current = current.as_object().unwrap();
    check_unchanged(current, &body("flat", "cosine")).unwrap();
    check_unchanged(current, &value_of("{}")).unwrap();
    check_unchanged(&Object::new(), &body("flat", "cosine")).unwrap();
    for changed in [body("diskANN", "cosine"), body("flat", "euclidean")] {
        let message = check_unchanged(current, &changed).unwrap_err().message;
        assert!(message.contains("cannot be modified in Collection Replace. They can only be"));
    }
}
