//! Who may connect, what one client may take, and whose web pages are let in.

use std::io::{Read as _, Write as _};

use crate::{
    client::{PUBLISHED_KEY, answer, ask, connect, connect_tls, get, request, signed},
    process::{Sheaf, failure},
};

const HEALTH: &str = "/_sheaf/health";

#[test]
fn networks_that_are_not_on_the_list_stay_out() {
    let sheaf = Sheaf::in_memory(&["--allow-networks", "10.0.0.0/8,2001:db8::/32"]);
    let refused = get(sheaf.address, HEALTH);
    assert_eq!(refused.status, 403);
    assert!(refused.body.contains("allow-networks"), "{}", refused.body);
    assert!(connect_tls(sheaf.address, &[]).is_err());
    // Nothing of what they send is taken beyond the beginning of a request.
    let mut stream = connect(sheaf.address);
    let sent = (0..10_000).take_while(|_| stream.write_all(&[b'x'; 4096]).is_ok()).count();
    assert!(sent < 10_000, "the server goes on reading");
    let open = Sheaf::in_memory(&["--allow-networks", "10.0.0.0/8, 127.0.0.0/8"]);
    assert_eq!(get(open.address, HEALTH).status, 200);
    let stderr = failure(2, &["serve", "--in-memory", "--allow-networks", "10.0.0.0/40"]);
    assert!(stderr.contains("`10.0.0.0/40` is not a network"), "{stderr}");
}

