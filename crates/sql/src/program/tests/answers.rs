//! Functions that answer later, a batch of calls at a time, give what functions that answer at once
//! give, whatever the size of the batches.

use std::cell::RefCell;
use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// A few functions, by name.
struct Functions;

impl Udfs for Functions {
    fn call(&self, name: &str, args: &[Value]) -> Result<Value, String> {
        let first = args.first().cloned().unwrap_or_default();
        let number = |value: &Value| value.as_f64().filter(|number| number.is_finite());
        Ok(match name {
            "double" => number(&first).map_or(Value::Undefined, |number| Value::from(number * 2.0)),
            "is_big" => number(&first).map_or(Value::Undefined, |n| Value::Bool(n > 2.0)),
            "is_known" => Value::Bool(!first.is_undefined()),
            "same" => first,
            "pair" => Value::from(
                args.iter().map(|arg| Value::from(vec![arg.clone()])).collect::<Vec<_>>(),
            ),
            "fail" => return Err(format!("failed for {}", json::print(&first))),
            _ => return Err(format!("no {name}")),
        })
    }
}

/// How a batched run went.
#[derive(Debug, Default)]
struct Went {
    calls: usize,
    rounds: usize,
}

/// Prepares the answers of some units, all of them at a time.
fn prepare(
    count: usize,
    run: &mut Run<'_>,
    went: &mut Went,
    rehearse: &mut dyn FnMut(usize, &mut Run<'_>) -> Result<(), Halt>,
) -> Result<Vec<Answers>, Halt> {
    let mut all: Vec<Answers> = (0..count).map(|at| Answers::new(at as u64)).collect();
    loop {
        let mut open = Vec::new();
        for (at, answers) in all.iter_mut().enumerate() {
            run.attend(std::mem::replace(answers, Answers::new(0)));
            let result = rehearse(at, run);
            let (back, questions) = run.leave().unwrap();
            *answers = back;
            match result {
                Ok(()) => assert!(questions.is_empty(), "{questions:?}"),
                Err(Halt::Waiting) => assert!(!questions.is_empty()),
                Err(halt) => return Err(halt),
            }
            open.extend(questions.into_iter().map(|question| (at, question)));
        }
        if open.is_empty() {
            return Ok(all);
        }
        went.rounds += 1;
        for (at, question) in open {
            went.calls += 1;
            let answer = Functions.call(&question.function, &question.arguments);
            all[at].put(&question, answer.map_err(Halt::Udf)?);
        }
    }
}

/// The values of a program, the documents taken so many at a time; and how it went.
fn batched(
    program: &Program,
    documents: &[Value],
    size: usize,
) -> Result<(Vec<Value>, Went), Halt> {
    let (mut went, shape) = (Went::default(), program.shape());
    let run = &mut Run::new(0, 0);
    let documents = match &shape.inner {
        Some(inner) => {
            let (values, inner) = batched(inner, documents, size)?;
            went = inner;
            values
        }
        None if shape.reads_container => documents.to_vec(),
        None => vec![Value::Undefined],
    };
    let mut rows: Vec<(Vec<Value>, Value)> = Vec::new();
    let mut accumulators = program.accumulators();
    let groups: RefCell<Vec<(Vec<Value>, Vec<Accumulator>)>> = RefCell::default();
    let mut places: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
    for batch in documents.chunks(size) {
        let all = prepare(batch.len(), run, &mut went, &mut |at, run| {
            program.rehearse(&batch[at], true, run)
        })?;
        for (document, answers) in batch.iter().zip(all) {
            run.attend(answers);
            program.rows(document, run, &mut |row, run| {
                if shape.groups {
                    let keys = program.group_keys(row, run)?;
                    let mut groups = groups.borrow_mut();
                    let place = *places.entry(group_id(&keys)).or_insert(groups.len());
                    if place == groups.len() {
                        groups.push((keys, program.accumulators()));
                    }
                    return program.accumulate(&mut groups[place].1, row, run);
                }
                if shape.is_aggregate {
                    return program.accumulate(&mut accumulators, row, run);
                }
                rows.push((program.order_keys(row, run)?, program.project(row, run)?));
                Ok(())
            })?;
            assert!(run.leave().unwrap().1.is_empty());
        }
    }
    if shape.is_aggregate && !shape.groups {
        groups.borrow_mut().push((Vec::new(), accumulators));
    }
    let groups = groups.into_inner();
    let all = prepare(groups.len(), run, &mut went, &mut |at, run| {
        program.rehearse_group(&groups[at].0, &groups[at].1, run)
    })?;
    for ((keys, accumulators), answers) in groups.iter().zip(all) {
        run.attend(answers);
        let order = if shape.groups {
            program.group_order_keys(keys, accumulators, run)?
        } else {
            Vec::new()
        };
        rows.push((order, program.project_group(keys, accumulators, run)?));
    }
    Ok((finished(shape, rows), went))
}

/// The clauses that look at all rows.
fn finished(shape: &Shape, mut rows: Vec<(Vec<Value>, Value)>) -> Vec<Value> {
    rows.retain(|(_, value)| !value.is_undefined());
    rows.sort_by(|(a, _), (b, _)| {
        let keys = shape.order.iter().zip(a.iter().zip(b));
        let mut orders = keys.map(|(key, (a, b))| key.compare(a, b));
        orders.find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
    });
    let mut values: Vec<Value> = rows.into_iter().map(|(_, value)| value).collect();
    if shape.is_distinct {
        let mut seen = std::collections::BTreeSet::new();
        values.retain(|value| seen.insert(group_id(std::slice::from_ref(value))));
    }
    values.truncate(shape.top.map_or(usize::MAX, |top| usize::try_from(top).unwrap()));
    values
}

fn at_once(program: &Program, documents: &[Value]) -> Result<Vec<Value>, Halt> {
    let run = &mut Run::new(0, 0).with_udfs(&Functions);
    crate::eval::values(program, documents, run)
}

const ITEMS: &str = r#"[{"id":1,"a":1,"l":[1,2,3]},{"id":2,"a":3,"l":[3,3]},{"id":3,"l":[]},
    {"id":4,"a":"x","l":[5,"y",null]},{"id":5,"a":3}]"#;

