//! When callbacks run, what is accepted, promises, and what ends a script.

use std::time::Duration;

use protocol::{Code, Error};
use script::Failure;

use super::support::{Fake, answer_on, job, pool, run_on, thrown, wrapped};

#[tokio::test]
async fn callbacks_run_after_the_main_function_in_order() {
    let body = r"
        const seen = [];
        c.readDocuments(link, () => { seen.push('a'); c.readDocuments(link, () => seen.push('d')); });
        c.readDocuments(link, () => seen.push('b'));
        c.readDocuments(link, () => { seen.push('c'); c.readDocuments(link, () => answer(seen)); });
        seen.push('main');";
    let answer = answer_on(&mut Fake::default(), body).await;
    assert_eq!(answer, r#"["main","a","b","c","d"]"#);
}

#[tokio::test]
async fn refused_calls_return_false_and_have_no_callback() {
    let mut fake = Fake { accepts: 2, ..Fake::default() };
    let body = r"
        let called = 0;
        const accepted = [1, 2, 3, 4].map((n) =>
            c.createDocument(link, { id: 'd' + n }, () => { called++; answer([accepted, called]); }));";
    assert_eq!(answer_on(&mut fake, body).await, "[[true,true,false,false],2]");
    assert_eq!(fake.ids(), ["d1", "d2"]);
}

#[tokio::test]
async fn operations_are_refused_when_time_or_number_runs_out() {
    let body = wrapped("let n = 0; while (c.readDocuments(link)) n++; answer(n);");
    let mut few = job(&body, "[]");
    few.limits.operations_max = 7;
    let report = pool(1).run(few, &mut Fake::default()).await;
    assert_eq!(report.result.unwrap().response_body.as_deref(), Some("7"));

    let mut late = job(&body, "[]");
    late.limits.accepting = Duration::ZERO;
    let report = pool(1).run(late, &mut Fake::default()).await;
    assert_eq!(report.result.unwrap().response_body.as_deref(), Some("0"));
}

#[tokio::test]
async fn async_functions_and_promises_work() {
    let mut fake = Fake::with(&[r#"{"id":"a","n":1}"#, r#"{"id":"b","n":2}"#]);
    let source = r"
        async function sum() {
            const c = getContext().getCollection();
            const read = (id) => new Promise((done, failed) =>
                c.readDocument(c.getAltLink() + '/docs/' + id, (error, document) =>
                    error ? failed(error) : done(document)));
            const [a, b] = await Promise.all([read('a'), read('b')]);
            const missing = await read('x').catch((error) => error.number);
            getContext().getResponse().setBody([a.n + b.n, missing]);
        }";
    assert_eq!(super::support::body_on(&mut fake, source).await, "[3,404]");
}

#[tokio::test]
async fn a_rejected_promise_is_swallowed_but_abort_is_not() {
    let source = "async function f() { throw new Error('unseen'); }";
    let report = run_on(&mut Fake::default(), source).await;
    assert_eq!(report.result.unwrap().response_body, None);

    let source = r"async function f() {
        await null;
        try { getContext().abort(new Error(409, 'no')); } catch (e) { }
        getContext().getResponse().setBody(1);
    }";
    let report = run_on(&mut Fake::default(), source).await;
    assert_eq!(thrown(&report), ("Error: no", Some(409)));
}

#[tokio::test]
async fn nothing_is_done_after_abort() {
    let mut fake = Fake::default();
    let body = r"try { getContext().abort(new Error('stop')); } catch (e) { }
        answer(c.createDocument(link, { id: 'late' }));";
    let report = run_on(&mut fake, &wrapped(body)).await;
    assert_eq!(thrown(&report), ("Error: stop", None));
    assert!(fake.calls.is_empty());
}

#[tokio::test]
async fn errors_keep_number_message_and_place() {
    let source = "function outer() {\n  inner();\n  function inner() {\n    throw new Error(449, 'again');\n  }\n}";
    let report = run_on(&mut Fake::default(), source).await;
    let failure = report.result.unwrap_err();
    assert_eq!(failure.code(), Code::BadRequest);
    let message = failure.to_string();
    let begin = "Encountered exception while executing Javascript. Exception = Error: again\r\n\
        Stack trace: Error: again\n    at inner (script.js:4:";
    assert!(message.starts_with(begin), "{message}");
    assert!(message.contains("at outer (script.js:2:"), "{message}");
    assert!(!message.contains("prelude"), "{message}");
    let Failure::Thrown { number, .. } = failure else { panic!("{message}") };
    assert_eq!(number, Some(449));
}

#[tokio::test]
async fn two_argument_errors_behave() {
    let body = r"
        class Own extends Error { constructor(n) { super(n, 'own'); } }
        const e = new Error(404, 'gone'), f = Error(409, 'taken'), g = new Error('x', { cause: 5 });
        answer([e.number, e.message, e.description, e instanceof Error, f.number, f.message,
            g.message, g.cause, g.number === undefined, new Own(7).number, new Own(7) instanceof Own,
            new Own(7) instanceof Error, new TypeError('t') instanceof Error,
            e.constructor === Error, String(e), ErrorCodes]);";
    let answer = answer_on(&mut Fake::default(), body).await;
    let expected = r#"[404,"gone","gone",true,409,"taken","x",5,true,7,true,true,true,true,"Error: gone",{"BadRequest":400,"Forbidden":403,"NotFound":404,"Conflict":409,"PreconditionFailed":412,"RequestEntityTooLarge":413,"RetryWith":449,"InternalServerError":500}]"#;
    assert_eq!(answer, expected);
}

#[tokio::test]
async fn anything_can_be_thrown() {
    for (what, said) in [
        ("'text'", "text"),
        ("5", "5"),
        ("null", "null"),
        ("undefined", "undefined"),
        ("Symbol('s')", "Symbol(s)"),
        ("{ number: 412, a: 1 }", r#"{"number":412,"a":1}"#),
        ("{ toJSON() { throw 1; } }", "unknown"),
        ("new Proxy({}, { get() { throw 1; } })", "unknown"),
    ] {
        let source = format!("function f() {{ throw {what}; }}");
        let report = run_on(&mut Fake::default(), &source).await;
        assert_eq!(thrown(&report).0, said, "{what}");
    }
}

#[tokio::test]
async fn an_error_in_a_callback_ends_the_script() {
    let body = "c.readDocuments(link, () => { throw new Error('late'); }); answer(1);";
    let report = run_on(&mut Fake::default(), &wrapped(body)).await;
    assert_eq!(thrown(&report), ("Error: late", None));
}

#[tokio::test]
async fn a_failure_of_the_host_ends_the_script() {
    let breaks = Some(Error::new(Code::Unavailable, "shutting down"));
    let mut fake = Fake { breaks, ..Fake::default() };
    let pool = pool(1);
    let body = wrapped("try { c.readDocuments(link); } catch (e) { } answer(1);");
    let report = pool.run(job(&body, "[]"), &mut fake).await;
    let failure = report.result.unwrap_err();
    assert_eq!(failure.code(), Code::Unavailable);
    let report = pool.run(job(&body, "[]"), &mut Fake::default()).await;
    assert_eq!(report.result.unwrap().response_body.as_deref(), Some("1"));
}
