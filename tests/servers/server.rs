//! A server that runs, and what it is asked.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::thread;

use rustix::process::Signal;

use crate::client::{Answer, Connection, count};
use crate::made::{build, make};
use crate::processes::{TIME_LIMIT, signal, wait_for};
use crate::running::own_directory;

pub const SERVERS: [&str; 3] = ["epoll", "evhttp", "microhttpd"];

/// No counter gets anything back while a test runs, and counts stay counts under a new limit.
pub const HUNDRED: &str = "default = fixed-window,100,1000d\n";
pub const TWO: &str = "default = fixed-window,2,1000d\n";

/// A server that runs; killed when it is dropped.
pub struct Server {
    child: Child,
    pid: u32,
    pub port: u16,
    rules: PathBuf,
    errors: PathBuf,
}

impl Server {
    pub fn start(name: &str, rules: &str) -> Self {
        Self::start_under(Command::new(binary(name)), &own_directory(), rules)
    }

    /// Returns when it has said where it listens.
    pub fn start_under(mut command: Command, place: &Path, text: &str) -> Self {
        let [rules, out, errors] = ["rules.conf", "out", "errors"].map(|name| place.join(name));
        fs::write(&rules, text).unwrap();
        command.arg("0").arg(&rules).stdin(Stdio::null());
        command.stdout(File::create(&out).unwrap());
        command.stderr(File::create(&errors).unwrap());
        let child = command.spawn().unwrap();
        let mut server = Self {
            pid: child.id(),
            child,
            port: 0,
            rules,
            errors,
        };
        let line = || Some(fs::read_to_string(&out).unwrap()).filter(|out| out.ends_with('\n'));
        let said = wait_for(line);
        let said = said.unwrap_or_else(|| panic!("{command:?}: {}", server.errors()));
        let port = said.strip_prefix("listening on 127.0.0.1:").unwrap();
        server.port = port.trim_end().parse().unwrap();
        server
    }

    pub fn connect(&self) -> Connection {
        Connection::new(self.port)
    }

    pub fn stream(&self) -> TcpStream {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).unwrap();
        stream.set_read_timeout(Some(TIME_LIMIT)).unwrap();
        stream.set_write_timeout(Some(TIME_LIMIT)).unwrap();
        stream
    }

    /// All that comes until the server closes. That it has done so already is an answer too.
    pub fn exchange(&self, bytes: &[u8]) -> String {
        let mut answers = String::new();
        let mut stream = self.stream();
        let _ = stream.write_all(bytes);
        let _ = stream.read_to_string(&mut answers);
        answers
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// How often each status was there, of so many connections side by side, each of which
    /// asks so often and is kept.
    pub fn crowd(&self, path: &str, connections: usize, requests: usize) -> BTreeMap<u16, usize> {
        let visit = || {
            let mut client = self.connect();
            let answers = (0..requests).map(|_| client.get(path));
            answers.map(checked).collect::<Vec<_>>()
        };
        let visits = thread::scope(|scope| {
            let visitors: Vec<_> = (0..connections).map(|_| scope.spawn(visit)).collect();
            let visits = visitors.into_iter().map(|visitor| visitor.join().unwrap());
            visits.collect::<Vec<_>>().concat()
        });
        count(&visits)
    }

    pub fn reload(&self, rules: &str) {
        // Renamed, so that no half of it is read.
        let new = self.rules.with_extension("new");
        fs::write(&new, rules).unwrap();
        fs::rename(&new, &self.rules).unwrap();
        signal(self.pid, Signal::HUP);
    }

    pub fn errors(&self) -> String {
        fs::read_to_string(&self.errors).unwrap()
    }

    pub fn ends_well(mut self) {
        signal(self.pid, Signal::TERM);
        let ended = wait_for(|| self.child.try_wait().unwrap());
        let code = ended.and_then(|status| status.code());
        assert_eq!(code, Some(0), "{}", self.errors());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One of the servers, after all are built.
pub fn binary(name: &str) -> PathBuf {
    static MADE: OnceLock<()> = OnceLock::new();
    MADE.get_or_init(|| make(&["servers"]));
    build().join("servers").join(name)
}

/// The status of an answer with the fields that belong to it.
fn checked(answer: Answer) -> u16 {
    let refused = answer.status == 429;
    assert_eq!(answer.field("Retry-After").is_some(), refused);
    let left = answer.field("RateLimit").unwrap();
    assert!(!refused || left.contains(";r=0;"), "{left}");
    answer.status
}

/// A time that was right a moment ago.
pub fn is_about(number: &str, seconds: u64) -> bool {
    let number: u64 = number.parse().unwrap();
    (seconds.saturating_sub(60)..=seconds).contains(&number)
}
