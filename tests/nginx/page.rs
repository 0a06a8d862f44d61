//! The status page: text for Prometheus, with the numbers of the zone from all workers.

use std::collections::{BTreeMap, BTreeSet};

use crate::client::crowd;
use crate::server::Server;
use crate::site::Site;

fn site() -> Site {
    Site::with_rules("default = fixed-window,10,1000d")
        .http("rl_zone other 1m shop.rules;")
        .server("location / { rl_limit shop user=$arg_user api=x cost=$arg_cost; empty_gif; }")
        .server("location = /metrics { rl_status_page shop; }")
        .server("location = /other { rl_status_page other; }")
}

/// The samples of a text that is as the format wants it: each family has its HELP, its TYPE
/// and then its samples, whole numbers that none has twice.
fn samples(text: &str) -> BTreeMap<String, u64> {
    assert!(text.ends_with('\n') && !text.contains("\n\n"), "{text}");
    let (mut samples, mut family, mut families) = (BTreeMap::new(), "", BTreeSet::new());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            family = help.split(' ').next().unwrap();
            assert!(families.insert(family), "{family} twice");
            let kind = lines.next().and_then(|line| line.strip_prefix("# TYPE "));
            let (of, kind) = kind.unwrap().split_once(' ').unwrap();
            assert!(
                of == family && ["counter", "gauge"].contains(&kind),
                "{line}"
            );
            continue;
        }
        let (name, value) = line.rsplit_once(' ').unwrap();
        assert_eq!(name.split('{').next(), Some(family));
        let old = samples.insert(name.to_owned(), value.parse().unwrap());
        assert_eq!(old, None, "{name} twice");
    }
    samples
}

fn page(server: &Server, path: &str) -> BTreeMap<String, u64> {
    let answer = server.connect().get(path);
    assert_eq!(answer.status, 200);
    assert_eq!(
        answer.field("Content-Type"),
        Some("text/plain; version=0.0.4")
    );
    samples(&answer.text())
}

const ALLOWED: &str = "librl_requests_total{decision=\"allowed\"}";
const DENIED: &str = "librl_requests_total{decision=\"denied\"}";

/// A block of `if` has the handler of the location around it.
#[test]
fn a_page_may_have_conditions() {
    let page = "rl_status_page shop; if ($arg_a) { set $b 1; } limit_except GET { deny all; }";
    let server = site()
        .server(&format!("location = /if {{ {page} }}"))
        .start();
    for path in ["/if", "/if?a=1"] {
        assert_eq!(server.connect().get(path).status, 200, "{path}");
    }
}

#[test]
fn the_numbers_are_those_of_all_workers() {
    let server = site().workers(4).listen("reuseport").start();
    for user in ["alice", "bob", "carol"] {
        crowd(server.port(), &format!("/?user={user}&cost=1"), 8, 5);
    }
    for _ in 0..8 {
        let page = page(&server, "/metrics");
        assert_eq!((page[ALLOWED], page[DENIED]), (30, 90));
        assert_eq!((page["librl_keys"], page["librl_errors_total"]), (3, 0));
        assert!(page["librl_keys_max"] > 20_000, "{page:?}");
        assert!(
            (900_000..=1 << 20).contains(&page["librl_memory_max_bytes"]),
            "{page:?}"
        );
    }
}

#[test]
fn each_zone_has_its_own() {
    let server = site().start();
    assert_eq!(
        server.connect().many("/?user=alice&cost=4", 3),
        [200, 200, 429]
    );
    let (own, other) = (page(&server, "/metrics"), page(&server, "/other"));
    assert_eq!((own[ALLOWED], own[DENIED]), (2, 1));
    assert_eq!(
        (other[ALLOWED], other[DENIED], other["librl_keys"]),
        (0, 0, 0)
    );
}

#[test]
fn to_look_at_it_changes_nothing() {
    let server = site().start();
    server.connect().get("/?user=alice&cost=1");
    let first = page(&server, "/metrics");
    assert_eq!(page(&server, "/metrics"), first);
}

#[test]
fn a_page_may_itself_be_limited() {
    let server = site()
        .server("location = /limited { rl_limit shop user=x api=x cost=5; rl_status_page shop; }")
        .start();
    assert_eq!(server.connect().many("/limited", 3), [200, 200, 429]);
}

#[test]
fn a_head_request_is_answered_without_the_text() {
    let server = site().start();
    let mut connection = server.connect();
    let whole = connection.get("/metrics");
    let head = connection.head("/metrics");
    assert_eq!(head.status, 200);
    for field in ["Content-Type", "Content-Length"] {
        assert!(head.field(field).is_some());
        assert_eq!(head.field(field), whole.field(field));
    }
    assert_eq!(connection.get("/metrics").text(), whole.text());
}

#[test]
fn other_methods_are_not_allowed() {
    let server = site().start();
    let mut connection = server.connect();
    assert_eq!(connection.post("/metrics", b"text").status, 405);
    connection.send(b"DELETE /metrics HTTP/1.1\r\nHost: test\r\n\r\n");
    assert_eq!(connection.answer().status, 405);
    let body = "Content-Length: 4\r\n";
    connection.send(format!("GET /metrics HTTP/1.1\r\nHost: test\r\n{body}\r\nbody").as_bytes());
    assert_eq!(connection.answer().status, 200);
    assert_eq!(connection.get("/metrics").status, 200);
}

#[test]
fn a_page_may_be_part_of_another() {
    let server = site()
        .file("all", "[<!--#include virtual=\"/metrics\" -->]")
        .server("location = /all { ssi on; ssi_types *; }")
        .start();
    let text = server.connect().get("/all").text();
    let inner = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'));
    assert_eq!(samples(inner.unwrap()), page(&server, "/metrics"));
}
