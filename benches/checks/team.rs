//! Two workers at once: threads of this process, or processes of their own.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;
use std::time::{Duration, Instant};

/// How long it takes until all threads are done.
pub fn threads(workers: usize, work: impl Fn(usize) + Sync) -> Duration {
    let (start, end) = (Barrier::new(workers + 1), Barrier::new(workers + 1));
    std::thread::scope(|scope| {
        for worker in 0..workers {
            let (start, end, work) = (&start, &end, &work);
            scope.spawn(move || {
                start.wait();
                work(worker);
                end.wait();
            });
        }
        start.wait();
        let began = Instant::now();
        end.wait();
        began.elapsed()
    })
}

/// Processes that were forked from this one, as a server's workers are, and work when
/// they are told to. Each ends when this one does.
pub struct Processes(Vec<UnixStream>);

impl Processes {
    /// `begin` is called in each process, and makes what then works: its arguments are
    /// the number of the worker and the two that [`time`](Processes::time) is given.
    pub fn start<W: Fn(usize, [u8; 2])>(workers: usize, begin: impl Fn() -> W) -> Processes {
        let fork = |worker| {
            let (ours, theirs) = UnixStream::pair().unwrap();
            // SAFETY: this process has one thread as yet.
            if unsafe { libc::fork() } == 0 {
                drop(ours);
                let work = || serve(theirs, worker, &begin);
                let failed = catch_unwind(AssertUnwindSafe(work)).is_err();
                // SAFETY: it ends the child, here and now: what it has of its parent's
                // is not its own to drop.
                unsafe { libc::_exit(failed.into()) }
            }
            ours
        };
        let mut processes = Processes((0..workers).map(fork).collect());
        processes.wait();
        processes
    }

    /// How long it takes until all are done.
    pub fn time(&mut self, what: [u8; 2]) -> Duration {
        let began = Instant::now();
        for stream in &mut self.0 {
            stream.write_all(&what).unwrap();
        }
        self.wait();
        began.elapsed()
    }

    /// Waits until each has said that it is done; one that has died never will, but the
    /// end of its stream does.
    fn wait(&mut self) {
        for stream in &mut self.0 {
            stream.read_exact(&mut [0]).unwrap();
        }
    }
}

/// What a process does until its parent ends.
fn serve<W: Fn(usize, [u8; 2])>(mut stream: UnixStream, worker: usize, begin: impl Fn() -> W) {
    let work = begin();
    let mut what = [0; 2];
    while stream.write_all(&[1]).is_ok() && stream.read_exact(&mut what).is_ok() {
        work(worker, what);
    }
}
