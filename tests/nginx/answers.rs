//! What the client is told, and what the error log: status, fields, and one line for each
//! refusal, at the level asked for.

use crate::client::Answer;
use crate::server::Server;
use crate::site::Site;

const LIMIT: &str = "rl_limit shop user=alice api=$uri; empty_gif;";

/// `alice` has 2 requests an hour, and more rules stand beside.
fn site() -> Site {
    Site::with_rules(
        "default = token-bucket,2,1h\n\
         api./named = token-bucket,4,2h,burst=6,name=calls\n\
         api./deny = deny\n\
         api./free = unlimited\n",
    )
    .server("location = /deny { rl_limit shop user=alice api=$uri; empty_gif; }")
    .server("location = /costly { rl_limit shop user=alice api=$uri cost=3; empty_gif; }")
    .server(&format!("location / {{ {LIMIT} }}"))
}

/// Fields in the order draft, legacy.
const FIELDS: [&str; 6] = [
    "RateLimit-Policy",
    "RateLimit",
    "X-RateLimit-Limit",
    "X-RateLimit-Remaining",
    "X-RateLimit-Reset",
    "Retry-After",
];

fn fields(answer: &Answer) -> Vec<String> {
    let lines = FIELDS.iter().filter_map(|name| {
        let value = answer.field(name)?;
        Some(format!("{name}: {value}"))
    });
    lines.collect()
}

/// The statuses and fields of three requests, the last of which is refused.
fn three(server: &Server, path: &str) -> [(u16, Vec<String>); 3] {
    let mut connection = server.connect();
    [(); 3].map(|()| {
        let answer = connection.get(path);
        (answer.status, fields(&answer))
    })
}

fn expected(status: u16, fields: &[&str]) -> (u16, Vec<String>) {
    (
        status,
        fields.iter().map(|&field| field.to_owned()).collect(),
    )
}

#[test]
fn nothing_is_told_unless_asked_for() {
    for setting in ["", "rl_headers off;"] {
        let server = site().http(setting).start();
        let nothing = |status| expected(status, &[]);
        let answers = three(&server, "/");
        assert_eq!(answers, [nothing(200), nothing(200), nothing(429)]);
    }
}

#[test]
fn draft_fields_are_told_in_each_answer() {
    let server = site().http("rl_headers draft;").start();
    let policy = "RateLimit-Policy: \"default\";q=2;w=3600";
    let [first, second, third] = three(&server, "/");
    assert_eq!(
        first,
        expected(200, &[policy, "RateLimit: \"default\";r=1;t=1800"])
    );
    assert_eq!(
        second,
        expected(200, &[policy, "RateLimit: \"default\";r=0;t=3600"])
    );
    let refused = [
        policy,
        "RateLimit: \"default\";r=0;t=1800",
        "Retry-After: 1800",
    ];
    assert_eq!(third, expected(429, &refused));
}

#[test]
fn legacy_fields_are_told_in_each_answer() {
    let server = site().http("rl_headers legacy;").start();
    let limit = "X-RateLimit-Limit: 2";
    let told = |remaining: u32, reset: u32| {
        let remaining = format!("X-RateLimit-Remaining: {remaining}");
        [
            limit.to_owned(),
            remaining,
            format!("X-RateLimit-Reset: {reset}"),
        ]
        .to_vec()
    };
    let [first, second, third] = three(&server, "/");
    assert_eq!(first, (200, told(1, 1800)));
    assert_eq!(second, (200, told(0, 3600)));
    let retry = "Retry-After: 1800".to_owned();
    assert_eq!(third, (429, [told(0, 3600), vec![retry]].concat()));
}

#[test]
fn fields_have_the_name_and_burst_of_the_limit() {
    let server = site().http("rl_headers draft;").start();
    let [first, ..] = three(&server, "/named");
    let policy = "RateLimit-Policy: \"calls\";q=6;w=7200";
    assert_eq!(
        first,
        expected(200, &[policy, "RateLimit: \"calls\";r=5;t=1800"])
    );
}

#[test]
fn a_refusal_that_is_not_worth_another_try_does_not_ask_for_one() {
    let server = site().http("rl_headers draft;").start();
    assert_eq!(three(&server, "/deny")[0], expected(429, &[]));
    let costly = [
        "RateLimit-Policy: \"default\";q=2;w=3600",
        "RateLimit: \"default\";r=2;t=0",
    ];
    assert_eq!(three(&server, "/costly")[0], expected(429, &costly));
}

#[test]
fn where_nothing_is_limited_nothing_is_told() {
    let server = site()
        .http("rl_headers draft;")
        .server("location = /none { empty_gif; }")
        .start();
    for path in ["/free", "/none"] {
        assert!(
            three(&server, path)
                .iter()
                .all(|told| *told == expected(200, &[]))
        );
    }
}

