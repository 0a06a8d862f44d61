//! Who works: threads of this process, or processes of their own, each on a processor.

use std::io::{Read, Write};
use std::mem::zeroed;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::Instant;

/// So many calls by each of so many workers, of which so many must be allowed.
#[derive(Clone, Copy)]
pub struct Task {
    pub workers: usize,
    pub calls: usize,
    pub allowed: usize,
}

/// Nanoseconds for a call by threads that begin together, each in its own time: the mean
/// of theirs. The first is the caller. `work` does the calls of one, and returns how many
/// were allowed.
pub fn time(task: Task, work: impl Fn(usize) -> usize + Sync) -> f64 {
    let spans = spans(task, work);
    spans.iter().map(|span| task.ns(*span)).sum::<f64>() / task.workers as f64
}

/// The same, of all of them: from when the first begins until the last has ended. That is
/// what counts where threads share a processor, and some begin when others have ended.
pub fn time_of_all(task: Task, work: impl Fn(usize) -> usize + Sync) -> f64 {
    let spans = spans(task, work);
    let began = spans.iter().map(|span| span.0).min().unwrap();
    let ended = spans.iter().map(|span| span.1).max().unwrap();
    task.ns((began, ended))
}

type Span = (Instant, Instant);

fn spans(task: Task, work: impl Fn(usize) -> usize + Sync) -> Vec<Span> {
    let begun = AtomicUsize::new(0);
    let run = |worker| task.run(&begun, || work(worker));
    thread::scope(|scope| {
        let other = |worker| {
            scope.spawn(move || {
                pin(worker);
                run(worker)
            })
        };
        let others: Vec<_> = (1..task.workers).map(other).collect();
        let own = run(0);
        let others = others.into_iter().map(|other| other.join().unwrap());
        others.chain([own]).collect()
    })
}

impl Task {
    /// Nanoseconds for a call of one worker. `begun` is for all of them.
    pub fn time(self, begun: &AtomicUsize, work: impl FnOnce() -> usize) -> f64 {
        self.ns(self.run(begun, work))
    }

    fn run(self, begun: &AtomicUsize, work: impl FnOnce() -> usize) -> Span {
        meet(begun, self.workers);
        let began = Instant::now();
        let allowed = work();
        let ended = Instant::now();
        assert_eq!(allowed, self.allowed);
        (began, ended)
    }

    fn ns(self, (began, ended): Span) -> f64 {
        (ended - began).as_nanos() as f64 / self.calls as f64
    }
}

/// Waits for the others, without sleep: who is woken begins late.
fn meet(begun: &AtomicUsize, workers: usize) {
    let all = (begun.fetch_add(1, SeqCst) + 1).next_multiple_of(workers);
    while begun.load(SeqCst) < all {
        thread::yield_now();
    }
}

/// Keeps the calling thread on one processor, as a worker of this number.
pub fn pin(worker: usize) {
    static PROCESSORS: OnceLock<Vec<usize>> = OnceLock::new();
    let processors = PROCESSORS.get_or_init(processors);
    unsafe {
        let mut set: libc::cpu_set_t = zeroed();
        libc::CPU_SET(processors[worker % processors.len()], &mut set);
        assert_eq!(libc::sched_setaffinity(0, size_of_val(&set), &set), 0);
    }
}

/// Those that this process may use.
fn processors() -> Vec<usize> {
    unsafe {
        let mut set: libc::cpu_set_t = zeroed();
        assert_eq!(libc::sched_getaffinity(0, size_of_val(&set), &mut set), 0);
        let all = 0..libc::CPU_SETSIZE as usize;
        all.filter(|&one| libc::CPU_ISSET(one, &set)).collect()
    }
}

/// Processes that were forked from this one, as a server's workers are, and work when
/// they are told to. Each ends when this one does.
pub struct Processes(Vec<UnixStream>);

impl Processes {
    /// `begin` is called in each process, and makes what then works and says how long it
    /// took: its arguments are the number of the worker, what [`Task::time`] takes, and
    /// what [`Processes::time`] is given.
    pub fn start<W>(workers: usize, begin: impl Fn() -> W) -> Processes
    where
        W: Fn(usize, &AtomicUsize, [u8; 2]) -> f64,
    {
        let begun = shared_number();
        let fork = |worker| {
            let (ours, theirs) = UnixStream::pair().unwrap();
            // SAFETY: this process has one thread as yet.
            if unsafe { libc::fork() } == 0 {
                drop(ours);
                let work = || serve(theirs, worker, begun, &begin);
                let failed = catch_unwind(AssertUnwindSafe(work)).is_err();
                // SAFETY: it ends the child, here and now: what it has of its parent's
                // is not its own to drop.
                unsafe { libc::_exit(failed.into()) }
            }
            ours
        };
        let mut processes = Processes((0..workers).map(fork).collect());
        processes.answers();
        processes
    }

    /// Nanoseconds for a call, as [`time`] has them.
    pub fn time(&mut self, what: [u8; 2]) -> f64 {
        for stream in &mut self.0 {
            stream.write_all(&what).unwrap();
        }
        self.answers() / self.0.len() as f64
    }

    /// The sum of what they say when they are done; one that has died says nothing more,
    /// and its stream ends.
    fn answers(&mut self) -> f64 {
        let mut answer = [0; 8];
        let mut read = |stream: &mut UnixStream| {
            stream.read_exact(&mut answer).unwrap();
            f64::from_le_bytes(answer)
        };
        self.0.iter_mut().map(&mut read).sum()
    }
}

/// What a process does until its parent ends.
fn serve<W>(mut stream: UnixStream, worker: usize, begun: &AtomicUsize, begin: impl Fn() -> W)
where
    W: Fn(usize, &AtomicUsize, [u8; 2]) -> f64,
{
    pin(worker);
    let work = begin();
    let (mut what, mut time) = ([0; 2], 0.0f64);
    while stream.write_all(&time.to_le_bytes()).is_ok() && stream.read_exact(&mut what).is_ok() {
        time = work(worker, begun, what);
    }
}

/// Memory that forked processes have in common, until they end.
fn shared_number() -> &'static AtomicUsize {
    let (protection, flags) = (
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_SHARED | libc::MAP_ANONYMOUS,
    );
    unsafe {
        let page = libc::mmap(null_mut(), 4096, protection, flags, -1, 0);
        assert_ne!(page, libc::MAP_FAILED);
        &*page.cast()
    }
}
