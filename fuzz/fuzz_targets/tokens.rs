//! Any continuation and session token, on feeds and queries: no panic, no 5xx.

#![no_main]

use fuzz::{COLLECTION, send_signed};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some((pick, token)) = input.split_first() else { return };
    let path = format!("{COLLECTION}/docs");
    let mut headers: Vec<(&str, &[u8])> = vec![("x-ms-max-item-count", b"1")];
    let name = if pick & 1 == 0 { "x-ms-continuation" } else { "x-ms-session-token" };
    headers.push((name, token));
    let queries = [
        "SELECT * FROM c",
        "SELECT * FROM c ORDER BY c.n",
        "SELECT VALUE COUNT(1) FROM c",
        "SELECT DISTINCT c.pk FROM c",
        "SELECT c.pk, SUM(c.n) AS n FROM c GROUP BY c.pk",
    ];
    let Some(query) = queries.get(usize::from(pick >> 1) % (queries.len() + 1)) else {
        send_signed("GET", &path, &headers, b"");
        return;
    };
    headers.push(("x-ms-documentdb-isquery", b"true"));
    headers.push(("x-ms-documentdb-query-enablecrosspartition", b"true"));
    headers.push(("content-type", b"application/sql"));
    send_signed("POST", &path, &headers, query.as_bytes());
});
