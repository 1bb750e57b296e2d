//! Any text as a path: no panic, and quoting every segment gives the same path.

#![no_main]

use libfuzzer_sys::fuzz_target;
use value::json;
use value::path::Path;

fuzz_target!(|text: &str| {
    let Ok(path) = Path::parse(text) else { return };
    assert_eq!(path.to_string(), text);
    let mut quoted = Vec::new();
    for segment in path.segments() {
        quoted.push(b'/');
        json::quote(segment, &mut quoted);
    }
    let quoted = String::from_utf8(quoted).expect("quoting keeps UTF-8");
    assert_eq!(Path::parse(&quoted).expect("a quoted path parses"), path);
});
