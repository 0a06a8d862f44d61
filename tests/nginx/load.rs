//! Clients that ask and ask while something happens to nginx, and what became of all their
//! requests.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::ops::AddAssign;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::processes::TIME_LIMIT;

/// How many ask, each over a new connection for each request.
const VISITORS: usize = 3;

/// So that they neither use up a limit at once nor run out of ports.
const PAUSE: Duration = Duration::from_millis(1);

/// What became of some requests.
#[derive(Debug, Default)]
pub struct Asked {
    pub statuses: BTreeMap<u16, usize>,
    /// Requests without a whole answer.
    pub lost: usize,
    /// Requests that were sent again, since a kept connection was closed. This is no loss:
    /// a server may do so between two requests.
    pub again: usize,
    pub slowest: Duration,
}

impl Asked {
    pub fn passed(&self) -> usize {
        self.statuses.get(&200).copied().unwrap_or(0)
    }

    pub fn refused(&self) -> usize {
        self.statuses.get(&429).copied().unwrap_or(0)
    }

    /// All had a whole answer, yes or no.
    #[track_caller]
    pub fn none_is_lost(&self) {
        let answered: usize = self.statuses.values().sum();
        assert_eq!(self.lost, 0, "{self:?}");
        assert_eq!(self.passed() + self.refused(), answered, "{self:?}");
    }

    /// Adds those of requests that were made afterwards.
    pub fn add(&mut self, statuses: &[u16]) {
        for &status in statuses {
            self.take(Ok(status), Duration::ZERO);
        }
    }

    fn take(&mut self, answer: io::Result<u16>, took: Duration) {
        match answer {
            Ok(status) => *self.statuses.entry(status).or_default() += 1,
            Err(_) => self.lost += 1,
        }
        self.slowest = self.slowest.max(took);
    }
}

impl AddAssign for Asked {
    fn add_assign(&mut self, other: Self) {
        for (status, count) in other.statuses {
            *self.statuses.entry(status).or_default() += count;
        }
        self.lost += other.lost;
        self.again += other.again;
        self.slowest = self.slowest.max(other.slowest);
    }
}

/// Asks for a path, over new connections and over one that is kept, until something has
/// happened.
pub fn while_asked(port: u16, path: &str, happens: impl FnOnce()) -> Asked {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let asks = || until(&over, || (once(port, path), 0));
        let mut visitors: Vec<_> = (0..VISITORS).map(|_| scope.spawn(asks)).collect();
        visitors.push(scope.spawn(|| {
            let mut kept = None;
            until(&over, || again(port, path, &mut kept))
        }));
        let end = SetAtEnd(&over);
        happens();
        drop(end);
        let mut asked = Asked::default();
        for visitor in visitors {
            asked += visitor.join().unwrap();
        }
        asked
    })
}

/// Also where a test fails.
struct SetAtEnd<'a>(&'a AtomicBool);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn until(over: &AtomicBool, mut ask: impl FnMut() -> (io::Result<u16>, usize)) -> Asked {
    let mut asked = Asked::default();
    while !over.load(Ordering::Relaxed) {
        let begun = Instant::now();
        let (answer, again) = ask();
        asked.take(answer, begun.elapsed());
        asked.again += again;
        thread::sleep(PAUSE);
    }
    asked
}

/// One request with a connection of its own.
fn once(port: u16, path: &str) -> io::Result<u16> {
    let fields = "Connection: close\r\n";
    let answer = exchange(&mut connect(port)?, path, fields)?;
    answer.ok_or(io::ErrorKind::UnexpectedEof.into())
}

/// One request over a connection that is kept, and over a new one where it was closed. Says
/// how often it was.
fn again(
    port: u16,
    path: &str,
    kept: &mut Option<BufReader<TcpStream>>,
) -> (io::Result<u16>, usize) {
    let old = kept.take().map(|mut stream| {
        let answer = exchange(&mut stream, path, "");
        (answer, stream)
    });
    match old {
        Some((Ok(Some(status)), stream)) => {
            *kept = Some(stream);
            (Ok(status), 0)
        }
        Some((Err(error), _)) => (Err(error), 0),
        Some((Ok(None), _)) => (first(port, path, kept), 1),
        None => (first(port, path, kept), 0),
    }
}

/// The first request over a connection that is kept.
fn first(port: u16, path: &str, kept: &mut Option<BufReader<TcpStream>>) -> io::Result<u16> {
    let mut stream = connect(port)?;
    let answer = exchange(&mut stream, path, "")?;
    *kept = Some(stream);
    answer.ok_or(io::ErrorKind::UnexpectedEof.into())
}

fn connect(port: u16) -> io::Result<BufReader<TcpStream>> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(TIME_LIMIT))?;
    stream.set_write_timeout(Some(TIME_LIMIT))?;
    Ok(BufReader::new(stream))
}

/// The status of a whole answer; nothing where the connection was closed before it began.
fn exchange(
    stream: &mut BufReader<TcpStream>,
    path: &str,
    fields: &str,
) -> io::Result<Option<u16>> {
    let request = format!("GET {path} HTTP/1.1\r\nHost: test\r\n{fields}\r\n");
    let sent = stream.get_mut().write_all(request.as_bytes());
    match sent.and_then(|()| line(stream)) {
        Ok(line) if line.is_empty() => Ok(None),
        Ok(line) => rest(stream, &line).map(Some),
        Err(error) if is_closed(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The status, after all that follows its line has been read.
fn rest(stream: &mut BufReader<TcpStream>, status: &str) -> io::Result<u16> {
    let status = status.split(' ').nth(1).and_then(|code| code.parse().ok());
    let mut length = None;
    loop {
        let field = line(stream)?;
        match field.split_once(": ") {
            Some(("Content-Length", value)) => length = value.trim_end().parse().ok(),
            Some(_) => {}
            None if field == "\r\n" => break,
            None => return Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
    let mut body = vec![0; length.ok_or(io::ErrorKind::InvalidData)?];
    stream.read_exact(&mut body)?;
    status.ok_or(io::ErrorKind::InvalidData.into())
}

/// The next line with its end; without one if the connection was closed.
fn line(stream: &mut BufReader<TcpStream>) -> io::Result<String> {
    let mut line = String::new();
    stream.read_line(&mut line)?;
    Ok(line)
}

fn is_closed(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset};
    [BrokenPipe, ConnectionReset].contains(&error.kind())
}
