//! The tests' own tools, tried with an nginx that has no module of ours.

use std::path::Path;

use rustix::process::Signal;

use crate::client::{count, crowd};
use crate::processes::{holders, signal, title, wait_for};
use crate::site::Site;

fn gif() -> Site {
    Site::plain().server("location / { empty_gif; }")
}

#[test]
fn all_is_gone_when_a_server_is_dropped() {
    let server = gif().workers(2).start();
    let (log, master, workers) = (server.path("error.log"), server.master(), server.workers());
    assert_eq!(workers.len(), 2);
    let mut holding = holders(&log);
    holding.sort_unstable();
    assert_eq!(holding, sorted([&[master], &workers[..]].concat()));
    drop(server);
    assert!(workers.iter().all(|&worker| title(worker).is_none()));
    assert!(!log.parent().is_some_and(Path::exists));
}

#[test]
fn workers_whose_master_was_killed_are_gone_too() {
    let server = gif().workers(2).start();
    let workers = server.workers();
    signal(server.master(), Signal::KILL);
    drop(server);
    assert!(workers.iter().all(|&worker| title(worker).is_none()));
}

#[test]
fn answers_are_read_whole() {
    let text = "line\n".repeat(50_000);
    let site = gif()
        .server("location /text { ssi on; ssi_types *; }") // has its answers chunked
        .file("text", format!("{text}<!--#echo var=\"arg_a\" -->"));
    let server = site.start();
    let mut connection = server.connect();
    for _ in 0..2 {
        assert_eq!(connection.get("/text?a=end").text(), text.clone() + "end");
        let gif = connection.get("/");
        assert_eq!(gif.field("content-length"), Some("43"));
        assert_eq!((gif.status, &gif.body[..6]), (200, &b"GIF89a"[..]));
        assert_eq!(connection.head("/").status, 200);
        assert_eq!(connection.post("/", b"body").status, 405);
        assert_eq!(connection.get_with("/", "Range: x\r\n").status, 200);
    }
}

#[test]
fn a_crowd_is_counted_and_logged() {
    let site = Site::plain()
        .http("limit_req_zone all zone=all:1m rate=1r/m; limit_req_status 429;")
        .server("location / { limit_req zone=all burst=99 nodelay; empty_gif; }");
    let server = site.workers(2).listen("reuseport").start();
    let counts = crowd(server.port(), "/", 16, 25);
    assert_eq!(counts, [(200, 100), (429, 300)].into());
    let log = server.access_log(400);
    for worker in server.workers() {
        let by = format!("{worker} ");
        assert!(log.iter().any(|line| line.starts_with(&by)), "{worker}");
    }
    let refused = log.iter().filter(|line| line.ends_with(" 429 /"));
    assert_eq!(refused.count(), 300);
    let statuses = server.connect().many("/", 250);
    assert_eq!(count(&statuses), [(429, 250)].into());
}

#[test]
fn a_reload_is_seen_to_succeed_or_fail() {
    let mut server = gif().workers(2).start();
    let old = server.workers();
    server.reload().unwrap();
    let new = server.workers();
    assert!(new.len() == 2 && new.iter().all(|worker| !old.contains(worker)));

    server.configure(gif().workers(2).http("nonsense;"));
    let error = server.reload().unwrap_err();
    assert!(error.contains("unknown directive \"nonsense\""), "{error}");
    assert_eq!(server.workers(), new);

    server.configure(gif().server("location /missing { return 404; }"));
    server.reload().unwrap();
    assert_eq!(server.workers().len(), 1);
    assert_eq!(server.connect().get("/missing").status, 404);
    assert!(server.quit());
}

#[test]
fn a_killed_worker_is_seen_to_be_replaced() {
    let server = gif().start();
    let old = server.workers();
    signal(old[0], Signal::KILL);
    let new = wait_for(|| Some(server.workers()).filter(|new| new.len() == 1 && *new != old));
    assert!(new.is_some());
    assert_eq!(server.connect().get("/").status, 200);
}

#[test]
fn a_configuration_is_tested() {
    let good = gif().test();
    assert!(good.succeeded().contains("test is successful"));
    let wrong = gif().server("location / { }").test();
    assert_eq!(wrong.code, Some(1));
    let said = "duplicate location \"/\" in ";
    assert!(wrong.output.contains(said), "{}", wrong.output);
}

fn sorted(mut pids: Vec<u32>) -> Vec<u32> {
    pids.sort_unstable();
    pids
}
