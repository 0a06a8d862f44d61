//! How a limit counts: one file an algorithm, each a pure function of a counter,
//! the time and a cost.
//!
//! An algorithm never sees a lock, a clock or a table. It is given the counter as
//! it stands and says what the answer is and how the counter changes; whoever
//! calls it must store the change as one step, or ask again. All arithmetic is on
//! integers and exact. A counter may hold any bits (another process may have
//! written them): the answer is then wrong, but there is no panic and no overflow.
//!
//! A new algorithm is a file here and a line in `algorithms!`.

mod fixed_window;
#[cfg(all(test, not(loom)))]
mod garbage;
mod sliding_counter;
mod sliding_log;
mod token_bucket;
#[cfg(all(test, not(loom)))]
mod two_clocks;

pub(crate) use sliding_log::{Edit, Run, Runs};

use crate::rule::{Limit, MAX_LIMIT};

/// The wait for a cost that can never pass.
pub(crate) const NEVER: u64 = u64::MAX;

/// By how much two readings of one process's clock may differ that are made at the
/// same time, on two cores.
const SKEW_NS: u64 = 100_000;

/// The most by which the clocks of two processes are taken to differ.
const MAX_SKEW_NS: u64 = 1_000_000_000;

/// Whose clocks move a counter, which depends on where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clocks {
    /// One process's: the memory is private.
    One,
    /// Those of several processes, which need not be the same.
    Several,
}

impl Clocks {
    /// By how much two readings may differ that are made at the same time. A counter
    /// that lies further in the future than a reading ahead by so much could have put
    /// it shows that the clock was set back. It is then moved to the present, so that
    /// nobody is locked out for as long as the step was. Within it, whoever is behind
    /// takes the counter as it is, and is locked out for so much longer.
    fn skew_ns(self, window_ns: u64) -> u64 {
        match self {
            Clocks::One => SKEW_NS,
            Clocks::Several => window_ns.clamp(SKEW_NS, MAX_SKEW_NS),
        }
    }
}

/// A counter as the table stores it. All zero is a new one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct State {
    /// The instant from which the counter cannot be told from a new one.
    pub idle_at: u64,
    /// What the algorithm keeps beside it.
    pub data: u64,
}

/// What a check comes to. Scalars only, so that it stays in registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// Whether the cost fits.
    pub allowed: bool,
    /// Whether the counter lay in the future: the clock was set back.
    pub stepped_back: bool,
    /// What is left after this check, in whole units.
    pub remaining: u64,
    /// How long to wait until the cost fits: 0 when allowed, or [`NEVER`].
    pub retry_ns: u64,
    /// How long until the counter is as good as new.
    pub reset_ns: u64,
    /// Whether the counter changes; a refusal seldom changes it.
    pub changes: bool,
    /// What it becomes then. Its log, if it keeps one, is edited as [`Edit`] says.
    pub next: State,
}

/// What an algorithm is asked: about a counter in `state`, at `now`, for a `cost` of at
/// least 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask {
    pub state: State,
    pub now: u64,
    pub cost: u64,
}

/// A limit made ready to count by one algorithm. A counter that keeps a `log` leaves in
/// `edit` how that changes.
pub(crate) trait Decide {
    /// The answer.
    fn decide<L: Runs>(&self, ask: Ask, log: impl Fn() -> L, edit: &mut Option<Edit>) -> Verdict;

    /// Takes the cost whatever the answer, which says whether it fitted; `retry_ns`
    /// is how long until a cost of 1 fits after that.
    fn charge<L: Runs>(&self, ask: Ask, log: impl Fn() -> L, edit: &mut Option<Edit>) -> Verdict;

    /// Gives a cost back: what the counter becomes, which is never more than full,
    /// and what is left then, in whole units.
    fn refund<L: Runs>(
        &self,
        ask: Ask,
        log: impl Fn() -> L,
        edit: &mut Option<Edit>,
    ) -> (State, u64);
}

/// Something to be done with an algorithm, whichever it is.
pub(crate) trait Visitor {
    /// What comes of it.
    type Output;

    fn visit(self, algorithm: &impl Decide) -> Self::Output;
}

/// Writes the list of algorithms out as an enum of their names and one of their
/// prepared forms, so that a check dispatches without a pointer.
macro_rules! algorithms {
    ($($(#[$doc:meta])* $Name:ident: $text:literal, up to $max:expr, in $module:ident;)*) => {
        /// How a limit counts.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Algorithm {
            $($(#[$doc])* $Name,)*
        }

        impl Algorithm {
            /// All of them, in the order in which messages list them.
            pub const ALL: [Algorithm; [$($text),*].len()] = [$(Algorithm::$Name),*];

            /// Its name in the text of a rule.
            pub fn name(self) -> &'static str {
                match self { $(Algorithm::$Name => $text,)* }
            }

            /// The largest limit that it can count.
            pub fn max_limit(self) -> u64 {
                match self { $(Algorithm::$Name => $max,)* }
            }
        }

        /// A limit made ready to count: whatever can be computed beforehand is.
        #[derive(Clone, Debug)]
        #[repr(u8)]
        pub(crate) enum Counter {
            $($Name($module::$Name),)*
        }

        impl Counter {
            pub fn new(limit: &Limit, clocks: Clocks) -> Counter {
                let skew = clocks.skew_ns(limit.window_ns);
                match limit.algorithm {
                    $(Algorithm::$Name => Counter::$Name($module::$Name::new(limit, skew)),)*
                }
            }

            /// Hands the algorithm, by its own type, to a visitor: what the visitor
            /// does is compiled for each algorithm, without a branch inside.
            #[inline(always)]
            pub fn visit<V: Visitor>(&self, visitor: V) -> V::Output {
                match self {
                    $(Counter::$Name(counter) => visitor.visit(counter),)*
                }
            }
        }

        impl Decide for Counter {
            fn decide<L: Runs>(
                &self,
                ask: Ask,
                log: impl Fn() -> L,
                edit: &mut Option<Edit>,
            ) -> Verdict {
                match self {
                    $(Counter::$Name(counter) => counter.decide(ask, log, edit),)*
                }
            }

            fn charge<L: Runs>(
                &self,
                ask: Ask,
                log: impl Fn() -> L,
                edit: &mut Option<Edit>,
            ) -> Verdict {
                match self {
                    $(Counter::$Name(counter) => counter.charge(ask, log, edit),)*
                }
            }

            fn refund<L: Runs>(
                &self,
                ask: Ask,
                log: impl Fn() -> L,
                edit: &mut Option<Edit>,
            ) -> (State, u64) {
                match self {
                    $(Counter::$Name(counter) => counter.refund(ask, log, edit),)*
                }
            }
        }
    };
}

algorithms! {
    /// A bucket of tokens that refills steadily.
    TokenBucket: "token-bucket", up to MAX_LIMIT, in token_bucket;
    /// A count that starts anew in every window.
    FixedWindow: "fixed-window", up to MAX_LIMIT, in fixed_window;
    /// A log of what passed in the last window.
    SlidingWindow: "sliding-window", up to u32::MAX as u64, in sliding_log;
    /// The counts of this window and the last, which is weighed by its overlap.
    SlidingWindowCounter: "sliding-window-counter", up to u32::MAX as u64, in sliding_counter;
}

impl Algorithm {
    /// Whether its counters keep a log beside the table.
    pub(crate) fn keeps_log(self) -> bool {
        self == Algorithm::SlidingWindow
    }
}
