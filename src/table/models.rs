//! Models of what threads do to the table at the same time. Loom runs each through
//! all orders of its steps (as many as three changes of thread out of turn can
//! make), and through the values that a weakly ordered machine might read.
//!
//! ```text
//! RUSTFLAGS="--cfg loom" cargo test --release --lib loom
//! ```
//!
//! Loom tries the orders of two accesses only where the second writes and the last
//! access before it was another thread's: a writer that reads a word before it
//! writes it hides all readers before. Where a model is about a reader, the writer
//! therefore writes without reading. What no model can show is the need for
//! `Acquire` where a bucket is claimed: the look before has acquired the same version.

use loom::sync::Arc;
use loom::thread;

use super::bucket::Bucket;
use super::log::{Handle, PoolHead};
use super::trial::{Trial, counter};
use super::*;
use crate::algorithm::{Algorithm, Run, Runs};
use crate::sync::{AtomicU64, Ordering};

/// Keeps a model to some seconds.
const PREEMPTIONS: usize = 3;

const NOW: u64 = 1_000_000_000;

fn model(preemptions: usize, run: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 20_000;
    builder.check(run);
}

/// Stores a counter in the bucket's first slot, without a look at what it holds.
fn put(bucket: &Bucket, state: State) {
    let seen = bucket.look();
    let slot = seen.slots().next().unwrap();
    seen.claim()
        .unwrap()
        .write(slot, 1 << 63, Weight::default(), state);
}

/// Adds 1 to both words of the bucket's first counter.
fn add_one(bucket: &Bucket) {
    loop {
        let seen = bucket.look();
        let slot = seen.slots().next().unwrap();
        let State { idle_at, data } = slot.state();
        if let Some(mut claimed) = seen.claim() {
            let next = State {
                idle_at: idle_at + 1,
                data: data + 1,
            };
            claimed.write(slot, 1 << 63, Weight::default(), next);
            return;
        }
    }
}

#[test]
fn loom_what_two_writers_add_is_both_counted() {
    model(PREEMPTIONS, || {
        let bucket = Arc::new(Bucket::new());
        let other = Arc::clone(&bucket);
        let writer = thread::spawn(move || add_one(&other));
        add_one(&bucket);
        writer.join().unwrap();
        let slot = bucket.look().slots().next().unwrap();
        let expected = State {
            idle_at: 2,
            data: 2,
        };
        assert_eq!(slot.state(), expected);
    });
}

#[test]
fn loom_a_reader_never_believes_a_counter_that_is_half_written() {
    model(PREEMPTIONS, || {
        let bucket = Arc::new(Bucket::new());
        let other = Arc::clone(&bucket);
        let writer = thread::spawn(move || {
            for (idle_at, data) in [(1, 1), (2, 2)] {
                put(&other, State { idle_at, data });
            }
        });
        let seen = bucket.look();
        let state = seen.slots().next().unwrap().state();
        if seen.unchanged() {
            assert_eq!(state.idle_at, state.data);
        }
        writer.join().unwrap();
    });
}

fn table(layout: Layout) -> Arc<Table> {
    Arc::new(Table::private(layout).unwrap())
}

/// A counter whose homes are buckets 0 and 1 of two, the first of them `first`.
fn key(first: u64, number: u64) -> Key {
    Key {
        fingerprint: 1 << 63 | number << 5,
        home: first << 63,
    }
}

/// One request on a fixed window's limit.
fn check(table: &Table, key: Key, limit: u64) -> bool {
    let trial = Trial {
        table,
        key,
        now: NOW,
        cost: 1,
        evict: true,
    };
    loop {
        match trial.of(Algorithm::FixedWindow, limit, NOW) {
            Ok(allowed) => return allowed,
            Err(NotStored::Changed) => continue,
            Err(NotStored::Full(full)) => panic!("{full:?}"),
        }
    }
}

const TWO_BUCKETS: Layout = Layout {
    buckets: 2,
    chunks: 0,
};

#[test]
fn loom_two_who_meet_at_a_new_key_get_one_counter() {
    model(2, || {
        let table = table(TWO_BUCKETS);
        let other = Arc::clone(&table);
        let second = thread::spawn(move || check(&other, key(0, 1), 1));
        let first = check(&table, key(0, 1), 1);
        let second = second.join().unwrap();
        assert!(first != second, "{first} and {second}");
        assert_eq!(table.census(NOW).keys, 1);
    });
}

