//! librl beside what people would use in its place, on the same work: the crate governor,
//! a map of token buckets in Java, the limiters of x/time/rate in Go; and beside the
//! floor.

use super::floor::Floor;
use super::limiters::{Governor, Librl, fill};
use super::memory;
use super::names::{KEYS, Random, Users};
use super::programs::{self, Program};
use super::record::{self, Record};
use super::team;
use super::work::{FIGURES, Figure, SLICES};

struct Bench {
    users: Users,
    librl: Librl,
    governor: Governor,
    floor: Floor,
    java: Program,
    go: Program,
}

#[derive(Clone, Copy)]
enum Contender {
    Librl,
    Governor,
    Floor,
    Java,
    Go,
}

const CONTENDERS: [(Contender, &str); 5] = [
    (Contender::Librl, "librl"),
    (Contender::Governor, "governor"),
    (Contender::Floor, "floor"),
    (Contender::Java, "Java"),
    (Contender::Go, "Go"),
];

impl Bench {
    fn new() -> Bench {
        let users = Users::new();
        programs::write_names(&users);
        // Before this thread is kept on one processor, or they would be as well.
        let (java, go) = (Program::java(), Program::go());
        team::pin(0);
        let (librl, governor) = (Librl::new(), Governor::new());
        fill(&librl, KEYS);
        fill(&governor, KEYS);
        Bench {
            users,
            librl,
            governor,
            floor: Floor::new(),
            java,
            go,
        }
    }

    /// Nanoseconds for a call, if this is for that contender to be measured.
    fn time(&mut self, figure: &Figure, contender: Contender, slice: usize) -> Option<f64> {
        let users = &self.users;
        match contender {
            Contender::Librl => Some(figure.time(&self.librl, users, slice)),
            Contender::Floor if figure.name == "W10" => None,
            Contender::Floor => Some(figure.time(&self.floor, users, slice)),
            // It has no call for many: this is W3, beside the batches of the others.
            Contender::Governor => Some(figure.time(&self.governor, users, slice)),
            Contender::Java | Contender::Go if figure.is_a_batch() => None,
            Contender::Java => Some(self.java.time(figure, slice)),
            Contender::Go => Some(self.go.time(figure, slice)),
        }
    }
}

/// All figures so many times, after a round that only warms up.
pub fn measure(repetitions: usize) {
    record::machine();
    memory::measure();
    let mut bench = Bench::new();
    let mut record = Record::new("peers.csv", "figure,contender,repetition,slice,ns");
    let (mut order, mut random) = (CONTENDERS, Random(3));
    for repetition in 0..=repetitions {
        eprintln!("peers: repetition {repetition} of {repetitions}");
        for figure in FIGURES {
            for slice in 0..SLICES {
                random.shuffle(&mut order);
                for (contender, name) in order {
                    let time = bench.time(figure, contender, slice);
                    for time in time.into_iter().filter(|_| repetition > 0) {
                        record.row(&[&figure.name, &name, &repetition, &slice, &time]);
                    }
                }
            }
        }
    }
    assert_eq!(bench.librl.evicted_live(), 0, "a key was forgotten");
}
