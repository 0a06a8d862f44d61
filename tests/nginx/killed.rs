//! Workers that are killed while they answer: those that are left, and those that come
//! instead, go on with the same counters.

use crate::client::crowd;
use crate::load::{asked, while_asked};
use crate::processes::{signal, wait_for};
use crate::server::Server;
use crate::site::Site;

use rustix::process::Signal;
use std::time::Duration;

const WORKERS: usize = 4;
const ROUNDS: usize = 4;
const LIMIT: usize = 1000;

/// Kills one after the other, and waits for who comes instead.
fn kill_each(server: &Server) {
    for killed in server.workers() {
        signal(killed, Signal::KILL);
        let replaced = || {
            let workers = server.workers();
            (workers.len() == WORKERS && !workers.contains(&killed)).then_some(())
        };
        wait_for(replaced).expect("another worker comes");
    }
}

#[test]
fn workers_may_be_killed_under_load() {
    for algorithm in ["token-bucket", "sliding-window"] {
        let rule = format!("default = {algorithm},{LIMIT},1000d");
        let server = Site::with_rules(&rule)
            .workers(WORKERS)
            .listen("reuseport")
            .server("location / { rl_limit shop user=$arg_user api=$uri; empty_gif; }")
            .start();
        let path = "/?user=alice";
        let mut answers = while_asked(server.port(), path, || {
            (0..ROUNDS).for_each(|_| kill_each(&server));
        });
        assert!(answers.slowest < Duration::from_secs(5), "{answers:?}");
        answers += asked(server.port(), path, LIMIT + 1);
        // A request without an answer may have been charged or not.
        let unknown = answers.lost + answers.again;
        let missing = LIMIT.checked_sub(answers.passed());
        assert!(
            missing.is_some_and(|missing| missing <= unknown),
            "{answers:?}"
        );
        assert!(answers.refused() > 0, "{answers:?}");
        let fresh = crowd(server.port(), "/?user=bob", 16, LIMIT / 10);
        assert_eq!(fresh, [(200, LIMIT), (429, LIMIT * 6 / 10)].into());
    }
}
