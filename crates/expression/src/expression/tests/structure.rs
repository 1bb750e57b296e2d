//! Constants, fields, variables, objects, arrays, and what is no expression at all.

use bson::rawdoc;

use super::*;
use crate::error::Code;

#[test]
fn fields_and_constants_are_themselves() {
    check(&[
        (bson!(1), is(1)),
        (bson!("plain"), is("plain")),
        (bson!("$int"), is(7)),
        (bson!("$missing"), MISSING),
        (bson!("$object.b.c"), is(2)),
        (bson!("$int.a"), MISSING),
        (bson!("$items.a"), is(bson!([1, 2]))),
        (bson!("$items.b"), is(bson!([[1], 5]))),
        (bson!("$items.0"), is(bson!([]))),
        (bson!("$list.a"), is(bson!([]))),
        (bson!("$$ROOT.object.a"), is(1)),
        (bson!("$$CURRENT.int"), is(7)),
        (bson!({"$literal": "$int"}), is("$int")),
        (bson!({"$const": {"$add": [1]}}), is(bson!({"$add": [1]}))),
        (bson!("$$REMOVE"), MISSING),
        (bson!("$$KEEP"), is("keep")),
        (bson!("$$NOW"), is(Bson::DateTime(DateTime::from_millis(1_700_000_000_000)))),
        (bson!("$$CLUSTER_TIME"), is(Bson::Timestamp(Timestamp { time: 5, increment: 6 }))),
        (bson!("$$USER_ROLES"), is(bson!([]))),
        (
            bson!({"a": "$int", "b": "$missing", "c": ["$missing", 1]}),
            is(bson!({"a": 7, "c": [null, 1]})),
        ),
        (bson!({}), is(bson!({}))),
        (bson!([]), is(bson!([]))),
        (bson!({"a": {"$add": ["$int", 1]}}), is(bson!({"a": 8}))),
    ]);
}

#[test]
fn what_is_no_expression_is_refused() {
    check(&[
        (bson!("$"), fails(16_872, "'$' by itself is not a valid FieldPath")),
        (bson!("$a."), fails(40_353, "FieldPath must not end with a '.'.")),
        (bson!("$.a"), fails(15_998, "FieldPath field names may not be empty strings.")),
        (
            bson!("$a.$b"),
            fails(
                16_410,
                "FieldPath field names may not start with '$'. Consider using $getField or $setField.",
            ),
        ),
        (bson!("$$nope"), fails(17_276, "Use of undefined variable: nope")),
        (bson!("$$"), fails(9, "empty variable names are not allowed")),
        (bson!("$$1x"), fails(9, "'1x' starts with an invalid character for a user variable name")),
        (bson!("$$a-b"), fails(9, "'a-b' contains an invalid character for a variable name: '-'")),
        (bson!({"$foo": 1}), fails(168, "Unrecognized expression '$foo'")),
        (
            bson!({"$add": [1], "$sum": [2]}),
            fails(
                15_983,
                "An object representing an expression must have exactly one field: \
                 { $add: [ 1 ], $sum: [ 2 ] }",
            ),
        ),
        (
            bson!({"a": 1, "$add": [2]}),
            fails(
                16_410,
                "FieldPath field names may not start with '$'. Consider using $getField or $setField.",
            ),
        ),
        (
            bson!({"a.b": 1}),
            fails(
                16_412,
                "FieldPath field names may not contain '.'. Consider using $getField or $setField.",
            ),
        ),
        (
            bson!({"$subtract": [1]}),
            fails(16_020, "Expression $subtract takes exactly 2 arguments. 1 were passed in."),
        ),
        (
            bson!({"$range": [1]}),
            fails(
                28_667,
                "Expression $range takes at least 2 arguments, and at most 3, but 1 were passed in.",
            ),
        ),
    ]);
}

#[test]
fn nesting_is_bounded() {
    let nested = |depth: usize| (0..depth).fold(bson!("$int"), |inner, _| bson!({"$abs": inner}));
    assert_eq!(evaluate(&nested(150), &document()), is(7));
    assert_eq!(evaluate(&nested(250), &document()), fails(15, "nesting too deep"));
    let arrays = (0..250).fold(bson!(1), |inner, _| bson!([inner]));
    assert_eq!(evaluate(&arrays, &document()), fails(15, "nesting too deep"));
}

