//! Several limits on one location, and what a refusal leaves as it was: what nginx's own
//! tests ask of `limit_req`, but for delays.

use crate::server::Server;
use crate::site::Site;

/// Everybody has 3 requests, `small` has 1 and `costly` 10.
const RULES: &str = "default = fixed-window,3,1000d\n\
                     user.small = fixed-window,1,1000d\n\
                     user.costly = fixed-window,10,1000d\n";

/// Two zones with the same rules, and a location for each alone.
fn site() -> Site {
    Site::with_rules(RULES)
        .http("rl_zone other 1m shop.rules;")
        .server("location = /shop { rl_limit shop user=$arg_a api=x; empty_gif; }")
        .server("location = /other { rl_limit other user=$arg_a api=x; empty_gif; }")
}

/// How many requests pass there.
fn left(server: &Server, path: &str) -> usize {
    let statuses = server.connect().many(path, 20);
    statuses.iter().filter(|&&status| status == 200).count()
}

#[test]
fn limits_of_one_zone_are_one_decision() {
    for order in [
        "rl_limit shop user=big api=x; rl_limit shop user=small api=x;",
        "rl_limit shop user=small api=x; rl_limit shop user=big api=x;",
    ] {
        let server = site()
            .server(&format!("location / {{ {order} empty_gif; }}"))
            .start();
        assert_eq!(server.connect().many("/", 5), [200, 429, 429, 429, 429]);
        assert_eq!(left(&server, "/shop?a=big"), 2);
        assert_eq!(left(&server, "/shop?a=small"), 0);
    }
}

/// Whichever limit has the least left, and in whichever zone.
#[test]
fn a_limit_in_shadow_mode_tells_beside_others() {
    let rules = "default = fixed-window,3,1000d\n\
                 api.tried = fixed-window,100,1000d + fixed-window,1,500d,shadow\n";
    for zones in [["shop", "shop"], ["shop", "other"], ["other", "shop"]] {
        let limit = |(zone, api)| format!("rl_limit {zone} user=a api={api};");
        let limits = zones
            .iter()
            .zip(["tried", "x"])
            .map(limit)
            .collect::<String>();
        let server = site()
            .file("shop.rules", rules)
            .log("$rl_status")
            .server(&format!("location / {{ {limits} empty_gif; }}"))
            .start();
        assert_eq!(server.connect().many("/", 3), [200; 3]);
        let expected = ["PASSED", "REJECTED_DRY_RUN", "REJECTED_DRY_RUN"];
        assert_eq!(server.access_log(3), expected, "{zones:?}");
        let told = server.error_log().matches("shadow, by zone").count();
        assert_eq!(told, 2, "{zones:?}");
    }
}

#[test]
fn two_limits_that_meet_in_one_counter_add_up() {
    let twice = "rl_limit shop user=alice api=x; rl_limit shop user=alice api=x;";
    let server = site()
        .server(&format!("location / {{ {twice} empty_gif; }}"))
        .start();
    assert_eq!(server.connect().many("/", 3), [200, 429, 429]);
    assert_eq!(left(&server, "/shop?a=alice"), 1);
}

#[test]
fn eight_limits_of_one_zone_are_one_decision() {
    let users = (1..8).map(|user| format!("rl_limit shop user={user} api=x;"));
    let limits = users.collect::<String>() + "rl_limit shop user=small api=x;";
    let server = site()
        .server(&format!("location / {{ {limits} empty_gif; }}"))
        .start();
    assert_eq!(server.connect().many("/", 3), [200, 429, 429]);
    for user in 1..8 {
        assert_eq!(left(&server, &format!("/shop?a={user}")), 2);
    }
}

#[test]
fn what_one_zone_took_is_given_back_when_the_next_refuses() {
    let limits = "rl_limit shop user=costly api=x cost=4; rl_limit other user=small api=x;";
    let server = site()
        .server(&format!("location / {{ {limits} empty_gif; }}"))
        .start();
    assert_eq!(
        server.connect().many("/", 6),
        [200, 429, 429, 429, 429, 429]
    );
    assert_eq!(left(&server, "/shop?a=costly"), 6);
}

#[test]
fn a_zone_is_not_asked_when_one_before_it_refuses() {
    let limits = "rl_limit shop user=small api=x; rl_limit other user=big api=x;";
    let server = site()
        .server(&format!("location / {{ {limits} empty_gif; }}"))
        .start();
    assert_eq!(
        server.connect().many("/", 6),
        [200, 429, 429, 429, 429, 429]
    );
    assert_eq!(left(&server, "/other?a=big"), 2);
}

