//! Connections that rest because nothing is asked for: nobody can tell from the answers.

use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

use crate::{
    client::{answer, ask, connect, request},
    process::Sheaf,
};

const HEALTH: &str = "/_sheaf/health";
/// Longer than a connection has to be quiet before it rests.
const QUIET: Duration = Duration::from_millis(2600);

fn health(stream: &mut TcpStream) {
    assert_eq!(ask(stream, &request("GET", HEALTH, "", "")).unwrap().status, 200);
}

#[test]
fn a_rested_connection_answers_again() {
    let sheaf = Sheaf::in_memory(&[]);
    let mut streams = [connect(sheaf.address), connect(sheaf.address)];
    streams.iter_mut().for_each(health);
    for _ in 0..2 {
        std::thread::sleep(QUIET);
        streams.iter_mut().for_each(health);
    }
    // A head that comes in pieces.
    std::thread::sleep(QUIET);
    let [stream, _] = &mut streams;
    for piece in request("GET", HEALTH, "", "").as_bytes().chunks(7) {
        stream.write_all(piece).unwrap();
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(answer(stream, false).unwrap().status, 200);
    health(stream);
}

#[test]
fn half_a_request_behind_another_is_kept() {
    let sheaf = Sheaf::in_memory(&[]);
    let mut stream = connect(sheaf.address);
    let one = request("GET", HEALTH, "", "");
    let (half, rest) = one.split_at(one.len() / 2);
    stream.write_all(format!("{one}{half}").as_bytes()).unwrap();
    assert_eq!(answer(&mut stream, false).unwrap().status, 200);
    std::thread::sleep(QUIET);
    stream.write_all(rest.as_bytes()).unwrap();
    assert_eq!(answer(&mut stream, false).unwrap().status, 200);
    health(&mut stream);
}

/// What belongs to a body is never taken for a request, however long it takes to come.
#[test]
fn the_rest_of_a_body_is_no_request() {
    let sheaf = Sheaf::in_memory(&[]);
    let mut stream = connect(sheaf.address);
    let hidden = request("GET", HEALTH, "", "");
    let head = format!("POST /dbs HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n", hidden.len());
    stream.write_all(head.as_bytes()).unwrap();
    assert_eq!(answer(&mut stream, false).unwrap().status, 401);
    std::thread::sleep(QUIET);
    stream.write_all(hidden.as_bytes()).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    let mut more = Vec::new();
    match stream.read_to_end(&mut more) {
        Ok(_) => {}
        Err(error) => assert!(
            [ErrorKind::WouldBlock, ErrorKind::TimedOut, ErrorKind::ConnectionReset]
                .contains(&error.kind()),
            "{error}"
        ),
    }
    assert!(more.is_empty(), "{}", String::from_utf8_lossy(&more));
}
