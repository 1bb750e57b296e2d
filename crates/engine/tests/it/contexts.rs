//! What travels with a request besides its content: a request that came too late, was handed on too
//! often, or was routed by a newer catalog is refused before anything is done.

use std::time::{Duration, Instant};

use protocol::{
    Code, Context, Operation, Options, Principal, Request, Service as _, service::HOPS_MAX,
};

use crate::support::{Database, collection};

async fn answer(db: &Database, context: Context) -> Result<(), Code> {
    let operation = Operation::ReadCollection(collection());
    let request = Request { operation, options: Options::default() };
    db.engine.call(&context, request).await.map(|_| ()).map_err(|error| error.code)
}

fn context() -> Context {
    Context::new(Principal::of_key(), 1)
}

#[tokio::test]
async fn nothing_is_begun_after_the_deadline() {
    let db = Database::memory().await.with_collection(400).await;
    let now = Instant::now();
    let late = Context { deadline: Some(now), ..context() };
    assert_eq!(answer(&db, late).await, Err(Code::Timeout));
    let early = Context { deadline: Some(now + Duration::from_hours(1)), ..context() };
    assert_eq!(answer(&db, early).await, Ok(()));
}

#[tokio::test]
async fn a_request_does_not_go_round_in_circles() {
    let db = Database::memory().await.with_collection(400).await;
    for (hops, expected) in
        [(0, Ok(())), (HOPS_MAX, Ok(())), (HOPS_MAX + 1, Err(Code::Unavailable))]
    {
        assert_eq!(answer(&db, Context { hops, ..context() }).await, expected, "{hops}");
    }
}

/// The catalog of a new database has had two changes: `db` and `c`.
#[tokio::test]
async fn a_newer_catalog_than_ours_is_not_guessed_at() {
    let db = Database::memory().await.with_collection(400).await;
    for (version, expected) in
        [(None, Ok(())), (Some(0), Ok(())), (Some(2), Ok(())), (Some(9), Err(Code::Unavailable))]
    {
        let context = Context { catalog_version: version, ..context() };
        assert_eq!(answer(&db, context).await, expected, "{version:?}");
    }
}