#[test]
fn loom_two_who_insert_into_the_same_buckets_do_not_wait_for_each_other() {
    model(2, || {
        let table = table(TWO_BUCKETS);
        let other = Arc::clone(&table);
        let second = thread::spawn(move || check(&other, key(1, 2), 1));
        assert!(check(&table, key(0, 1), 1));
        assert!(second.join().unwrap());
        assert_eq!(table.census(NOW).keys, 2);
    });
}

/// One request on two fixed windows' limits of 1 each: both are charged or none.
fn check_both(table: &Table, keys: [Key; 2]) -> bool {
    let terms = Terms {
        now: NOW,
        evict: true,
    };
    let counter = counter(Algorithm::FixedWindow, 1, NOW);
    loop {
        let trials = keys.map(|key| Trial {
            table,
            key,
            now: NOW,
            cost: 1,
            evict: true,
        });
        let charged = trials.map(|trial| trial.change(&counter, 1, false));
        let refused = charged.iter().find(|(_, verdict)| !verdict.allowed);
        if let Some((change, _)) = refused {
            match table.keep(change.found) {
                Ok(()) => return false,
                Err(_) => continue,
            }
        }
        match table.store_all(&charged.map(|(change, _)| change), terms) {
            Ok(()) => return true,
            Err(NotStored::Changed) => loom::thread::yield_now(),
            Err(NotStored::Full(full)) => panic!("{full:?}"),
        }
    }
}

/// Two who charge the same two counters, each in the other's order.
fn one_gets_both(table: Arc<Table>) {
    let [one, two] = [key(0, 1), key(1, 2)];
    let other = Arc::clone(&table);
    let second = thread::spawn(move || check_both(&other, [two, one]));
    let first = check_both(&table, [one, two]);
    let second = second.join().unwrap();
    assert!(first != second, "{first} and {second}");
    assert!(!check(&table, one, 1) && !check(&table, two, 1));
    assert_eq!(table.census(NOW).keys, 2);
}

#[test]
fn loom_of_two_who_charge_two_new_counters_one_gets_both() {
    model(2, || one_gets_both(table(TWO_BUCKETS)));
}

/// The counters stand in different buckets, which each claims one after the other.
#[test]
fn loom_of_two_who_charge_two_known_counters_one_gets_both() {
    model(PREEMPTIONS, || {
        let table = table(TWO_BUCKETS);
        let known = State {
            idle_at: 2 * NOW,
            data: 0,
        };
        for (number, key) in [(0, key(0, 1)), (1, key(1, 2))] {
            let mut claimed = table.bucket(number).look().claim().unwrap();
            let slot = claimed.seen().slots().next().unwrap();
            claimed.write(slot, key.fingerprint, Weight::default(), known);
        }
        one_gets_both(table);
    });
}

/// A window's count of 2 of 2 ends, and another request has begun the next: between
/// the two words of that, the new window looks full.
#[test]
fn loom_nobody_is_refused_by_a_counter_that_is_half_written() {
    model(PREEMPTIONS, || {
        let table = table(Layout {
            buckets: 1,
            chunks: 0,
        });
        let (key, full, begun) = (key(0, 1), (NOW, 2), (2 * NOW, 1));
        let state = |(idle_at, data)| State { idle_at, data };
        let change = Change {
            key,
            found: table.find(key),
            next: state(full),
            weight: Weight::default(),
            edit: None,
        };
        let terms = Terms {
            now: 0,
            evict: true,
        };
        assert_eq!(table.store(change, terms), Ok(()));
        let other = Arc::clone(&table);
        let writer = thread::spawn(move || {
            let seen = other.bucket(0).look();
            let slot = seen.find(key.fingerprint).unwrap();
            if let Some(mut claimed) = seen.claim() {
                claimed.write(slot, key.fingerprint, Weight::default(), state(begun));
            }
        });
        assert!(check(&table, key, 2));
        writer.join().unwrap();
    });
}

