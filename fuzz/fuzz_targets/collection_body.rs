//! Any definition of a collection: no panic, no 5xx, and what was made can be taken away again.

#![no_main]

use fuzz::send_signed;
use libfuzzer_sys::fuzz_target;
use value::json;

fuzz_target!(|input: &[u8]| {
    // Named by us, so that it can be deleted whatever it calls itself.
    let Ok(mut definition) = json::parse(input) else { return };
    let value::Value::Object(members) = &mut definition else { return };
    members.insert("id", "made");
    let body = json::print(&definition);
    let made = send_signed("POST", "/dbs/d/colls", &[], body.as_bytes());
    if made.is_some_and(|(status, _)| status == 201) {
        let gone = send_signed("DELETE", "/dbs/d/colls/made", &[], b"").map(|(status, _)| status);
        assert_eq!(gone, Some(204));
    }
});