#[test]
fn deep_expressions_fit_on_the_stack() {
    let nest = |wrap: &dyn Fn(Bson) -> Bson| (0..190).fold(bson!("$int"), |inner, _| wrap(inner));
    let cases = [
        nest(&|inner| bson!({"$let": {"vars": {"x": 1}, "in": inner}})),
        nest(&|inner| bson!({"$cond": ["$int", inner, 1]})),
        nest(&|inner| bson!({"$first": {"$map": {"input": ["$int"], "in": inner}}})),
        nest(&|inner| bson!({"$reduce": {"input": ["$int"], "initialValue": 1, "in": inner}})),
        nest(&|inner| bson!({"$sum": [inner]})),
    ];
    for case in cases {
        let found = evaluate(&case, &document());
        assert!(found == is(7) || found == fails(15, "nesting too deep"), "{found:?}");
    }
}

#[test]
fn values_are_not_nested_deeper_than_documents() {
    let nested = bson!({"$reduce": {
        "input": {"$range": [0, 100_000]}, "initialValue": 1, "in": {"a": "$$value"},
    }});
    let too_deep = fails(
        15,
        "cannot convert document to BSON because it exceeds the limit of 200 levels of nesting",
    );
    assert_eq!(evaluate(&nested, &document()), too_deep);
    let mut deep = bson!(1);
    for _ in 0..198 {
        deep = bson!({"a": deep});
    }
    let document = doc! {"deep": deep};
    assert!(matches!(evaluate(&bson!({"a": {"b": "$deep"}}), &document), Outcome::Is(_)));
    assert_eq!(evaluate(&bson!({"a": {"b": {"c": "$deep"}}}), &document), too_deep);
}

#[test]
fn variables_of_the_caller_have_their_values() {
    let names = Variables::new().with(["x", "y"]).unwrap().with(["x"]).unwrap();
    let parse = |text: &str| {
        let value = RawBson::String(text.to_owned());
        Expression::parse(value.as_raw_bson_ref(), &names)
    };
    let (x, y) = (parse("$$x.a").unwrap(), parse("$$y").unwrap());
    let (document, random) = (rawdoc! {"a": 1}, Random::new(0));
    let context =
        Context::new(DateTime::from_millis(0), Timestamp { time: 0, increment: 0 }, &random);
    let scope = Scope::new(&document, &context);
    let outer = [Computed::from("outer"), Computed::Missing];
    let frame = scope.frame(&outer);
    let scope = scope.within(&frame);
    let inner = [Computed::from(rawdoc! {"a": "inner"})];
    let frame = scope.frame(&inner);
    let scope = scope.within(&frame);
    assert_eq!(x.evaluate(&scope).unwrap().as_text(), Some("inner"));
    assert_eq!(y.evaluate(&scope).unwrap(), Computed::Missing);
    // A value that is not given is missing; a name that is not defined is an error.
    assert_eq!(x.evaluate(&Scope::new(&document, &context)).unwrap(), Computed::Missing);
    assert_eq!(parse("$$z").unwrap_err().code, Code::location(17_276));
    assert!(Variables::new().with(["Upper"]).is_err());
}

#[test]
fn planners_see_paths_and_constants() {
    let parse = |value: Bson| {
        let value = RawBson::try_from(value).unwrap();
        Expression::parse(value.as_raw_bson_ref(), &Variables::new()).unwrap()
    };
    let paths = |value: Bson| {
        let found = parse(value).field_paths();
        (found.reads_all, found.paths.into_iter().collect::<Vec<_>>())
    };
    assert_eq!(
        paths(bson!({"$add": ["$a.b", "$$ROOT.c", 1]})),
        (false, vec!["a.b".into(), "c".into()])
    );
    assert_eq!(paths(bson!({"x": "$$ROOT"})), (true, vec![]));
    let over = bson!({"$map": {"input": "$a", "in": {"$add": ["$$this.x", "$b"]}}});
    assert_eq!(paths(over), (false, vec!["a".into(), "b".into()]));
    assert_eq!(paths(bson!({"$getField": "a"})), (true, vec![]));
    assert_eq!(parse(bson!("$a.b")).field().as_deref(), Some("a.b"));
    assert_eq!(parse(bson!("$$NOW")).field(), None);
    let constant = parse(bson!({"$concat": ["a", {"$toUpper": "b"}]}));
    assert_eq!(constant.constant().unwrap().as_text(), Some("aB"));
    assert_eq!(parse(bson!({"$rand": {}})).constant(), None);
    assert_eq!(parse(bson!({"$add": ["$a", 1]})).constant(), None);
    let chosen = parse(bson!({"$cond": [true, 1, "$a"]}));
    assert_eq!(chosen.constant().unwrap().as_ref().and_then(RawBsonRef::as_i32), Some(1));
}

