//! A request is charged once, however often nginx sends it on within itself, and subrequests
//! are not charged at all.

use std::io::Read;
use std::net::{Ipv4Addr, TcpStream};

use crate::client::Connection;
use crate::processes::TIME_LIMIT;
use crate::server::Server;
use crate::site::Site;

const FOUR: [u16; 4] = [200, 200, 200, 429];

/// A counter of 3 requests, which each location of a test shares.
const LIMIT: &str = "rl_limit shop user=alice api=x;";

/// A server with a file for each location that is to answer from one.
fn site() -> Site {
    Site::with_rules("default = fixed-window,3,1000d")
        .log("$status $rl_status $rl_remaining")
        .file("page.html", "page")
        .file("small.gif", "small")
}

/// What comes of four requests, where the locations are these. `LIMIT` stands for itself.
fn four(locations: &str, path: &str) -> (Vec<u16>, Vec<String>) {
    let locations = locations.replace("LIMIT", LIMIT);
    let server = site().server(&locations).start();
    (server.connect().many(path, 4), server.access_log(4))
}

/// They pass three times, each charged one.
fn is_charged_once(locations: &str, path: &str) {
    let (statuses, log) = four(locations, path);
    assert_eq!(statuses, FOUR, "{locations}");
    let expected = [
        "200 PASSED 2",
        "200 PASSED 1",
        "200 PASSED 0",
        "429 REJECTED 0",
    ];
    assert_eq!(log, expected, "{locations}");
}

#[test]
fn an_index_is_not_charged_again() {
    is_charged_once("index page.html; LIMIT", "/");
    is_charged_once(
        "location / { index page.html; LIMIT } location = /page.html { LIMIT }",
        "/",
    );
}

#[test]
fn try_files_is_not_charged_again() {
    is_charged_once(
        "location / { LIMIT try_files /none /page.html; } location = /page.html { LIMIT }",
        "/x",
    );
    is_charged_once(
        "location / { LIMIT try_files /none @last; } location @last { LIMIT empty_gif; }",
        "/x",
    );
}

#[test]
fn a_rewrite_is_not_charged_again() {
    is_charged_once(
        "location / { LIMIT rewrite ^ /gif last; } location = /gif { LIMIT empty_gif; }",
        "/x",
    );
    is_charged_once(
        "location / { LIMIT rewrite ^ /gif break; empty_gif; }",
        "/x",
    );
}

#[test]
fn an_error_page_is_not_charged_again() {
    is_charged_once(
        "location / { LIMIT error_page 404 =200 /page.html; } location = /page.html { LIMIT }",
        "/none",
    );
    is_charged_once(
        "location / { LIMIT error_page 404 =200 @named; } location @named { LIMIT empty_gif; }",
        "/none",
    );
    is_charged_once(
        "location / { LIMIT error_page 403 =200 /page.html; deny all; }
         location = /page.html { LIMIT }",
        "/none",
    );
}

/// From one location to the next, and each has the limit.
#[test]
fn a_chain_of_redirects_is_charged_once() {
    is_charged_once(
        "location / { LIMIT try_files /none /b; }
         location = /b { LIMIT try_files /none @c; }
         location @c { LIMIT error_page 404 =200 /page.html; root none; }
         location = /page.html { LIMIT }",
        "/a",
    );
}

/// Who is let go on in a dry run, or since there was an error, is so for good.
#[test]
fn who_would_have_been_refused_is_not_looked_at_again() {
    let (statuses, log) = four(
        "location / { LIMIT rl_dry_run on; try_files /none /gif; }
         location = /gif { LIMIT empty_gif; }",
        "/x",
    );
    assert_eq!(statuses, [200; 4]);
    assert_eq!(log[3], "200 REJECTED_DRY_RUN 0");
    let (statuses, log) = four(
        "location / { rl_limit shop user=alice api=x cost=$arg_none; rl_on_error allow;
                      try_files /none /gif; }
         location = /gif { LIMIT empty_gif; }",
        "/x",
    );
    assert_eq!(statuses, [200; 4]);
    assert_eq!(log, ["200 ERROR -"; 4]);
}

#[test]
fn what_is_done_after_the_answer_is_not_charged() {
    let (statuses, _) = four(
        "location / { LIMIT post_action /gif; empty_gif; }
         location = /gif { rl_limit shop user=alice api=x cost=3; empty_gif; }",
        "/x",
    );
    assert_eq!(statuses, FOUR);
}

#[test]
fn the_first_location_with_limits_is_the_one_that_counts() {
    is_charged_once(
        "location / { try_files /none /gif; } location = /gif { LIMIT empty_gif; }",
        "/x",
    );
    is_charged_once(
        "location / { LIMIT try_files /none /gif; }
         location = /gif { rl_limit shop user=alice api=other cost=4; empty_gif; }",
        "/x",
    );
}

