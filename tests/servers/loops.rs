//! The plain loop over epoll, which has its HTTP from nobody.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;

use rustix::process::{Resource, getrlimit, setrlimit};

use crate::client::count;
use crate::processes::wait_for;
use crate::server::{HUNDRED, Server};

#[test]
fn the_loop_takes_requests_in_one_go_and_in_pieces() {
    let server = Server::start("epoll", HUNDRED);
    let statuses = server.connect().many("/a", 150);
    assert_eq!(count(&statuses), BTreeMap::from([(200, 100), (429, 50)]));
    let mut client = server.connect();
    for byte in b"GET /b HTTP/1.1\r\nHost: test\r\n\r\nGET /c" {
        client.send(&[*byte]);
    }
    assert_eq!(client.answer().status, 200);
    client.send(b" HTTP/1.1\r\n\r\n");
    assert_eq!(client.answer().status, 200);
    server.ends_well();
}

/// Answered, and then closed: what might come next cannot be told from a body.
#[test]
fn the_loop_closes_where_it_cannot_go_on() {
    let server = Server::start("epoll", "default = unlimited\n");
    let long = format!("GET /a HTTP/1.1\r\nX: {}", "x".repeat(10_000));
    let twice = "GET /a HTTP/1.1\r\ncontent-length: 23\r\n\r\nGET /b HTTP/1.1\r\n\r\n";
    for (request, status) in [
        (twice, "200"),
        ("GET /a HTTP/1.1\r\nConnection: Close\r\n\r\n", "200"),
        (
            "GET /a HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n",
            "200",
        ),
        ("GET /a HTTP/1.0\r\n\r\n", "200"),
        ("GET /a\r\n\r\n", "200"),
        ("GET\r\n\r\n", "400"),
        ("\r\n\r\n", "400"),
        (long.as_str(), "400"),
    ] {
        let answers = server.exchange(request.as_bytes());
        let first = format!("HTTP/1.1 {status} ");
        assert!(answers.starts_with(&first), "{request:.60}: {answers}");
        assert_eq!(answers.matches("HTTP/1.1 ").count(), 1, "{answers}");
        assert!(answers.contains("\r\nConnection: close\r\n"), "{answers}");
    }
    server.ends_well();
}

#[test]
fn the_loop_parts_from_who_never_reads() {
    let server = Server::start("epoll", HUNDRED);
    let mut deaf = server.stream();
    let requests = "GET /a HTTP/1.1\r\n\r\n".repeat(1000);
    let parted = (0..10_000).any(|_| deaf.write_all(requests.as_bytes()).is_err());
    assert!(parted, "it takes 10,000,000 requests without a reader");
    assert_eq!(server.connect().get("/b").status, 200);
    server.ends_well();
}

/// More connections than it has places for: those beyond are closed, and nobody waits.
#[test]
fn the_loop_turns_away_whom_it_has_no_place_for() {
    let server = Server::start("epoll", HUNDRED);
    let mut first = server.connect();
    assert_eq!(first.get("/a").status, 200);
    may_open(4096);
    let crowd: Vec<_> = (0..1010).map(|_| server.stream()).collect();
    let turned_away = |mut stream: &TcpStream| stream.read(&mut [0]).is_ok_and(|read| read == 0);
    assert!(turned_away(crowd.last().unwrap()));
    assert_eq!(first.get("/a").status, 200);
    drop(crowd);
    let again = wait_for(|| server.exchange(b"GET /b HTTP/1.0\r\n\r\n").find("200"));
    assert!(again.is_some());
    server.ends_well();
}

/// More than the buffers of the connection hold: a server that did not read it would cut it.
#[test]
fn the_loop_lets_a_refused_body_run_out() {
    let server = Server::start("epoll", "default = deny\n");
    let answer = server.connect().post("/a", &vec![b'x'; 32 << 20]);
    assert_eq!(answer.status, 429);
    server.ends_well();
}

/// Lets this process, of which the usual limit is 1024, have so many files open.
fn may_open(files: u64) {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.current.map(|current| current.max(files));
    setrlimit(Resource::Nofile, limit).unwrap();
}