const QUERIES: &[&str] = &[
    "SELECT VALUE udf.double(c.a) FROM c",
    "SELECT c.id, udf.is_known(c.a) AS known, udf.pair(c.a, c.id, c) AS p FROM c",
    "SELECT VALUE c.id FROM c WHERE udf.is_big(c.a)",
    "SELECT VALUE c.id FROM c WHERE NOT udf.is_big(c.a) OR udf.is_big(c.id)",
    "SELECT VALUE udf.double(udf.double(udf.double(c.a))) FROM c WHERE udf.is_known(c.a)",
    "SELECT VALUE [x, udf.double(x)] FROM c JOIN x IN c.l WHERE udf.is_big(udf.same(x))",
    "SELECT VALUE [c.id, x, y] FROM c JOIN x IN c.l JOIN y IN c.l WHERE udf.same(x) = udf.same(y)",
    "SELECT VALUE ARRAY(SELECT VALUE udf.double(x) FROM x IN c.l WHERE udf.is_big(x)) FROM c",
    "SELECT VALUE c.id FROM c WHERE EXISTS(SELECT VALUE x FROM x IN c.l WHERE udf.is_big(x))",
    "SELECT VALUE c.id FROM c WHERE ALL(SELECT VALUE udf.is_big(x) FROM x IN c.l)",
    "SELECT VALUE (SELECT VALUE SUM(udf.double(x)) FROM x IN c.l) FROM c",
    "SELECT VALUE ARRAY(SELECT DISTINCT VALUE udf.double(x) FROM x IN c.l) FROM c",
    "SELECT VALUE d FROM c JOIN (SELECT VALUE udf.double(c.a)) AS d WHERE d > 2 AND d < udf.same(7)",
    "SELECT VALUE ARRAY(SELECT udf.same(x) AS k, COUNT(1) AS n, udf.double(udf.same(x)) AS d \
     FROM x IN c.l GROUP BY udf.same(x)) FROM c",
    "SELECT VALUE SUM(udf.double(c.id)) FROM c WHERE udf.is_known(c.a)",
    "SELECT VALUE COUNT(1) FROM c WHERE udf.is_known(c.a)",
    "SELECT COUNT(1) AS n, udf.same(7) AS m FROM c",
    "SELECT udf.double(c.a) AS d, COUNT(1) AS n FROM c GROUP BY udf.double(c.a)",
    "SELECT udf.same(c.a) AS s, MAX(udf.double(c.id)) AS high FROM c GROUP BY c.a",
    "SELECT DISTINCT VALUE udf.is_big(c.a) FROM c",
    "SELECT TOP 2 VALUE udf.double(c.id) FROM c ORDER BY c.id DESC",
    "SELECT VALUE udf.double(d) FROM (SELECT DISTINCT VALUE udf.same(c.a) FROM c) AS d",
    "SELECT VALUE udf.same(c.a) ?? udf.same('none') FROM c",
    "SELECT VALUE udf.is_big(c.a) ? udf.same('big') : udf.same('small') FROM c",
    "SELECT VALUE udf.same(c.a) IN (udf.same(1), udf.same('x')) FROM c",
    "SELECT VALUE (LET y = udf.double(c.a) IN y + udf.same(y)) FROM c",
    "SELECT VALUE udf.same({a: udf.same(c.a), b: [udf.same(c.id)]}) FROM c",
    "SELECT VALUE udf.double(21)",
    "SELECT * FROM c WHERE udf.is_big(c.id)",
];

