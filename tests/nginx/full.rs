//! A zone that is as small as can be, asked for more users than it has counters for.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;

use crate::server::Server;
use crate::site::Site;

const USERS: usize = 5_000;

fn server(on_full: &str) -> Server {
    site(on_full).start()
}

/// Two workers, and two requests for everybody.
fn site(on_full: &str) -> Site {
    Site::new()
        .file(
            "full.rules",
            format!("default = fixed-window,2,1000d\non-full = {on_full}"),
        )
        .http("rl_zone full 32k full.rules; rl_log_level info;")
        .workers(2)
        .listen("reuseport")
        .log("$pid $status $rl_status")
        .server("location / { rl_limit full user=$arg_user api=x; empty_gif; }")
        .server("location = /metrics { rl_status_page full; }")
}

/// Everybody asks once, over a hundred connections. How often each status and state was there.
fn flood(server: &Server) -> BTreeMap<String, usize> {
    let paths: Vec<String> = (0..USERS).map(|user| format!("/?user={user}")).collect();
    for part in paths.chunks(USERS / 100) {
        server.connect().each(part);
    }
    let log = server.access_log(USERS);
    let pids = log.iter().map(|line| line.split(' ').next().unwrap());
    assert!(pids.collect::<BTreeSet<_>>().len() == 2);
    let mut states = BTreeMap::new();
    for line in &log {
        let (_, state) = line.split_once(' ').unwrap();
        *states.entry(state.to_owned()).or_default() += 1;
    }
    states
}

/// Lines of the error log that tell of more than connections.
fn told(server: &Server) -> Vec<String> {
    let log = server.error_log();
    let grave = |line: &&str| {
        ["[warn]", "[error]", "[crit]", "[alert]", "[emerg]"]
            .iter()
            .any(|level| line.contains(level))
    };
    log.lines().filter(grave).map(str::to_owned).collect()
}

/// One line, though both workers met it thousands of times.
fn is_told_once(server: &Server) {
    let told = told(server);
    let [line] = &told[..] else {
        panic!("{} lines: {:?}", told.len(), told.get(..3))
    };
    assert!(line.contains("\"full\"") && line.contains("full"), "{line}");
}

#[test]
fn with_deny_a_new_user_is_refused_where_there_is_no_room() {
    let server = server("deny");
    let states = flood(&server);
    let passed = states["200 PASSED"];
    assert!((100..1000).contains(&passed), "{states:?}");
    let expected = [
        ("200 PASSED".to_owned(), passed),
        ("429 UNTRACKED".to_owned(), USERS - passed),
    ];
    assert_eq!(states, expected.into());
    is_told_once(&server);
    let refusals = server.error_log().matches("request: \"GET").count();
    assert_eq!(refusals, 1); // at no level there is a line for each
    // Who has a counter goes on by it.
    assert_eq!(server.connect().many("/?user=0", 3), [200, 429, 429]);
}

#[test]
fn with_allow_a_new_user_passes_uncounted_where_there_is_no_room() {
    let server = server("allow");
    let states = flood(&server);
    let passed = states["200 PASSED"];
    assert!((100..1000).contains(&passed), "{states:?}");
    let expected = [
        ("200 PASSED".to_owned(), passed),
        ("200 UNTRACKED".to_owned(), USERS - passed),
    ];
    assert_eq!(states, expected.into());
    is_told_once(&server);
    assert_eq!(server.connect().many("/?user=0", 3), [200, 429, 429]);
    assert_eq!(
        server.connect().many(&format!("/?user={USERS}"), 5),
        [200; 5]
    );
    assert_eq!(server.access_log(USERS + 8)[USERS + 3..].len(), 5);
}

#[test]
fn with_evict_a_new_user_always_has_a_counter() {
    let server = server("evict");
    assert_eq!(flood(&server), [("200 PASSED".to_owned(), USERS)].into());
    assert_eq!(told(&server), Vec::<String>::new());
    assert_eq!(server.connect().many("/?user=new", 3), [200, 200, 429]);
}

/// Somebody who is refused time and again stays under the limit while all others come.
#[test]
fn with_evict_who_has_used_up_the_limit_stays_refused() {
    let server = server("evict");
    let mut connection = server.connect();
    assert_eq!(connection.many("/?user=watched", 3), [200, 200, 429]);
    let others: Vec<String> = (0..USERS).map(|user| format!("/?user={user}")).collect();
    for part in others.chunks(500) {
        assert!(connection.each(part).iter().all(|&status| status == 200));
        assert_eq!(connection.get("/?user=watched").status, 429);
    }
}

