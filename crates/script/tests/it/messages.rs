//! Request, response, headers, and the log.

use script::{Job, Kind, Property, Report};

use super::support::{Fake, answer_on, context, job, patient, pool, run_on, thrown, wrapped};

fn property(name: &str, value: &str, writable: bool) -> Property {
    Property { name: name.to_owned(), value: value.to_owned(), writable }
}

async fn trigger(kind: Kind, source: &str) -> Report {
    let mut context = context();
    "Create".clone_into(&mut context.operation_type);
    context.request_body = Some(r#"{"id":"a","n":1}"#.to_owned());
    context.request_values =
        vec![property("Etag", "old", true), property("x-ms-date", "now", false)];
    context.quota = ("documentSize=1".to_owned(), "documentSize=10".to_owned());
    if matches!(kind, Kind::PostTrigger) {
        context.response_body = Some(r#"{"id":"a","n":1,"_etag":"e"}"#.to_owned());
        context.response_values = vec![property("Etag", "e", true)];
    }
    let job =
        Job { name: "trigger".to_owned(), source: source.into(), kind, context, limits: patient() };
    pool(1).run(job, &mut Fake::default()).await
}

#[tokio::test]
async fn arguments_arrive_and_the_body_leaves() {
    let source =
        "function f(a, b, c) { getContext().getResponse().setBody([a, b, c === undefined]); }";
    let report = pool(1).run(job(source, r#"[{"x":"é\u0000"},[1.5]]"#), &mut Fake::default()).await;
    let body = report.result.unwrap().response_body.unwrap();
    assert_eq!(body, "[{\"x\":\"é\\u0000\"},[1.5],true]");
}

#[tokio::test]
async fn arguments_must_be_like_an_array() {
    for bad in ["7", "true", r#""text""#, r#"{"length":65536}"#] {
        let report = pool(1).run(job("function f() {}", bad), &mut Fake::default()).await;
        assert_eq!(thrown(&report).1, Some(400), "{bad}");
    }
    let report = pool(1).run(job("function f() {}", "{"), &mut Fake::default()).await;
    assert!(thrown(&report).0.starts_with("SyntaxError"));
}

#[tokio::test]
async fn bodies_can_be_appended_to() {
    let body = r"
        const r = __.response, seen = [r.getBody() === undefined];
        r.appendBody('a'); r.appendBody(1); seen.push(r.getBody());
        r.setBody(1); r.appendBody(2); seen.push(r.getBody());
        r.setBody(undefined); seen.push(r.getBody() === undefined);
        for (let i = 0; i < 10; i++) r.appendValue('Body', i);
        seen.push(r.getValue('body')); r.setValue('Body', { a: 1 }); seen.push(r.getBody());
        answer(seen);";
    let answer = answer_on(&mut Fake::default(), body).await;
    assert_eq!(answer, r#"[true,"a1",3,true,"0123456789",{"a":1}]"#);
}

#[tokio::test]
async fn a_body_that_is_too_large_is_413() {
    let body = "try { answer('x'.repeat(5 << 20)); } catch (e) { answer([e.number, e.message]); }";
    let answer = answer_on(&mut Fake::default(), body).await;
    assert!(answer.starts_with("[413,") && answer.contains("continuation"), "{answer}");
    let report = run_on(&mut Fake::default(), &wrapped("answer('x'.repeat(5 << 20))")).await;
    assert_eq!(thrown(&report).1, Some(413));
}

#[tokio::test]
async fn a_procedure_cannot_set_the_request() {
    let body = "try { __.request.setBody(1); } catch (e) { answer(e.number); }";
    assert_eq!(answer_on(&mut Fake::default(), body).await, "400");
}

#[tokio::test]
async fn a_pre_trigger_rewrites_the_request() {
    let source = r"function t() {
        const request = getContext().getRequest();
        const document = request.getBody();
        document.kind = request.getOperationType() + request.getValue('X-MS-Date');
        request.setBody(document);
        request.setValue('etag', 'new');
        request.appendValue('Etag', 'er');
        let error;
        try { getContext().getResponse(); } catch (e) { error = e.number; }
        console.log('%d', error);
        console.log(__.response === undefined);
    }";
    let report = trigger(Kind::PreTrigger, source).await;
    assert_eq!(report.log, "400true");
    let outcome = report.result.unwrap();
    let body = r#"{"id":"a","n":1,"kind":"Createnow"}"#;
    assert_eq!(outcome.request_body.as_deref(), Some(body));
    assert_eq!(outcome.request_values, [("Etag".to_owned(), "newer".to_owned())]);
    assert_eq!(outcome.response_body, None);
}

#[tokio::test]
async fn a_pre_trigger_that_does_nothing_leaves_the_text_alone() {
    let report = trigger(Kind::PreTrigger, "function t() { }").await;
    assert_eq!(report.result.unwrap().request_body.as_deref(), Some(r#"{"id":"a","n":1}"#));
}

#[tokio::test]
async fn headers_cannot_be_made_or_forced() {
    let source = r"function t() {
        const numbers = [];
        for (const name of ['none', 'x-ms-date'])
            try { getContext().getRequest().setValue(name, 1); } catch (e) { numbers.push(e.number); }
        numbers.push(getContext().getRequest().getValue('none') === undefined);
        console.log(numbers);
    }";
    assert_eq!(trigger(Kind::PreTrigger, source).await.log, "[400,403,true]");
}

#[tokio::test]
async fn a_post_trigger_sees_both_sides() {
    let source = r"function t() {
        const { request, response } = __;
        let number;
        try { request.setBody({}); } catch (e) { number = e.number; }
        const body = response.getBody();
        body.seen = [request.getBody().n, response.getValue('etag'), number,
            response.getResourceQuotaCurrentUsage(), response.getMaxResourceQuota()];
        response.setBody(body);
    }";
    let outcome = trigger(Kind::PostTrigger, source).await.result.unwrap();
    let body =
        r#"{"id":"a","n":1,"_etag":"e","seen":[1,"e",400,"documentSize=1","documentSize=10"]}"#;
    assert_eq!(outcome.response_body.as_deref(), Some(body));
    assert_eq!(outcome.request_body, None);
}

#[tokio::test]
async fn the_log_is_formatted_and_cut() {
    let body = r"
        console.log('%s is %d, %i%%, %j; %s', 'x', 1.5, 2.7, { a: 1 }, [1], 'more', null);
        console.log({ b: 2 }, undefined, new Error('e'));";
    let report = run_on(&mut Fake::default(), &wrapped(body)).await;
    assert_eq!(report.log, "x is 1.5, 2%, {\"a\":1}; [1] more null{\"b\":2} undefined Error: e");

    let body = "for (let n = 0; n < 10000; n++) console.log('ééé'); throw new Error('x');";
    let report = run_on(&mut Fake::default(), &wrapped(body)).await;
    assert_eq!(report.log.len(), 16 << 10);
    assert!(report.result.is_err());
}

#[tokio::test]
async fn the_log_can_be_off() {
    let mut quiet = job("function f() { console.log('x'); }", "[]");
    quiet.context.logging = false;
    let report = pool(1).run(quiet, &mut Fake::default()).await;
    assert_eq!(report.log, "");
    assert!(report.result.is_ok());
}

#[tokio::test]
async fn half_a_character_does_no_harm() {
    let body = r"console.log('\ud800');
        try { c.readDocuments('\ud800'); } catch (e) { console.log(e.number); }
        c.readDocument(c.getAltLink() + '/docs/\udc00', () => { throw new Error('\ud800'); });";
    let report = run_on(&mut Fake::default(), &wrapped(body)).await;
    assert_eq!(report.log, "\u{fffd}400");
    assert_eq!(thrown(&report).0, "Error: \u{fffd}");
    let report = run_on(&mut Fake::default(), &wrapped(r"answer('\ud800')")).await;
    assert_eq!(thrown(&report).1, Some(400));
}
