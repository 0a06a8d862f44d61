//! Binary upgrades: a second master takes over from the first, or gives up, while clients go
//! on asking. With `shared=` both have the same counters.

use rustix::process::Signal;

use crate::load::{Asked, while_asked};
use crate::processes::{signal, title, wait_for, workers};
use crate::server::Server;
use crate::shared::Object;
use crate::site::Site;

const WORKERS: usize = 2;
const PATH: &str = "/?user=alice";

fn server(object: &Object) -> Server {
    Site::new()
        .daemon()
        .workers(WORKERS)
        .file("shop.rules", "default = fixed-window,1000,1000d")
        .http(&format!("rl_zone shop {} shop.rules;", object.memory()))
        .server("location / { rl_limit shop user=$arg_user api=x; empty_gif; }")
        .start()
}

/// Has the master start another one; returns that one when it has its workers.
fn upgrade(server: &Server) -> u32 {
    let old = server.master();
    signal(old, Signal::USR2);
    let new = || server.pid("nginx.pid").filter(|&new| new != old);
    let new = wait_for(new).expect("a new master comes");
    assert_eq!(server.pid("nginx.pid.oldbin"), Some(old));
    have_workers(new, WORKERS);
    new
}

fn have_workers(master: u32, count: usize) {
    wait_for(|| (workers(master).len() == count).then_some(())).expect("workers come or go");
}

fn quit(master: u32) {
    signal(master, Signal::QUIT);
    wait_for(|| title(master).is_none().then_some(())).expect("a master ends");
}

/// Returns when a worker of this master has answered something from now on.
fn has_answered(server: &Server, master: u32) {
    let workers = workers(master);
    let seen = server.read("access.log").len();
    wait_for(|| {
        let log = server.read("access.log");
        let by = |line: &str| {
            workers
                .iter()
                .any(|pid| line.starts_with(&format!("{pid} ")))
        };
        log[seen..].lines().any(by).then_some(())
    })
    .expect("a worker answers");
}

/// All had answers, and exactly the limit has passed.
fn was_exact(server: &Server, mut answers: Asked, limit: usize) {
    answers.add(&server.connect().many(PATH, limit + 1));
    answers.none_is_lost();
    assert_eq!(answers.passed(), limit, "{answers:?}");
    let log = server.error_log();
    for level in ["[crit]", "[alert]", "[emerg]"] {
        assert!(!log.contains(level), "{log}");
    }
}

#[test]
fn a_binary_upgrade_loses_no_request_and_no_count() {
    let object = Object::new("upgrade");
    let mut server = server(&object);
    let answers = while_asked(server.port(), PATH, || {
        let (old, new) = (server.master(), upgrade(&server));
        has_answered(&server, new);
        has_answered(&server, old);
        quit(old);
        server.follow().unwrap();
        assert_eq!(server.master(), new);
        server.reload().unwrap();
    });
    was_exact(&server, answers, 1000);
    assert!(server.quit());
}

/// The old workers go first, so that there is a way back.
#[test]
fn a_new_master_brings_new_rules() {
    let object = Object::new("winch");
    let mut server = server(&object);
    server.write("shop.rules", "default = fixed-window,1500,1000d");
    let answers = while_asked(server.port(), PATH, || {
        let (old, new) = (server.master(), upgrade(&server));
        signal(old, Signal::WINCH);
        have_workers(old, 0);
        has_answered(&server, new);
        quit(old);
        server.follow().unwrap();
    });
    was_exact(&server, answers, 1500);
    assert!(server.quit());
}

#[test]
fn a_binary_upgrade_can_be_taken_back_and_done_again() {
    let object = Object::new("rollback");
    let mut server = server(&object);
    let answers = while_asked(server.port(), PATH, || {
        let (old, new) = (server.master(), upgrade(&server));
        signal(old, Signal::WINCH);
        have_workers(old, 0);
        has_answered(&server, new);
        signal(old, Signal::HUP);
        have_workers(old, WORKERS);
        quit(new);
        wait_for(|| (server.pid("nginx.pid") == Some(old)).then_some(())).unwrap();
        has_answered(&server, old);
        server.reload().unwrap();

        upgrade(&server);
        quit(old);
        server.follow().unwrap();
    });
    was_exact(&server, answers, 1000);
    assert!(server.quit());
}
