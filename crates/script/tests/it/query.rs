//! The query API: `__.filter` and its kin.

use script::{Job, Kind};

use super::support::{Fake, answer_on, body_on, job, pool, run_on, thrown, wrapped};

fn books() -> Fake {
    Fake::with(&[
        r#"{"id":"a","n":3,"tags":["x","y"]}"#,
        r#"{"id":"b","n":1,"tags":[["z"],"x"]}"#,
        r#"{"id":"c","n":2}"#,
    ])
}

#[tokio::test]
async fn each_method_alone() {
    for (call, rows) in [
        ("filter((d) => d.n > 1, {}, back)", r#"["a","c"]"#),
        ("map((d) => d.n > 1 ? d.id : undefined, back)", r#"["a","c"]"#),
        ("pluck('n', back)", "[3,1,2]"),
        ("pluck(getContext().getCollection(), 'n', back)", "[3,1,2]"),
        ("proxy({ one: 1 }).filter(__, (d) => d.n > 1, back)", r#"["a","c"]"#),
        ("pluck('tags', back)", r#"[["x","y"],[["z"],"x"]]"#),
        ("sortBy((d) => d.n, back)", r#"["b","c","a"]"#),
        ("sortByDescending((d) => d.n, back)", r#"["a","c","b"]"#),
        (
            "unwind((d) => d.tags, (d, t) => [d.id, t], back)",
            r#"[["a","x"],["a","y"],["b",["z"]],["b","x"]]"#,
        ),
        ("unwind((d) => d.tags, back)", r#"[["a","x"],["a","y"],["b",["z"]],["b","x"]]"#),
        ("flatten(back)", r#"["a","b","c"]"#),
    ] {
        let body = format!(
            "const named = (d) => d && d.id ? d.id : Array.isArray(d) ? d.map(named) : d;
             const back = (error, rows, options) => answer([accepted, error === undefined, rows.map(named)]);
             const accepted = __.{call}.isAccepted;"
        );
        let answer = answer_on(&mut books(), &body).await;
        assert_eq!(answer, format!("[true,true,{rows}]"), "{call}");
    }
}

#[tokio::test]
async fn chains() {
    for (chain, rows) in [
        (
            "filter((d) => d.tags).sortBy((d) => d.n).pluck('tags').flatten()",
            r#"["z","x","x","y"]"#,
        ),
        ("filter((d) => d.tags).pluck('tags').flatten(true)", r#"["x","y",["z"],"x"]"#),
        ("map((d) => d.n).filter((n) => n !== 2).sortByDescending((n) => n)", "[3,1]"),
        ("unwind((d) => d.tags, (d, t) => t).filter((t) => t === 'x')", r#"["x","x"]"#),
        ("pluck('id')", r#"["a","b","c"]"#),
    ] {
        let source = format!("function f() {{ __.chain().{chain}.value(); }}");
        assert_eq!(body_on(&mut books(), &source).await, rows, "{chain}");
    }
}

#[tokio::test]
async fn pages_are_filled_and_continued() {
    let body = r"
        const pages = [];
        const go = (continuation) => __.chain().filter((d) => d.id !== 'b').pluck('id')
            .value({ pageSize: 1, continuation }, (error, rows, options) => {
                pages.push(rows);
                if (options.continuation) go(options.continuation); else answer(pages);
            });
        go();";
    assert_eq!(answer_on(&mut books(), body).await, r#"[["a"],["c"]]"#);
}

#[tokio::test]
async fn a_sort_reads_all_pages() {
    let documents: Vec<String> =
        (0..250).map(|n| format!(r#"{{"id":"{n:03}","n":{}}}"#, 249 - n)).collect();
    let texts: Vec<&str> = documents.iter().map(String::as_str).collect();
    let mut fake = Fake::with(&texts);
    let source = "function f() { __.sortBy((d) => d.n, (e, rows, options) =>
        __.response.setBody([rows.length, rows[0].id, rows[249].id, options.continuation === undefined])) }";
    assert_eq!(body_on(&mut fake, source).await, r#"[250,"249","000",true]"#);
}

#[tokio::test]
async fn types_have_an_order() {
    let mut fake = Fake::with(&[
        r#"{"id":"a","v":"s"}"#,
        r#"{"id":"b","v":2}"#,
        r#"{"id":"c","v":true}"#,
        r#"{"id":"d","v":null}"#,
        r#"{"id":"e"}"#,
        r#"{"id":"f","v":10}"#,
    ]);
    let source = "function f() { __.chain().sortBy((d) => d.v).pluck('id').value(); }";
    assert_eq!(body_on(&mut fake, source).await, r#"["e","d","c","b","f","a"]"#);
}

#[tokio::test]
async fn results_are_appended_without_a_callback() {
    let source = "function f() { __.pluck('id'); __.pluck('n'); }";
    assert_eq!(body_on(&mut books(), source).await, r#""[\"a\",\"b\",\"c\"][3,1,2]""#);
    let source = "function f() { __.response.setBody('n: '); __.pluck('n'); }";
    assert_eq!(body_on(&mut books(), source).await, r#""n: [3,1,2]""#);
}

#[tokio::test]
async fn refusal_shows_in_the_result() {
    let mut fake = Fake { accepts: 0, ..books() };
    let body = "answer([__.filter(() => true), __.chain().map((d) => d).value()])";
    let answer = answer_on(&mut fake, body).await;
    assert_eq!(answer, r#"[{"isAccepted":false},{"isAccepted":false}]"#);
}

#[tokio::test]
async fn a_pre_trigger_needs_a_callback() {
    let source = "function t() { __.filter(() => true); }";
    let report = pool(1).run(Job { kind: Kind::PreTrigger, ..job(source, "") }, &mut books()).await;
    assert_eq!(
        thrown(&report),
        ("Error: Function filter: in a pre-trigger a callback is needed.", Some(400))
    );
}

#[tokio::test]
async fn wrong_arguments() {
    for (call, message) in [
        ("filter()", "Function filter: the predicate must be a function."),
        ("map(1)", "Function map: the transformation must be a function."),
        ("pluck('')", "Function pluck: the property name must be a non-empty string."),
        ("sortBy()", "Function sortBy: the selector must be a function."),
        ("sortByDescending({})", "Function sortByDescending: the selector must be a function."),
        ("unwind()", "Function unwind: the collectionSelector must be a function."),
        ("unwind(() => 1)", "Function unwind: the collectionSelector must take 1 arguments."),
        ("filter((d) => d, 5)", "Function filter: options must be an object."),
        ("filter((d) => d, {}, 5)", "Function filter: callback must be a function."),
        (
            "chain().filter((d) => d, () => 1)",
            "Function filter: in a chain, options and callback belong to value().",
        ),
    ] {
        let report = run_on(&mut books(), &wrapped(&format!("__.{call}"))).await;
        assert_eq!(thrown(&report), (format!("Error: {message}").as_str(), Some(400)), "{call}");
    }
}

#[tokio::test]
async fn what_a_predicate_throws_comes_through() {
    let body = "try { __.filter((d) => d.none.x); } catch (e) { answer(e.name); }";
    assert_eq!(answer_on(&mut books(), body).await, r#""TypeError""#);
}

#[tokio::test]
async fn geometry_is_asked_of_the_database() {
    let mut fake = books();
    let body = r"
        const [p, q] = [{ type: 'Point', coordinates: [1, 2] }, { type: 'Point', coordinates: [3, 4] }];
        const { distance, intersects, within, isValid, isValidDetailed } = __.spatial;
        const numbers = [];
        for (const wrong of [() => distance(p), () => isValid(undefined)])
            try { wrong(); } catch (e) { numbers.push(e.number); }
        answer([distance(p, q), intersects(p, q), within(p, q), isValid(p), isValidDetailed(p), numbers]);";
    assert_eq!(answer_on(&mut fake, body).await, "[7,7,7,7,7,[400,400]]");
    let asked = r#"{"query":"SELECT VALUE ST_DISTANCE(@first, @second)","parameters":[{"name":"@first","value":{"type":"Point","coordinates":[1,2]}},{"name":"@second","value":{"type":"Point","coordinates":[3,4]}}]}"#;
    assert_eq!(fake.calls[1].body.as_deref(), Some(asked));
    let mut fake = Fake { accepts: 0, ..books() };
    let report = run_on(&mut fake, &wrapped("__.spatial.isValid({})")).await;
    assert_eq!(thrown(&report).1, Some(449));
}
