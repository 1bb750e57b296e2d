//! How a server ends.

use std::{
    io::Write as _,
    net::TcpStream,
    time::{Duration, Instant},
};

use crate::{
    client::{PUBLISHED_KEY, answer, ask, connect, request, signed},
    process::Sheaf,
};

/// Begins to create a database, and gives what is missing of the request.
fn begin_request(stream: &mut TcpStream) -> String {
    let headers = signed(PUBLISHED_KEY, "POST", "dbs", "");
    let mut whole = request("POST", "/dbs", &headers, r#"{"id":"shop"}"#);
    let rest = whole.split_off(whole.len() - 4);
    stream.write_all(whole.as_bytes()).unwrap();
    // The server has to have read the head before it is told to stop.
    std::thread::sleep(Duration::from_millis(200));
    rest
}

#[test]
fn data_outlives_the_process() {
    let scratch = tempfile::tempdir().unwrap();
    let data = scratch.path().to_str().unwrap();
    let sheaf = Sheaf::start(&["--data-dir", data]);
    let headers = signed(PUBLISHED_KEY, "POST", "dbs", "");
    let create = request("POST", "/dbs", &headers, r#"{"id":"shop"}"#);
    let created = ask(&mut connect(sheaf.address), &create).unwrap();
    assert_eq!(created.status, 201, "{created:?}");
    sheaf.stop();

    let sheaf = Sheaf::start(&["--data-dir", data]);
    let headers = signed(PUBLISHED_KEY, "GET", "dbs", "dbs/shop");
    let read = request("GET", "/dbs/shop", &headers, "");
    let answer = ask(&mut connect(sheaf.address), &read).unwrap();
    assert_eq!(answer.status, 200, "{answer:?}");
    sheaf.stop();
}

#[test]
fn requests_under_way_are_answered() {
    let mut sheaf = Sheaf::in_memory(&[]);
    let _idle = connect(sheaf.address);
    let mut stream = connect(sheaf.address);
    let rest = begin_request(&mut stream);
    sheaf.signal("-TERM");
    std::thread::sleep(Duration::from_millis(100));
    assert!(TcpStream::connect(sheaf.address).is_err(), "still accepting");
    stream.write_all(rest.as_bytes()).unwrap();
    assert_eq!(answer(&mut stream, false).unwrap().status, 201);
    assert_eq!(sheaf.wait(), 0);
}

#[test]
fn stopping_does_not_wait_for_ever() {
    let mut sheaf = Sheaf::in_memory(&["--shutdown-timeout", "300ms"]);
    let mut stream = connect(sheaf.address);
    begin_request(&mut stream);
    let start = Instant::now();
    sheaf.signal("-INT");
    assert_eq!(sheaf.wait(), 0);
    assert!(start.elapsed() < Duration::from_secs(3));
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let mut sheaf = Sheaf::in_memory(&[]);
    let mut stream = connect(sheaf.address);
    begin_request(&mut stream);
    sheaf.signal("-TERM");
    std::thread::sleep(Duration::from_millis(100));
    sheaf.signal("-TERM");
    assert_eq!(sheaf.wait(), 130);
}
