//! Names are bytes and a length, wherever in a request they come from.

use crate::client::Connection;
use crate::server::Server;
use crate::site::Site;

const RULES: &str = "default = fixed-window,1,1000d\n\
                     user.\"a \\\"b\\\" = #\\xff\\x7f\" = fixed-window,3,1000d\n\
                     user.\"*\" = fixed-window,4,1000d\n\
                     api.\"/\\xff x\" = fixed-window,2,1000d\n\
                     api./v1/* = fixed-window,5,1000d\n";

fn server() -> Server {
    Site::with_rules(RULES)
        .server("location / { rl_limit shop user=$http_x_user api=$uri; empty_gif; }")
        .server("location /both { rl_limit shop user=$arg_user api=$arg_api; empty_gif; }")
        .server("location /text { rl_limit shop user=$arg_a-$arg_b api=x$uri; empty_gif; }")
        .start()
}

/// How many of six requests pass whose field has these bytes.
fn passed(connection: &mut Connection, path: &str, user: &[u8]) -> usize {
    let head = format!("GET {path} HTTP/1.1\r\nHost: test\r\nX-User: ");
    let request = [head.as_bytes(), user, b"\r\n\r\n"].concat();
    let passes = |_: &usize| {
        connection.send(&request);
        connection.answer().status == 200
    };
    (0..6).filter(passes).count()
}

#[test]
fn a_rule_is_found_by_a_name_of_any_bytes() {
    let server = server();
    let mut connection = server.connect();
    assert_eq!(passed(&mut connection, "/", b"a \"b\" = #\xff\x7f"), 3);
    assert_eq!(passed(&mut connection, "/", b"a \"b\" = #\xff"), 1);
    assert_eq!(passed(&mut connection, "/", b"*"), 4);
    assert_eq!(passed(&mut connection, "/%ff%20x", b"x"), 2);
    assert_eq!(passed(&mut connection, "/%fe%20x", b"x"), 1);
    assert_eq!(passed(&mut connection, "/v1/caf%c3%a9", b"x"), 5);
}

/// Each is somebody else, who has one request.
#[test]
fn names_that_differ_in_a_byte_count_apart() {
    let server = server();
    let mut connection = server.connect();
    let names: [&[u8]; 8] = [
        b"a", b"A", b"a\xff", b"a\xfe", b"\xff", b"a b", b"a  b", b"a,b",
    ];
    for name in names {
        assert_eq!(passed(&mut connection, "/", name), 1, "{name:?}");
    }
}

#[test]
fn joined_names_do_not_meet() {
    let server = server();
    let mut connection = server.connect();
    for path in [
        "/both?user=ab&api=c",
        "/both?user=a&api=bc",
        "/both?user=abc&api=",
        "/both?user=&api=abc",
        "/both?user=c&api=ab",
    ] {
        assert_eq!(connection.many(path, 2), [200, 429], "{path}");
    }
}

#[test]
fn a_name_may_be_text_with_variables() {
    let server = server();
    let mut connection = server.connect();
    assert_eq!(
        connection.each(&["/text?a=1&b=2", "/text?b=2&a=1"]),
        [200, 429]
    );
    assert_eq!(
        connection.each(&["/text?a=1&b=3", "/text?a=12", "/text?a=1"]),
        [200; 3]
    );
}

/// The address as text, as bytes, and what a map makes of it; and such as have a value
/// before they are asked for.
#[test]
fn variables_of_nginx_may_be_names() {
    let rules = "default = fixed-window,1,1000d\n\
                 user.127.0.0.1 = fixed-window,2,1000d\n\
                 user.\"\\x7f\\x00\\x00\\x01\" = fixed-window,3,1000d\n\
                 user.office = fixed-window,4,1000d\n";
    let server = Site::with_rules(rules)
        .http("map $remote_addr $who { default guest; ~^127\\. office; }")
        .http("map $uri $now { volatile; default x; ~^/stale office; }")
        .server(
            "location /text { rl_limit shop user=$remote_addr api=x; empty_gif; }
             location /bytes { rl_limit shop user=$binary_remote_addr api=x; empty_gif; }
             location /map { rl_limit shop user=$who api=x; empty_gif; }
             location /set { set $given office; rl_limit shop user=$given api=y; empty_gif; }
             location /known { if ($who = guest) { return 403; }
                               rl_limit shop user=$who api=z; empty_gif; }
             location /stale { if ($now = x) { return 403; } rewrite ^ /later last; }
             location /later { rl_limit shop user=$now api=later; empty_gif; }
             location ~ ^/of/(?<name>.*)$ { rl_limit shop user=$name api=x; empty_gif; }",
        )
        .start();
    for (path, passes) in [
        ("/text", 2),
        ("/bytes", 3),
        ("/map", 4),
        ("/set", 4),
        ("/known", 4),
        ("/stale", 1),
        ("/of/office", 0),
        ("/of/x", 1),
    ] {
        let statuses = server.connect().many(path, 6);
        let passed = statuses.iter().filter(|&&status| status == 200).count();
        assert_eq!(passed, passes, "{path}");
    }
}

/// nginx ends what would never end; then it has no value.
#[test]
fn a_variable_that_is_made_of_itself_is_the_empty_name() {
    let rules = "default = deny\nuser.\"\" = fixed-window,1,1000d\n";
    let server = Site::with_rules(rules)
        .http("map $uri $self { default $self; }")
        .http("map $uri $one { default $two; } map $uri $two { default $one; }")
        .server("location /self { rl_limit shop user=$self api=x; empty_gif; }")
        .server("location /two { rl_limit shop user=$one api=y; empty_gif; }")
        .start();
    let told = || server.error_log().matches("cycle while evaluating").count();
    for path in ["/self", "/two"] {
        let before = told();
        assert_eq!(server.connect().many(path, 2), [200, 429], "{path}");
        assert!(told() > before, "{path}");
    }
}

/// What a limit has asked of it is not kept for the log.
#[test]
fn a_variable_that_changes_is_asked_anew() {
    let server = Site::with_rules("default = unlimited")
        .log("$now")
        .http("map $uri $now { volatile; ~^/first first; ~^/last last; }")
        .server("location /first { rl_limit shop user=$now api=x; try_files /none /last; }")
        .server("location /last { empty_gif; }")
        .start();
    assert_eq!(server.connect().get("/first").status, 200);
    assert_eq!(server.access_log(1), ["last"]);
}
