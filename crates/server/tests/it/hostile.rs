//! What clients send who mean harm: smuggled requests, floods of frames, endless heads.

use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

use crate::{
    client::{HEADERS, SETTINGS, connect, frame, get, http2_ask},
    process::Sheaf,
};

const HEALTH: &str = "/_sheaf/health";
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const RST_STREAM: u8 = 3;
const PING: u8 = 6;
const CONTINUATION: u8 = 9;
/// What a flood may make a server hold, at the very most.
const GROWTH_MAX: u64 = 48 << 20;

/// The statuses of all answers until the server closes the connection, or has nothing to say.
fn statuses(sheaf: &Sheaf, sent: &str) -> (Vec<u16>, bool) {
    let mut stream = connect(sheaf.address);
    stream.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    stream.write_all(sent.as_bytes()).unwrap();
    let mut answers = Vec::new();
    let is_closed = match stream.read_to_end(&mut answers) {
        Ok(_) => true,
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
    };
    let answers = String::from_utf8_lossy(&answers).into_owned();
    let statuses = answers.split("HTTP/1.1 ").skip(1);
    (statuses.map(|answer| answer[..3].parse().unwrap()).collect(), is_closed)
}

/// A request that two readers could take for one or for two: the second must never be answered.
#[test]
fn a_request_has_one_length() {
    let sheaf = Sheaf::in_memory(&["--header-timeout", "5s"]);
    let hidden = "GET /_sheaf/ready HTTP/1.1\r\nhost: x\r\n\r\n";
    for headers in [
        "content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        "transfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n0\r\n\r\n",
        "content-length: 5\r\ncontent-length: 6\r\n\r\nhello",
        "content-length: 5, 5\r\n\r\nhello",
        "content-length: +5\r\n\r\nhello",
        "content-length: 0x5\r\n\r\nhello",
        "transfer-encoding: xchunked\r\n\r\n0\r\n\r\n",
        "transfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        "transfer-encoding: chunked\r\ntransfer-encoding: identity\r\n\r\n0\r\n\r\n",
        "transfer-encoding : chunked\r\n\r\n0\r\n\r\n",
        "transfer-encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
        "transfer-encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n",
        "transfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
        "transfer-encoding: chunked\r\n\r\n-1\r\n",
        "x: a\0b\r\ncontent-length: 0\r\n\r\n",
        "x: a\rb\r\ncontent-length: 0\r\n\r\n",
    ] {
        let sent = format!("POST {HEALTH} HTTP/1.1\r\nhost: x\r\n{headers}{hidden}");
        let (statuses, is_closed) = statuses(&sheaf, &sent);
        assert!(matches!(statuses[..], [400 | 405]), "{headers:?}: {statuses:?}");
        assert!(is_closed, "{headers:?}");
    }
    let old = format!(
        "POST {HEALTH} HTTP/1.0\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n{hidden}"
    );
    assert_eq!(statuses(&sheaf, &old), (vec![400], true));
}

#[test]
fn heads_have_a_number_of_lines() {
    let sheaf = Sheaf::in_memory(&[]);
    let lines: String = (0..200).fold(String::new(), |lines, n| lines + &format!("a{n}: b\r\n"));
    let sent = format!("GET {HEALTH} HTTP/1.1\r\nhost: x\r\n{lines}\r\n");
    assert_eq!(statuses(&sheaf, &sent), (vec![431], true));
}

/// Sends the same bytes until the server ends the connection, or so many are sent.
fn flood(mut stream: TcpStream, piece: &[u8], pieces_max: usize) -> usize {
    stream.set_write_timeout(Some(Duration::from_secs(10))).unwrap();
    for piece_number in 0..pieces_max {
        if let Err(error) = stream.write_all(piece) {
            // Not `WouldBlock`, which would be this side's own patience.
            let kind = error.kind();
            assert!(matches!(kind, ErrorKind::ConnectionReset | ErrorKind::BrokenPipe), "{error}");
            return piece_number;
        }
    }
    pieces_max
}

