//! Clients that are slow, have gone or have much to say; and all of it under valgrind.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::thread;

use crate::c_build::under_valgrind;
use crate::processes::wait_for;
use crate::running::own_directory;
use crate::server::{HUNDRED, SERVERS, Server, binary};

#[test]
fn one_who_is_slow_or_has_gone_holds_up_nobody() {
    for name in SERVERS {
        let server = Server::start(name, HUNDRED);
        let mut slow = server.connect();
        slow.send(b"GET /a HT");
        for _ in 0..20 {
            let mut gone = server.connect();
            gone.send(b"GET /gone HTTP/1.1\r\nHost: test\r\n\r\n");
        }
        assert_eq!(server.connect().get("/b").status, 200, "{name}");
        slow.send(b"TP/1.1\r\nHost: test\r\n\r\n");
        assert_eq!(slow.answer().status, 200, "{name}");
        server.ends_well();
    }
}

#[test]
fn a_request_with_a_body_gets_its_answer_too() {
    for name in SERVERS {
        let server = Server::start(name, "default = deny\napi./in = unlimited\n");
        let body = vec![b'x'; 1 << 20];
        for (path, status) in [("/in", 200), ("/out", 429)] {
            let answer = server.connect().post(path, &body);
            assert_eq!(answer.status, status, "{name}: {path}");
        }
        server.ends_well();
    }
}

/// Nothing is freed but by the server itself: clients are still there when it ends.
#[test]
fn valgrind_finds_neither_error_nor_leak() {
    let check = |name: &str, place: PathBuf| {
        let server = Server::start_under(under_valgrind(&binary(name)), &place, HUNDRED);
        let mut stays = server.connect();
        assert_eq!(stays.get("/b").status, 200);
        let counts = server.crowd("/a", 4, 40);
        assert_eq!(counts, BTreeMap::from([(200, 100), (429, 60)]), "{name}");
        server.reload("default = fixed-window,101,1000d\n");
        let passes = wait_for(|| Some(stays.get("/a").status).filter(|&status| status == 200));
        assert_eq!(passes, Some(200), "{name}");
        server.reload("default = wrong\n");
        wait_for(|| server.errors().contains("rules.conf:1: ").then_some(())).unwrap();
        server.connect().send(b"GET /half");
        server.ends_well();
    };
    let place = own_directory();
    thread::scope(|scope| {
        for name in SERVERS {
            let place = place.join(name);
            fs::create_dir_all(&place).unwrap();
            scope.spawn(move || check(name, place));
        }
    });
}
