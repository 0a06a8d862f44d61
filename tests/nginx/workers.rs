//! However many workers answer, a limit gives exactly what it says, with each algorithm.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;

use crate::client::crowd;
use crate::server::Server;
use crate::site::Site;

/// Windows as long as these do not end during a test.
const ALGORITHMS: [&str; 4] = [
    "token-bucket,100,1000d",
    "fixed-window,100,1000d",
    "sliding-window,100,1d",
    "sliding-window-counter,100,1000d",
];

/// A server with as many workers, over which the kernel spreads the connections.
fn server(workers: usize, rules: &str) -> Server {
    Site::with_rules(rules)
        .workers(workers)
        .listen("reuseport")
        .log("$pid $status $rl_status")
        .server("location / { rl_limit shop user=$arg_user api=$uri; empty_gif; }")
        .start()
}

/// Looks into the access log for who has answered, and for what the variable said.
fn several_have_answered(server: &Server, requests: usize) {
    let log = server.access_log(requests);
    assert_eq!(log.len(), requests);
    let words: Vec<Vec<&str>> = log.iter().map(|line| line.split(' ').collect()).collect();
    let pids: BTreeSet<&str> = words.iter().map(|words| words[0]).collect();
    assert!(pids.len() >= 2, "only {pids:?}");
    let states: BTreeSet<&[&str]> = words.iter().map(|words| &words[1..]).collect();
    let expected: [&[&str]; 2] = [&["200", "PASSED"], &["429", "REJECTED"]];
    assert_eq!(states, expected.into());
}

#[test]
fn exactly_the_limit_passes_whichever_workers_answer() {
    for workers in [2, 4] {
        for rule in ALGORITHMS {
            let server = server(workers, &format!("default = {rule}"));
            let counts = crowd(server.port(), "/?user=alice", 32, 10);
            assert_eq!(counts, [(200, 100), (429, 220)].into(), "{workers}, {rule}");
            several_have_answered(&server, 320);
        }
    }
}

/// 16 connections ask for all users in turn, twice.
#[test]
fn each_user_has_exactly_the_limit() {
    for rule in ALGORITHMS {
        let server = server(4, &format!("default = {}", rule.replace("100", "7")));
        let users: Vec<String> = (0..100)
            .map(|user| format!("/?user={}", user % 50))
            .collect();
        let passed = passed(&server, &users, 16);
        assert!(
            passed.values().all(|&passed| passed == 7),
            "{rule}: {passed:?}"
        );
        assert_eq!(passed.len(), 50);
        several_have_answered(&server, 1600);
    }
}

/// Of so many connections that ask for these paths: how often each has passed.
fn passed(server: &Server, paths: &[String], connections: usize) -> BTreeMap<String, usize> {
    let statuses: Vec<u16> = thread::scope(|scope| {
        let visit = || server.connect().each(paths);
        let visitors: Vec<_> = (0..connections).map(|_| scope.spawn(visit)).collect();
        let statuses = visitors
            .into_iter()
            .flat_map(|visitor| visitor.join().unwrap());
        statuses.collect()
    });
    let mut passed = BTreeMap::new();
    for (path, status) in paths.iter().cycle().zip(statuses) {
        *passed.entry(path.clone()).or_default() += usize::from(status == 200);
    }
    passed
}

/// A counter of each pair, one of each user and one of all, in one decision.
#[test]
fn the_least_of_three_limits_passes_whichever_workers_answer() {
    let rules = "default = token-bucket,30,1000d + fixed-window,50,1000d,per=user \
                 + sliding-window,90,1d,per=all";
    let server = server(4, rules);
    for (path, passes) in [
        ("/a?user=alice", 30),
        ("/b?user=alice", 20), // of her 50
        ("/a?user=bob", 30),
        ("/b?user=bob", 10), // of the 90 for all
        ("/a?user=carol", 0),
    ] {
        let passed = crowd(server.port(), path, 16, 5).get(&200).copied();
        assert_eq!(passed.unwrap_or(0), passes, "{path}");
    }
}

#[test]
fn who_waits_as_told_passes() {
    let site = Site::with_rules("default = token-bucket,2,1s");
    let server = site
        .log("$rl_status $rl_retry_after")
        .server("location / { rl_limit shop user=alice api=$uri; empty_gif; }")
        .start();
    let mut connection = server.connect();
    assert_eq!(connection.many("/", 3), [200, 200, 429]);
    let log = server.access_log(3);
    assert_eq!(log[..2], ["PASSED 0", "PASSED 0"]);
    let wait = log[2].strip_prefix("REJECTED ").unwrap().parse().unwrap();
    assert!((1..=500).contains(&wait), "{wait}");
    thread::sleep(std::time::Duration::from_millis(wait));
    assert_eq!(connection.get("/").status, 200);
}