#[test]
fn a_client_has_its_share_of_connections() {
    let sheaf = Sheaf::in_memory(&["--max-connections-per-client", "2"]);
    let mut held = [connect(sheaf.address), connect(sheaf.address)];
    for stream in &mut held {
        assert_eq!(ask(stream, &request("GET", HEALTH, "", "")).unwrap().status, 200);
    }
    let refused = get(sheaf.address, HEALTH);
    assert_eq!(refused.status, 503);
    assert!(refused.body.contains("max-connections-per-client"), "{}", refused.body);
    assert!(refused.head.contains("x-ms-request-charge: 0"), "{}", refused.head);
    let page = ask(&mut held[0], &request("GET", "/_sheaf/metrics", "", "")).unwrap().body;
    assert!(page.contains("sheaf_connections_refused_total{reason=\"client\"} 1"), "{page}");
    let [one, _other] = held;
    drop(one);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(5);
    while get(sheaf.address, HEALTH).status != 200 {
        assert!(std::time::Instant::now() < deadline, "no room after a connection was closed");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn a_client_has_its_share_of_requests() {
    let sheaf = Sheaf::in_memory(&["--max-requests-per-client", "1"]);
    let mut slow = connect(sheaf.address);
    let headers = signed(PUBLISHED_KEY, "POST", "dbs", "");
    let body = r#"{"id":"shop"}"#;
    let whole = request("POST", "/dbs", &headers, body)
        .replace("content-length", "expect: 100-continue\r\ncontent-length");
    slow.write_all(&whole.as_bytes()[..whole.len() - body.len()]).unwrap();
    // The server asks for the body, so the request is under way.
    assert_eq!(answer(&mut slow, true).unwrap().status, 100);
    let refused = get(sheaf.address, HEALTH);
    assert_eq!(refused.status, 429);
    assert!(refused.head.contains("x-ms-retry-after-ms: "), "{}", refused.head);
    assert!(refused.head.contains("x-ms-request-charge: 0"), "{}", refused.head);
    slow.write_all(body.as_bytes()).unwrap();
    assert_eq!(answer(&mut slow, false).unwrap().status, 201);
    assert_eq!(get(sheaf.address, HEALTH).status, 200);
}

fn databases(sheaf: &Sheaf, key: &str) -> u16 {
    let headers = signed(key, "GET", "dbs", "");
    ask(&mut connect(sheaf.address), &request("GET", "/dbs", &headers, "")).unwrap().status
}

#[test]
fn strangers_who_go_on_failing_are_turned_away() {
    let sheaf = Sheaf::in_memory(&["--max-failures-per-client", "3"]);
    let mut stream = connect(sheaf.address);
    for _ in 0..4 {
        let refused = ask(&mut stream, &request("GET", "/dbs", "", "")).unwrap();
        assert_eq!(refused.status, 401);
    }
    // What is open gets a short answer and is closed; what is new is closed unread.
    let away = ask(&mut stream, &request("GET", "/dbs", "", "")).unwrap();
    assert_eq!(away.status, 429);
    assert!(away.head.contains("connection: close"), "{}", away.head);
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    let mut closed = connect(sheaf.address);
    let _ = closed.write_all(request("GET", HEALTH, "", "").as_bytes());
    assert!(answer(&mut closed, false).is_err());
}

#[test]
fn failures_at_the_pages_for_operators_count_too() {
    let sheaf = Sheaf::in_memory(&["--max-failures-per-client", "3"]);
    let mut stream = connect(sheaf.address);
    for _ in 0..4 {
        let headers = signed("d3Jvbmc=", "GET", "backup", "");
        let refused = ask(&mut stream, &request("GET", "/_sheaf/backup", &headers, "")).unwrap();
        assert_eq!(refused.status, 401);
    }
    assert_eq!(ask(&mut stream, &request("GET", HEALTH, "", "")).unwrap().status, 429);
}

#[test]
fn who_shares_an_address_with_a_stranger_goes_on() {
    let sheaf = Sheaf::in_memory(&["--max-failures-per-client", "3"]);
    assert_eq!(databases(&sheaf, PUBLISHED_KEY), 200);
    for _ in 0..20 {
        assert_eq!(databases(&sheaf, "d3Jvbmc="), 401);
    }
    assert_eq!(databases(&sheaf, PUBLISHED_KEY), 200);
    let page = get(sheaf.address, "/_sheaf/metrics").body;
    assert!(page.contains("sheaf_connections_refused_total{reason=\"failures\"} 0"), "{page}");
}

#[test]
fn pages_of_the_named_sites_are_let_in() {
    let sheaf = Sheaf::in_memory(&["--cors-origins", "https://app.example,http://localhost:3000"]);
    let mut stream = connect(sheaf.address);
    let asking = "origin: http://localhost:3000\r\naccess-control-request-method: POST\r\n\
                  access-control-request-headers: authorization,x-ms-date,x-ms-version\r\n";
    let preflight = ask(&mut stream, &request("OPTIONS", "/dbs", asking, "")).unwrap();
    assert_eq!(preflight.status, 204);
    for header in [
        "access-control-allow-origin: http://localhost:3000",
        "access-control-allow-headers: authorization,x-ms-date,x-ms-version",
        "access-control-allow-methods: get, head, post, put, patch, delete",
    ] {
        assert!(preflight.head.contains(header), "{header} in {}", preflight.head);
    }
    let mut headers = signed(PUBLISHED_KEY, "GET", "dbs", "");
    headers.push_str("origin: https://app.example\r\n");
    let answered = ask(&mut stream, &request("GET", "/dbs", &headers, "")).unwrap();
    assert_eq!(answered.status, 200);
    assert!(answered.head.contains("access-control-allow-origin: https://app.example"));
    let exposed = answered.head.split("access-control-expose-headers: ").nth(1).unwrap();
    assert!(exposed.lines().next().unwrap().contains("x-ms-request-charge"), "{exposed}");
    // A refusal can be read, too, or a page could not say what is wrong.
    let refused = ask(&mut stream, &request("GET", "/dbs", "origin: https://app.example\r\n", ""));
    let refused = refused.unwrap();
    assert_eq!(refused.status, 401);
    assert!(refused.head.contains("access-control-allow-origin"));
    let others = asking.replace("localhost", "evil.example");
    let preflight = ask(&mut stream, &request("OPTIONS", "/dbs", &others, "")).unwrap();
    assert_eq!(preflight.status, 403);
    assert!(!preflight.head.contains("access-control"), "{}", preflight.head);
}

#[test]
fn no_page_of_a_site_reads_the_pages_for_operators() {
    let sheaf = Sheaf::in_memory(&["--cors-origins", "*"]);
    let mut stream = connect(sheaf.address);
    let asking = "origin: https://evil.example\r\naccess-control-request-method: GET\r\n";
    for path in ["health", "ready", "metrics", "partitions", "backup", "dbs/d/colls/c/partition"] {
        let path = format!("/_sheaf/{path}");
        for method in ["GET", "OPTIONS"] {
            let answer = ask(&mut stream, &request(method, &path, asking, "")).unwrap();
            assert!(!answer.head.contains("access-control"), "{path}: {}", answer.head);
        }
    }
}

#[test]
fn without_the_setting_no_page_is_let_in() {
    let sheaf = Sheaf::in_memory(&[]);
    let asking = "origin: https://app.example\r\naccess-control-request-method: GET\r\n";
    let mut stream = connect(sheaf.address);
    let refused = ask(&mut stream, &request("OPTIONS", "/dbs", asking, "")).unwrap();
    assert!(refused.status >= 400 && !refused.head.contains("access-control"), "{refused:?}");
    let stderr = failure(2, &["serve", "--in-memory", "--cors-origins", "app.example/x"]);
    assert!(stderr.contains("is not an origin"), "{stderr}");
}
