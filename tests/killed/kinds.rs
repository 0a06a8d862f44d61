//! The kinds of calls in which victims are killed: what stands in the zone before, what
//! the call is, and what each of its limits has left if it was lost, and if it was not.

use crate::prepare::*;
use crate::stage::Stage;

/// One kind.
pub struct Kind {
    pub name: &'static str,
    pub rules: &'static str,
    /// The rules, one by one, with what each gives in all, and has left for the user
    /// before the call and after it.
    pub limits: &'static [(&'static str, u64, [u64; 2])],
    /// What is done before; says who the user is that the call is about. The call is made
    /// at the time that the clock then shows.
    pub prepare: fn(&Stage) -> Result<String, String>,
    /// What is called, at what cost.
    pub call: (&'static str, u64),
    /// What may be forgotten of others.
    pub forgets: u64,
    /// Whether one who is killed may leave less than before and more than after, or an
    /// instant that is neither's.
    pub between: bool,
    /// Whether one who recovers from a victim is killed as well in the short form, too.
    pub is_recovered: bool,
}

const CHECK: (&str, u64) = ("check", 1);

const fn kind(
    name: &'static str,
    rules: &'static str,
    limits: &'static [(&'static str, u64, [u64; 2])],
    prepare: fn(&Stage) -> Result<String, String>,
) -> Kind {
    Kind {
        name,
        rules,
        limits,
        prepare,
        call: CHECK,
        forgets: 0,
        between: false,
        is_recovered: false,
    }
}

