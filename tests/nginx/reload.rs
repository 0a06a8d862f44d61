//! What a reload does to requests, to counters and to limits: with rules that are right, with
//! wrong ones, and while clients go on asking.

use std::fs;

use crate::load::{Asked, while_asked};
use crate::server::Server;
use crate::site::Site;

const PATH: &str = "/?user=alice";

fn site(rule: &str) -> Site {
    Site::with_rules(&format!("default = {rule}"))
        .workers(2)
        .server("location / { rl_limit shop user=$arg_user api=$uri; empty_gif; }")
}

/// A server with two workers, and this rule for everybody.
fn server(rule: &str) -> Server {
    site(rule).start()
}

/// Has it take this rule instead.
fn change(server: &Server, rule: &str) {
    server.write("shop.rules", &format!("default = {rule}"));
    server.reload().unwrap();
}

fn statuses(server: &Server, requests: usize) -> Vec<u16> {
    server.connect().many(PATH, requests)
}

/// All had answers, and 2000 have passed when as many ask as there may be left.
fn was_exact(server: &Server, mut answers: Asked) {
    answers.add(&statuses(server, 2001));
    answers.none_is_lost();
    assert_eq!(answers.passed(), 2000, "{answers:?}");
}

#[test]
fn reloads_under_load_lose_no_request_and_give_no_limit_again() {
    for listen in ["", "reuseport"] {
        let server = site("fixed-window,2000,1000d").listen(listen).start();
        let answers = while_asked(server.port(), PATH, || {
            for _ in 0..6 {
                server.reload().unwrap();
            }
        });
        was_exact(&server, answers);
    }
}

#[test]
fn the_number_of_workers_can_change_under_load() {
    let site = site("token-bucket,2000,1000d");
    let mut server = site.clone().start();
    let port = server.port();
    let answers = while_asked(port, PATH, || {
        for workers in [4, 1, 3, 2] {
            server.configure(site.clone().workers(workers));
            server.reload().unwrap();
        }
    });
    was_exact(&server, answers);
}

/// Whether or not the clients have used up what they had.
#[test]
fn a_limit_that_is_raised_under_load_gives_what_it_says_in_the_end() {
    let server = server("sliding-window,500,1d");
    let answers = while_asked(server.port(), PATH, || {
        for limit in [1000, 1500, 2000] {
            change(&server, &format!("sliding-window,{limit},1d"));
        }
    });
    was_exact(&server, answers);
}

#[test]
fn a_changed_limit_is_in_force_at_once_and_keeps_what_was_counted() {
    for algorithm in ["fixed-window", "sliding-window", "sliding-window-counter"] {
        let rule = |limit: usize| format!("{algorithm},{limit},1000d");
        let server = server(&rule(5));
        assert_eq!(statuses(&server, 3), [200; 3]);
        change(&server, &rule(10));
        assert_eq!(statuses(&server, 6), [200; 6], "{algorithm}");
        change(&server, &rule(2)); // of which 9 are used up
        assert_eq!(statuses(&server, 1), [429], "{algorithm}");
        change(&server, &rule(10));
        assert_eq!(statuses(&server, 2), [200, 429], "{algorithm}");
    }
}

/// It is full again when it would have been: of 10, to which the 3 of 5 are 6.
#[test]
fn a_bucket_that_becomes_larger_is_as_full_as_it_was() {
    let server = server("token-bucket,5,1000d");
    assert_eq!(statuses(&server, 3), [200; 3]);
    change(&server, "token-bucket,10,1000d");
    assert_eq!(statuses(&server, 5), [200, 200, 200, 200, 429]);
    change(&server, "token-bucket,2,1000d");
    assert_eq!(statuses(&server, 1), [429]);
}

#[test]
fn a_sliding_window_can_be_added() {
    let server = server("fixed-window,9,1000d");
    assert_eq!(statuses(&server, 3), [200; 3]);
    let both = "fixed-window,9,1000d + sliding-window,4,1d,per=user";
    change(&server, both);
    assert_eq!(statuses(&server, 5), [200, 200, 200, 200, 429]);
    server.reload().unwrap();
    assert_eq!(statuses(&server, 1), [429]);
    change(&server, "fixed-window,9,1000d");
    assert_eq!(statuses(&server, 3), [200, 200, 429]);
}

/// Reloads with a mistake, each followed by a request that must be counted as ever, by the
/// same workers.
#[test]
#[rustfmt::skip] // a table
fn a_reload_with_a_mistake_changes_nothing() {
    let right = site("fixed-window,9,1000d");
    let mut server = right.clone().start();
    let workers = server.workers();
    let with = |line: &str| right.clone().http(line);
    let rules = |text: &str| right.clone().file("shop.rules", text);
    let wrong = [
        (rules("default = deny\n\nuser.a = none"), "shop.rules:3:10: "),
        (rules("user.a = deny"), "shop.rules: there is no default"),
        (rules(""), "shop.rules: there is no default"),
        (with("rl_zone other 1m missing.rules;"), "missing.rules"),
        (with("nonsense;"), "unknown directive \"nonsense\" in "),
        (with("rl_limit nowhere user=a api=b;"), "\"nowhere\""),
        (with("rl_zone other 1k shop.rules;"), "too small"),
    ];
    for (number, (site, says)) in wrong.into_iter().enumerate() {
        server.configure(site);
        let error = server.reload().unwrap_err();
        assert!(error.contains(says), "no {says:?} in {error}");
        assert_eq!(statuses(&server, 1), [200], "{number}: {error}");
        assert_eq!(server.workers(), workers);
    }
    server.configure(right);
    server.reload().unwrap();
    assert_eq!(statuses(&server, 3), [200, 200, 429]);
    assert!(server.quit());
}

#[test]
fn rules_that_are_gone_fail_the_reload_and_stay_in_force() {
    let server = server("fixed-window,3,1000d");
    let file = server.path("shop.rules");
    let rules = fs::read(&file).unwrap();
    fs::remove_file(&file).unwrap();
    let error = server.reload().unwrap_err();
    assert!(
        error.contains("shop.rules") && error.contains("No such file"),
        "{error}"
    );
    assert_eq!(statuses(&server, 2), [200; 2]);
    fs::write(&file, rules).unwrap();
    server.reload().unwrap();
    assert_eq!(statuses(&server, 2), [200, 429]);
}

/// Counters mean nothing under another kind of clock.
#[test]
fn another_kind_of_clock_fails_the_reload() {
    let server = server("fixed-window,9,1000d");
    let workers = server.workers();
    for clock in ["realtime", "monotonic-coarse"] {
        server.write("shop.rules", &format!("default = deny\nclock = {clock}"));
        let error = server.reload().unwrap_err();
        let says = format!("goes by clock = monotonic, this service by clock = {clock}");
        let names = error.contains("shop.rules: ") && error.contains("\"shop\"");
        assert!(names && error.contains(&says), "{error}");
        assert_eq!(statuses(&server, 3), [200; 3]);
        assert_eq!(server.workers(), workers);
    }
    change(&server, "fixed-window,9,1000d");
    assert_eq!(statuses(&server, 4), [200, 200, 200, 429]);
}