#[test]
fn batches_of_any_size_give_the_same() {
    let documents = values(ITEMS);
    for text in QUERIES {
        let program = compile(text);
        let expected = at_once(&program, &documents);
        for size in [1, 2, 100] {
            let found = batched(&program, &documents, size).map(|(values, _)| values);
            assert_eq!(found, expected, "{text} by {size}");
        }
    }
    for text in [
        "SELECT * FROM c ORDER BY udf.same(c.a)",
        "SELECT c.a, COUNT(1) AS n FROM c GROUP BY c.a ORDER BY udf.same(c.a)",
    ] {
        let errors = check(&crate::parse(text).unwrap(), &Settings::default());
        assert_eq!(errors[0].code, crate::Code::OrderByWithoutPath, "{text}");
    }
}

#[test]
fn questions_of_one_depth_are_asked_together() {
    let documents = values(ITEMS);
    for (text, calls, rounds) in [
        ("SELECT VALUE udf.double(c.a) FROM c", 5, 1),
        ("SELECT udf.same(c.id) AS x, udf.same(c.id) AS y FROM c", 10, 1),
        ("SELECT VALUE udf.same(udf.same(udf.same(c.id))) FROM c", 15, 3),
        ("SELECT VALUE udf.same(x) FROM c JOIN x IN c.l", 8, 1),
        ("SELECT VALUE udf.same(c.a) = udf.same(c.id) FROM c", 10, 1),
        ("SELECT VALUE ARRAY(SELECT VALUE udf.same(x) FROM x IN c.l) FROM c", 8, 1),
        // What the other operands decide is not asked, wherever they stand.
        ("SELECT * FROM c WHERE udf.is_big(c.a) AND c.id = 2", 1, 1),
        ("SELECT * FROM c WHERE c.id > 1 OR udf.is_big(c.a)", 1, 1),
        ("SELECT VALUE udf.same(c.id) FROM c WHERE c.id < 3 AND udf.is_known(c.a)", 4, 2),
        // Rows that are alike do not share an answer.
        ("SELECT VALUE udf.same(1) FROM c JOIN x IN c.l", 8, 1),
    ] {
        let (_, went) = batched(&compile(text), &documents, 100).unwrap();
        assert_eq!((went.calls, went.rounds), (calls, rounds), "{text}");
    }
}

#[test]
fn order_alone_asks_for_no_values() {
    let program = compile("SELECT VALUE udf.fail(c.id) FROM c WHERE udf.is_big(c.a) ORDER BY c.id");
    assert!(program.shape().calls_for_rows);
    assert!(!compile("SELECT VALUE udf.same(c.id) FROM c WHERE c.a = 1").shape().calls_for_rows);
    let (documents, mut went) = (values(ITEMS), Went::default());
    let run = &mut Run::new(0, 0);
    let rehearse = &mut |at: usize, run: &mut Run<'_>| program.rehearse(&documents[at], false, run);
    assert!(prepare(documents.len(), run, &mut went, rehearse).is_ok());
    assert_eq!(went.calls, 5);
}

