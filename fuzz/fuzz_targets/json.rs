//! Any bytes as JSON text: no panic, and what is accepted survives printing.

#![no_main]

use libfuzzer_sys::fuzz_target;
use value::json;

fuzz_target!(|bytes: &[u8]| {
    // The scanner promises no panic on any bytes, accepted or not.
    let scanned = json::members(bytes);
    let Ok(value) = json::parse(bytes) else { return };
    let printed = json::print(&value);
    let again = json::parse(printed.as_bytes()).expect("what was printed parses");
    assert_eq!(again, value);
    assert_eq!(json::print(&again), printed);
    if let Some(object) = value.as_object() {
        let document = json::parse_document(bytes).expect("an object is a document");
        let members = document.members;
        let mut compacted = Vec::new();
        json::compact(bytes, &mut compacted);
        assert_eq!(document.is_compact, compacted == bytes);
        assert_eq!(json::parse(&compacted).as_ref(), Ok(&value));
        assert_eq!(scanned.as_ref(), Ok(&members));
        assert_eq!(members.len(), object.len());
        for member in members {
            let part = json::parse(&bytes[member.value]).expect("a member's value parses");
            assert_eq!(Some(&part), object.get(&member.key));
        }
    }
});
