//! Which sources are accepted, and the reported positions of errors.

use script::{Failure, Job, Kind};

use super::support::{Fake, job, pool, run_on};

async fn compile(source: &str) -> Result<(), Failure> {
    let job = Job { kind: Kind::Compile, ..job(source, "") };
    pool(1).run(job, &mut Fake::default()).await.result.map(|_| ())
}

#[tokio::test]
async fn every_form_of_a_function() {
    for source in [
        "function f() { set() } function set() { __.response.setBody(1) }",
        "function () { __.response.setBody(1) }",
        "// comment\n/* another */ function f() { __.response.setBody(1) };",
        "() => __.response.setBody(1)",
        "function () { __.response.setBody(1) };",
        "() => { __.response.setBody(1) } ; \n",
        "serverScript() { __.response.setBody(1) }",
        "serverScript() {\nfunction set() { __.response.setBody(1) }\nset() }",
        "String(1);\nfunction f() { __.response.setBody(1) }",
        "/* why */ async serverScript() { __.response.setBody(1) }",
        "async function () { await 0; __.response.setBody(1) }",
        "async () => { __.response.setBody(1) }",
        "(function () { __.response.setBody(1) })",
        "var n = 1;\nfunction f() { __.response.setBody(n) }",
        "'use strict'; const n = 1;\n  function f() { __.response.setBody(n) }",
        "function f() { undeclared = 1; __.response.setBody(undeclared) }",
    ] {
        assert!(compile(source).await.is_ok(), "{source}");
        let report = run_on(&mut Fake::default(), source).await;
        assert_eq!(report.result.unwrap().response_body.as_deref(), Some("1"), "{source}");
    }
}

#[tokio::test]
async fn syntax_errors_have_a_place() {
    for (source, at) in [
        ("function f() {\n  var x = ;\n}", (2, 11)),
        ("function () {\n\n  var x = ;\n}", (3, 11)),
        ("function () { var x = ; }", (1, 23)),
        ("(a) => { let b; let b; }", (1, 22)),
        ("method() { var x = ; }", (1, 20)),
        ("method() {\n  var x = ;\n}", (2, 11)),
    ] {
        let Err(Failure::Syntax { message, line, column }) = compile(source).await else {
            panic!("{source}");
        };
        assert!(message.starts_with("SyntaxError: "), "{message}");
        assert_eq!((line, column), at, "{source}: {message}");
    }
}

#[tokio::test]
async fn what_is_not_a_function_is_refused() {
    for source in [
        "",
        "   ",
        "5",
        "'text'",
        "({})",
        "var x = 1;",
        "function f() {",
        "a\u{0}b",
        ")(",
        "f() {}, g() {}",
        "f() {} }, {",
        "get x() {}",
    ] {
        let result = compile(source).await;
        assert!(matches!(result, Err(Failure::Syntax { .. })), "{source}: {result:?}");
    }
}

#[tokio::test]
async fn compiling_calls_nothing() {
    assert!(compile("function f() { while (true) { } }").await.is_ok());
    let mut fake = Fake::default();
    let source = "__.createDocument(__.getSelfLink(), { id: 'a' });\nfunction f() { }";
    let job = Job { kind: Kind::Compile, ..job(source, "") };
    assert!(pool(1).run(job, &mut fake).await.result.is_ok());
    assert!(fake.calls.is_empty());
}
