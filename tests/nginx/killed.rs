//! Workers that are killed while they answer: those that are left, and those that come
//! instead, go on with the same counters.

use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use crate::client::crowd;
use crate::load::while_asked;
use crate::processes::{signal, wait_for};
use crate::server::Server;
use crate::site::Site;

const WORKERS: usize = 4;
const LIMIT: usize = 2000;
const PATH: &str = "/?user=alice";

/// Has something happen to the workers under load, time and again.
fn goes_on(algorithm: &str, rounds: usize, happens: impl Fn(&Server)) {
    let server = Site::with_rules(&format!("default = {algorithm},{LIMIT},1000d"))
        .workers(WORKERS)
        .listen("reuseport")
        .server("location / { rl_limit shop user=$arg_user api=$uri; empty_gif; }")
        .start();
    let mut answers = while_asked(server.port(), PATH, || {
        (0..rounds).for_each(|_| happens(&server));
    });
    assert!(answers.slowest < Duration::from_secs(5), "{answers:?}");
    answers.add(&server.connect().many(PATH, LIMIT + 1));
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

/// After they had time to be in the midst of something.
fn kill(workers: &[u32]) {
    thread::sleep(Duration::from_millis(10));
    workers.iter().for_each(|&pid| signal(pid, Signal::KILL));
}

/// Waits for who comes instead.
fn are_replaced(server: &Server, gone: &[u32]) {
    let replaced = || {
        let workers = server.workers();
        let none = gone.iter().all(|old| !workers.contains(old));
        (none && workers.len() == WORKERS).then_some(())
    };
    wait_for(replaced).expect("other workers come");
}

#[test]
fn workers_may_be_killed_one_after_the_other() {
    for algorithm in ["token-bucket", "sliding-window"] {
        goes_on(algorithm, 8, |server| {
            for worker in server.workers() {
                kill(&[worker]);
                are_replaced(server, &[worker]);
            }
        });
    }
}

#[test]
fn workers_may_be_killed_all_at_once() {
    goes_on("fixed-window", 20, |server| {
        let workers = server.workers();
        kill(&workers);
        are_replaced(server, &workers);
    });
}

/// Which may catch old ones as well as new ones.
#[test]
fn workers_may_be_killed_during_a_reload() {
    let some = |server: &Server| server.workers().into_iter().take(2).collect::<Vec<_>>();
    goes_on("sliding-window-counter", 10, |server| {
        let workers = server.workers();
        signal(server.master(), Signal::HUP);
        kill(&some(server));
        are_replaced(server, &workers);
        kill(&some(server));
    });
}
