//! A worker keeps one engine for all scripts and puts it back after each: no script finds anything of
//! those before it.

use std::time::Duration;

use script::{Failure, Kind, Pool};

use super::support::{Fake, job, pool, wrapped};

/// Describes everything that a script can reach, and answers a digest of it and the number of objects.
const LOOK: &str = r"
    const seen = new Map(), waiting = [], out = [];
    function mark(thing) {
        if (typeof thing === 'symbol') return String(thing);
        if (thing === null || (typeof thing !== 'object' && typeof thing !== 'function'))
            return typeof thing + ' ' + String(thing);
        if (!seen.has(thing)) { seen.set(thing, seen.size); waiting.push(thing); }
        return '#' + seen.get(thing);
    }
    mark(globalThis); mark(function* () {}); mark(async () => {}); mark(async function* () {});
    mark([][Symbol.iterator]()); mark(/x/g); mark(new Map().entries()); mark(''[Symbol.iterator]());
    while (waiting.length > 0) {
        const thing = waiting.shift();
        out.push(mark(thing), typeof thing, Object.isExtensible(thing), mark(Object.getPrototypeOf(thing)));
        for (const name of Reflect.ownKeys(thing)) {
            // When the engine was made.
            if (name === 'timeOrigin') continue;
            const it = Object.getOwnPropertyDescriptor(thing, name);
            out.push(String(name), it.writable, it.enumerable, it.configurable);
            for (const part of ['value', 'get', 'set']) if (part in it) out.push(mark(it[part]));
        }
    }
    const all = out.join();
    let digest = 0;
    for (let at = 0; at < all.length; at++) digest = (Math.imul(digest, 31) + all.charCodeAt(at)) | 0;
    answer([digest, seen.size]);";

/// What scripts do to their engine, for better or worse.
const DEEDS: [&str; 14] = [
    "globalThis.left = 1; var other = 2; eval('var third = 3'); answer(1)",
    "Object.prototype.left = 1; Array.prototype.map = 2; JSON.parse = JSON.stringify = null;
     Error.prototype.toString = () => 'x'; Object.setPrototypeOf(Math, Array.prototype)",
    // Everything reachable is frozen, our own functions included.
    "const seen = new Set(), waiting = [globalThis]; while (waiting.length) { const it = waiting.pop();
       if (it === null || !['object', 'function'].includes(typeof it) || seen.has(it)) continue; seen.add(it);
       for (const { value, get } of Object.values(Object.getOwnPropertyDescriptors(it)))
           waiting.push(value, get);
       waiting.push(Object.getPrototypeOf(it)); try { Object.freeze(it); } catch {} }",
    // Everything that can be is removed, so that nothing of the script's refers to our functions.
    "const seen = new Set(), waiting = [globalThis], all = []; while (waiting.length) { const it = waiting.pop();
       if (it === null || !['object', 'function'].includes(typeof it) || seen.has(it)) continue; seen.add(it);
       for (const { value, get } of Object.values(Object.getOwnPropertyDescriptors(it)))
           waiting.push(value, get);
       waiting.push(Object.getPrototypeOf(it)); all.push(it); }
     const drop = Reflect.deleteProperty, keys = Reflect.ownKeys;
     for (let at = all.length - 1; at >= 0; at--) { const names = keys(all[at]);
       for (let name = 0; name < names.length; name++) drop(all[at], names[name]); }",
    "Promise.resolve().then(() => { globalThis.late = 1; }); new Promise(() => {}); (async () => {
       await new Promise((done) => { globalThis.done = done; }); })(); Promise.reject(new Error('left'))",
    "const registry = new FinalizationRegistry((it) => { globalThis.found = it; });
     registry.register({}, 'x'); globalThis.weak = new WeakRef({}); globalThis.map = new WeakMap([[Math, 1]]);
     Symbol.for('left'); globalThis.steps = (function* () { yield 1; })(); globalThis.steps.next()",
    "throw new Error('thrown')",
    "throw { toString() { throw this; } }",
    "getContext().abort('left')",
    "(function deep() { deep(); })()",
    "try { (function deep() { deep(); })(); } catch { answer('caught') }",
    "const all = []; try { for (;;) all.push(new Array(100000).fill(all)); } catch { all.length = 0; answer(1) }",
    "globalThis.all = []; for (let n = 0; n < 20000; n++) all.push({ n, text: 'x'.repeat(n % 300), next: all })",
    "c.createDocument(link, { id: 'a' }, (error) => { if (error) throw error; c.filter(() => true, () => {});
       console.log('%d', 1); answer(__.response.getBody() ?? 'nothing'); }); c.readDocuments(link, () => {})",
];