#[test]
fn in_a_dry_run_nobody_is_refused_for_want_of_room() {
    let server = site("deny").server("rl_dry_run on;").start();
    let states = flood(&server);
    assert!(
        states.keys().all(|state| state.starts_with("200 ")),
        "{states:?}"
    );
    is_told_once(&server);
}

/// A limit for all has its counter, whatever there is no room for: it refuses as ever, and
/// that is logged.
#[test]
fn with_allow_a_limit_that_has_its_counter_still_refuses() {
    let rules = "default = fixed-window,2,1000d + fixed-window,2000,1000d,per=all\non-full = allow";
    let server = site("allow").file("full.rules", rules).start();
    let states = flood(&server);
    let refused: usize = states
        .iter()
        .filter(|(state, _)| state.starts_with("429"))
        .map(|(_, n)| n)
        .sum();
    assert_eq!(refused, USERS - 2000, "{states:?}");
    assert_eq!(states.get("429 REJECTED"), Some(&refused), "{states:?}");
    let logged = server.error_log().matches("limiting requests").count();
    assert_eq!(logged, refused);
}

/// Four threads ask for 25,000 users each, and time and again for one that all have in
/// common.
#[test]
fn among_100_000_users_a_watched_one_has_exactly_the_limit() {
    let server = Site::with_rules("default = fixed-window,50,1000d")
        .http("rl_zone large 4m shop.rules;")
        .workers(2)
        .listen("reuseport")
        .server("access_log off;")
        .server("location / { rl_limit large user=$arg_user api=x; empty_gif; }")
        .server("location = /metrics { rl_status_page large; }")
        .start();
    let visit = |thread: usize| {
        let mut connection = server.connect();
        let users = (0..25_000).map(|user| format!("/?user={thread}-{user}"));
        let paths: Vec<String> = users.collect();
        let parts = paths.chunks(500).map(|part| {
            assert_eq!(connection.each(part), vec![200; part.len()]);
            connection.get("/?user=watched").status
        });
        parts.filter(|&status| status == 200).count()
    };
    let passed: usize = thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|n| {
                let visit = &visit;
                scope.spawn(move || visit(n))
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum()
    });
    assert_eq!(passed, 50);
    let page = server.connect().get("/metrics").text();
    assert!(page.contains("\nlibrl_keys 100001\n"), "{page}");
}

/// On a status page, too, it is to be seen.
#[test]
fn the_status_page_counts_whom_there_was_no_room_for() {
    for (on_full, name) in [
        ("deny", "librl_full_table_requests_total "),
        ("evict", "librl_evictions_total{state=\"live\"} "),
    ] {
        let server = server(on_full);
        flood(&server);
        let page = server.connect().get("/metrics").text();
        let count = page
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .unwrap();
        assert!(count.parse::<usize>().unwrap() > USERS - 1000, "{page}");
    }
}

/// What was not counted is not given back: the log of those who were counted stays as it is.
#[test]
fn beside_another_limit_it_is_told_and_nothing_is_given_back() {
    let rules = "default = sliding-window,100000000,20d\non-full = allow";
    let limits = "rl_limit full user=$arg_user api=x cost=$arg_cost; rl_limit no user=a api=x;";
    let server = Site::new()
        .file("full.rules", rules)
        .file("no.rules", "default = fixed-window,1,1000d")
        .http("rl_zone full 32k full.rules; rl_zone no 32k no.rules;")
        .log("$status $rl_status")
        .server("location /one { rl_limit full user=$arg_user api=x cost=1; empty_gif; }")
        .server(&format!("location / {{ {limits} empty_gif; }}"))
        .server("location = /metrics { rl_status_page full; }")
        .start();
    assert_eq!(server.connect().get("/?user=first&cost=1").status, 200);
    // One log at other times until there is room for no more.
    let mut connection = server.connect();
    let untracked = |log: &[String]| log.last().is_some_and(|line| line == "200 UNTRACKED");
    let mut asked = 1;
    while !untracked(&server.access_log(asked)) {
        assert!(asked < 5_000, "the log is never full");
        thread::sleep(std::time::Duration::from_millis(1));
        assert_eq!(connection.get("/one?user=alice").status, 200);
        asked += 1;
    }
    let entries = || {
        let page = server.connect().get("/metrics").text();
        let mut lines = page.lines();
        let entries = lines.find_map(|line| line.strip_prefix("librl_log_entries "));
        entries.unwrap().to_owned()
    };
    let before = entries();
    for _ in 0..20 {
        assert_eq!(connection.get("/?user=alice&cost=1").status, 429);
    }
    assert_eq!(entries(), before);
    assert_eq!(
        told(&server)
            .iter()
            .filter(|line| line.contains("is full"))
            .count(),
        1
    );
}
