//! What librl's checks cost in several ways, all of which are measured in each slice: so
//! what is particular to one is measured beside the same without it.

use super::library::{Place, Service, Zone};
use super::limiters::ORDERS;
use super::names::{KEYS, Random, Users, share};
use super::parts;
use super::record::{self, Record};
use super::team::{self, Processes, Task};
use super::ways::{self, Services, Way};
use super::work::{SLICES, each, hot, in_batches};

use Way::{Forked, Huge, Private, Rules, Shared, Small, Vdso};

/// Calls for an API, and whether they are allowed.
#[derive(Clone, Copy)]
enum Work {
    Hot(&'static [u8], bool),
    Keys(&'static [u8]),
    Batch16,
    Batch64,
}

struct Figure(&'static str, Work, usize, &'static [Way]);

const FIGURES: &[Figure] = &[
    Figure("hot key, allowed", OPEN, 1, RULED),
    Figure("hot key, refused", CLOSED, 1, CLOCKS),
    Figure("hot key, both words change", NOTED, 1, PLACES),
    Figure("three limits, allowed", THREE, 1, CLOCKS),
    Figure("three limits, refused", THREE_CLOSED, 1, PLACES),
    Figure("1,000,000 keys", KEYS_KNOWN, 1, PAGES),
    Figure("the same, 16 in a batch", Work::Batch16, 1, PAGES),
    Figure("the same, 64 in a batch", Work::Batch64, 1, PAGES),
    Figure("the same, all as good as new", KEYS_FRESH, 1, PLACES),
    Figure("hot key, allowed, by 2", OPEN, 2, WORKERS),
    Figure("hot key, refused, by 2", CLOSED, 2, WORKERS),
    Figure("three limits, allowed, by 2", THREE, 2, WORKERS),
    Figure("1,000,000 keys, by 2", KEYS_KNOWN, 2, WORKERS),
];

const PLACES: &[Way] = &[Private, Shared];
const CLOCKS: &[Way] = &[Private, Shared, Vdso];
const RULED: &[Way] = &[Private, Shared, Vdso, Rules];
const PAGES: &[Way] = &[Private, Shared, Vdso, Small, Huge];
const WORKERS: &[Way] = &[Private, Shared, Forked];

const KEYS_KNOWN: Work = Work::Keys(ORDERS);
const KEYS_FRESH: Work = Work::Keys(b"/v1/fresh");
const OPEN: Work = Work::Hot(b"/v1/single", true);
const CLOSED: Work = Work::Hot(b"/v1/closed", false);
const NOTED: Work = Work::Hot(b"/v1/noted", true);
const THREE: Work = Work::Hot(b"/v1/three", true);
const THREE_CLOSED: Work = Work::Hot(b"/v1/three-closed", false);

impl Figure {
    fn task(&self) -> Task {
        let &Figure(_, work, workers, _) = self;
        let calls = match work {
            Work::Hot(..) => 100_000,
            _ => KEYS / SLICES / workers,
        };
        let refused = matches!(work, Work::Hot(_, false));
        let allowed = if refused { 0 } else { calls };
        Task {
            workers,
            calls,
            allowed,
        }
    }

    /// What a worker does in a slice: how many calls were allowed.
    fn run(&self, service: &Service, users: &Users, worker: usize, slice: usize) -> usize {
        let &Figure(_, work, workers, _) = self;
        let calls = self.task().calls;
        let keys = || share(&users.keys, calls, slice * workers + worker);
        match work {
            Work::Hot(api, _) => hot(calls, |user| service.check(user, api)),
            Work::Keys(api) => each(keys(), |user| service.check(user, api)),
            Work::Batch16 => in_batches::<16>(keys(), |users| service.check_batch(users, ORDERS)),
            Work::Batch64 => in_batches::<64>(keys(), |users| service.check_batch(users, ORDERS)),
        }
    }
}

struct Bench {
    users: Users,
    processes: Processes,
    services: Services,
}

impl Bench {
    fn new() -> Bench {
        let (users, zone) = (Users::new(), Zone::new("inner"));
        let joined = || {
            let config = ways::config("", Place::Zone(&zone)).expect("rules");
            let (service, users) = (config.service(), &users);
            move |worker, begun: &_, [figure, slice]: [u8; 2]| {
                let figure = &FIGURES[usize::from(figure)];
                let run = || figure.run(&service, users, worker, slice.into());
                figure.task().time(begun, run)
            }
        };
        let processes = Processes::start(2, joined);
        team::pin(0);
        // All have joined the zone then, so its name can go: nothing stays, come what may.
        let services = Services::new(&zone);
        Bench {
            users,
            processes,
            services,
        }
    }

    /// Nanoseconds for a call, if the library knows the way.
    fn time(&mut self, number: usize, way: Way, slice: usize) -> Option<f64> {
        if way == Forked {
            return Some(self.processes.time([number as u8, slice as u8]));
        }
        let (figure, service) = (&FIGURES[number], self.services.of(way)?);
        let run = |worker| figure.run(service, &self.users, worker, slice);
        Some(team::time(figure.task(), run))
    }
}

/// All figures so many times, after a round that only warms up.
pub fn measure(repetitions: usize) {
    record::machine();
    let mut bench = Bench::new();
    let mut record = Record::new("inner.csv", "figure,contender,repetition,slice,ns");
    let mut random = Random(4);
    for repetition in 0..=repetitions {
        eprintln!("inner: repetition {repetition} of {repetitions}");
        let mut keep = |figure: &str, way: &str, slice: usize, time: f64| {
            if repetition > 0 {
                record.row(&[&figure, &way, &repetition, &slice, &time]);
            }
        };
        for slice in 0..SLICES {
            parts::measure(|figure, way, time| keep(figure, way, slice, time));
        }
        for (number, &Figure(name, _, _, ways)) in FIGURES.iter().enumerate() {
            let mut order = ways.to_vec();
            for slice in 0..SLICES {
                random.shuffle(&mut order);
                for &way in &order {
                    let time = bench.time(number, way, slice);
                    time.into_iter()
                        .for_each(|time| keep(name, way.name(), slice, time));
                }
            }
        }
    }
}
