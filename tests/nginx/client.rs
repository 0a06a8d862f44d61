//! A small client for HTTP/1.1, which keeps its connection and can send many requests in one
//! go. No read or write takes longer than the time limit.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::thread;

use crate::processes::TIME_LIMIT;

pub struct Answer {
    pub status: u16,
    fields: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    /// The value of a field, which is there once or not at all.
    pub fn field(&self, name: &str) -> Option<&str> {
        let mut found = self
            .fields
            .iter()
            .filter(|(other, _)| other.eq_ignore_ascii_case(name));
        let value = found.next().map(|(_, value)| value.as_str());
        assert!(found.next().is_none(), "{name} twice: {:?}", self.fields);
        value
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

pub struct Connection(BufReader<TcpStream>);

impl Connection {
    pub fn new(port: u16) -> Self {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        stream.set_read_timeout(Some(TIME_LIMIT)).unwrap();
        stream.set_write_timeout(Some(TIME_LIMIT)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self(BufReader::new(stream))
    }

    pub fn get(&mut self, path: &str) -> Answer {
        self.get_with(path, "")
    }

    /// With header fields, each of which ends with CRLF.
    pub fn get_with(&mut self, path: &str, fields: &str) -> Answer {
        self.send(request("GET", path, fields).as_bytes());
        self.answer()
    }

    pub fn head(&mut self, path: &str) -> Answer {
        self.send(request("HEAD", path, "").as_bytes());
        self.head_of_answer()
    }

    pub fn post(&mut self, path: &str, body: &[u8]) -> Answer {
        let fields = format!("Content-Length: {}\r\n", body.len());
        self.send(request("POST", path, &fields).as_bytes());
        self.send(body);
        self.answer()
    }

    /// The statuses of so many requests, which are sent in one go.
    pub fn many(&mut self, path: &str, count: usize) -> Vec<u16> {
        self.each(&vec![path; count])
    }

    /// The statuses of requests for these paths, which are sent in one go.
    pub fn each(&mut self, paths: &[impl AsRef<str>]) -> Vec<u16> {
        // No more at once than fit into the buffers of the connection.
        let portions = paths.chunks(100).flat_map(|paths| {
            let requests = paths.iter().map(|path| request("GET", path.as_ref(), ""));
            self.send(requests.collect::<String>().as_bytes());
            let statuses = paths.iter().map(|_| self.answer().status);
            statuses.collect::<Vec<_>>()
        });
        portions.collect()
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.0.get_mut().write_all(bytes).unwrap();
    }

    /// The next answer, with its body.
    pub fn answer(&mut self) -> Answer {
        let mut answer = self.head_of_answer();
        let chunked = answer.field("Transfer-Encoding") == Some("chunked");
        let length = answer.field("Content-Length");
        answer.body = match length.map(|length| length.parse().unwrap()) {
            _ if answer.status == 204 || answer.status == 304 => Vec::new(),
            _ if chunked => self.chunks(),
            Some(length) => self.bytes(length),
            None => self.rest(),
        };
        answer
    }

    /// The next answer where it has no body.
    fn head_of_answer(&mut self) -> Answer {
        let line = self.line();
        let status = line.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = status.unwrap_or_else(|| panic!("no status: {line:?}"));
        let mut fields = Vec::new();
        loop {
            let line = self.line();
            if line.is_empty() {
                break;
            }
            let field = line.split_once(": ");
            let (name, value) = field.unwrap_or_else(|| panic!("no field: {line:?}"));
            fields.push((name.to_owned(), value.to_owned()));
        }
        let body = Vec::new();
        Answer {
            status,
            fields,
            body,
        }
    }

    /// Without its CRLF, which it must have.
    fn line(&mut self) -> String {
        let mut line = Vec::new();
        self.0.read_until(b'\n', &mut line).unwrap();
        let line = String::from_utf8_lossy(&line);
        let whole = line.strip_suffix("\r\n");
        whole
            .unwrap_or_else(|| panic!("no line: {line:?}"))
            .to_owned()
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).unwrap();
        body
    }

    fn chunks(&mut self) -> Vec<u8> {
        let mut body = Vec::new();
        loop {
            let length = usize::from_str_radix(&self.line(), 16).unwrap();
            body.extend(self.bytes(length));
            self.line();
            if length == 0 {
                return body;
            }
        }
    }

    fn rest(&mut self) -> Vec<u8> {
        let mut body = Vec::new();
        self.0.read_to_end(&mut body).unwrap();
        body
    }
}

fn request(method: &str, path: &str, fields: &str) -> String {
    format!("{method} {path} HTTP/1.1\r\nHost: test\r\n{fields}\r\n")
}

/// How often each status was there, of so many connections side by side, each with so many
/// requests.
pub fn crowd(port: u16, path: &str, connections: usize, requests: usize) -> BTreeMap<u16, usize> {
    let visit = || Connection::new(port).many(path, requests);
    let statuses = thread::scope(|scope| {
        let visitors: Vec<_> = (0..connections).map(|_| scope.spawn(visit)).collect();
        let statuses = visitors
            .into_iter()
            .flat_map(|visitor| visitor.join().unwrap());
        statuses.collect::<Vec<_>>()
    });
    count(&statuses)
}

pub fn count(statuses: &[u16]) -> BTreeMap<u16, usize> {
    let mut counts = BTreeMap::new();
    for &status in statuses {
        *counts.entry(status).or_default() += 1;
    }
    counts
}