#[test]
fn loops_can_be_stopped() {
    let expression = bson!({"$map": {"input": "$list", "in": "$$this"}});
    let expression = RawBson::try_from(expression).unwrap();
    let compiled = Expression::parse(expression.as_raw_bson_ref(), &Variables::new()).unwrap();
    let (document, random) = (rawdoc! {"list": [1, 2, 3]}, Random::new(0));
    let context =
        Context::new(DateTime::from_millis(0), Timestamp { time: 0, increment: 0 }, &random);
    let calls = std::cell::Cell::new(0);
    let stop = || {
        calls.set(calls.get() + 1);
        if calls.get() == 2 {
            Err(crate::Error::new(Code::MAX_TIME_EXPIRED, "stop"))
        } else {
            Ok(())
        }
    };
    let scope = Scope::new(&document, &context).with_checkpoint(&stop);
    assert_eq!(compiled.evaluate(&scope).unwrap_err().code, Code::MAX_TIME_EXPIRED);
    assert_eq!(calls.get(), 2);
}

#[test]
fn fields_are_borrowed() {
    let document = rawdoc! {"a": {"b": "text"}};
    let random = Random::new(0);
    let context =
        Context::new(DateTime::from_millis(0), Timestamp { time: 0, increment: 0 }, &random);
    for value in
        [bson!("$a.b"), bson!({"$ifNull": ["$x", "$a.b"]}), bson!({"$cond": ["$a", "$a.b", 1]})]
    {
        let value = RawBson::try_from(value).unwrap();
        let compiled = Expression::parse(value.as_raw_bson_ref(), &Variables::new()).unwrap();
        let found = compiled.evaluate(&Scope::new(&document, &context)).unwrap();
        assert!(matches!(found, Computed::Borrowed(_)), "{found:?}");
    }
}

#[test]
fn choices_evaluate_only_what_they_choose() {
    let failing = || bson!({"$divide": ["$int", 0]});
    check(&[
        (bson!({"$cond": [true, 1, failing()]}), is(1)),
        (bson!({"$cond": {"if": "$null", "then": failing(), "else": "no"}}), is("no")),
        (
            bson!({"$cond": {"if": 1, "then": 2}}),
            fails(17_082, "Missing 'else' parameter to $cond"),
        ),
        (bson!({"$cond": {"then": 2}}), fails(17_080, "Missing 'if' parameter to $cond")),
        (
            bson!({"$cond": {"if": 1, "foo": 2}}),
            fails(17_083, "Unrecognized parameter to $cond: foo"),
        ),
        (
            bson!({"$cond": [1, 2]}),
            fails(16_020, "Expression $cond takes exactly 3 arguments. 2 were passed in."),
        ),
        (bson!({"$ifNull": ["$missing", "$null", 5]}), is(5)),
        (bson!({"$ifNull": ["$missing", "$missing"]}), MISSING),
        (bson!({"$ifNull": ["$int", failing()]}), is(7)),
        (bson!({"$ifNull": [1]}), fails(1_257_300, "$ifNull needs at least two arguments, had: 1")),
        (
            bson!({"$switch": {"branches": [
                {"case": {"$gt": ["$int", 9]}, "then": failing()},
                {"case": {"$gt": ["$int", 5]}, "then": "more"},
            ], "default": "less"}}),
            is("more"),
        ),
        (
            bson!({"$switch": {"branches": [{"case": "$null", "then": 1}], "default": "$missing"}}),
            MISSING,
        ),
        (
            bson!({"$switch": {"branches": [{"case": "$null", "then": 1}]}}),
            fails(
                40_066,
                "$switch could not find a matching branch for an input, and no default was specified.",
            ),
        ),
        (
            bson!({"$switch": {"branches": [{"case": false, "then": 1}]}}),
            fails(
                40_069,
                "One cannot execute a switch statement where all the cases evaluate to false \
                 without a default.",
            ),
        ),
    ]);
}

