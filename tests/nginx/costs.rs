//! What a request takes, what becomes of one that cannot be checked, and of one whose user is
//! empty.

use crate::server::Server;
use crate::site::Site;

fn site(rules: &str) -> Site {
    Site::with_rules(rules)
        .log("$rl_status $rl_remaining")
        .http("large_client_header_buffers 4 256k;")
}

fn ten() -> Site {
    site("default = fixed-window,10,1000d")
}

#[test]
fn a_cost_may_be_a_number() {
    let server = ten()
        .server("location / { rl_limit shop user=alice api=x cost=3; empty_gif; }")
        .server("location /one { rl_limit shop user=alice api=x; empty_gif; }")
        .start();
    let mut connection = server.connect();
    assert_eq!(connection.many("/", 4), [200, 200, 200, 429]);
    assert_eq!(connection.many("/one", 2), [200, 429]);
}

#[test]
fn a_cost_may_be_a_variable() {
    let server = ten()
        .server("location / { rl_limit shop user=alice api=x cost=$arg_n; empty_gif; }")
        .server("location /ten { rl_limit shop user=bob api=x cost=${arg_n}0; empty_gif; }")
        .start();
    let mut connection = server.connect();
    let statuses = connection.each(&["/?n=4", "/?n=7", "/?n=1", "/?n=5", "/?n=1", "/ten?n=1"]);
    assert_eq!(statuses, [200, 429, 200, 200, 429, 200]);
    assert_eq!(server.access_log(6)[5], "PASSED 0");
}

/// All of them are larger than the limit.
#[test]
fn a_cost_may_be_large() {
    let server = ten()
        .server("location / { rl_limit shop user=alice api=x cost=$arg_n; empty_gif; }")
        .start();
    let costs = ["11", "4294967296", "9223372036854775807"];
    let paths = costs.map(|cost| format!("/?n={cost}"));
    assert_eq!(server.connect().each(&paths), [429; 3]);
    assert_eq!(server.access_log(3), ["REJECTED 10"; 3]);
}

const NO_COSTS: [&str; 12] = [
    "",
    "0",
    "00",
    "-1",
    "+1",
    "1.5",
    "1e3",
    "0x1",
    "abc",
    "1%20",
    "5x",
    "99999999999999999999999",
];

#[test]
fn a_cost_that_is_no_number_from_1_is_an_error() {
    for (setting, status) in [
        ("", 429),
        ("rl_on_error deny;", 429),
        ("rl_on_error allow;", 200),
    ] {
        let server = ten()
            .http(setting)
            .server("location / { rl_limit shop user=alice api=x cost=$arg_n; empty_gif; }")
            .server("location /one { rl_limit shop user=alice api=x; empty_gif; }")
            .start();
        let mut connection = server.connect();
        let paths = NO_COSTS.map(|cost| format!("/?n={cost}"));
        assert_eq!(connection.each(&paths), [status; 12], "{setting}");
        assert_eq!(connection.get("/").status, status, "{setting}");
        assert_eq!(connection.get("/one").status, 200);
        let log = server.access_log(14);
        assert_eq!(log[..13], ["ERROR -"; 13]);
        assert_eq!(log[13], "PASSED 9"); // nothing else was charged
        assert_eq!(errors(&server), 13);
    }
}

/// Lines at the level `error` that tell of a request.
fn errors(server: &Server) -> usize {
    let log = server.error_log();
    let told = |line: &&str| line.contains("[error]") && line.contains("request: \"GET /");
    log.lines().filter(told).count()
}

