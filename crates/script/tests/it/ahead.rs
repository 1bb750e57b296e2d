//! What a script does without waiting, because the host has promised not to refuse it.

use std::time::Duration;

use protocol::{Code, Error};
use script::{Failure, Promise};

use super::support::{Fake, answer_on, job, pool, run_on, thrown, wrapped};

/// A database that promises so many creations of small documents.
fn promising(creations: u32) -> Fake {
    Fake { promises: Promise { creations, bytes: 10_000 }, ..Fake::default() }
}

fn promised(fake: &Fake) -> Vec<bool> {
    fake.calls.iter().map(|call| call.is_promised).collect()
}

/// With any promise a script sees what it sees without one.
#[tokio::test]
async fn going_ahead_changes_nothing_for_the_script() {
    let body = r"
        const seen = [];
        const create = (id, then) => c.createDocument(link, { id }, (error, made, options) => {
            seen.push(error ? error.number : made.id + options.statusCode);
            if (then) then();
        });
        create('a', () => create('f'));
        create('a');
        c.readDocument(c.getAltLink() + '/docs/a', (error, read) => seen.push('read ' + read.id));
        create('b');
        c.createDocument(link, { id: 'c' });
        create('d', () => c.queryDocuments(link, 'ALL', (error, all) => { seen.push(all.length); answer(seen); }));
        create('e');
        seen.push('main');";
    let expected = r#"["main","a201",409,"read a","b201","d201","e201","f201",6]"#;
    for creations in [0, 1, 2, 3, 100] {
        assert_eq!(answer_on(&mut promising(creations), body).await, expected, "{creations}");
    }
}

#[tokio::test]
async fn only_as_much_as_was_promised_is_not_refused() {
    let body = r"answer([1, 2, 3, 4, 5].map((n) => c.createDocument(link, { id: 'd' + n })));";
    for (creations, accepts, expected) in [
        (3, 0, "[true,true,true,false,true]"),
        (3, 100, "[true,true,true,true,true]"),
        (0, 1, "[true,false,false,false,false]"),
    ] {
        let mut fake = Fake { accepts, ..promising(creations) };
        assert_eq!(answer_on(&mut fake, body).await, expected);
    }
    let mut fake = promising(2);
    answer_on(&mut fake, body).await;
    // The third one waits, and brings the next promise.
    assert_eq!(promised(&fake), [true, true, false, true, true]);
}

#[tokio::test]
async fn a_promise_is_of_bytes_too() {
    let body = "const text = 'x'.repeat(4000);
        answer([1, 2, 3].map((n) => c.createDocument(link, { id: 'd' + n, text })));";
    let mut fake = promising(100);
    assert_eq!(answer_on(&mut fake, body).await, "[true,true,true]");
    assert_eq!(promised(&fake), [true, true, false]);
}

#[tokio::test]
async fn nothing_is_promised_beyond_the_limits_of_a_job() {
    let body = wrapped("let n = 0; while (c.createDocument(link, {})) n++; answer(n);");
    let mut few = job(&body, "[]");
    few.limits.operations_max = 7;
    let report = pool(1).run(few, &mut promising(5)).await;
    assert_eq!(report.result.unwrap().response_body.as_deref(), Some("7"));

    let mut late = job(&body, "[]");
    late.limits.accepting = Duration::ZERO;
    let report = pool(1).run(late, &mut promising(5)).await;
    assert_eq!(report.result.unwrap().response_body.as_deref(), Some("0"));
}

#[tokio::test]
async fn wrong_links_are_told_at_once() {
    let body = r"
        const numbers = [];
        for (const wrong of ['', 'dbs/other/colls/x', link + '/docs/a'])
            try { c.createDocument(wrong, {}); } catch (e) { numbers.push(e.number); }
        answer(numbers);";
    let mut fake = promising(100);
    assert_eq!(answer_on(&mut fake, body).await, "[400,400,400]");
    assert!(fake.calls.is_empty());
}

/// What a script that fails has asked for is carried out all the same: it may cost something.
#[tokio::test]
async fn what_was_queued_is_carried_out_at_the_end() {
    for end in ["throw new Error('no');", "getContext().abort(new Error('no'));"] {
        let mut fake = promising(100);
        let body = format!("c.createDocument(link, {{}}); c.createDocument(link, {{}}); {end}");
        let report = run_on(&mut fake, &wrapped(&body)).await;
        assert_eq!(thrown(&report).0, "Error: no");
        assert_eq!(fake.calls.len(), 2, "{end}");
    }
    let mut fake = promising(100);
    let body = wrapped("c.createDocument(link, {}); for (;;) { }");
    let mut endless = job(&body, "[]");
    endless.limits.time = Duration::from_millis(300);
    let report = pool(1).run(endless, &mut fake).await;
    assert!(matches!(report.result, Err(Failure::TimedOut)), "{report:?}");
    assert_eq!(fake.calls.len(), 1);
}

#[tokio::test]
async fn an_error_without_a_callback_ends_the_script() {
    let body =
        "c.createDocument(link, { id: 'a' }); c.createDocument(link, { id: 'a' }); answer(1);";
    let report = run_on(&mut promising(100), &wrapped(body)).await;
    let said = thrown(&report);
    assert_eq!(said.1, Some(409), "{said:?}");
}

#[tokio::test]
async fn a_failure_of_the_host_ends_it_too() {
    let breaks = Some(Error::new(Code::Unavailable, "shutting down"));
    let mut fake = Fake { breaks, ..promising(100) };
    let body = wrapped("c.createDocument(link, {}); answer(1);");
    let report = run_on(&mut fake, &body).await;
    assert_eq!(report.result.unwrap_err().code(), Code::Unavailable);
}

/// More than a pipe holds, in both directions.
#[tokio::test]
async fn full_pipes_stop_nobody() {
    let mut fake =
        Fake { promises: Promise { creations: 1000, bytes: 8 << 20 }, ..Fake::default() };
    let body = r"
        const text = 'x'.repeat(50_000);
        let made = 0;
        for (let n = 0; n < 100; n++)
            c.createDocument(link, { text }, (error, document) => { made += document.text.length; answer(made); });";
    assert_eq!(answer_on(&mut fake, body).await, "5000000");
}

/// Whatever the form of a callback, it gets what it can see.
#[tokio::test]
async fn callbacks_get_what_they_can_see() {
    let body = r"
        const seen = [];
        const see = (...values) => seen.push(values.map((value) => value && value.id || typeof value));
        const create = (id, then) => c.createDocument(link, { id }, then);
        create('a', (error) => see(error));
        create('b', (error, made) => see(error, made));
        create('c', function (error) { see(...arguments); });
        create('d', (...all) => see(...all));
        create('e', (error, made = 1) => see(error, made));
        create('f', ((error, made) => see(error, made)).bind(null));
        create('g', new Proxy((error, made) => see(error, made), {}));
        create('h', function (error) { (() => see(...arguments))(); });
        create('a', (error) => { see(error.number, error.body); });
        create('i', (error) => answer(seen));";
    let expected = r#"[["undefined"],["undefined","b"],["undefined","c","object"],["undefined","d","object"],["undefined","e"],["undefined","f"],["undefined","g"],["undefined","h","object"],["number","string"]]"#;
    for creations in [0, 100] {
        assert_eq!(answer_on(&mut promising(creations), body).await, expected);
    }
}
