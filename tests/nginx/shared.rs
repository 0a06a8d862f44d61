//! Counters in a shared memory object: those of nginx, of an nginx after it, and of programs
//! that are no nginx.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process;

use rl::config::Config;
use rl::service::{Request, Service, unlink_zone};

use crate::server::Server;
use crate::site::Site;

const RULES: &str = "default = fixed-window,9,1000d\nmemory = 1m\n";

/// The name of an object, which is removed at the end of a test.
pub struct Object(String);

impl Object {
    pub fn new(test: &str) -> Self {
        Self(format!("/librl-nginx-{}-{test}", process::id()))
    }

    /// As `rl_zone` names it.
    pub fn memory(&self) -> String {
        format!("shared={}", self.0)
    }

    fn path(&self) -> String {
        format!("/dev/shm{}", self.0)
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        let _ = unlink_zone(self.0.as_bytes());
    }
}

fn site(object: &Object) -> Site {
    Site::new()
        .workers(2)
        .file("shop.rules", RULES)
        .http(&format!("rl_zone shop {} shop.rules;", object.memory()))
        .server("location / { rl_limit shop user=$arg_user api=x; empty_gif; }")
}

fn statuses(server: &Server, requests: usize) -> Vec<u16> {
    server.connect().many("/?user=alice", requests)
}

/// As any program would.
fn join(object: &Object) -> Service {
    let mut config = Config::new();
    let text = format!("{RULES}shared = {}", object.0);
    config.parse(text.as_bytes()).unwrap();
    Service::new(&config).unwrap()
}

/// What is left after one more request of the same user, if it passes.
fn take(service: &Service) -> Option<u64> {
    let (user, api) = (b"alice", b"x");
    let decision = service.check(Request { user, api, cost: 1 }).unwrap();
    decision.allowed.then_some(decision.remaining)
}

#[test]
fn a_restart_forgets_nothing() {
    let object = Object::new("restart");
    let mut server = site(&object).start();
    assert_eq!(statuses(&server, 4), [200; 4]);
    assert!(server.quit());
    drop(server);
    let server = site(&object).start();
    server.reload().unwrap();
    assert_eq!(statuses(&server, 6), [200, 200, 200, 200, 200, 429]);
}

#[test]
fn two_nginx_share_a_limit() {
    let object = Object::new("two");
    let servers = [site(&object).start(), site(&object).start()];
    for server in servers.iter().cycle().take(9) {
        assert_eq!(statuses(server, 1), [200]);
    }
    for server in &servers {
        assert_eq!(statuses(server, 1), [429]);
    }
}

#[test]
fn a_program_that_is_no_nginx_shares_a_limit() {
    let object = Object::new("program");
    let server = site(&object).start();
    assert_eq!(statuses(&server, 3), [200; 3]);
    let program = join(&object);
    assert_eq!([take(&program), take(&program)], [Some(5), Some(4)]);
    assert_eq!(statuses(&server, 2), [200; 2]);
    assert_eq!([take(&program), take(&program)], [Some(1), Some(0)]);
    assert_eq!(statuses(&server, 1), [429]);
    assert_eq!(take(&program), None);
    assert_eq!(program.stats().allowed, 9);
}

#[test]
fn nginx_can_join_what_another_program_has_made() {
    let object = Object::new("joined");
    let program = join(&object);
    assert_eq!([take(&program), take(&program)], [Some(8), Some(7)]);
    let server = site(&object).start();
    assert_eq!(statuses(&server, 7), [200; 7]);
    assert_eq!(take(&program), None);
    drop(server);
    assert_eq!(take(&program), None);
}

/// They have no right to open it, and need none.
#[test]
fn workers_inherit_what_only_the_master_may_open() {
    let object = Object::new("rights");
    let server = site(&object).start();
    let found = fs::metadata(object.path()).unwrap();
    let own = rustix::process::geteuid();
    assert_eq!((found.mode() & 0o777, found.uid()), (0o600, own.as_raw()));
    for worker in server.workers() {
        let worker = fs::metadata(format!("/proc/{worker}")).unwrap();
        assert_eq!(worker.uid() != own.as_raw(), own.is_root());
    }
    assert_eq!(statuses(&server, 10), [vec![200; 9], vec![429]].concat());
}

/// Old workers go on with the one that was removed.
#[test]
fn an_object_that_was_removed_is_made_anew_by_a_reload() {
    let object = Object::new("removed");
    let server = site(&object).start();
    assert_eq!(statuses(&server, 4), [200; 4]);
    unlink_zone(object.0.as_bytes()).unwrap();
    assert_eq!(statuses(&server, 4), [200; 4]);
    server.reload().unwrap();
    assert_eq!(statuses(&server, 10), [vec![200; 9], vec![429]].concat());
    assert_eq!(take(&join(&object)), None);
}

#[test]
fn an_object_that_cannot_be_joined_fails_the_reload() {
    let object = Object::new("foreign");
    let other = Object::new("own");
    let mut server = site(&other).start();
    let workers = server.workers();
    fs::write(object.path(), "x".repeat(1 << 20)).unwrap();
    fs::set_permissions(object.path(), Permissions::from_mode(0o600)).unwrap();
    server.configure(site(&object));
    let error = server.reload().unwrap_err();
    let says = error.contains("\"shop\"") && error.contains("neither zeroed nor a zone");
    assert!(says, "{error}");
    assert_eq!(server.workers(), workers);
    assert_eq!(statuses(&server, 10), [vec![200; 9], vec![429]].concat());
    assert_eq!(
        fs::read(object.path()).unwrap(),
        "x".repeat(1 << 20).as_bytes()
    );
}