#[test]
fn the_error_page_of_a_refusal_is_sent_and_neither_refused_nor_charged() {
    for target in ["/small.gif", "=429 @named", "=200 /small.gif"] {
        let server = site()
            .http("rl_headers draft;")
            .server(&format!("error_page 429 {target};"))
            .server(&format!("location / {{ {LIMIT} empty_gif; }}"))
            .server(&format!("location = /small.gif {{ {LIMIT} }}"))
            .server(&format!(
                "location @named {{ {LIMIT} rewrite ^ /small.gif break; }}"
            ))
            .server("location = /after { rl_limit shop user=alice api=x cost=$arg_cost;")
            .server("error_page 429 =429 @plain; empty_gif; }")
            .server("location @plain { return 429; }")
            .start();
        let mut connection = server.connect();
        assert_eq!(connection.many("/", 2), [200; 2]);
        // One is left; who asks for two is refused, and the one is left still.
        assert_eq!(connection.get("/after?cost=2").status, 429);
        assert_eq!(connection.get("/").status, 200);
        let refused = connection.get("/");
        let status = if target.starts_with("=200") { 200 } else { 429 };
        assert_eq!(
            (refused.status, refused.text().as_str()),
            (status, "small"),
            "{target}"
        );
        assert!(refused.field("Retry-After").is_some(), "{target}");
        assert!(refused.field("RateLimit").is_some(), "{target}");
        let log = server.access_log(5);
        assert_eq!(log[4], format!("{status} REJECTED 0"), "{target}");
    }
}

/// What subrequests there are. Each goes to a location whose one request would be used up.
#[test]
fn subrequests_are_not_charged() {
    for (kind, location) in [
        ("auth_request", "auth_request /sub; empty_gif;"),
        ("mirror", "mirror /sub; empty_gif;"),
        (
            "addition",
            "add_before_body /sub; addition_types *; try_files /page.html =404;",
        ),
        ("ssi", "ssi on; ssi_types *; try_files /include =404;"),
    ] {
        let server = site()
            .file(
                "shop.rules",
                "default = fixed-window,9,1000d\nuser.sub = fixed-window,1,1000d",
            )
            .file("include", "<!--#include virtual=\"/sub\" -->")
            .server(&format!("location / {{ {LIMIT} {location} }}"))
            .server("location = /sub { rl_limit shop user=sub api=x; try_files /small.gif =404; }")
            .start();
        let mut connection = server.connect();
        assert_eq!(connection.many("/", 5), [200; 5], "{kind}");
        let log = server.access_log(5);
        assert_eq!(log[4], "200 PASSED 4", "{kind}");
        assert_eq!(connection.many("/sub", 2), [200, 429], "{kind}");
    }
}

/// Not even where the request itself has met no limit.
#[test]
fn a_subrequest_is_not_charged_instead() {
    let (statuses, log) = four(
        "location / { auth_request /sub; empty_gif; }
         location = /sub { LIMIT try_files /small.gif =404; }",
        "/",
    );
    assert_eq!(statuses, [200; 4]);
    assert_eq!(log, ["200 - -"; 4]);
}

#[test]
fn what_is_refused_comes_to_no_subrequest() {
    let (statuses, _) = four(
        "location / { LIMIT auth_request /no; error_page 403 =200 @gif; }
         location = /no { return 403; } location @gif { empty_gif; }",
        "/",
    );
    assert_eq!(statuses, FOUR);
}

#[test]
fn a_forbidden_request_is_charged_since_limits_come_first() {
    let (statuses, _) = four("location / { LIMIT deny all; empty_gif; }", "/");
    assert_eq!(statuses, [403, 403, 403, 429]);
}

fn limited() -> Server {
    site()
        .server(&format!("location / {{ {LIMIT} empty_gif; }}"))
        .start()
}

#[test]
fn a_head_request_is_charged_like_any_other() {
    let server = limited();
    let mut connection = server.connect();
    let statuses = [(); 4].map(|()| connection.head("/").status);
    assert_eq!(statuses, FOUR);
    assert_eq!(connection.get("/").status, 429);
}

#[test]
fn a_request_of_http_1_0_is_charged_like_any_other() {
    let server = limited();
    let statuses = [(); 4].map(|()| old(server.port()));
    assert_eq!(statuses, FOUR);
}

/// The status of a request after which the server closes.
fn old(port: u16) -> u16 {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    stream.set_read_timeout(Some(TIME_LIMIT)).unwrap();
    std::io::Write::write_all(&mut stream, b"GET / HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let status = String::from_utf8_lossy(&answer[9..12]).into_owned();
    status.parse().unwrap()
}

/// The body is taken off the connection, whether it has come along or comes later.
#[test]
fn a_connection_goes_on_after_a_refused_request_with_a_body() {
    let mut server = limited();
    let mut connection: Connection = server.connect();
    assert_eq!(connection.many("/", 3), [200; 3]);
    for length in [0, 1, 5_000, 200_000] {
        let body = vec![b'x'; length];
        assert_eq!(connection.post("/", &body).status, 429, "{length}");
    }
    assert_eq!(connection.get("/none?").status, 429);
    let mut other = server.connect();
    assert_eq!(other.post("/", b"GET / HTTP/1.1\r\n\r\n").status, 429);
    assert_eq!(other.get("/").status, 429);
    assert!(server.quit());
    assert_eq!(server.access_log(10).len(), 10); // and no request more
}
