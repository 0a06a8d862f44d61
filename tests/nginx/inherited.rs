//! Which limits and settings apply where: those of the level itself, else those above.

use crate::server::Server;
use crate::site::Site;

fn site() -> Site {
    Site::with_rules("default = fixed-window,2,1000d").log("$uri $rl_status")
}

/// The statuses of three requests for each path.
fn thrice(server: &Server, paths: &[&str]) -> Vec<Vec<u16>> {
    let three = |path: &&str| server.connect().many(path, 3);
    paths.iter().map(three).collect()
}

#[test]
fn limits_come_from_the_level_above_where_a_level_has_none() {
    let server = site()
        .http("rl_limit shop user=http api=$uri;")
        .server("location / { empty_gif; location /deep/ { empty_gif; } }")
        .start();
    let refused_third = vec![200, 200, 429];
    let statuses = thrice(&server, &["/a", "/b", "/deep/c"]);
    assert_eq!(statuses, [(); 3].map(|()| refused_third.clone()));
}

/// What a level above would add to the same counter is not there.
#[test]
fn a_level_with_limits_of_its_own_has_no_others() {
    let server = site()
        .http("rl_limit shop user=http api=x;")
        .server("rl_limit shop user=server api=x;")
        .server("location / { empty_gif; }")
        .server("location = /own { rl_limit shop user=own api=x; empty_gif; }")
        .server("location = /http { rl_limit shop user=http api=x; empty_gif; }")
        .start();
    let statuses = thrice(&server, &["/", "/own", "/http", "/"]);
    let third = vec![200, 200, 429];
    assert_eq!(
        statuses,
        [third.clone(), third.clone(), third, vec![429; 3]]
    );
}

#[test]
fn settings_come_from_the_level_above_one_by_one() {
    let server = site()
        .http("rl_status 503; rl_headers legacy; rl_dry_run on; rl_log_level notice;")
        .server("rl_limit shop user=alice api=$uri; rl_dry_run off;")
        .server("location / { empty_gif; }")
        .server("location /status { rl_status 400; rl_log_level warn; empty_gif; }")
        .server("location /draft { rl_headers draft; empty_gif; }")
        .server("location /silent { rl_headers off; empty_gif; }")
        .server("location /dry { rl_dry_run on; empty_gif; }")
        .start();
    for (path, status, field) in [
        ("/", 503, Some("X-RateLimit-Limit")),
        ("/status", 400, Some("X-RateLimit-Limit")),
        ("/draft", 503, Some("RateLimit-Policy")),
        ("/silent", 503, None),
        ("/dry", 200, None),
    ] {
        let mut connection = server.connect();
        assert_eq!(connection.many(path, 2), [200, 200], "{path}");
        let refused = connection.get(path);
        assert_eq!(refused.status, status, "{path}");
        for name in ["X-RateLimit-Limit", "RateLimit-Policy"] {
            assert_eq!(refused.field(name).is_some(), field == Some(name), "{path}");
        }
    }
    server.access_log(15);
    let log = server.error_log();
    let level = |path: &str| {
        let request = format!("request: \"GET {path} HTTP/1.1\"");
        let line = log.lines().find(|line| line.contains(&request)).unwrap();
        line.split(['[', ']']).nth(1).unwrap().to_owned()
    };
    assert_eq!(
        [level("/"), level("/status"), level("/dry")],
        ["notice", "warn", "notice"]
    );
}

#[test]
fn a_setting_of_what_is_empty_or_wrong_comes_from_above() {
    let server = site()
        .http("rl_skip_empty on; rl_on_error allow;")
        .http("rl_limit shop user=$arg_user api=$uri cost=$arg_cost;")
        .server("location / { empty_gif; }")
        .server("location /count { rl_skip_empty off; empty_gif; }")
        .server("location /deny { rl_on_error deny; empty_gif; }")
        .start();
    for (path, expected) in [
        ("/?cost=1", [200, 200, 200]),
        ("/count?cost=1", [200, 200, 429]),
        ("/?user=a&cost=0", [200, 200, 200]),
        ("/deny?user=a&cost=0", [429, 429, 429]),
    ] {
        assert_eq!(server.connect().many(path, 3), expected, "{path}");
    }
}

/// `if` and `limit_except` are levels of their own, which cannot have limits.
#[test]
fn limits_come_from_the_location_around_a_block() {
    let server = site()
        .http("rl_status 503;")
        .server(
            "location / { rl_limit shop user=alice api=$uri; rl_status 400;
             if ($arg_x) { set $y 1; }
             limit_except GET { allow all; }
             empty_gif; }",
        )
        .start();
    assert_eq!(thrice(&server, &["/a?x=1"]), [[200, 200, 400]]);
    let mut connection = server.connect();
    let statuses = [(); 3].map(|()| connection.post("/b", b"text").status);
    assert_eq!(statuses, [404, 404, 400]); // no handler comes from around
}

/// The limit may stand before its zone, and in another part of the configuration.
#[test]
fn a_zone_may_be_named_before_it_is_declared() {
    let server = Site::new()
        .file("late.rules", "default = fixed-window,2,1000d")
        .http("rl_limit late user=alice api=$uri;")
        .http("rl_zone late 1m late.rules;")
        .server("location / { empty_gif; }")
        .start();
    assert_eq!(thrice(&server, &["/"]), [[200, 200, 429]]);
}

#[test]
fn a_rules_file_stands_beside_nginx_conf_or_where_it_is_said_to() {
    let server = site();
    let directory = crate::server::Directory::new();
    let elsewhere = directory.path().join("rules");
    std::fs::write(&elsewhere, "default = fixed-window,1,1000d").unwrap();
    let server = server
        .http(&format!("rl_zone elsewhere 1m {};", elsewhere.display()))
        .server("location / { rl_limit elsewhere user=alice api=$uri; empty_gif; }")
        .server("location /shop { rl_limit shop user=alice api=$uri; empty_gif; }")
        .start();
    assert_eq!(
        thrice(&server, &["/", "/shop"]),
        [[200, 429, 429], [200, 200, 429]]
    );
}
