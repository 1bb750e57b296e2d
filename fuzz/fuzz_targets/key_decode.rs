//! Any bytes as key bytes: no panic, and only what encoding writes is accepted.

#![no_main]

use libfuzzer_sys::fuzz_target;
use value::key;
use value::partition_key::Component;

fuzz_target!(|bytes: &[u8]| {
    if let Ok((value, rest)) = key::decode(bytes) {
        let mut again = Vec::new();
        key::encode(&value, &mut again);
        assert_eq!(again, bytes[..bytes.len() - rest.len()]);
    }
    if let Ok((component, rest)) = Component::decode_key(bytes) {
        let mut again = Vec::new();
        component.encode_key(&mut again);
        assert_eq!(again, bytes[..bytes.len() - rest.len()]);
    }
});