/// A pool with a note of who holds each chunk.
struct Chunks {
    head: PoolHead,
    chunks: Vec<chunk::Chunk>,
    held: Vec<AtomicU64>,
}

impl Chunks {
    /// All chunks are on the stack of free ones.
    fn free(count: usize) -> Chunks {
        let chunks = Chunks {
            head: PoolHead::new(),
            chunks: (0..count).map(|_| chunk::Chunk::new()).collect(),
            held: (0..count).map(|_| AtomicU64::new(0)).collect(),
        };
        let taken: Vec<_> = (0..count).map(|_| chunks.take().unwrap()).collect();
        taken.into_iter().for_each(|chunk| chunks.give_back(chunk));
        chunks
    }

    fn pool(&self) -> Pool<'_> {
        Pool::new(&self.head, &self.chunks)
    }

    fn take(&self) -> Option<u32> {
        let chunk = self.pool().take()?;
        let before = self.held[chunk as usize - 1].swap(1, Ordering::Relaxed);
        assert_eq!(before, 0, "chunk {chunk} was handed out twice");
        Some(chunk)
    }

    fn give_back(&self, chunk: u32) {
        self.held[chunk as usize - 1].store(0, Ordering::Relaxed);
        self.pool().give_back(Handle::single(chunk));
    }
}

/// One takes a chunk while the other takes two and gives the first back: the stack
/// then has the same top as before, and another chunk below it.
#[test]
fn loom_no_chunk_is_handed_out_twice() {
    model(PREEMPTIONS, || {
        let chunks = Arc::new(Chunks::free(3));
        let other = Arc::clone(&chunks);
        let thread = thread::spawn(move || {
            let first = other.take().unwrap();
            let second = other.take();
            other.give_back(first);
            second
        });
        let mine = chunks.take().unwrap();
        let second = thread.join().unwrap();
        assert!(second.is_some_and(|second| second != mine));
        // None was lost either.
        assert!(chunks.take().is_some());
        assert!(chunks.take().is_none());
    });
}

/// One forgets a log, another makes its chunk part of a new one, a third reads the
/// old one: it believes it as it was, or not at all.
#[test]
fn loom_a_reader_never_believes_a_chunk_that_has_a_new_owner() {
    const OLD: Run = Run { tick: 1, count: 1 };
    const NEW: Run = Run { tick: 2, count: 2 };
    fn begin(chunks: &Chunks, bucket: &Bucket, run: Run) -> bool {
        let mut claimed = bucket.look().claim().unwrap();
        let slot = claimed.seen().slots().next().unwrap();
        let edit = Edit::Restart(run);
        let take = || {
            chunks.pool().take().ok_or(Full {
                wait_ns: 0,
                index: 0,
            })
        };
        let (log, edited) = chunks.pool().edit(Handle::default(), edit, 0, take);
        let state = State {
            idle_at: 1,
            data: log.data(),
        };
        claimed.write(slot, 1 << 63 | 1, Weight::default(), state);
        edited.is_ok()
    }
    model(2, || {
        let chunks = Arc::new(Chunks::free(1));
        let buckets = Arc::new([Bucket::new(), Bucket::new()]);
        assert!(begin(&chunks, &buckets[0], OLD));
        let forget = thread::spawn({
            let (chunks, buckets) = (Arc::clone(&chunks), Arc::clone(&buckets));
            move || {
                let mut claimed = buckets[0].look().claim().unwrap();
                let slot = claimed.seen().slots().next().unwrap();
                let forgotten = slot.log();
                claimed.clear(slot);
                drop(claimed);
                chunks.pool().give_back(forgotten);
            }
        });
        let renew = thread::spawn({
            let (chunks, buckets) = (Arc::clone(&chunks), Arc::clone(&buckets));
            move || begin(&chunks, &buckets[1], NEW)
        });
        let seen = buckets[0].look();
        let slot = seen.slots().next().unwrap();
        if slot.keeps_log() {
            let log = Log::new(chunks.pool(), slot.state().data, seen);
            let (total, runs) = (log.total(), log.runs().collect::<Vec<_>>());
            if seen.unchanged() {
                assert_eq!((total, runs), (1, vec![OLD]));
            }
        }
        forget.join().unwrap();
        renew.join().unwrap();
    });
}