/// From a file or an upstream, whole or in part, not modified, moved, not found.
#[test]
fn fields_are_told_with_answers_of_every_kind() {
    let server = site()
        .file("file", "text")
        .http("rl_headers draft;")
        .server("location = /file { rl_limit shop user=alice api=$uri; }")
        .server("location = /none { rl_limit shop user=alice api=$uri; }")
        .server("location /dir/ { rl_limit shop user=bob api=x; autoindex on; alias ./; }")
        .server("location /up { rl_limit shop user=alice api=$uri; rl_headers draft;")
        .server("proxy_pass http://127.0.0.1:$server_port/gif; }")
        .server("location = /gif { empty_gif; }")
        .start();
    let mut connection = server.connect();
    let date = connection
        .get("/gif")
        .field("Last-Modified")
        .unwrap()
        .to_owned();
    let since = format!("If-Modified-Since: {date}\r\n");
    for (path, field, status) in [
        ("/file", "", 200),
        ("/file", "Range: bytes=1-2\r\n", 206),
        ("/again", since.as_str(), 304),
        ("/none", "", 404),
        ("/dir/", "", 200),
        ("/up", "", 200),
    ] {
        let answer = connection.get_with(path, field);
        assert_eq!(answer.status, status, "{path}");
        assert_eq!(fields(&answer).len(), 2, "{path}");
    }
}

/// Two limits, of one zone or of two, and each user's alone. Who is refused has to wait
/// half an hour, or an hour.
fn two_limits() -> Server {
    let rules = "default = token-bucket,9,1h,name=nine\n\
                 user.short = token-bucket,2,1h,name=short\n\
                 user.long = token-bucket,2,2h,name=long";
    let second = |zone| format!("rl_limit {zone} user=$arg_b api=x; empty_gif;");
    let first = "rl_limit shop user=$arg_a api=x;";
    Site::with_rules(rules)
        .http("rl_zone other 1m shop.rules; rl_headers draft;")
        .server(&format!("location /one {{ {first} {} }}", second("shop")))
        .server(&format!("location /two {{ {first} {} }}", second("other")))
        .server(&format!("location /alone {{ {first} empty_gif; }}"))
        .start()
}

/// The status, and the name of the limit that the answer tells of.
fn told(server: &Server, path: &str) -> (u16, String) {
    let answer = server.connect().get(path);
    let field = answer.field("RateLimit").unwrap();
    (answer.status, field.split('"').nth(1).unwrap().to_owned())
}

#[test]
fn of_limits_that_allow_the_one_with_the_least_left_is_told() {
    for path in ["/one", "/two"] {
        for users in ["a=x&b=short", "a=short&b=x"] {
            let told = told(&two_limits(), &format!("{path}?{users}"));
            assert_eq!(told, (200, "short".to_owned()), "{path}?{users}");
        }
    }
}

/// Also where another that allows has less left.
#[test]
fn of_limits_that_refuse_the_one_that_does_so_longest_is_told() {
    let server = two_limits();
    for used_up in ["short", "long"] {
        let path = format!("/alone?a={used_up}");
        assert_eq!(server.connect().many(&path, 3), [200, 200, 429]);
    }
    for (path, name) in [
        ("/one?a=short&b=long", "long"),
        ("/one?a=long&b=short", "long"),
        ("/one?a=x&b=short", "short"),
        ("/one?a=short&b=x", "short"),
        ("/two?a=short&b=long", "short"), // the other zone is not asked
        ("/two?a=short&b=x", "short"),
    ] {
        assert_eq!(told(&server, path), (429, name.to_owned()), "{path}");
    }
}

#[test]
fn the_status_of_a_refusal_is_as_set() {
    for status in [400, 429, 503, 599] {
        let server = site().http(&format!("rl_status {status};")).start();
        assert_eq!(server.connect().many("/", 3), [200, 200, status]);
        assert_eq!(server.connect().get("/deny").status, status);
    }
}

/// Lines about requests: those that have one in them.
fn lines(server: &Server) -> Vec<String> {
    let log = server.error_log();
    let lines = log.lines().filter(|line| line.contains("request: \"GET /"));
    lines.map(str::to_owned).collect()
}

#[test]
fn a_refusal_is_logged_at_its_level() {
    for level in ["info", "notice", "warn", "error"] {
        let server = site().http(&format!("rl_log_level {level};")).start();
        assert_eq!(server.connect().many("/", 4), [200, 200, 429, 429]);
        server.access_log(4);
        let lines = lines(&server);
        assert_eq!(lines.len(), 2, "{lines:?}");
        for line in lines {
            let parts = [&format!("[{level}]"), "\"shop\"", "client: 127.0.0.1"];
            assert!(parts.iter().all(|part| line.contains(*part)), "{line}");
        }
    }
}

#[test]
fn the_level_is_error_where_nothing_is_said() {
    let server = site().http("error_log error.log error;").start();
    assert_eq!(server.connect().many("/", 3), [200, 200, 429]);
    server.access_log(3);
    let lines = lines(&server);
    assert!(
        lines.len() == 1 && lines[0].contains("[error]"),
        "{lines:?}"
    );
}

#[test]
fn a_refusal_below_the_level_of_the_log_is_not_logged() {
    let quiet = "error_log error.log warn; rl_log_level notice;";
    let server = site().http(quiet).start();
    assert_eq!(server.connect().many("/", 3), [200, 200, 429]);
    server.access_log(3);
    assert_eq!(lines(&server), Vec::<String>::new());
}
