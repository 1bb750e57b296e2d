use gateway::read::patch as read;
use proptest::{collection::vec, prelude::*, sample::select};
use protocol::Code;

use super::*;

fn key() -> Vec<Path> {
    vec![Path::parse("/key/part").expect("a path")]
}

/// The text of a document after the operations, or the error message.
fn patched(document: &str, operations: &str) -> Result<String, String> {
    let run = || {
        let patch = read(operations.as_bytes())?;
        let mut value = json::parse(document.as_bytes()).expect("a document");
        apply(&patch, &mut value, &key())?;
        text(&patch, document.as_bytes(), &value)
    };
    run().map(|text| String::from_utf8(text).expect("text")).map_err(|error: Error| {
        assert_eq!(error.code, Code::BadRequest);
        error.message
    })
}

#[track_caller]
fn gives(document: &str, operations: &str, expected: &str) {
    assert_eq!(patched(document, operations).as_deref(), Ok(expected), "{operations}");
}

#[track_caller]
fn fails(document: &str, operations: &str, message: &str) {
    let refusal = patched(document, operations).expect_err(operations);
    assert!(refusal.contains(message), "{operations}: {refusal}");
}

const RECURSIVE: &str = "cannot create path recursively, no path found beyond: ";

#[test]
fn add() {
    let document = r#"{"a":{"b":1},"l":[1,2],"s":"x"}"#;
    let add = |path: &str| format!(r#"[{{"op":"add","path":"{path}","value":9}}]"#);
    gives(document, &add("/n"), r#"{"a":{"b":1},"l":[1,2],"s":"x","n":9}"#);
    gives(document, &add("/s"), r#"{"a":{"b":1},"l":[1,2],"s":9}"#);
    gives(document, &add("/a/c"), r#"{"a":{"b":1,"c":9},"l":[1,2],"s":"x"}"#);
    gives(document, &add("/l/0"), r#"{"a":{"b":1},"l":[9,1,2],"s":"x"}"#);
    gives(document, &add("/l/2"), r#"{"a":{"b":1},"l":[1,2,9],"s":"x"}"#);
    gives(document, &add("/l/-"), r#"{"a":{"b":1},"l":[1,2,9],"s":"x"}"#);
    fails(
        document,
        &add("/l/3"),
        "For Operation(1): Index(3) to operate on is out of array bounds",
    );
    fails(document, &add("/l/x"), "Index(x) to operate on is out of array bounds");
    fails(document, &add("/l/01"), "Index(01) to operate on is out of array bounds");
    fails(
        document,
        &add("/x/y"),
        &format!(
            "Add Operation can only create a child object of an existing node(array or object) and {RECURSIVE}'x'."
        ),
    );
    fails(document, &add("/s/y"), &format!("{RECURSIVE}'y'."));
    fails(document, &add("/l/-/y"), &format!("{RECURSIVE}'-'."));
}

#[test]
fn set() {
    let document = r#"{"l":[1,2],"s":"x"}"#;
    let set = |path: &str| format!(r#"[{{"op":"set","path":"{path}","value":null}}]"#);
    gives(document, &set("/n"), r#"{"l":[1,2],"s":"x","n":null}"#);
    gives(document, &set("/s"), r#"{"l":[1,2],"s":null}"#);
    gives(document, &set("/l/0"), r#"{"l":[null,2],"s":"x"}"#);
    gives(document, &set("/l/2"), r#"{"l":[1,2,null],"s":"x"}"#);
    gives(document, &set("/l/-"), r#"{"l":[1,2,null],"s":"x"}"#);
    fails(document, &set("/l/3"), "Index(3) to operate on is out of array bounds");
    fails(document, &set("/x/y"), "Given Operation can only create a child object");
}

#[test]
fn replace() {
    let document = r#"{"a":{"b":1},"l":[1,2]}"#;
    let replace = |path: &str| format!(r#"[{{"op":"replace","path":"{path}","value":[]}}]"#);
    gives(document, &replace("/a/b"), r#"{"a":{"b":[]},"l":[1,2]}"#);
    gives(document, &replace("/l/1"), r#"{"a":{"b":1},"l":[1,[]]}"#);
    fails(document, &replace("/n"), "For Operation(1): Node(/n) to be replaced is absent.");
    fails(document, &replace("/a/n"), "Node(/a/n) to be replaced is absent.");
    fails(document, &replace("/l/2"), "Index(2) to operate on is out of array bounds");
    fails(document, &replace("/l/-"), "Index(-) to operate on is out of array bounds");
    fails(document, &replace("/x/y"), RECURSIVE);
    fails(document, &replace("/a/b/c"), "Node(/a/b/c) to be replaced is absent.");
}

#[test]
fn remove() {
    let document = r#"{"a":{"b":1},"l":[1,2,3],"n":null}"#;
    let remove = |path: &str| format!(r#"[{{"op":"remove","path":"{path}"}}]"#);
    gives(document, &remove("/a"), r#"{"l":[1,2,3],"n":null}"#);
    gives(document, &remove("/a/b"), r#"{"a":{},"l":[1,2,3],"n":null}"#);
    gives(document, &remove("/l/1"), r#"{"a":{"b":1},"l":[1,3],"n":null}"#);
    gives(document, &remove("/n"), r#"{"a":{"b":1},"l":[1,2,3]}"#);
    fails(document, &remove("/x"), "Node(/x) to be removed is absent.");
    fails(document, &remove("/x/y"), "Node(/x/y) to be removed is absent.");
    fails(document, &remove("/n/y"), "Node(/n/y) to be removed is absent.");
    fails(document, &remove("/l/-"), "Node(/l/-) to be removed is absent.");
    fails(document, &remove("/l/3"), "Index(3) to operate on is out of array bounds");
}

#[test]
fn increment() {
    let sum = |number: &str, by: &str| {
        let operations = format!(r#"[{{"op":"incr","path":"/n","value":{by}}}]"#);
        patched(&format!(r#"{{"n":{number}}}"#), &operations)
    };
    for (number, by, expected) in [
        ("1", "2", "3"),
        ("1", "-2", "-1"),
        ("1.0", "2", "3"),
        ("1.5", "0.5", "2"),
        ("1", "0.5", "1.5"),
        ("0.1", "0.2", "0.30000000000000004"),
        ("-0.0", "0", "0"),
        ("1e2", "1", "101"),
        // Integers stay exact beyond the precision of doubles.
        ("9007199254740993", "2", "9007199254740995"),
        ("9223372036854775806", "1", "9223372036854775807"),
        ("-9223372036854775807", "-1", "-9223372036854775808"),
        ("1e300", "1", "1e+300"),
    ] {
        assert_eq!(sum(number, by), Ok(format!(r#"{{"n":{expected}}}"#)), "{number} + {by}");
    }
    for (number, by) in [
        ("9223372036854775807", "1"),
        ("-9223372036854775808", "-1"),
        ("1.7976931348623157e308", "1e308"),
    ] {
        let refusal = sum(number, by).expect_err("an overflow");
        assert_eq!(refusal, "For Operation(1): Node(/n) would be out of range.");
    }
    for number in ["\"1\"", "null", "true", "[]", "{}"] {
        let refusal = sum(number, "1").expect_err("no number");
        assert_eq!(refusal, "For Operation(1): Node(/n) is not a number.");
    }
    for by in ["\"1\"", "null", "[1]"] {
        let refusal = sum("1", by).expect_err("no number");
        assert!(refusal.contains("operation 1 has a 'value' that is not a number"), "{refusal}");
    }
    let increment = |path: &str| format!(r#"[{{"op":"incr","path":"{path}","value":1.50}}]"#);
    let document = r#"{"a":{},"l":[1]}"#;
    gives(document, &increment("/n"), r#"{"a":{},"l":[1],"n":1.50}"#);
    gives(document, &increment("/a/n"), r#"{"a":{"n":1.50},"l":[1]}"#);
    gives(document, &increment("/l/0"), r#"{"a":{},"l":[2.5]}"#);
    gives(document, &increment("/l/-"), r#"{"a":{},"l":[1,1.50]}"#);
    fails(document, &increment("/l/2"), "Index(2) to operate on is out of array bounds");
    fails(document, &increment("/x/n"), RECURSIVE);
}

#[test]
fn moves() {
    let document = r#"{"a":{"b":1},"l":[1,2,3]}"#;
    let moved =
        |from: &str, path: &str| format!(r#"[{{"op":"move","from":"{from}","path":"{path}"}}]"#);
    gives(document, &moved("/a/b", "/n"), r#"{"a":{},"l":[1,2,3],"n":1}"#);
    gives(document, &moved("/a/b", "/a"), r#"{"a":1,"l":[1,2,3]}"#);
    gives(document, &moved("/a", "/l"), r#"{"l":{"b":1}}"#);
    gives(document, &moved("/l/0", "/l/2"), r#"{"a":{"b":1},"l":[2,3,1]}"#);
    gives(document, &moved("/l/2", "/l/0"), r#"{"a":{"b":1},"l":[3,1,2]}"#);
    gives(document, &moved("/l/0", "/l/-"), r#"{"a":{"b":1},"l":[2,3,1]}"#);
    gives(document, &moved("/a/b", "/a/b"), r#"{"a":{"b":1},"l":[1,2,3]}"#);
    fails(document, &moved("/x", "/n"), "Node(/x) to be removed is absent.");
    fails(document, &moved("/l/3", "/n"), "Index(3) to operate on is out of array bounds");
    fails(document, &moved("/l/0", "/l/3"), "Index(3) to operate on is out of array bounds");
    fails(document, &moved("/a/b", "/x/y"), RECURSIVE);
    fails(document, &moved("/a", "/a/b"), "operation 1 would move a value into itself");
    fails(document, r#"[{"op":"move","path":"/n"}]"#, "operation 1 has no 'from'");
}

#[test]
fn operations_see_what_earlier_ones_did() {
    let operations = r#"{"operations":[
        {"op":"add","path":"/o","value":{}},
        {"op":"add","path":"/o/l","value":[]},
        {"op":"add","path":"/o/l/-","value":1},
        {"op":"incr","path":"/o/l/0","value":4},
        {"op":"move","from":"/o/l/0","path":"/n"},
        {"op":"remove","path":"/o"}]}"#;
    gives(r#"{"a":1}"#, operations, r#"{"a":1,"n":5}"#);
    let twice = r#"[{"op":"remove","path":"/a"},{"op":"remove","path":"/a"}]"#;
    fails(r#"{"a":1}"#, twice, "For Operation(2): Node(/a) to be removed is absent.");
}

#[test]
fn names_are_unescaped_and_numbers_name_members_of_objects() {
    let document = r#"{"a/b":{"~":1},"o":{"0":1,"-":2}}"#;
    let set = |path: &str| format!(r#"[{{"op":"replace","path":"{path}","value":0}}]"#);
    gives(document, &set("/a~1b/~0"), r#"{"a/b":{"~":0},"o":{"0":1,"-":2}}"#);
    gives(document, &set("/o/0"), r#"{"a/b":{"~":1},"o":{"0":0,"-":2}}"#);
    gives(document, &set("/o/-"), r#"{"a/b":{"~":1},"o":{"0":1,"-":0}}"#);
}

#[test]
fn what_is_not_touched_stays_byte_for_byte() {
    let document = r#"{ "id" : "\u0061", "x": 1.0, "big":12345678901234567890, "t" : [ 1E3 , 2 ],"_rid":"r","_ts":1}"#;
    gives(
        document,
        r#"[{"op":"add","path":"/t/-","value":7.00},{"op":"set","path":"/\u006e","value":"\u00e9"}]"#,
        r#"{"id" : "\u0061","x": 1.0,"big":12345678901234567890,"t":[1E3,2,7.00],"n":"é"}"#,
    );
    // A member that is removed and added again moves to the end; the others keep their order.
    gives(
        document,
        r#"[{"op":"remove","path":"/x"},{"op":"add","path":"/x","value":2}]"#,
        r#"{"id" : "\u0061","big":12345678901234567890,"t" : [ 1E3 , 2 ],"x":2}"#,
    );
}

#[test]
fn what_no_patch_may_touch() {
    let document = r#"{"id":"a","key":{"part":"p","other":1},"ts":1}"#;
    for path in ["/id", "/_rid", "/_self", "/_etag", "/_ts", "/_attachments", "/_ts/x"] {
        let name = path[1..].split('/').next().expect("a name");
        let message = format!("Invalid patch request: Cannot patch system property {name}.");
        fails(document, &format!(r#"[{{"op":"set","path":"{path}","value":1}}]"#), &message);
        fails(document, &format!(r#"[{{"op":"move","from":"{path}","path":"/n"}}]"#), &message);
        fails(document, &format!(r#"[{{"op":"move","from":"/ts","path":"{path}"}}]"#), &message);
    }
    for path in ["/key", "/key/part", "/key/part/x"] {
        let message = format!("Cannot patch the partition key path {path}.");
        fails(document, &format!(r#"[{{"op":"set","path":"{path}","value":1}}]"#), &message);
        fails(document, &format!(r#"[{{"op":"move","from":"{path}","path":"/n"}}]"#), &message);
    }
    let other =
        r#"[{"op":"set","path":"/key/other","value":2},{"op":"set","path":"/x","value":{"id":1}}]"#;
    gives(document, other, r#"{"id":"a","key":{"part":"p","other":2},"ts":1,"x":{"id":1}}"#);
}

/// Whether a condition holds for `{"n":5,"tags":["a"],"_ts":7}`, or its error message.
fn holds(condition: &str) -> Result<bool, String> {
    let document = json::parse(br#"{"n":5,"tags":["a"],"_ts":7}"#).expect("a document");
    let condition = Condition::compile(condition, &[], false).map_err(|error| {
        assert_eq!(error.code, Code::BadRequest);
        error.message
    })?;
    match condition.check(&document, 0, &|| false) {
        Ok(()) => Ok(true),
        Err(error) if error.code == Code::PatchConditionFailed => Ok(false),
        Err(error) => Err(error.message),
    }
}

#[test]
fn conditions() {
    for (condition, expected) in [
        ("from c where c.n = 5", true),
        ("FROM products p WHERE p.n > 5", false),
        ("from root where root._ts = 7", true),
        ("  from c\nwhere IS_DEFINED(c.x)", false),
        ("from c where c.x", false),
        ("from c", true),
        ("from c join t in c.tags where t = 'a'", true),
        ("from t in c.tags where t = 'b'", false),
        ("from (select value c.tags from c) t where t[0] = 'a'", true),
        ("from c where ARRAY_CONTAINS(c.tags, 'a') and c.n between 1 and 9", true),
        ("from c where exists(select value t from t in c.tags where t like 'a%')", true),
    ] {
        assert_eq!(holds(condition), Ok(expected), "{condition}");
    }
    for (condition, message) in [
        ("", "it does not begin with FROM"),
        ("where c.n = 5", "it does not begin with FROM"),
        ("select * from c", "it does not begin with FROM"),
        ("+ 1 from c", "it does not begin with FROM"),
        ("from c where c.n = 5 order by c.n", "other clauses than FROM and WHERE"),
        ("from c where c.n = 5 offset 0 limit 1", "other clauses than FROM and WHERE"),
        ("from c group by c.n", "other clauses than FROM and WHERE"),
        ("from (select value count(1) from c) x", "its FROM reads more than the document"),
        ("from c where d.n = 5", r#""location":{"start":13,"end":14}"#),
        ("from c where", "SC1002"),
        ("from c where nothing(1)", "SC2005"),
        ("from c where c.n = @n", "@n"),
    ] {
        let refusal = holds(condition).expect_err(condition);
        assert!(refusal.contains(message), "{condition}: {refusal}");
    }
}

fn any_value() -> impl Strategy<Value = String> {
    let scalar =
        select(vec!["1", "1.50", "-0.0", "1E3", "null", "\"\\u0061\"", "9007199254740993"]);
    scalar.prop_map(str::to_owned).prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(|elements| format!("[ {} ]", elements.join(" ,"))),
            vec(inner, 0..3).prop_map(|values| {
                let members = values.iter().zip(["a", "b", "\\u0063"]);
                let members: Vec<_> =
                    members.map(|(value, key)| format!("\"{key}\": {value}")).collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
}

fn any_path() -> impl Strategy<Value = String> {
    vec(select(vec!["a", "b", "c", "0", "1", "2", "-", "~01", "key", ""]), 1..4)
        .prop_map(|segments| format!("/{}", segments.join("/")))
}

fn any_operation() -> impl Strategy<Value = String> {
    let name = select(vec!["add", "set", "replace", "remove", "incr", "move"]);
    (name, any_path(), any_path(), any_value()).prop_map(|(name, path, from, value)| {
        format!(r#"{{"op":"{name}","path":"{path}","from":"{from}","value":{value}}}"#)
    })
}

proptest! {
    /// After any operations, the text matches the value, and untouched members keep their bytes.
    #[test]
    fn the_text_is_that_of_the_value(
        values in vec(any_value(), 4),
        operations in vec(any_operation(), 1..6),
    ) {
        let [a, b, c, kept] = values.as_slice() else { unreachable!("four") };
        let document = format!(
            r#"{{"a" : {a},"b": {b}, "c":{c} ,"kept" :  {kept},"_rid":"r","_ts":5}}"#
        );
        let Ok(patch) = read(format!("[{}]", operations.join(",")).as_bytes()) else {
            return Ok(());
        };
        let mut value = json::parse(document.as_bytes()).expect("a document");
        if apply(&patch, &mut value, &key()).is_err() {
            return Ok(());
        }
        let text = text(&patch, document.as_bytes(), &value).expect("a text");
        let object = value.as_object_mut().expect("an object");
        let system = (object.remove("_rid"), object.remove("_ts"));
        prop_assert!(system.0.is_some() && system.1.is_some());
        prop_assert_eq!(&json::parse(&text).expect("JSON"), &value);
        let text = String::from_utf8(text).expect("text");
        let kept = format!(r#""kept" :  {kept}"#);
        prop_assert!(text.contains(&kept), "{}", text);
    }
}
