//! `sheaf keys`, and a server whose keys change while it runs.

use std::{
    fs,
    time::{Duration, Instant},
};

use crate::{
    client::{PUBLISHED_KEY, ask, connect, request, signed},
    process::{Sheaf, failure, run},
};

fn status(sheaf: &Sheaf, key: &str, method: &str, body: &str) -> u16 {
    let headers = signed(key, method, "dbs", "");
    ask(&mut connect(sheaf.address), &request(method, "/dbs", &headers, body)).unwrap().status
}

/// Waits until a key gets this answer.
fn becomes(sheaf: &Sheaf, key: &str, expected: u16) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while status(sheaf, key, "GET", "") != expected {
        assert!(Instant::now() < deadline, "the key does not become {expected}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn said(args: &[&str]) -> String {
    let output = run(args);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The key of this name in lines of a key file.
fn key<'a>(lines: &'a str, name: &str) -> &'a str {
    let line = lines.lines().find_map(|line| line.strip_prefix(&format!("{name} = \"")));
    line.unwrap().trim_end_matches('"')
}

#[test]
fn keys_are_replaced_one_by_one_while_the_server_runs() {
    let scratch = tempfile::tempdir().unwrap();
    let data = scratch.path().join("data");
    let at = ["--data-dir", data.to_str().unwrap()];
    let sheaf = Sheaf::start(&at);
    let list = || said(&[&["keys", "list"][..], &at].concat());
    let regenerate = |name: &str| said(&[&["keys", "regenerate", name][..], &at].concat());
    assert_eq!(list(), format!("primary = \"{PUBLISHED_KEY}\"\n"));
    assert_eq!(status(&sheaf, PUBLISHED_KEY, "GET", ""), 200);

    let first = regenerate("all");
    assert_eq!(first, list());
    becomes(&sheaf, PUBLISHED_KEY, 401);
    for (name, write) in [
        ("primary", 201),
        ("secondary", 201),
        ("primary_readonly", 403),
        ("secondary_readonly", 403),
    ] {
        let key = key(&first, name);
        assert_eq!(status(&sheaf, key, "GET", ""), 200, "{name}");
        assert_eq!(status(&sheaf, key, "POST", &format!(r#"{{"id":"{name}"}}"#)), write, "{name}");
    }

    let second = regenerate("primary");
    assert_eq!(second.lines().count(), 1);
    becomes(&sheaf, key(&first, "primary"), 401);
    assert_eq!(status(&sheaf, key(&second, "primary"), "GET", ""), 200);
    for name in ["secondary", "primary_readonly", "secondary_readonly"] {
        assert_eq!(status(&sheaf, key(&first, name), "GET", ""), 200, "{name}");
    }

    // A file that makes no sense changes nothing, and one that is gone brings nothing back.
    let file = data.join("keys");
    fs::write(&file, "primary = ").unwrap();
    sheaf.signal("-HUP");
    fs::remove_file(&file).unwrap();
    sheaf.signal("-HUP");
    fs::write(&file, key(&first, "primary")).unwrap();
    becomes(&sheaf, key(&first, "primary"), 200);
    assert_eq!(status(&sheaf, PUBLISHED_KEY, "GET", ""), 401);
}

#[cfg(unix)]
#[test]
fn a_link_to_a_key_file_stays_one() {
    let scratch = tempfile::tempdir().unwrap();
    let [file, link] = ["file", "link"].map(|name| scratch.path().join(name));
    fs::write(&file, PUBLISHED_KEY).unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let made = said(&["keys", "regenerate", "all", "--key-file", link.to_str().unwrap()]);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&file).unwrap(), made);
}

#[test]
fn a_directory_with_keys_may_be_offered_to_others() {
    let scratch = tempfile::tempdir().unwrap();
    let data = scratch.path().join("data");
    let at = ["--data-dir", data.to_str().unwrap()];
    let open = [&at[..], &["--host", "0.0.0.0"]].concat();
    let stderr = failure(2, &[&["serve", "--port", "0"][..], &open].concat());
    assert!(stderr.contains("sheaf keys regenerate all"), "{stderr}");
    said(&[&["keys", "regenerate", "all"][..], &at].concat());
    let lines = said(&[&["keys", "list"][..], &at].concat());
    let sheaf = Sheaf::start(&open);
    assert_eq!(status(&sheaf, key(&lines, "primary"), "GET", ""), 200);
    // The commands that ask a server know the keys of its directory, too.
    let body = r#"{"id":"shop"}"#;
    assert_eq!(status(&sheaf, key(&lines, "primary"), "POST", body), 201);
    let endpoint = format!("http://127.0.0.1:{}", sheaf.address.port());
    let asked = ["partition", "list", "-d", "shop", "-c", "none", "--endpoint", &endpoint];
    let stderr = failure(4, &[&asked[..], &at].concat());
    assert!(stderr.contains("404"), "{stderr}");
}

#[cfg(unix)]
#[test]
fn nobody_else_reads_the_keys() {
    use std::os::unix::fs::PermissionsExt as _;
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("named");
    fs::write(&file, PUBLISHED_KEY).unwrap();
    let at = ["--key-file", file.to_str().unwrap()];
    said(&[&["keys", "regenerate", "secondary"][..], &at].concat());
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let lines = fs::read_to_string(&file).unwrap();
    assert_eq!(key(&lines, "primary"), PUBLISHED_KEY);
    assert_eq!(key(&lines, "secondary").len(), PUBLISHED_KEY.len());
    failure(2, &["keys", "regenerate", "tertiary"]);
    failure(2, &["keys", "list", "--key-file", "/nowhere/keys"]);
}
