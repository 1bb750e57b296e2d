//! What a client cannot take.

use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::TcpStream,
    time::{Duration, Instant},
};

use crate::{
    client::{PUBLISHED_KEY, answer, ask, connect, connect_tls, get, http2_ask, request, signed},
    process::Sheaf,
};

const HEALTH: &str = "/_sheaf/health";

/// Waits for the server to close the connection, and gives how long that took.
fn closed_after(mut stream: TcpStream) -> Duration {
    let start = Instant::now();
    match stream.read_to_end(&mut Vec::new()) {
        Ok(_) => {}
        Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
    }
    start.elapsed()
}

#[test]
fn slow_heads_are_cut_off() {
    let sheaf = Sheaf::in_memory(&["--header-timeout", "400ms"]);
    let silent = connect(sheaf.address);
    let mut half = connect(sheaf.address);
    half.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n").unwrap();
    // Steady drops do not help: the head as a whole has its time.
    let mut drops = connect(sheaf.address);
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(5) && drops.write_all(b"x").is_ok() {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(start.elapsed() < Duration::from_secs(4));
    // Neither does being slow inside a TLS record.
    let mut handshake = connect(sheaf.address);
    handshake.write_all(&[0x16, 3, 1]).unwrap();
    for stream in [silent, half, handshake] {
        assert!(closed_after(stream) < Duration::from_secs(4));
    }
    assert_eq!(get(sheaf.address, HEALTH).status, 200);
}

#[test]
fn idle_connections_live_longer_than_slow_heads() {
    let sheaf = Sheaf::in_memory(&["--header-timeout", "200ms", "--idle-timeout", "1s"]);
    let mut stream = connect(sheaf.address);
    assert_eq!(ask(&mut stream, &request("GET", HEALTH, "", "")).unwrap().status, 200);
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(ask(&mut stream, &request("GET", HEALTH, "", "")).unwrap().status, 200);
    let idle = closed_after(stream);
    assert!(idle > Duration::from_millis(700) && idle < Duration::from_secs(5), "{idle:?}");
}

#[test]
fn a_body_that_stops_is_not_waited_for() {
    let sheaf = Sheaf::in_memory(&["--stall-timeout", "300ms"]);
    let mut stream = connect(sheaf.address);
    let headers = signed(PUBLISHED_KEY, "POST", "dbs", "");
    let whole = request("POST", "/dbs", &headers, r#"{"id":"shop"}"#);
    let start = Instant::now();
    stream.write_all(&whole.as_bytes()[..whole.len() - 4]).unwrap();
    let answer = answer(&mut stream, false).unwrap();
    assert!(matches!(answer.status, 400 | 408), "{answer:?}");
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[test]
fn answers_that_nobody_reads_are_given_up() {
    let sheaf = Sheaf::in_memory(&["--stall-timeout", "300ms"]);
    let mut stream = connect(sheaf.address);
    stream.set_write_timeout(Some(Duration::from_secs(5))).unwrap();
    let many = request("GET", "/_sheaf/metrics", "", "").repeat(50);
    let error = loop {
        if let Err(error) = stream.write_all(many.as_bytes()) {
            break error.kind();
        }
    };
    // Not `WouldBlock`, which would be this side's own patience.
    assert!(matches!(error, ErrorKind::ConnectionReset | ErrorKind::BrokenPipe), "{error}");
}

#[test]
fn answers_without_a_window_are_given_up() {
    let sheaf = Sheaf::in_memory(&["--stall-timeout", "300ms"]);
    // The initial window: none at all, and too little for the answer.
    for window in [0, 1] {
        let mut stream = connect(sheaf.address);
        http2_ask(&mut stream, "/_sheaf/metrics", &[0, 4, 0, 0, 0, window]);
        let time = closed_after(stream);
        assert!(time > Duration::from_millis(200) && time < Duration::from_secs(5), "{time:?}");
    }
}

#[test]
fn large_bodies_have_room() {
    let sheaf = Sheaf::in_memory(&[]);
    let headers = signed(PUBLISHED_KEY, "POST", "dbs", "");
    let body = format!(r#"{{"id":"shop","filler":"{}"}}"#, "x".repeat(15 << 17));
    let large = request("POST", "/dbs", &headers, &body);
    // More of them than have room at a time, if the room were not given back.
    for _ in 0..160 {
        let status = ask(&mut connect(sheaf.address), &large).unwrap().status;
        assert!(matches!(status, 201 | 409), "{status}");
    }
}

#[test]
fn heads_have_a_size() {
    let sheaf = Sheaf::in_memory(&[]);
    let large = |bytes: usize| {
        let headers = format!("x-filler: {}\r\n", "x".repeat(bytes));
        ask(&mut connect(sheaf.address), &request("GET", HEALTH, &headers, "")).unwrap().status
    };
    assert_eq!(large(32 * 1024), 200);
    assert_eq!(large(128 * 1024), 431);
}

#[test]
fn bodies_have_a_size() {
    let sheaf = Sheaf::in_memory(&["--max-body-bytes", "2000"]);
    let headers = signed(PUBLISHED_KEY, "POST", "dbs", "");
    let body = format!(r#"{{"id":"{}"}}"#, "x".repeat(3000));
    let large = request("POST", "/dbs", &headers, &body);
    assert_eq!(ask(&mut connect(sheaf.address), &large).unwrap().status, 413);
}

/// A client that sends all of its body first still gets its answer, and may go on.
#[test]
fn the_rest_of_a_body_that_is_too_large_is_read() {
    let sheaf = Sheaf::in_memory(&[]);
    let headers = signed(PUBLISHED_KEY, "POST", "dbs", "");
    let body = format!(r#"{{"id":"{}"}}"#, "x".repeat(12 << 20));
    let large = request("POST", "/dbs", &headers, &body);
    let chunk = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    let chunked = format!(
        "POST /dbs HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n{headers}\r\n{chunk}"
    );
    let mut plain = connect(sheaf.address);
    let mut tls = connect_tls(sheaf.address, &[]).unwrap();
    for text in [&large, &chunked] {
        assert_eq!(ask(&mut plain, text).unwrap().status, 413);
        assert_eq!(ask(&mut plain, &request("GET", HEALTH, "", "")).unwrap().status, 200);
        assert_eq!(ask(&mut tls, text).unwrap().status, 413);
        assert_eq!(ask(&mut tls, &request("GET", HEALTH, "", "")).unwrap().status, 200);
    }
}

/// A client that sends head and body apart may be refused by its head alone. Its connection stays usable.
#[test]
fn a_body_behind_a_refusal_is_read() {
    let sheaf = Sheaf::in_memory(&[]);
    let unsigned = String::new();
    let bad_header = signed(PUBLISHED_KEY, "POST", "dbs", "") + "x-ms-consistency-level: x\r\n";
    for (headers, status, bytes) in [(unsigned, 401, 60 << 10), (bad_header, 400, 1 << 20)] {
        let mut stream = connect(sheaf.address);
        for _ in 0..3 {
            let body = "x".repeat(bytes);
            let whole = request("POST", "/dbs", &headers, &body);
            let (head, body) = whole.split_at(whole.len() - body.len());
            assert_eq!(ask(&mut stream, head).unwrap().status, status);
            stream.write_all(body.as_bytes()).unwrap();
            assert_eq!(ask(&mut stream, &request("GET", HEALTH, "", "")).unwrap().status, 200);
        }
    }
    // Nobody reads much from a client that did not authenticate.
    let mut stream = connect(sheaf.address);
    let whole = request("POST", "/dbs", "", &"x".repeat(1 << 20));
    assert_eq!(ask(&mut stream, &whole[..200]).unwrap().status, 401);
    assert!(closed_after(stream) < Duration::from_secs(4));
}

#[test]
fn connections_have_a_number() {
    let sheaf = Sheaf::in_memory(&["--max-connections", "2"]);
    let mut held = [connect(sheaf.address), connect(sheaf.address)];
    for stream in &mut held {
        assert_eq!(ask(stream, &request("GET", HEALTH, "", "")).unwrap().status, 200);
    }
    let refused = get(sheaf.address, HEALTH);
    assert_eq!(refused.status, 503);
    assert!(refused.body.contains("max-connections"), "{}", refused.body);
    assert!(connect_tls(sheaf.address, &[]).is_err());
    drop(held);
    let deadline = Instant::now() + Duration::from_secs(5);
    while get(sheaf.address, HEALTH).status != 200 {
        assert!(Instant::now() < deadline, "no room after connections were closed");
        std::thread::sleep(Duration::from_millis(10));
    }
}
