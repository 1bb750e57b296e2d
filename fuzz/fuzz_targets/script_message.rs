//! Any bytes as a message between the server and a worker that runs scripts: no panic. A worker runs
//! users' code, so what it says is trusted no more than what a client says.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|message: &[u8]| {
    script::decode_message(message);
});
