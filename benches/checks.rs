//! What a check costs, beside the clock and the hash that it cannot do without,
//! and how much memory a key takes. `make bench` prints one table.
//!
//! Checks go through the C interface, with the real clock. Every figure is
//! measured once in each round, so that what disturbs the machine disturbs all of
//! them; what is printed is the median of the rounds with their spread.

#![allow(
    unsafe_code,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::undocumented_unsafe_blocks
)]

use std::ffi::c_void;
use std::hint::black_box;
use std::sync::Barrier;
use std::time::Instant;

use rl::clock::{Clock, SystemClock};
use siphasher::sip::SipHasher13;

const ROUNDS: usize = 9;
const HOT_CHECKS: u64 = 1_000_000;
const KEYS: usize = 1_000_000;

/// Rules of which the benchmark never comes to the end of one, and one it does.
const RULES: &str = "\
    memory = 64m\n\
    default = token-bucket,1000000000,1\n\
    api./v1/closed = token-bucket,1,36500d\n\
    api./v1/three = token-bucket,1000000000,1 \
        + token-bucket,1000000000,3600,per=user + fixed-window,1000000000,60,per=all\n\
    api./v1/three-closed = token-bucket,1000000000,1 \
        + token-bucket,1,36500d,per=user + fixed-window,1000000000,60,per=all\n";

/// The same, and ten thousand rules for others.
fn ten_thousand_rules() -> String {
    let users = (0..5000).map(|n| format!("user.customer-{n} = token-bucket,{},10\n", n + 1));
    let apis = (0..5000).map(|n| format!("api./v2/{n} = fixed-window,{},60\n", n + 1));
    RULES.to_owned() + &users.chain(apis).collect::<String>()
}

/// `struct rl_decision`, of which only `allowed` is read.
#[repr(C)]
#[derive(Clone, Copy)]
struct RlDecision {
    allowed: bool,
    rest: [u64; 7],
}

#[repr(C)]
#[derive(Default)]
struct RlStats {
    size: usize,
    counts: [u64; 12],
}

#[allow(improper_ctypes)]
unsafe extern "C" {
    fn rl_config_new(out: *mut *mut c_void) -> i32;
    fn rl_config_parse(config: *mut c_void, text: *const u8, len: usize, error: *mut c_void)
    -> i32;
    fn rl_config_free(config: *mut c_void);
    fn rl_service_new(config: *const c_void, out: *mut *mut c_void, error: *mut c_void) -> i32;
    fn rl_check_bytes(
        service: *mut c_void,
        user: *const u8,
        user_len: usize,
        api: *const u8,
        api_len: usize,
        cost: u64,
        out: *mut RlDecision,
    ) -> i32;
    fn rl_service_stats(service: *mut c_void, out: *mut RlStats) -> i32;
    fn rl_service_free(service: *mut c_void);
}

/// A service, by way of C.
struct Service(*mut c_void);

// SAFETY: rl.h allows any thread to use a service.
unsafe impl Sync for Service {}

impl Service {
    fn new(rules: &str) -> Service {
        let (mut config, mut service) = (std::ptr::null_mut(), std::ptr::null_mut());
        let none = std::ptr::null_mut();
        unsafe {
            assert_eq!(rl_config_new(&mut config), 0);
            assert_eq!(
                rl_config_parse(config, rules.as_ptr(), rules.len(), none),
                0
            );
            assert_eq!(rl_service_new(config, &mut service, none), 0);
            rl_config_free(config);
        }
        Service(service)
    }

    #[inline]
    fn check(&self, user: &[u8], api: &[u8]) -> bool {
        let mut decision = RlDecision {
            allowed: false,
            rest: [0; 7],
        };
        let (user_len, api_len) = (user.len(), api.len());
        let (user, api) = (user.as_ptr(), api.as_ptr());
        let status =
            unsafe { rl_check_bytes(self.0, user, user_len, api, api_len, 1, &mut decision) };
        black_box(status == 0 && decision.allowed)
    }

    fn stats(&self) -> RlStats {
        let mut stats = RlStats {
            size: size_of::<RlStats>(),
            ..RlStats::default()
        };
        unsafe { assert_eq!(rl_service_stats(self.0, &mut stats), 0) };
        stats
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        unsafe { rl_service_free(self.0) }
    }
}

/// Nanoseconds for each of `count` calls by each of `threads`, by the wall clock.
fn time(threads: usize, count: u64, work: impl Fn(usize) + Sync) -> f64 {
    if threads == 1 {
        let began = Instant::now();
        work(0);
        return began.elapsed().as_nanos() as f64 / count as f64;
    }
    let (start, end) = (Barrier::new(threads + 1), Barrier::new(threads + 1));
    let elapsed = std::thread::scope(|scope| {
        for thread in 0..threads {
            let (start, end, work) = (&start, &end, &work);
            scope.spawn(move || {
                start.wait();
                work(thread);
                end.wait();
            });
        }
        start.wait();
        let began = Instant::now();
        end.wait();
        began.elapsed()
    });
    elapsed.as_nanos() as f64 / count as f64
}

/// 1,000,000 user names of 12 bytes, laid out in the order of their use, which is
/// random in the order of their making.
fn users() -> Vec<[u8; 12]> {
    let mut users: Vec<[u8; 12]> = (0..KEYS)
        .map(|n| format!("user-{n:07}").into_bytes().try_into().unwrap())
        .collect();
    let mut random = 1u64;
    for i in (1..users.len()).rev() {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        users.swap(i, (random >> 33) as usize % (i + 1));
    }
    users
}

