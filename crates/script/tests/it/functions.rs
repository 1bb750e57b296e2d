//! Functions of the SQL dialect: many rows, one call.

use script::{Job, Kind, Report};
use value::Value;

use super::support::{Fake, job, pool, thrown, value};

async fn call(source: &str, rows: Vec<Vec<Value>>) -> Report {
    let job = Job { kind: Kind::Function { rows }, ..job(source, "") };
    pool(1).run(job, &mut Fake::default()).await
}

#[tokio::test]
async fn a_function_is_called_for_each_row() {
    let tax = "function tax(income) {
        if (income === undefined) throw 'no input';
        return income < 1000 ? income * 0.1 : income < 10000 ? income * 0.2 : income * 0.4;
    }";
    let rows = ["500", "5000", "50000"].map(|text| vec![value(text)]);
    let report = call(tax, rows.to_vec()).await;
    assert_eq!(report.result.unwrap().rows, ["50", "1000", "20000"].map(value));
    let report = call(tax, vec![vec![Value::Undefined]]).await;
    assert_eq!(thrown(&report).0, "no input");
}

#[tokio::test]
async fn undefined_goes_both_ways() {
    let source = "(a, b) => [a === undefined, b]";
    let rows = vec![vec![Value::Undefined, value("null")], vec![value("1"), value("\"x\"")]];
    let report = call(source, rows).await;
    assert_eq!(report.result.unwrap().rows, ["[true,null]", "[false,\"x\"]"].map(value));

    for source in ["function () {}", "() => NaN", "() => 1 / 0", "() => () => 1"] {
        let rows = call(source, vec![vec![], vec![]]).await.result.unwrap().rows;
        assert!(rows.len() == 2 && rows.iter().all(Value::is_undefined), "{source}");
    }
}

#[tokio::test]
async fn a_function_has_no_context() {
    let source = "function f() { return [typeof getContext, typeof __, typeof console.log]; }";
    let rows = call(source, vec![vec![]]).await.result.unwrap().rows;
    assert_eq!(rows, [value(r#"["undefined","undefined","function"]"#)]);
}

#[tokio::test]
async fn regular_expressions_of_the_language() {
    let source = "function REGEX_MATCH(input, pattern) { return input.match(pattern) !== null; }";
    let rows = vec![vec![value("\"Andersen\""), value("\"^An.*n$\"")]];
    assert_eq!(call(source, rows).await.result.unwrap().rows, [value("true")]);
}

#[tokio::test]
async fn no_rows_is_fine() {
    assert!(call("function f() {}", vec![]).await.result.unwrap().rows.is_empty());
}

#[tokio::test]
async fn a_function_runs_while_every_script_worker_is_busy() {
    // A script's own query may call a function; with one worker of each kind that must not block.
    struct Nested(std::sync::Arc<script::Pool>);
    impl script::Host for Nested {
        fn call(
            &mut self,
            _: script::Call,
        ) -> protocol::BoxFuture<'_, Result<script::Answer, protocol::Error>> {
            Box::pin(async move {
                let kind = Kind::Function { rows: vec![vec![value("20")]] };
                let job = Job { kind, ..job("(x) => x + 1", "") };
                let rows = self.0.run(job, &mut Fake::default()).await.result.unwrap().rows;
                let body = Some(value::json::print(&Value::Array(rows)));
                let reply = script::Reply { status: 200, body, ..script::Reply::default() };
                Ok(script::Answer::Done(reply))
            })
        }
    }
    let pool = std::sync::Arc::new(pool(1));
    let source = "function f() { __.queryDocuments(__.getSelfLink(), 'SELECT', (e, rows) => __.response.setBody(rows)); }";
    let report = pool.run(job(source, "[]"), &mut Nested(pool.clone())).await;
    assert_eq!(report.result.unwrap().response_body.as_deref(), Some("[21]"));
}
