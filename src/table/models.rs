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

use super::bucket::{Bucket, Weight};
use super::log::Handle;
use super::seat::{Seat, Seated, Seats};
use super::trial::{Trial, counter};
use super::wait::Vigil;
use super::*;
use crate::algorithm::{Algorithm, Edit, Run, Runs};
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

/// Who holds what is held.
const ME: u32 = 1;

/// Looks at a bucket, as soon as nobody is writing.
fn look(bucket: &Bucket) -> Seen<'_> {
    loop {
        match bucket.try_look() {
            Some(seen) => return seen,
            None => loom::thread::yield_now(),
        }
    }
}

/// Stores a counter in the bucket's first slot, without a look at what it holds.
fn put(bucket: &Bucket, state: State) {
    let seen = look(bucket);
    let slot = seen.slots().next().unwrap();
    let mut claimed = seen.claim(ME).unwrap();
    claimed.set(slot, 1 << 63, Weight::default(), state);
}

/// Adds 1 to both words of the bucket's first counter.
fn add_one(bucket: &Bucket) {
    loop {
        let seen = look(bucket);
        let slot = seen.slots().next().unwrap();
        let old = slot.state();
        if let Some(mut claimed) = seen.claim(ME) {
            let new = State {
                idle_at: old.idle_at + 1,
                data: old.data + 1,
            };
            claimed.set(slot, 1 << 63, Weight::default(), new);
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
        let slot = look(&bucket).slots().next().unwrap();
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
        let seen = look(&bucket);
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
        let mut changes = charged.map(|(change, _)| change);
        match table.store_all(&mut changes.each_mut(), terms) {
            Ok(()) => return true,
            Err(none) if none.why == NotStored::Changed => loom::thread::yield_now(),
            Err(none) => panic!("{none:?}"),
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

/// Two counters that stand in different buckets, and have all of their windows left.
fn two_known_counters() -> Arc<Table> {
    let table = table(TWO_BUCKETS);
    let known = State {
        idle_at: 2 * NOW,
        data: 0,
    };
    for (number, key) in [(0, key(0, 1)), (1, key(1, 2))] {
        let mut claimed = look(table.bucket(number)).claim(ME).unwrap();
        let slot = claimed.seen().slots().next().unwrap();
        claimed.place(slot, key.fingerprint, Weight::default(), known);
    }
    table
}

/// Each claims the buckets one after the other.
#[test]
fn loom_of_two_who_charge_two_known_counters_one_gets_both() {
    model(PREEMPTIONS, || one_gets_both(two_known_counters()));
}

#[test]
fn loom_who_comes_too_late_for_the_second_counter_leaves_the_first_as_it_was() {
    model(PREEMPTIONS, || {
        let table = two_known_counters();
        let [one, two] = [key(0, 1), key(1, 2)];
        let other = Arc::clone(&table);
        let second = thread::spawn(move || check(&other, two, 1));
        let first = check_both(&table, [one, two]);
        let second = second.join().unwrap();
        assert!(first != second, "{first} and {second}");
        assert_eq!(check(&table, one, 1), second);
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
            let seen = look(other.bucket(0));
            let slot = seen.find(key.fingerprint).unwrap();
            if let Some(mut claimed) = seen.claim(ME) {
                claimed.set(slot, key.fingerprint, Weight::default(), state(begun));
            }
        });
        assert!(check(&table, key, 2));
        writer.join().unwrap();
    });
}

/// One was killed when it had written one of a counter's two words; the other says that
/// nothing is left. Two find it at the same time.
#[test]
fn loom_of_two_who_take_over_from_the_dead_one_does() {
    const DEAD: u32 = 7;
    model(2, || {
        let table = table(Layout {
            buckets: 1,
            chunks: 0,
        });
        let key = key(0, 1);
        let [was, torn] =
            [(2 * NOW, 1), (3 * NOW, 1)].map(|(idle_at, data)| State { idle_at, data });
        let mut claimed = look(table.bucket(0)).claim(DEAD).unwrap();
        let slot = claimed.seen().slots().next().unwrap();
        claimed.place(slot, key.fingerprint, Weight::default(), was);
        let seat = table.seat(0).unwrap();
        std::mem::forget(seat.claim(DEAD));
        seat.note(0, 0, was);
        claimed.set(slot, key.fingerprint, Weight::default(), torn);
        std::mem::forget(claimed);
        let come = move |table: &Table| {
            table.recover(0, &mut Vigil::default());
            check(table, key, 2)
        };
        let other = Arc::clone(&table);
        let second = thread::spawn(move || come(&other));
        let first = come(&table);
        let second = second.join().unwrap();
        assert!(first != second, "{first} and {second}");
        assert_eq!(table.find(key).state.idle_at, was.idle_at);
        assert_eq!(table.counted(Event::RecoveredLock), 1);
        assert_eq!(table.audit(), Ok(()));
    });
}

/// A pool with its seats, and a note of who has each chunk.
struct Chunks {
    seats: Seats,
    chunks: Vec<chunk::Chunk>,
    taken: Vec<AtomicU64>,
}

impl Chunks {
    fn new(count: usize) -> Chunks {
        Chunks {
            seats: std::array::from_fn(|_| Seat::new()),
            chunks: (0..count).map(|_| chunk::Chunk::new()).collect(),
            taken: (0..count).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    fn pool(&self) -> Pool<'_> {
        Pool::new(&self.chunks)
    }

    /// The first seat that is free and has a chunk, if one is looked for.
    fn sit(&self, with_chunk: bool) -> Option<Seated<'_>> {
        let mut seats = seat::seats(&self.seats, self.pool(), 0);
        seats.find_map(|seat| {
            let seated = seat.claim(ME)?;
            (!with_chunk || seat.chunks(1) > 0).then_some(seated)
        })
    }

    fn take(&self) -> Option<u32> {
        let seated = self.sit(true)?;
        let chunk = seated.seat().take()?;
        let before = self.taken[chunk as usize - 1].swap(1, Ordering::Relaxed);
        assert_eq!(before, 0, "chunk {chunk} was handed out twice");
        Some(chunk)
    }

    fn give_back(&self, chunk: u32) {
        if let Some(seated) = self.sit(false) {
            self.taken[chunk as usize - 1].store(0, Ordering::Relaxed);
            give(&seated, Handle::single(chunk));
        }
    }
}

/// Gives back the chunks of a log that was forgotten.
fn give(seated: &Seated<'_>, log: Handle) {
    let seat = seated.seat();
    seat.note_chunks(0, 0, State::default(), log);
    seat.settle_chunks();
}

/// One takes a chunk while the other takes two and gives the first back.
#[test]
fn loom_no_chunk_is_handed_out_twice() {
    model(PREEMPTIONS, || {
        let chunks = Arc::new(Chunks::new(4));
        let other = Arc::clone(&chunks);
        let thread = thread::spawn(move || {
            let (first, second) = (other.take(), other.take());
            first.into_iter().for_each(|chunk| other.give_back(chunk));
            second
        });
        let mine = chunks.take();
        let second = thread.join().unwrap();
        assert!(mine.is_none() || mine != second);
    });
}

/// One forgets a log, another makes its chunk part of a new one, a third reads the
/// old one: it believes it as it was, or not at all.
#[test]
fn loom_a_reader_never_believes_a_chunk_that_has_a_new_owner() {
    const OLD: Run = Run { tick: 1, count: 1 };
    const NEW: Run = Run { tick: 2, count: 2 };
    fn begin(chunks: &Chunks, bucket: &Bucket, run: Run) {
        let Some(seated) = chunks.sit(true) else {
            return;
        };
        let mut claimed = look(bucket).claim(ME).unwrap();
        let slot = claimed.seen().slots().next().unwrap();
        let edit = Edit::Restart(run);
        let plan = chunks.pool().plan(Handle::default(), edit, false);
        let taken = seated.seat().take();
        let log = chunks.pool().edit(edit, plan, 0, taken);
        let state = State {
            idle_at: 1,
            data: log.data(),
        };
        claimed.place(slot, 1 << 63 | 1, Weight::default(), state);
    }
    model(2, || {
        let chunks = Arc::new(Chunks::new(2));
        // The other seat's share is out of the way.
        std::mem::forget(
            seat::seats(&chunks.seats, chunks.pool(), 1)
                .next()
                .unwrap()
                .claim(ME),
        );
        let buckets = Arc::new([Bucket::new(), Bucket::new()]);
        begin(&chunks, &buckets[0], OLD);
        let forget = thread::spawn({
            let (chunks, buckets) = (Arc::clone(&chunks), Arc::clone(&buckets));
            move || {
                let mut claimed = look(&buckets[0]).claim(ME).unwrap();
                let slot = claimed.seen().slots().next().unwrap();
                let forgotten = slot.log();
                claimed.clear(slot);
                drop(claimed);
                if let Some(seated) = chunks.sit(false) {
                    give(&seated, forgotten);
                }
            }
        });
        let renew = thread::spawn({
            let (chunks, buckets) = (Arc::clone(&chunks), Arc::clone(&buckets));
            move || begin(&chunks, &buckets[1], NEW)
        });
        let seen = look(&buckets[0]);
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