#[test]
fn a_name_may_have_65535_bytes_and_no_more() {
    for (setting, status) in [
        ("", 429),
        ("rl_on_error deny;", 429),
        ("rl_on_error allow;", 200),
    ] {
        let server = ten()
            .http(&format!("{setting} rl_status 429; rl_log_level info;"))
            .server("location / { rl_limit shop user=$http_x_user api=$http_x_api; empty_gif; }")
            .start();
        let mut connection = server.connect();
        let mut ask = |name: &str, bytes: usize| {
            let field = format!("{name}: {}\r\n", "x".repeat(bytes));
            connection.get_with("/", &field).status
        };
        for name in ["X-User", "X-Api"] {
            assert_eq!(ask(name, 65_535), 200);
            assert_eq!(ask(name, 65_536), status, "{setting}");
            assert_eq!(ask(name, 100_000), status, "{setting}");
        }
        let log = server.access_log(6);
        let expected = ["PASSED 9", "ERROR -", "ERROR -"];
        assert_eq!(log, [expected, expected].concat());
        assert_eq!(errors(&server), 4);
    }
}

/// What the first zone took is given back; with `allow`, too, for the limits as a whole
/// could not be checked.
#[test]
fn an_error_in_one_zone_charges_no_other() {
    for (setting, status) in [("deny", 429), ("allow", 200)] {
        let server = ten()
            .http(&format!(
                "rl_zone other 1m shop.rules; rl_on_error {setting};"
            ))
            .server(
                "location / { rl_limit shop user=alice api=x;
                 rl_limit other user=$http_x_user api=x; empty_gif; }
                 location /one { rl_limit shop user=alice api=x; empty_gif; }",
            )
            .start();
        let mut connection = server.connect();
        let field = format!("X-User: {}\r\n", "x".repeat(65_536));
        assert_eq!(connection.get_with("/", &field).status, status);
        assert_eq!(connection.get("/one").status, 200);
        assert_eq!(server.access_log(2), ["ERROR -", "PASSED 9"]);
    }
}

#[test]
fn a_request_with_an_error_gets_no_fields() {
    for setting in ["deny", "allow"] {
        let server = ten()
            .http(&format!("rl_headers draft; rl_on_error {setting};"))
            .server("location / { rl_limit shop user=alice api=x cost=$arg_n; empty_gif; }")
            .start();
        let answer = server.connect().get("/?n=0");
        for field in ["RateLimit", "RateLimit-Policy", "Retry-After"] {
            assert_eq!(answer.field(field), None, "{setting}");
        }
    }
}

#[test]
fn an_empty_user_is_a_name_like_any_other() {
    for setting in ["", "rl_skip_empty off;"] {
        let server = site("default = fixed-window,5,1000d\nuser.\"\" = fixed-window,2,1000d")
            .http(setting)
            .server("location / { rl_limit shop user=$arg_user api=x; empty_gif; }")
            .server("location /constant { rl_limit shop user= api=; empty_gif; }")
            .start();
        let mut connection = server.connect();
        assert_eq!(
            connection.each(&["/", "/?user=", "/?other=1"]),
            [200, 200, 429]
        );
        assert_eq!(connection.many("/?user=alice", 3), [200; 3]);
        assert_eq!(connection.many("/constant", 3), [200, 200, 429]);
    }
}

#[test]
fn a_limit_of_an_empty_user_can_be_skipped() {
    let server = site("default = fixed-window,2,1000d")
        .http("rl_skip_empty on;")
        .server(
            "location / { rl_limit shop user=$arg_user api=x; empty_gif; }
             location /both { rl_limit shop user=$arg_user api=x cost=$arg_cost;
             rl_limit shop user=both api=x; empty_gif; }
             location /api { rl_limit shop user=alice api=$arg_api; empty_gif; }",
        )
        .start();
    let mut connection = server.connect();
    assert_eq!(connection.many("/?user=", 4), [200; 4]);
    assert_eq!(server.access_log(4), ["- -"; 4]);
    assert_eq!(connection.many("/?user=bob", 3), [200, 200, 429]);
    // The other limit of the location applies, and the cost of the one skipped is not read.
    assert_eq!(connection.many("/both?cost=wrong", 3), [200, 200, 429]);
    assert_eq!(connection.many("/api?api=", 3), [200, 200, 429]);
}