/// Limits of one zone are one decision also where those of another stand between.
#[test]
fn zones_may_alternate() {
    let limits = "rl_limit shop user=big api=x; rl_limit other user=big api=x;
                  rl_limit shop user=small api=x; rl_limit other user=costly api=x;";
    let server = site()
        .server(&format!("location / {{ {limits} empty_gif; }}"))
        .server("location = /other-page { rl_status_page other; }")
        .start();
    assert_eq!(server.connect().many("/", 3), [200, 429, 429]);
    let page = server.connect().get("/other-page").text();
    for asked in ["{decision=\"allowed\"} 2\n", "{decision=\"denied\"} 0\n"] {
        assert!(page.contains(asked), "{page}"); // in the one request that passed
    }
    assert_eq!(left(&server, "/shop?a=big"), 2);
    assert_eq!(left(&server, "/other?a=big"), 2);
    assert_eq!(left(&server, "/other?a=costly"), 9);
}

#[test]
fn zones_count_apart() {
    let server = site().start();
    assert_eq!(left(&server, "/shop?a=alice"), 3);
    assert_eq!(left(&server, "/other?a=alice"), 3);
    assert_eq!(left(&server, "/shop?a=alice"), 0);
}

#[test]
fn a_refused_request_is_not_charged() {
    let server = site()
        .server("location / { rl_limit shop user=costly api=x cost=$arg_cost; empty_gif; }")
        .start();
    let mut connection = server.connect();
    assert_eq!(
        connection.each(&["/?cost=7", "/?cost=4", "/?cost=4", "/?cost=3", "/?cost=1"]),
        [200, 429, 429, 200, 429]
    );
}

#[test]
fn a_dry_run_refuses_nobody_and_says_so_in_the_logs() {
    let server = site()
        .log("$status $rl_status")
        .http("rl_headers draft; rl_log_level warn;")
        .server("location / { rl_limit shop user=small api=x; rl_dry_run on; empty_gif; }")
        .start();
    let mut connection = server.connect();
    assert_eq!(connection.get("/").status, 200);
    for _ in 0..2 {
        let answer = connection.get("/");
        assert_eq!((answer.status, &answer.body[..3]), (200, &b"GIF"[..]));
        for field in ["RateLimit", "RateLimit-Policy", "Retry-After"] {
            assert_eq!(answer.field(field), None);
        }
    }
    let expected = ["200 PASSED", "200 REJECTED_DRY_RUN", "200 REJECTED_DRY_RUN"];
    assert_eq!(server.access_log(3), expected);
    let log = server.error_log();
    let lines: Vec<&str> = log
        .lines()
        .filter(|line| line.contains("request: "))
        .collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(
        lines
            .iter()
            .all(|line| line.contains("[warn]") && line.contains("dry run")),
        "{lines:?}"
    );
}

#[test]
fn in_a_dry_run_requests_are_charged_as_they_would_be_otherwise() {
    let server = site()
        .server(
            "location / { rl_limit shop user=costly api=x cost=$arg_cost; rl_dry_run on;
             empty_gif; }",
        )
        .start();
    let mut connection = server.connect();
    assert_eq!(
        connection.each(&["/?cost=7", "/?cost=4", "/?cost=1"]),
        [200; 3]
    );
    assert_eq!(left(&server, "/shop?a=costly"), 2);
}

#[test]
fn in_a_dry_run_an_error_refuses_nobody() {
    let server = site()
        .log("$rl_status")
        .http("rl_dry_run on; rl_on_error deny;")
        .server("location / { rl_limit shop user=big api=x cost=$arg_cost; empty_gif; }")
        .start();
    assert_eq!(server.connect().get("/?cost=none").status, 200);
    assert_eq!(server.access_log(1), ["ERROR"]);
}

/// Both may refuse, each by its own status; who is refused here is not counted there.
#[test]
fn limit_req_may_stand_beside() {
    let server =
        Site::with_rules("default = fixed-window,5,1000d\nuser.few = fixed-window,2,1000d")
            .http("limit_req_zone $arg_key zone=keys:1m rate=1r/m; limit_req_status 503;")
            .server(
                "location / { limit_req zone=keys burst=3 nodelay;
             rl_limit shop user=$arg_user api=x; empty_gif; }",
            )
            .start();
    let mut connection = server.connect();
    assert_eq!(connection.many("/?user=few&key=1", 3), [200, 200, 429]);
    assert_eq!(connection.many("/?user=one&key=1", 3), [200, 200, 503]);
    assert_eq!(connection.many("/?user=many&key=2", 6)[..4], [200; 4]);
    let statuses = connection.many("/?user=other&key=2", 3);
    assert_eq!(statuses, [503; 3]);
}