#[test]
fn random_arguments_stay_what_they_are() {
    let program = compile(
        "SELECT VALUE udf.same(udf.same(RAND())) = RAND() FROM c WHERE udf.same(RAND()) < 2",
    );
    let (found, _) = batched(&program, &values(ITEMS), 2).unwrap();
    assert_eq!(found.len(), 5);
    let program = compile("SELECT DISTINCT VALUE udf.same(RAND()) FROM c");
    assert_eq!(batched(&program, &values(ITEMS), 5).unwrap().0.len(), 5);
}

#[test]
fn failures_end_the_query_only_where_they_are_met() {
    let failing = compile("SELECT VALUE udf.fail(c.id) FROM c");
    let failure = batched(&failing, &values(ITEMS), 100).unwrap_err();
    assert_eq!(failure, Halt::Udf("failed for 1".to_owned()));
    let guarded = compile("SELECT VALUE c.id > 0 ? c.id : udf.fail(c.id) FROM c");
    assert_eq!(batched(&guarded, &values(ITEMS), 100).unwrap().0, values("[1,2,3,4,5]"));
}

#[test]
fn one_document_has_so_much_to_ask_at_a_time() {
    let list = vec![format!("\"{}\"", "x".repeat(10_000)); 1000].join(",");
    let documents = values(&format!("[{{\"l\":[{list}]}}]"));
    let program = compile("SELECT VALUE COUNT(udf.same(x)) FROM c JOIN x IN c.l");
    let (found, went) = batched(&program, &documents, 1).unwrap();
    assert_eq!(found, values("[1000]"));
    assert_eq!((went.calls, went.rounds), (1000, 3));
}

#[test]
fn functions_can_be_known_beforehand() {
    let has_udf = |name: &str| name == "double";
    let settings = Settings { has_udf: Some(&has_udf), ..Settings::default() };
    let check = |text: &str| check(&crate::parse(text).unwrap(), &settings);
    assert!(check("SELECT VALUE udf.double(1)").is_empty());
    let errors = check("SELECT VALUE udf.Double(udf.none(1))");
    let messages: Vec<_> = errors.iter().map(|error| error.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "'Double' is not a recognized user-defined function name.",
            "'none' is not a recognized user-defined function name.",
        ]
    );
    assert_eq!(errors[0].span.map(|span| (span.start, span.end)), Some((17, 23)));
}

const ARGUMENTS: &[&str] =
    &["c.a", "c.l", "c", "x", "1", "undefined", "c.a + 1", "udf.double(c.a)"];
const CONDITIONS: &[&str] = &[
    "udf.is_big(#)",
    "NOT udf.is_known(#)",
    "c.id > 2 AND udf.is_big(#)",
    "udf.is_big(#) OR c.id = 1",
    "udf.same(#) = udf.same(c.id)",
    "EXISTS(SELECT VALUE z FROM z IN c.l WHERE udf.same(z) = udf.same(#))",
];
const LISTS: &[&str] = &[
    "VALUE udf.same(#)",
    "c.id, udf.pair(#, c.id) AS p",
    "DISTINCT VALUE udf.is_known(#)",
    "TOP 3 VALUE [c.id, udf.same(#)]",
    "VALUE COUNT(udf.same(#))",
    "VALUE {a: udf.is_big(#) ? udf.double(c.id) : udf.same(#)}",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn any_query_by_any_batch(
        list in prop::sample::select(LISTS),
        condition in prop::sample::select(CONDITIONS),
        arguments in (prop::sample::select(ARGUMENTS), prop::sample::select(ARGUMENTS)),
        size in 1_usize..6,
    ) {
        let list = list.replace('#', arguments.0);
        let condition = condition.replace('#', arguments.1);
        let program = compile(&format!("SELECT {list} FROM c JOIN x IN c.l WHERE {condition}"));
        let documents = values(ITEMS);
        let found = batched(&program, &documents, size).map(|(values, _)| values);
        prop_assert_eq!(found, at_once(&program, &documents));
    }
}