async fn look(pool: &Pool) -> String {
    let report = pool.run(job(&wrapped(LOOK), "[]"), &mut Fake::default()).await;
    report.result.expect("a look around").response_body.expect("an answer")
}

#[tokio::test]
async fn nothing_is_left_of_a_script() {
    let pool = pool(1);
    let expected = look(&pool).await;
    let reached: usize =
        expected.rsplit(',').next().unwrap().trim_end_matches(']').parse().unwrap();
    assert!(reached > 500, "it looks everywhere: {expected}");
    for deed in DEEDS {
        // The result does not matter.
        let _ = pool.run(job(&wrapped(deed), "[]"), &mut Fake::default()).await;
        assert_eq!(look(&pool).await, expected, "after: {deed}");
    }
    for deed in DEEDS.iter().rev() {
        let _ = pool.run(job(&wrapped(deed), "[]"), &mut Fake::default()).await;
    }
    assert_eq!(look(&pool).await, expected);
}

#[tokio::test]
async fn nothing_is_left_of_a_script_that_is_stopped() {
    let pool = pool(1);
    let expected = look(&pool).await;
    let mut endless = job(&wrapped("globalThis.left = []; for (;;) left.push({})"), "[]");
    endless.limits.time = Duration::from_millis(300);
    endless.limits.grace = Duration::from_mins(1);
    let report = pool.run(endless, &mut Fake::default()).await;
    assert!(matches!(report.result, Err(Failure::TimedOut | Failure::OutOfMemory)), "{report:?}");
    assert_eq!(look(&pool).await, expected);
    let body = "const f = () => Promise.resolve().then(f); f();";
    for more in 0..8 {
        let mut chain = job(&wrapped(body), "[]");
        chain.limits.heap_bytes_max = (1 << 20) + 40 * more;
        let report = pool.run(chain, &mut Fake::default()).await;
        assert!(matches!(report.result, Err(Failure::OutOfMemory)), "{report:?}");
        assert_eq!(look(&pool).await, expected);
    }
}

#[tokio::test]
async fn kinds_of_scripts_take_turns() {
    let pool = pool(1);
    let body =
        "const set = (value) => getContext().getRequest().setBody(value); set([typeof __.response,
        typeof __.request, typeof getContext])";
    for _ in 0..3 {
        let mut before = job(&format!("function script() {{ {body} }}"), "");
        before.kind = Kind::PreTrigger;
        let report = pool.run(before, &mut Fake::default()).await;
        let expected = r#"["undefined","object","function"]"#;
        assert_eq!(report.result.unwrap().request_body.as_deref(), Some(expected));
        let body = "answer([typeof __.response, typeof getContext().getResponse])";
        let report = pool.run(job(&wrapped(body), "[]"), &mut Fake::default()).await;
        let expected = r#"["object","function"]"#;
        assert_eq!(report.result.unwrap().response_body.as_deref(), Some(expected));
        let mut function = job("function () { return [typeof __, typeof getContext]; }", "");
        function.kind = Kind::Function { rows: vec![Vec::new()] };
        let report = pool.run(function, &mut Fake::default()).await;
        let rows = report.result.unwrap().rows;
        assert_eq!(rows, [super::support::value(r#"["undefined","undefined"]"#)]);
    }
}

#[tokio::test]
async fn random_numbers_are_random() {
    let pool = pool(1);
    let body = "const all = []; for (let n = 0; n < 50; n++) all.push(Math.random()); answer({ all,
        random: [Math.random.name, Math.random.length, String(Math.random)],
        sqrt: [Math.sqrt.name, Math.sqrt.length, String(Math.sqrt)] })";
    let mut all = Vec::new();
    for _ in 0..4 {
        let report = pool.run(job(&wrapped(body), "[]"), &mut Fake::default()).await;
        let answer = super::support::value(&report.result.unwrap().response_body.unwrap());
        let text = |name: &str, at: usize| answer.get(name).as_array().unwrap()[at].clone();
        assert_eq!(text("random", 0).as_str(), Some("random"));
        assert_eq!(text("random", 1).as_f64(), Some(0.0));
        let native = text("sqrt", 2).as_str().unwrap().replace("sqrt", "random");
        assert_eq!(text("random", 2).as_str(), Some(&*native));
        all.extend(answer.get("all").as_array().unwrap().iter().map(|it| it.as_f64().unwrap()));
    }
    assert!(all.iter().all(|it| (0.0..1.0).contains(it)), "{all:?}");
    all.sort_by(f64::total_cmp);
    all.dedup();
    assert_eq!(all.len(), 200, "no execution repeats the numbers of another");
    assert!(all[20] < 0.4 && all[180] > 0.6, "{all:?}");
}