pub static KINDS: &[Kind] = &[
    kind(
        "token-bucket",
        "default = token-bucket,3,10",
        &[("token-bucket,3,10", 3, [2, 1])],
        taken::<1>,
    ),
    Kind {
        is_recovered: true,
        ..kind(
            "token-bucket-7-60",
            "default = token-bucket,7,60",
            &[("token-bucket,7,60", 7, [4, 3])],
            taken::<3>,
        )
    },
    kind(
        "token-bucket-whole",
        "default = token-bucket,5,10",
        &[("token-bucket,5,10", 5, [3, 2])],
        taken::<2>,
    ),
    kind(
        "fixed-window",
        "default = fixed-window,7,60",
        &[("fixed-window,7,60", 7, [4, 3])],
        taken::<3>,
    ),
    kind(
        "sliding-counter",
        "default = sliding-window-counter,7,60",
        &[("sliding-window-counter,7,60", 7, [4, 3])],
        taken::<3>,
    ),
    kind(
        "sliding-log",
        "default = sliding-window,7,60",
        &[("sliding-window,7,60", 7, [4, 3])],
        taken::<3>,
    ),
    // Refused.
    kind(
        "refused-bucket",
        "default = token-bucket,3,10",
        &[("token-bucket,3,10", 3, [0, 0])],
        taken::<3>,
    ),
    kind(
        "refused-log",
        "default = sliding-window,3,10",
        &[("sliding-window,3,10", 3, [0, 0])],
        taken::<3>,
    ),
    // New keys.
    kind(
        "new-bucket",
        "default = token-bucket,3,10",
        &[("token-bucket,3,10", 3, [3, 2])],
        taken::<0>,
    ),
    kind(
        "new-window",
        "default = fixed-window,3,10",
        &[("fixed-window,3,10", 3, [3, 2])],
        taken::<0>,
    ),
    kind(
        "new-log",
        "default = sliding-window,3,10",
        &[("sliding-window,3,10", 3, [3, 2])],
        taken::<0>,
    ),
    kind(
        "new-on-idle",
        "default = token-bucket,3,10",
        &[("token-bucket,3,10", 3, [3, 2])],
        among_idle,
    ),
    kind(
        "known-idle-bucket",
        "default = token-bucket,3,10",
        &[("token-bucket,3,10", 3, [3, 2])],
        idle::<2, 20_000>,
    ),
    // Turns of windows: the clock begins at a border of them.
    kind(
        "next-window",
        "default = fixed-window,7,20",
        &[("fixed-window,7,20", 7, [7, 6])],
        idle::<3, 20_000>,
    ),
    // The count is the same again.
    kind(
        "next-window-alike",
        "default = fixed-window,7,20",
        &[("fixed-window,7,20", 7, [7, 6])],
        idle::<1, 20_000>,
    ),
    kind(
        "next-sliding-window",
        "default = sliding-window-counter,7,20",
        &[("sliding-window-counter,7,20", 7, [4, 3])],
        idle::<3, 26_000>,
    ),
    kind(
        "last-sliding-window",
        "default = sliding-window-counter,7,20",
        &[("sliding-window-counter,7,20", 7, [7, 6])],
        idle::<3, 60_000>,
    ),
    // Moves and evictions.
    Kind {
        is_recovered: true,
        ..kind(
            "move",
            "on-full = evict\ndefault = token-bucket,3,10",
            &[("token-bucket,3,10", 3, [3, 2])],
            with_a_move,
        )
    },
    Kind {
        is_recovered: true,
        ..kind(
            "move-log",
            "default = sliding-window,40,100",
            &[("sliding-window,40,100", 40, [40, 39])],
            with_a_log_that_moves,
        )
    },
    kind(
        "move-onto-idle",
        "on-full = evict\ndefault = token-bucket,3,10",
        &[("token-bucket,3,10", 3, [3, 2])],
        with_a_move_onto_idle,
    ),
    Kind {
        forgets: 1,
        ..kind(
            "evict",
            "on-full = evict\ndefault = token-bucket,2,1000",
            &[("token-bucket,2,1000", 2, [2, 1])],
            with_an_eviction,
        )
    },
    // Several limits.
    kind(
        "three-limits",
        "default = token-bucket,3,10 + fixed-window,7,60 + sliding-window,5,30",
        &[
            ("token-bucket,3,10", 3, [2, 1]),
            ("fixed-window,7,60", 7, [6, 5]),
            ("sliding-window,5,30", 5, [4, 3]),
        ],
        taken::<1>,
    ),
    Kind {
        is_recovered: true,
        ..kind(
            "three-new-limits",
            "default = token-bucket,3,10 + fixed-window,7,60 + sliding-window,5,30",
            &[
                ("token-bucket,3,10", 3, [3, 2]),
                ("fixed-window,7,60", 7, [7, 6]),
                ("sliding-window,5,30", 5, [5, 4]),
            ],
            taken::<0>,
        )
    },
    // Logs and their chunks.
    kind(
        "log-takes-chunk",
        "default = sliding-window,40,10",
        &[("sliding-window,40,10", 40, [27, 26])],
        taken::<13>,
    ),
    Kind {
        is_recovered: true,
        ..kind(
            "log-takes-chunk-again",
            "default = sliding-window,40,10",
            &[("sliding-window,40,10", 40, [14, 13])],
            taken::<26>,
        )
    },
    // 26 entries 7 ms apart; after 10 s and 91 ms the first 13 are gone.
    Kind {
        is_recovered: true,
        ..kind(
            "log-chunk-for-chunk",
            "default = sliding-window,40,10",
            &[("sliding-window,40,10", 40, [27, 26])],
            idle::<26, 9_905>,
        )
    },
    kind(
        "log-lets-chunk-go",
        "default = sliding-window,40,10",
        &[("sliding-window,40,10", 40, [33, 32])],
        idle::<21, 9_945>,
    ),
    Kind {
        is_recovered: true,
        ..kind(
            "log-restarts",
            "default = sliding-window,40,10",
            &[("sliding-window,40,10", 40, [40, 39])],
            idle::<30, 20_000>,
        )
    },
    Kind {
        forgets: 1,
        ..kind(
            "new-log-for-another",
            "default = sliding-window,40,100",
            &[("sliding-window,40,100", 40, [40, 39])],
            new_with_no_chunk_left,
        )
    },
    Kind {
        is_recovered: true,
        forgets: 1,
        ..kind(
            "new-log-on-another",
            "default = sliding-window,40,100",
            &[("sliding-window,40,100", 40, [40, 39])],
            on_a_log,
        )
    },
    kind(
        "new-log-for-idle",
        "default = sliding-window,40,10",
        &[("sliding-window,40,10", 40, [40, 39])],
        new_with_idle_logs,
    ),
    Kind {
        forgets: 1,
        ..kind(
            "log-takes-anothers",
            "default = sliding-window,40,100",
            &[("sliding-window,40,100", 40, [27, 26])],
            full_chunk_with_no_chunk_left,
        )
    },
    // Other calls.
    Kind {
        call: ("charge", 5),
        ..kind(
            "charge",
            "default = token-bucket,3,10",
            &[("token-bucket,3,10", 3, [2, 0])],
            taken::<1>,
        )
    },
    Kind {
        call: ("charge", 3),
        ..kind(
            "charge-log",
            "default = sliding-window,40,10",
            &[("sliding-window,40,10", 40, [27, 24])],
            taken::<13>,
        )
    },
    Kind {
        call: ("refund", 1),
        ..kind(
            "refund",
            "default = token-bucket,7,60",
            &[("token-bucket,7,60", 7, [4, 5])],
            taken::<3>,
        )
    },
    // What is given back goes run by run.
    Kind {
        call: ("refund", 20),
        between: true,
        ..kind(
            "refund-log",
            "default = sliding-window,40,10",
            &[("sliding-window,40,10", 40, [10, 30])],
            taken::<30>,
        )
    },
    Kind {
        call: ("refund", 40),
        ..kind(
            "refund-whole-log",
            "default = sliding-window,40,10",
            &[("sliding-window,40,10", 40, [10, 40])],
            taken::<30>,
        )
    },
    Kind {
        call: ("reset", 1),
        ..kind(
            "reset",
            "default = token-bucket,7,60",
            &[("token-bucket,7,60", 7, [4, 7])],
            taken::<3>,
        )
    },
    Kind {
        is_recovered: true,
        call: ("reset", 1),
        ..kind(
            "reset-log",
            "default = sliding-window,40,10",
            &[("sliding-window,40,10", 40, [10, 40])],
            taken::<30>,
        )
    },
    // A clock set back.
    kind(
        "back-bucket",
        "default = token-bucket,3,10",
        &[("token-bucket,3,10", 3, [0, 0])],
        set_back::<2>,
    ),
    kind(
        "back-window",
        "default = fixed-window,7,20",
        &[("fixed-window,7,20", 7, [4, 3])],
        set_back::<3>,
    ),
    kind(
        "back-sliding-window",
        "default = sliding-window-counter,7,20",
        &[("sliding-window-counter,7,20", 7, [4, 3])],
        set_back::<3>,
    ),
    kind(
        "back-log",
        "default = sliding-window,40,10",
        &[("sliding-window,40,10", 40, [10, 9])],
        set_back::<30>,
    ),
];