fn opened(sheaf: &Sheaf) -> TcpStream {
    let mut stream = connect(sheaf.address);
    stream.write_all(PREFACE).unwrap();
    stream.write_all(&frame(SETTINGS, 0, 0, &[])).unwrap();
    stream
}

fn still_well(sheaf: &Sheaf, before: u64) {
    assert_eq!(get(sheaf.address, HEALTH).status, 200);
    let grown = sheaf.memory().saturating_sub(before);
    assert!(grown < GROWTH_MAX, "{grown} bytes more");
}

#[test]
fn heads_without_an_end_are_cut_off() {
    let sheaf = Sheaf::in_memory(&[]);
    let before = sheaf.memory();
    let mut stream = opened(&sheaf);
    // A literal header without an end, in ever more frames.
    stream.write_all(&frame(HEADERS, 0, 1, &[0x82, 0x86, 0x84])).unwrap();
    let more = frame(CONTINUATION, 0, 1, &b"\x00\x01a\x7f\x00".repeat(2000));
    assert!(flood(stream, &more, 100_000) < 100_000);
    // Nor are many small ones that would unpack to much.
    let mut stream = opened(&sheaf);
    let large = [b"\x40\x01a\x7f\x81\x1e".as_slice(), &[b'x'; 4000]].concat();
    let bomb = [&[0x82, 0x86, 0x84][..], &large, &[0xBE; 12_000]].concat();
    stream.write_all(&frame(HEADERS, 4 | 1, 1, &bomb)).unwrap();
    let _ = stream.read(&mut [0; 4096]);
    still_well(&sheaf, before);
}

#[test]
fn requests_that_are_taken_back_at_once_hurt_nobody() {
    let sheaf = Sheaf::in_memory(&[]);
    let before = sheaf.memory();
    let mut stream = opened(&sheaf);
    stream.set_write_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut reader = stream.try_clone().unwrap();
    let drain = std::thread::spawn(move || reader.read_to_end(&mut Vec::new()).is_ok());
    for number in 0..50_000_u32 {
        let id = number * 2 + 1;
        let head = [&[0x82, 0x86, 0x84][..], b"\x01\x09localhost"].concat();
        let ask = frame(HEADERS, 4 | 1, id, &head);
        let both = [ask, frame(RST_STREAM, 0, id, &[0, 0, 0, 8])].concat();
        if stream.write_all(&both).is_err() {
            break;
        }
    }
    drop(stream.shutdown(std::net::Shutdown::Write));
    drain.join().unwrap();
    still_well(&sheaf, before);
}

#[test]
fn answers_to_pings_and_settings_are_not_piled_up() {
    let sheaf = Sheaf::in_memory(&["--stall-timeout", "500ms"]);
    let before = sheaf.memory();
    for piece in [frame(PING, 0, 0, &[7; 8]).repeat(1000), frame(SETTINGS, 0, 0, &[]).repeat(1000)]
    {
        assert!(flood(opened(&sheaf), &piece, 100_000) < 100_000);
        still_well(&sheaf, before);
    }
}

#[test]
fn connections_that_only_begin_are_ended() {
    let sheaf = Sheaf::in_memory(&["--idle-timeout", "300ms"]);
    let mut begun = opened(&sheaf);
    let mut half = opened(&sheaf);
    half.write_all(&frame(HEADERS, 0, 1, &[0x82])).unwrap();
    let mut asked = connect(sheaf.address);
    http2_ask(&mut asked, HEALTH, &[]);
    for stream in [&mut begun, &mut half, &mut asked] {
        let mut all = Vec::new();
        // Ends, rather than waiting for this side's patience.
        let ended = stream.read_to_end(&mut all).map_err(|error| error.kind());
        assert!(matches!(ended, Ok(_) | Err(ErrorKind::ConnectionReset)), "{ended:?}");
    }
}
