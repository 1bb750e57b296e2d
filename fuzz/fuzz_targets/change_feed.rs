//! Any position, time and scope of a change feed: no panic, no 5xx.
//!
//! The first byte picks the mode and the scope, the second the header that the rest is the value of.

#![no_main]

use fuzz::{COLLECTION, send_signed};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let [pick, place, value @ ..] = input else { return };
    let mode: &[u8] = if pick & 1 == 0 { b"Incremental Feed" } else { b"Full-Fidelity Feed" };
    let mut headers: Vec<(&str, &[u8])> = vec![("a-im", mode), ("x-ms-max-item-count", b"1")];
    if pick & 2 != 0 {
        headers.push(("x-ms-cosmos-changefeed-wire-format-version", b"2021-09-15"));
    }
    match pick >> 2 & 3 {
        0 => headers.push(("x-ms-documentdb-partitionkey", b"[\"a\"]")),
        1 => headers.push(("x-ms-documentdb-partitionkeyrangeid", b"0")),
        2 => {
            headers.push(("x-ms-documentdb-partitionkeyrangeid", b"0"));
            headers.push(("x-ms-read-key-type", b"EffectivePartitionKeyRange"));
            headers.push(("x-ms-start-epk", b"00"));
            headers.push(("x-ms-end-epk", b"1FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF"));
        }
        _ => {}
    }
    let names = [
        "if-none-match",
        "if-modified-since",
        "x-ms-continuation",
        "x-ms-start-epk",
        "x-ms-end-epk",
        "x-ms-documentdb-partitionkeyrangeid",
    ];
    let name = names[usize::from(*place) % names.len()];
    headers.retain(|(known, _)| *known != name);
    headers.push((name, value));
    send_signed("GET", &format!("{COLLECTION}/docs"), &headers, b"");
});
