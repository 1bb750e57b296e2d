//! Workers as processes: what they keep, and what happens to a pool that loses one.

use std::{fs, path::Path, process::Command, time::Duration};

use protocol::{BoxFuture, Error};
use script::{Answer, Call, Failure, Host, Pool, PoolOptions, Reply};
use tempfile::TempDir;

use super::support::{Fake, job, wrapped};

/// A pool of one worker, which writes its process id into a file before it becomes a worker.
fn watched_pool(folder: &TempDir) -> Pool {
    let file = folder.path().join("pid");
    let worker = env!("CARGO_BIN_EXE_script-worker-test");
    let command = format!("echo $$ > '{}'; exec '{worker}'", file.display());
    let arguments = vec!["-c".into(), command.into()];
    Pool::new(PoolOptions { program: "/bin/sh".into(), arguments, workers: 1, waiting_max: 1 })
}

fn worker_id(folder: &Path) -> String {
    fs::read_to_string(folder.join("pid")).expect("a worker's id").trim().to_owned()
}

fn kill(process: &str) {
    assert!(Command::new("kill").args(["-9", process]).status().expect("kill").success());
}

async fn assert_fit(pool: &Pool) {
    let report = pool.run(job(&wrapped("answer(1)"), "[]"), &mut Fake::default()).await;
    assert_eq!(report.result.expect("a fit pool").response_body.as_deref(), Some("1"));
}

#[tokio::test]
async fn a_worker_is_kept_for_the_next_script() {
    let folder = TempDir::new().unwrap();
    let pool = watched_pool(&folder);
    assert_fit(&pool).await;
    let first = worker_id(folder.path());
    assert_fit(&pool).await;
    assert_eq!(worker_id(folder.path()), first);
}

#[tokio::test]
async fn an_idle_worker_can_be_let_go() {
    let folder = TempDir::new().unwrap();
    let pool = watched_pool(&folder);
    assert_fit(&pool).await;
    let first = worker_id(folder.path());
    pool.release(Duration::from_hours(1));
    assert_fit(&pool).await;
    assert_eq!(worker_id(folder.path()), first);
    pool.release(Duration::ZERO);
    assert_fit(&pool).await;
    assert_ne!(worker_id(folder.path()), first);
}

#[tokio::test]
async fn a_worker_killed_while_idle_is_replaced_unnoticed() {
    let folder = TempDir::new().unwrap();
    let pool = watched_pool(&folder);
    assert_fit(&pool).await;
    let first = worker_id(folder.path());
    kill(&first);
    assert_fit(&pool).await;
    assert_ne!(worker_id(folder.path()), first);
}

/// A host that kills the worker on every call.
struct Killer<'a>(&'a Path);

impl Host for Killer<'_> {
    fn call(&mut self, _: Call) -> BoxFuture<'_, Result<Answer, Error>> {
        kill(&worker_id(self.0));
        Box::pin(async { Ok(Answer::Done(Reply { status: 200, ..Reply::default() })) })
    }
}

#[tokio::test]
async fn a_worker_killed_at_work_fails_its_script_only() {
    let folder = TempDir::new().unwrap();
    let pool = watched_pool(&folder);
    let source = wrapped("c.readDocuments(link); for (;;) { }");
    let report = pool.run(job(&source, "[]"), &mut Killer(folder.path())).await;
    assert!(matches!(report.result, Err(Failure::WorkerLost(_))), "{report:?}");
    assert_fit(&pool).await;
}

#[tokio::test]
async fn a_program_that_is_no_worker_is_an_error() {
    for program in ["/bin/true", "/bin/echo", "/does/not/exist"] {
        let program = program.into();
        let arguments = vec!["nonsense".into()];
        let pool = Pool::new(PoolOptions { program, arguments, workers: 1, waiting_max: 0 });
        let report = pool.run(job("function f() { }", "[]"), &mut Fake::default()).await;
        assert!(matches!(report.result, Err(Failure::WorkerLost(_))), "{report:?}");
    }
}

#[tokio::test]
async fn a_dropped_run_ends_its_worker() {
    let folder = TempDir::new().unwrap();
    let pool = watched_pool(&folder);
    let mut fake = Fake { hangs: true, ..Fake::default() };
    let source = wrapped("c.readDocuments(link);");
    let started = async {
        // The worker writes its id when it starts; yield until then.
        while fs::read_to_string(folder.path().join("pid")).unwrap_or_default().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        _ = pool.run(job(&source, "[]"), &mut fake) => panic!("the host hangs"),
        () = started => {}
    }
    let worker = worker_id(folder.path());
    assert_fit(&pool).await;
    assert_ne!(worker_id(folder.path()), worker);
}

#[tokio::test]
async fn a_worker_is_left_with_its_pipe_and_little_else() {
    let folder = TempDir::new().unwrap();
    let pool = watched_pool(&folder);
    assert_fit(&pool).await;
    let process = Path::new("/proc").join(worker_id(folder.path()));
    let limits = fs::read_to_string(process.join("limits")).unwrap();
    let limit = |name: &str| {
        let line = limits.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().rev().nth(1).unwrap().to_owned()
    };
    assert_eq!(limit("Max open files"), "0");
    assert_eq!(limit("Max file size"), "0");
    assert_eq!(limit("Max processes"), "0");
    assert_eq!(limit("Max core file size"), "0");
    assert_eq!(limit("Max address space"), (1_u64 << 30).to_string());
    assert_eq!(fs::read_link(process.join("cwd")).unwrap(), Path::new("/"));
    // The shell that started it may set its own variables, but none of ours may be there.
    let environment = fs::read_to_string(process.join("environ")).unwrap();
    assert!(!environment.contains("PATH=") && !environment.contains("CARGO"), "{environment}");
    let status = fs::read_to_string(process.join("status")).unwrap();
    assert!(status.contains("Name:"), "{status}");
    // Descriptors that this test itself inherited are passed on, as a server's would be.
    for entry in fs::read_dir(process.join("fd")).unwrap() {
        let entry = entry.unwrap();
        let number = entry.file_name().into_string().unwrap();
        let own = fs::read_link(Path::new("/proc/self/fd").join(&number)).ok();
        let is_standard = ["0", "1", "2"].contains(&number.as_str());
        assert!(is_standard || own == fs::read_link(entry.path()).ok(), "{number}: {own:?}");
    }
}

/// The memory that a worker keeps, in KB.
fn memory_kb(process: &str) -> usize {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("its status");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("its memory");
    line.split_whitespace().nth(1).and_then(|kb| kb.parse().ok()).expect("a number")
}

#[tokio::test]
async fn a_worker_does_not_grow_with_what_it_runs() {
    let folder = TempDir::new().unwrap();
    let pool = watched_pool(&folder);
    let body =
        "const all = []; for (let n = 0; n < 100; n++) all.push({ n, text: 'x'.repeat(n * 9) });
        globalThis.left = all; console.log('%j', all.length); c.filter(() => true, () => {});
        answer(all.map((it) => it.n).length)";
    let mut kb_before = 0;
    for run in 0..900 {
        let report = pool.run(job(&wrapped(body), "[]"), &mut Fake::default()).await;
        assert_eq!(report.result.unwrap().response_body.as_deref(), Some("100"));
        if run == 100 {
            kb_before = memory_kb(&worker_id(folder.path()));
        }
    }
    // A block of the engine lost per run would be 3 MB.
    let kb = memory_kb(&worker_id(folder.path()));
    assert!(kb < kb_before + 150, "{kb_before} KB became {kb}");
}