fn hot(service: &Service, api: &[u8], allowed: bool) {
    for _ in 0..HOT_CHECKS {
        assert_eq!(service.check(black_box(b"user-1234567"), api), allowed);
    }
}

fn random(service: &Service, users: &[[u8; 12]], thread: usize, threads: usize) {
    let half = users.len() / threads;
    users[thread * half..][..half].iter().for_each(|user| {
        service.check(user, b"/v1/orders");
    });
}

fn hash_names(hasher: &SipHasher13) {
    for _ in 0..HOT_CHECKS {
        black_box(hasher.hash(black_box(b"user-1234567")));
        black_box(hasher.hash(black_box(b"/v1/orders")));
    }
}

fn read_clock(clock: &Clock) {
    for _ in 0..HOT_CHECKS {
        black_box(clock.now_ns());
    }
}

/// Bytes of memory for each key when the first live counter has to go.
fn memory_per_key() -> (f64, u64) {
    let service = Service::new("memory = 32m\ndefault = token-bucket,1,36500d\n");
    let step = 1000;
    for batch in 0u64.. {
        for n in batch * step..(batch + 1) * step {
            service.check(format!("user-{n:07}").as_bytes(), b"/v1/orders");
        }
        let [.., evicted_live, _, _, memory, _, _] = service.stats().counts;
        if batch > 700 && evicted_live > 0 {
            let keys = batch * step;
            return (memory as f64 / keys as f64, keys);
        }
    }
    unreachable!("a table of 32 MB has room for so many keys")
}

struct Row {
    what: &'static str,
    times: Vec<f64>,
}

fn main() {
    let service = Service::new(RULES);
    let many_rules = Service::new(&ten_thousand_rules());
    let (users, clock) = (users(), Clock::system(SystemClock::Monotonic));
    let hasher = SipHasher13::new_with_keys(1, 2);
    let (open, closed) = (b"/v1/orders", b"/v1/closed");
    let (three, three_closed) = (b"/v1/three", b"/v1/three-closed");
    service.check(b"user-1234567", closed);
    service.check(b"user-1234567", three_closed);
    type Measure<'a> = (&'static str, Box<dyn Fn() -> f64 + 'a>);
    let measures: Vec<Measure<'_>> = vec![
        (
            "clock read",
            Box::new(|| time(1, HOT_CHECKS, |_| read_clock(&clock))),
        ),
        (
            "two names hashed",
            Box::new(|| time(1, HOT_CHECKS, |_| hash_names(&hasher))),
        ),
        (
            "hot key, allowed",
            Box::new(|| time(1, HOT_CHECKS, |_| hot(&service, open, true))),
        ),
        (
            "hot key, refused",
            Box::new(|| time(1, HOT_CHECKS, |_| hot(&service, closed, false))),
        ),
        (
            "hot key, one of 10,000 rules",
            Box::new(|| time(1, HOT_CHECKS, |_| hot(&many_rules, open, true))),
        ),
        (
            "three limits, allowed",
            Box::new(|| time(1, HOT_CHECKS, |_| hot(&service, three, true))),
        ),
        (
            "three limits, refused",
            Box::new(|| time(1, HOT_CHECKS, |_| hot(&service, three_closed, false))),
        ),
        (
            "1,000,000 keys",
            Box::new(|| time(1, KEYS as u64, |thread| random(&service, &users, thread, 1))),
        ),
        (
            "hot key, allowed, 2 threads",
            Box::new(|| time(2, HOT_CHECKS, |_| hot(&service, open, true))),
        ),
        (
            "hot key, refused, 2 threads",
            Box::new(|| time(2, HOT_CHECKS, |_| hot(&service, closed, false))),
        ),
        (
            "1,000,000 keys, 2 threads",
            Box::new(|| {
                time(2, KEYS as u64 / 2, |thread| {
                    random(&service, &users, thread, 2)
                })
            }),
        ),
    ];
    let mut rows: Vec<Row> = measures
        .iter()
        .map(|&(what, _)| Row {
            what,
            times: Vec::new(),
        })
        .collect();
    for round in 0..=ROUNDS {
        for (row, (_, measure)) in rows.iter_mut().zip(&measures) {
            let time = measure();
            // The first round only warms up.
            if round > 0 {
                row.times.push(time);
            }
        }
    }
    println!("ns for a check of each thread, median of {ROUNDS} rounds (least to most)");
    for row in &mut rows {
        row.times.sort_by(f64::total_cmp);
        let median = row.times[ROUNDS / 2];
        let (least, most) = (row.times[0], row.times[ROUNDS - 1]);
        println!("{:30} {median:7.1}   ({least:.1} to {most:.1})", row.what);
    }
    let median = |what| {
        let row = rows.iter().find(|row| row.what == what).unwrap();
        row.times[ROUNDS / 2]
    };
    let bare = median("clock read") + median("two names hashed");
    println!();
    println!(
        "a hot check, allowed: {:.1} ns above the clock and the hash",
        median("hot key, allowed") - bare
    );
    println!(
        "a hot check, refused: {:.1} ns above the clock and the hash",
        median("hot key, refused") - bare
    );
    println!(
        "refusals by 2 threads: {:.2} times as many as by 1",
        2.0 * median("hot key, refused") / median("hot key, refused, 2 threads")
    );
    println!(
        "three limits, allowed: {:.2} times the time of one",
        median("three limits, allowed") / median("hot key, allowed")
    );
    let (bytes, keys) = memory_per_key();
    println!("memory: {bytes:.1} bytes a key at the first live eviction, with {keys} keys");
}
