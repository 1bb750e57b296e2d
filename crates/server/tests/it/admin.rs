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