#[test]
fn switches_are_checked() {
    check(&[
        (
            bson!({"$switch": {"branches": []}}),
            fails(40_068, "$switch requires at least one branch."),
        ),
        (
            bson!({"$switch": 1}),
            fails(40_060, "$switch requires an object as an argument, found: int"),
        ),
        (
            bson!({"$switch": {"branches": 1}}),
            fails(40_061, "$switch expected an array for 'branches', found: int"),
        ),
        (
            bson!({"$switch": {"branches": [1]}}),
            fails(40_062, "$switch expected each branch to be an object, found: int"),
        ),
        (
            bson!({"$switch": {"branches": [{"then": 1}]}}),
            fails(40_064, "$switch requires each branch have a 'case' expression"),
        ),
        (
            bson!({"$switch": {"branches": [{"case": 1}]}}),
            fails(40_065, "$switch requires each branch have a 'then' expression."),
        ),
        (
            bson!({"$switch": {"branches": [{"x": 1}]}}),
            fails(40_063, "$switch found an unknown argument to a branch: x"),
        ),
        (bson!({"$switch": {"x": 1}}), fails(40_067, "$switch found an unknown argument: x")),
    ]);
}

#[test]
fn comparisons_order_all_types() {
    check(&[
        (bson!({"$eq": [1, 1.0]}), is(true)),
        (bson!({"$eq": ["$missing", null]}), is(false)),
        (bson!({"$lt": ["$missing", null]}), is(true)),
        (bson!({"$eq": ["$missing", "$missing"]}), is(true)),
        (bson!({"$gt": ["a", 5]}), is(true)),
        (bson!({"$gte": ["$list", "$object"]}), is(true)),
        (bson!({"$lte": ["$list", [1, 2, 4]]}), is(true)),
        (bson!({"$ne": ["$list", 1]}), is(true)),
        (bson!({"$cmp": [2, 10]}), is(-1)),
        (bson!({"$cmp": ["b", "a"]}), is(1)),
        (bson!({"$cmp": [3, 3_i64]}), is(0)),
        (bson!({"$eq": [f64::NAN, f64::NAN]}), is(true)),
        (
            bson!({"$eq": [1]}),
            fails(16_020, "Expression $eq takes exactly 2 arguments. 1 were passed in."),
        ),
    ]);
    let collation = rawdoc! {"locale": "en", "strength": 2};
    let collation = crate::Collation::parse(&collation).unwrap();
    for expression in [
        bson!({"$eq": ["Ping", "ping"]}),
        bson!({"$in": ["PING", ["$x", "ping"]]}),
        bson!({"$setEquals": [["a", "A"], ["a"]]}),
    ] {
        assert_eq!(evaluate_with(&expression, &document(), collation.as_ref()), is(true));
        assert_eq!(evaluate(&expression, &document()), is(false));
    }
}

#[test]
fn booleans_stop_early() {
    let failing = || bson!({"$divide": ["$int", 0]});
    check(&[
        (bson!({"$and": []}), is(true)),
        (bson!({"$and": [1, "a", [], "$object"]}), is(true)),
        (bson!({"$and": [1, 0, failing()]}), is(false)),
        (bson!({"$or": []}), is(false)),
        (bson!({"$or": [null, "$missing", 0.0]}), is(false)),
        (bson!({"$or": [1, failing()]}), is(true)),
        (bson!({"$not": ["$missing"]}), is(true)),
        (bson!({"$not": "$int"}), is(false)),
        (
            bson!({"$not": [1, 2]}),
            fails(16_020, "Expression $not takes exactly 1 arguments. 2 were passed in."),
        ),
        (bson!({"$anyElementTrue": [[0, null, 1]]}), is(true)),
        (bson!({"$anyElementTrue": [[]]}), is(false)),
        (bson!({"$allElementsTrue": [[1, "a"]]}), is(true)),
        (bson!({"$allElementsTrue": [[1, null]]}), is(false)),
        (bson!({"$allElementsTrue": [[]]}), is(true)),
        (
            bson!({"$anyElementTrue": ["$null"]}),
            fails(17_041, "$anyElementTrue's argument must be an array, but is null"),
        ),
        (
            bson!({"$allElementsTrue": ["$missing"]}),
            fails(17_040, "$allElementsTrue's argument must be an array, but is missing"),
        ),
    ]);
}
