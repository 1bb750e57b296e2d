//! Any text as a partition key header or a hexadecimal key: no panic, and keys lie where their
//! slots say.

#![no_main]

use libfuzzer_sys::fuzz_target;
use value::partition_key::{Epk, Hashing, PartitionKey, slot_boundary, slot_of_epk};

fuzz_target!(|text: &str| {
    if let Ok(epk) = Epk::parse_hex(text) {
        assert!(epk.to_string().eq_ignore_ascii_case(text));
    }
    let Ok(key) = PartitionKey::parse_header(text) else { return };
    assert_eq!(PartitionKey::parse_header(&key.to_string()).as_ref(), Ok(&key));
    for hashing in [Hashing::V1, Hashing::V2, Hashing::MultiHash] {
        let (slot, epk) = (key.slot(hashing), key.effective(hashing));
        assert_eq!(slot_of_epk(&epk, hashing), Some(slot));
        assert!(slot_boundary(slot, hashing) <= epk && epk < slot_boundary(slot + 1, hashing));
    }
});
