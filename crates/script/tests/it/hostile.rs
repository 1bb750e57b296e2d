//! Malicious or misbehaving scripts: each is bounded, gets an error that says what was wrong, and
//! leaves the pool ready for the next script.

use std::time::Duration;

use script::{Failure, Job, Kind, Pool};

use super::support::{Fake, job, pool, thrown, value, wrapped};

/// Runs the script, then a good one in the same pool.
async fn endure(source: &str, fake: &mut Fake) -> Result<Option<String>, Failure> {
    endure_job(job(source, "[]"), fake).await
}

async fn endure_job(bad: Job, fake: &mut Fake) -> Result<Option<String>, Failure> {
    let pool = pool(1);
    let report = pool.run(bad, fake).await;
    assert_fit(&pool).await;
    report.result.map(|outcome| outcome.response_body)
}

async fn assert_fit(pool: &Pool) {
    let source = wrapped("c.createDocument(link, { id: 'a' }, (e, made) => answer(made))");
    let mut fake = Fake::default();
    let report = pool.run(job(&source, "[]"), &mut fake).await;
    assert_eq!(report.result.expect("a fit pool").response_body.as_deref(), Some(r#"{"id":"a"}"#));
    assert_eq!(fake.ids(), ["a"]);
}

/// A script with little time.
fn hurried(body: &str) -> Job {
    let mut hurried = job(&wrapped(body), "[]");
    hurried.limits.time = Duration::from_millis(500);
    hurried.limits.grace = Duration::from_millis(100);
    hurried
}

async fn assert_timed_out(body: &str) {
    let result = endure_job(hurried(body), &mut Fake::default()).await;
    assert!(matches!(result, Err(Failure::TimedOut)), "{body}: {result:?}");
}

#[tokio::test]
async fn endless_loops() {
    assert_timed_out("while (true) { }").await;
    assert_timed_out(
        "while (true) { try { while (true) { } } catch (e) { } finally { continue; } }",
    )
    .await;
    assert_timed_out("c.readDocuments(link, () => { for (;;) { } });").await;
    assert_timed_out("answer({ toJSON() { for (;;) { } } });").await;
    assert_timed_out("throw { toJSON() { for (;;) { } } };").await;
}

#[tokio::test]
async fn endless_promises() {
    assert_timed_out("const f = () => { Promise.resolve().then(f); }; f();").await;
    assert_timed_out("(async () => { for (;;) { try { await null; } catch (e) { } } })();").await;
    assert_timed_out("(async () => { try { for (;;) { } } catch (e) { for (;;) { } } })();").await;
}

#[tokio::test]
async fn endless_callbacks() {
    assert_timed_out("const go = () => { while (!c.readDocuments(link, go)); }; go();").await;
}

#[tokio::test]
async fn catastrophic_regular_expression() {
    assert_timed_out("/^(a+)+$/.test('a'.repeat(40) + 'b');").await;
}

#[tokio::test]
async fn long_native_calls_are_killed() {
    // No script loop in here: the engine does not check the clock.
    let body = r"
        const text = 'a'.repeat(10 << 20);
        const calls = 'text.indexOf(needle),'.repeat(800);
        const needle = 'a'.repeat(1000) + 'b';
        new Function('text', 'needle', 'return [' + calls + ']')(text, needle);";
    assert_timed_out(body).await;
}

#[tokio::test]
async fn endless_recursion() {
    let body = wrapped("const f = () => f() + 1; try { f(); } catch (e) { answer(e.name); } f();");
    let result = endure(&body, &mut Fake::default()).await;
    let Err(Failure::Thrown { description, .. }) = result else { panic!("{result:?}") };
    assert!(description.contains("stack") || description.contains("recursion"), "{description}");
    // Deep nesting other than function calls.
    let body = "answer(JSON.parse('['.repeat(1e6) + ']'.repeat(1e6)));";
    let result = endure(&wrapped(body), &mut Fake::default()).await;
    assert!(matches!(result, Err(Failure::Thrown { .. })), "{result:?}");
    let body = "let a = []; for (let n = 0; n < 3000; n++) a = [a]; answer(a);";
    let result = endure(&wrapped(body), &mut Fake::default()).await;
    assert!(matches!(result, Err(Failure::Thrown { .. })), "{result:?}");
}

#[tokio::test]
async fn memory_bombs() {
    for body in [
        "const all = []; for (;;) all.push(new Array(1000).fill(1));",
        "const all = []; for (;;) all.push('x'.repeat(1 << 20) + all.length);",
        "new ArrayBuffer(1 << 30); new Uint8Array(500 << 20);",
        "const all = new Map(); for (let n = 0; ; n++) all.set(n, { n });",
    ] {
        let pool = pool(1);
        let mut bomb = job(&wrapped(body), "[]");
        bomb.limits.heap_bytes_max = 16 << 20;
        let report = pool.run(bomb, &mut Fake::default()).await;
        assert!(matches!(report.result, Err(Failure::OutOfMemory)), "{body}: {:?}", report.result);
        assert_fit(&pool).await;
    }
}

#[tokio::test]
async fn huge_strings() {
    for body in ["answer('x'.repeat(2 ** 30));", "let x = 'x'; for (;;) x += x + x.length;"] {
        let result = endure(&wrapped(body), &mut Fake::default()).await;
        let is_told = matches!(result, Err(Failure::Thrown { .. } | Failure::OutOfMemory));
        assert!(is_told, "{body}: {result:?}");
    }
}

#[tokio::test]
async fn giant_results() {
    let result = endure(&wrapped("answer('x'.repeat(6 << 20));"), &mut Fake::default()).await;
    assert!(matches!(result, Err(Failure::Thrown { number: Some(413), .. })), "{result:?}");
    let result =
        endure(&wrapped("throw new Error('x'.repeat(6 << 20));"), &mut Fake::default()).await;
    let Err(Failure::Thrown { description, .. }) = result else { panic!("{result:?}") };
    assert!(description.len() <= 16 << 10);
    let rows = vec![vec![value("1")]; 20];
    let kind = Kind::Function { rows };
    let big = Job { kind, ..job("(x) => 'x'.repeat(2 << 20)", "") };
    let pool = pool(1);
    let report = pool.run(big, &mut Fake::default()).await;
    let is_refused = matches!(report.result, Err(Failure::TooLarge | Failure::OutOfMemory));
    assert!(is_refused, "{:?}", report.result.map(|outcome| outcome.rows.len()));
    assert_fit(&pool).await;
}

#[tokio::test]
async fn a_million_promises() {
    let body = r"for (let n = 0; n < 1e6; n++) new Promise(() => { }); let done = 0;
        for (let n = 0; n < 1e4; n++) Promise.resolve().then(() => { if (++done === 1e4) answer(done); });";
    let pool = pool(1);
    let report = pool.run(job(&wrapped(body), "[]"), &mut Fake::default()).await;
    assert_eq!(report.result.unwrap().response_body.as_deref(), Some("10000"));
    // Each waits for the next, so all are kept, and the last is rejected for lack of memory.
    let body = "const f = () => Promise.resolve().then(f); f();";
    let report = pool.run(job(&wrapped(body), "[]"), &mut Fake::default()).await;
    assert!(matches!(report.result, Err(Failure::OutOfMemory)), "{report:?}");
    let body =
        "const all = []; for (let n = 0; n < 1e6; n++) all.push(Promise.resolve(n).then(() => n));";
    let report = pool.run(job(&wrapped(body), "[]"), &mut Fake::default()).await;
    assert!(matches!(report.result, Err(Failure::OutOfMemory | Failure::TimedOut)));
    assert_fit(&pool).await;
}

#[tokio::test]
async fn promises_run_out_of_memory_wherever_it_happens() {
    // Which allocation fails first, and so which promise or job is lost, depends on the last bytes.
    let body = "const f = () => Promise.resolve().then(f); f();";
    let pool = pool(1);
    for more in 0..16 {
        let mut chain = job(&wrapped(body), "[]");
        chain.limits.heap_bytes_max = (2 << 20) + 40 * more;
        let report = pool.run(chain, &mut Fake::default()).await;
        assert!(matches!(report.result, Err(Failure::OutOfMemory)), "{more}: {report:?}");
    }
}

#[tokio::test]
async fn who_takes_notice_of_a_lack_of_memory_goes_on() {
    // Arrays so large that when one does not fit any more, an error still does.
    let source = r"async function f() {
        const big = async () => { const all = []; for (;;) all.push(new Array(100000).fill(1)); };
        try { await big(); } catch (e) { getContext().getResponse().setBody(e.message); }
    }";
    let mut caught = job(source, "[]");
    caught.limits.heap_bytes_max = 16 << 20;
    let report = pool(1).run(caught, &mut Fake::default()).await;
    assert_eq!(report.result.unwrap().response_body.as_deref(), Some(r#""out of memory""#));
}

#[tokio::test]
async fn what_is_read_late_finds_the_language_as_it_was() {
    let bent = r"
        for (const owner of [Object.prototype, Array.prototype, String.prototype, Function.prototype,
            Error.prototype, Object, Array, Reflect, JSON])
            for (const name of Object.getOwnPropertyNames(owner)) {
                const { value } = Object.getOwnPropertyDescriptor(owner, name);
                if (typeof value === 'function' && name !== 'constructor') late.push([owner, name]);
            }
        const trap = () => { throw 'trap'; };
        for (let at = 0; at < late.length; at++) late[at][0][late[at][1]] = trap;
        String = Error = InternalError = Proxy = undefined;";
    let body = format!(
        "const late = []; {bent}
        const spots = [{{ type: 'Point' }}, {{ type: 'Point' }}];
        console.log('%s', 'x');
        const found = [__.spatial.distance(spots[0], spots[1])];
        __.filter((row) => row.id === 'a', (error, rows) => {{
            found[1] = rows[0].id;
            __.chain().sortByDescending((row) => row.id).pluck('id').value((error2, sorted) => {{
                found[2] = sorted[0];
                answer(1);
                __.response.appendBody(2);
                found[3] = __.response.getBody();
                answer(found);
                missing.property;
            }});
        }});"
    );
    let mut fake = Fake::with(&[r#"{"id":"a"}"#, r#"{"id":"b"}"#]);
    let pool = pool(1);
    let report = pool.run(job(&wrapped(&body), "[]"), &mut fake).await;
    assert_eq!(report.log, "x", "{report:?}");
    let Err(Failure::Thrown { description, stack, .. }) = &report.result else {
        panic!("{report:?}")
    };
    // An error is described by its own prototype, which is booby-trapped too.
    assert_eq!(description, "unknown");
    assert!(!stack.contains("sheaf"), "{stack}");
    let good = body.replace("missing.property;", "");
    let report = pool.run(job(&wrapped(&good), "[]"), &mut fake).await;
    let body = report.result.unwrap().response_body;
    assert_eq!(body.as_deref(), Some(r#"[7,"a","b",3]"#));
}

#[tokio::test]
async fn bent_prototypes_do_not_bend_messages() {
    let body = r"
        Object.prototype.toJSON = function () { return { id: 'forged' }; };
        Object.defineProperty(Object.prototype, 'ifMatch', { get() { return 'forged'; } });
        Object.defineProperty(Object.prototype, 'task', { set() { throw 'trap'; }, get() { return 1; } });
        Object.prototype.get = Object.prototype.value = Object.prototype.then = () => 'forged';
        Array.prototype.push = Array.prototype[Symbol.iterator] = () => { throw 'trap'; };
        String.prototype.toWellFormed = String.prototype.toLowerCase = () => { throw 'trap'; };
        JSON.stringify = JSON.parse = () => { throw 'trap'; };
        Function.prototype.call = Function.prototype.apply = () => { throw 'trap'; };
        Reflect.apply = Object.defineProperty = Array.isArray = String = Error = undefined;
        Symbol.prototype.toString = RegExp.prototype.exec = () => { throw 'trap'; };
        delete Object.prototype.toJSON;
        c.createDocument(link, { id: 'real' }, { indexAction: 'include' }, (error, document) => {
            console.log('%s', document.id);
            __.chain().pluck('id').value((error, rows) => answer({ rows, ok: true }));
        });";
    let mut fake = Fake::default();
    let result = endure(&wrapped(body), &mut fake).await;
    assert_eq!(result.unwrap().as_deref(), Some(r#"{"rows":["real"],"ok":true}"#));
    assert_eq!(fake.calls[0].body.as_deref(), Some(r#"{"id":"real"}"#));
    assert_eq!(fake.calls[0].if_match, None);
    assert_eq!(fake.calls[0].index_action.as_deref(), Some("include"));
}

#[tokio::test]
async fn a_trap_in_every_array_catches_its_script_only() {
    // This one traps the engine's own serialiser.
    let body = r"Object.defineProperty(Array.prototype, '0', { set() { throw 'trap'; } });
        c.createDocument(link, { id: 'real' });";
    let mut fake = Fake::default();
    let result = endure(&wrapped(body), &mut fake).await;
    let Err(Failure::Thrown { description, .. }) = result else { panic!("{result:?}") };
    assert_eq!(description, "trap");
}

#[tokio::test]
async fn lies_to_the_serialiser_stay_inside_the_document() {
    let body = r"Object.prototype.toJSON = function () { return { id: 'forged' }; };
        c.createDocument(link, { id: 'real' }, { etag: 'e' }); answer(1);";
    let mut fake = Fake::default();
    assert_eq!(endure(&wrapped(body), &mut fake).await.unwrap().as_deref(), Some("1"));
    assert_eq!(fake.calls[0].body.as_deref(), Some(r#"{"id":"forged"}"#));
    assert_eq!(fake.calls[0].if_match.as_deref(), Some("e"));
}

#[tokio::test]
async fn nothing_of_the_machine_is_reachable() {
    let body = r"answer(['require', 'process', 'std', 'os', 'fetch', 'XMLHttpRequest', 'Worker',
        'setTimeout', 'importScripts', 'native', 'settings'].filter((name) => name in globalThis));
        import('fs').then(() => answer('imported'), () => { });";
    let result = endure(&wrapped(body), &mut Fake::default()).await;
    assert_eq!(result.unwrap().as_deref(), Some("[]"));
}

#[tokio::test]
async fn scripts_leave_nothing_to_each_other() {
    let pool = pool(1);
    let first = wrapped("globalThis.kept = 1; Array.prototype.kept = 1; answer(1);");
    assert!(pool.run(job(&first, "[]"), &mut Fake::default()).await.result.is_ok());
    let second = wrapped("answer([typeof kept, typeof [].kept]);");
    let report = pool.run(job(&second, "[]"), &mut Fake::default()).await;
    let body = report.result.unwrap().response_body;
    assert_eq!(body.as_deref(), Some(r#"["undefined","undefined"]"#));
}

#[tokio::test]
async fn a_host_that_hangs_is_cut_off() {
    let mut fake = Fake { hangs: true, ..Fake::default() };
    let result = endure_job(hurried("c.readDocuments(link);"), &mut fake).await;
    assert!(matches!(result, Err(Failure::TimedOut)), "{result:?}");
}

#[tokio::test]
async fn more_scripts_than_may_wait_are_turned_away() {
    let pool = std::sync::Arc::new(pool(1));
    let mut running = Vec::new();
    for _ in 0..12 {
        let pool = pool.clone();
        running.push(tokio::spawn(async move {
            let mut slow = job("function f() { for (;;) { } }", "[]");
            slow.limits.time = Duration::from_millis(50);
            pool.run(slow, &mut Fake::default()).await
        }));
    }
    let mut counts = (0, 0);
    for task in running {
        match task.await.unwrap().result {
            Err(Failure::TimedOut) => counts.0 += 1,
            Err(Failure::Busy) => counts.1 += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(counts, (9, 3));
    assert_fit(&pool).await;
}

#[tokio::test]
async fn errors_of_the_top_level_are_told() {
    let report = pool(1).run(job("null.x;\nfunction f() { }", "[]"), &mut Fake::default()).await;
    assert!(thrown(&report).0.starts_with("TypeError"), "{report:?}");
}

#[tokio::test]
async fn an_answer_that_memory_has_no_room_for_is_told() {
    // Which copy of the answer exceeds the memory depends on what else is there.
    let source = r"async function f(held) {
        const hold = [];
        for (let n = 0; n < held; n++) hold.push(new Uint8Array(1 << 20));
        getContext().getResponse().setBody('\u4e2d'.repeat(4e6));
    }";
    let pool = pool(1);
    for held in 30..50 {
        let report = pool.run(job(source, &format!("[{held}]")), &mut Fake::default()).await;
        match report.result {
            Ok(outcome) => assert!(outcome.response_body.is_some(), "{held}: no answer"),
            Err(failure) => assert!(matches!(failure, Failure::OutOfMemory), "{held}: {failure:?}"),
        }
    }
}

#[tokio::test]
async fn operations_look_at_the_clock_and_the_log_is_kept() {
    for step in ["c.upsertDocument(link, { id: 'a' })", "answer('x'.repeat(1e5))"] {
        let mut endless = hurried(&format!(
            "console.log('here'); for (;;) {{ try {{ {step}; }} catch (e) {{ }} }}"
        ));
        endless.limits.grace = Duration::from_secs(20);
        let report = pool(1).run(endless, &mut Fake::default()).await;
        assert!(matches!(report.result, Err(Failure::TimedOut)), "{step}: {report:?}");
        assert_eq!(report.log, "here", "{step}");
    }
}

#[tokio::test]
async fn an_array_in_disguise_is_no_document() {
    let body =
        "try { c.createDocument(link, new Proxy([1], {})); } catch (e) { answer(e.number); }";
    let mut fake = Fake::default();
    assert_eq!(super::support::answer_on(&mut fake, body).await, "400");
    assert!(fake.ids().is_empty());
}
