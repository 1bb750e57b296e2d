//! The pages for operators.

use crate::{
    client::{PUBLISHED_KEY, ask, connect, get, request, signed},
    process::Sheaf,
};

#[test]
fn health_and_readiness_need_no_key() {
    let sheaf = Sheaf::in_memory(&[]);
    let health = get(sheaf.address, "/_sheaf/health");
    assert_eq!((health.status, health.body.as_str()), (200, r#"{"status":"ok"}"#));
    assert_eq!(get(sheaf.address, "/_sheaf/ready").status, 200);
    assert_eq!(get(sheaf.address, "/_sheaf/secrets").status, 404);
    let mut stream = connect(sheaf.address);
    let head = ask(&mut stream, &request("HEAD", "/_sheaf/health", "", "")).unwrap();
    assert_eq!(head.status, 200);
    let post = ask(&mut stream, &request("POST", "/_sheaf/health", "", "")).unwrap();
    assert_eq!(post.status, 405);
    assert!(post.head.contains("allow: get, head"), "{}", post.head);
}

#[test]
fn metrics_count_requests() {
    let sheaf = Sheaf::in_memory(&[]);
    let mut stream = connect(sheaf.address);
    let headers = signed(PUBLISHED_KEY, "GET", "", "");
    assert_eq!(ask(&mut stream, &request("GET", "/", &headers, "")).unwrap().status, 200);
    let page = get(sheaf.address, "/_sheaf/metrics");
    assert_eq!(page.status, 200);
    for line in [
        "sheaf_requests_total{operation=\"read_account\",status=\"200\"} 1",
        "sheaf_request_duration_seconds_count{operation=\"read_account\"} 1",
        "sheaf_request_charge_total{operation=\"read_account\"}",
        "sheaf_connections 2",
        "sheaf_store_commit_groups_total",
        "sheaf_store_keys_read_total",
        "sheaf_store_blocks_read_total",
        "sheaf_store_failed 0",
        "sheaf_build_info{version=",
        "sheaf_process_start_time_seconds",
        "# TYPE sheaf_partition_documents gauge",
        "# TYPE sheaf_partition_hottest_key_units gauge",
        "# EOF",
    ] {
        assert!(page.body.contains(line), "{line} in {}", page.body);
    }
    assert!(!page.body.contains(PUBLISHED_KEY));
}

/// The value of a line of the metrics.
fn figure(page: &str, name: &str) -> f64 {
    let line = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name} in {page}")).parse().unwrap()
}

/// Charges are sums of hundredths.
fn is(figure: f64, expected: f64) -> bool {
    (figure - expected).abs() < 0.001
}

#[test]
fn metrics_tell_of_partitions_and_of_the_store() {
    let scratch = tempfile::tempdir().unwrap();
    let sheaf = Sheaf::start(&["--data-dir", scratch.path().to_str().unwrap()]);
    let mut stream = connect(sheaf.address);
    let mut post = |kind: &str, link: &str, more: &str, body: &str| {
        let path = if link.is_empty() { "/dbs".to_owned() } else { format!("/{link}/{kind}") };
        let headers = signed(PUBLISHED_KEY, "POST", kind, link) + more;
        let answer = ask(&mut stream, &request("POST", &path, &headers, body)).unwrap();
        (answer.status, answer.head)
    };
    let definition = r#"{"id":"orders","partitionKey":{"paths":["/pk"],"version":2}}"#;
    assert_eq!(post("dbs", "", "", r#"{"id":"shop"}"#).0, 201);
    let wide = "x-ms-offer-throughput: 25000\r\n";
    assert_eq!(post("colls", "dbs/shop", wide, definition).0, 201);
    let mut charges = 0.0;
    // All of them lie in the last of three partitions.
    for (id, expected) in [("1", 201), ("2", 201), ("3", 201), ("3", 409)] {
        let body = format!(r#"{{"id":"{id}","pk":"a"}}"#);
        let (status, head) = post("docs", "dbs/shop/colls/orders", "", &body);
        assert_eq!(status, expected);
        let charge = head.lines().find_map(|line| line.strip_prefix("x-ms-request-charge: "));
        charges += charge.unwrap().trim().parse::<f64>().unwrap();
    }
    let page = get(sheaf.address, "/_sheaf/metrics").body;
    let of = |name: &str, range: u32| {
        let labels = format!(r#"database="shop",collection="orders",range="{range}""#);
        figure(&page, &format!("sheaf_partition_{name}{{{labels}}}"))
    };
    for (name, figures) in [
        ("documents", [0.0, 0.0, 3.0]),
        ("lsn", [1.0, 1.0, 4.0]),
        ("queued", [0.0, 0.0, 0.0]),
        ("requests_admitted_total", [0.0, 0.0, 4.0]),
    ] {
        for (range, figure) in (0..).zip(figures) {
            assert!(is(of(name, range), figure), "{name} of {range}");
        }
    }
    assert!(is(of("bytes", 0), 0.0) && of("bytes", 2) > 300.0);
    assert!(is(of("index_bytes", 0), 0.0) && of("index_bytes", 2) > 50.0);
    let created = |status: u16| {
        let labels = format!(r#"operation="create_document",status="{status}""#);
        figure(&page, &format!("sheaf_requests_total{{{labels}}}"))
    };
    assert!(is(created(201), 3.0) && is(created(409), 1.0));
    let charged = figure(&page, r#"sheaf_request_charge_total{operation="create_document"}"#);
    assert!(is(charged, charges), "{charged} of {charges}");
    let took = r#"sheaf_request_duration_seconds_bucket{le="+Inf",operation="create_document"}"#;
    assert!(is(figure(&page, took), 4.0));
    for name in ["commit_groups_total", "committed_batches_total", "keys_written_total"] {
        assert!(figure(&page, &format!("sheaf_store_{name}")) >= 3.0, "{name}");
    }
    for name in ["commit_seconds_total", "disk_bytes", "write_buffer_bytes", "journals"] {
        assert!(figure(&page, &format!("sheaf_store_{name}")) > 0.0, "{name}");
    }
    sheaf.stop();
}

#[test]
fn metrics_can_be_switched_off() {
    let sheaf = Sheaf::in_memory(&["--metrics", "off"]);
    assert_eq!(get(sheaf.address, "/_sheaf/metrics").status, 403);
    assert_eq!(get(sheaf.address, "/_sheaf/partitions").status, 403);
}

/// A page may have its own name stand for this machine.
#[test]
fn figures_are_read_under_a_name_of_this_machine() {
    for (access, expected) in [("loopback", 403), ("any", 200)] {
        let sheaf = Sheaf::in_memory(&["--metrics", access]);
        let mut stream = connect(sheaf.address);
        for page in ["metrics", "partitions"] {
            let mut status = |host: &str| {
                let text = request("GET", &format!("/_sheaf/{page}"), "", "");
                let text = text.replace("host: localhost", &format!("host: {host}"));
                ask(&mut stream, &text).unwrap().status
            };
            for host in ["localhost:8081", "127.0.0.1", "[::1]:8081"] {
                assert_eq!(status(host), 200, "{host}");
            }
            assert_eq!(status("evil.example"), expected);
            assert_eq!(status("localhost.evil.example:8081"), expected);
            // A proxy may call the server so on behalf of anybody.
            assert_eq!(status("localhost\r\nx-forwarded-for: 192.0.2.1"), expected);
            assert_eq!(status("localhost\r\nvia: 1.1 proxy"), expected);
        }
    }
}
