//! A rate limiter that any program can link: exact limits for as many users as
//! come, in memory that is bounded beforehand.
//!
//! Rules are text. A [`Service`](service::Service) is made of them, and is asked
//! before each request whether it may go on. A rule has one limit or several, which
//! decide as one; each pair of a user and an API has counters of its own, but where a
//! limit says that they are shared. One service serves any number of threads.
//!
//! ```
//! use rl::clock::Clock;
//! use rl::config::Config;
//! use rl::service::{Request, Service};
//!
//! # fn main() -> Result<(), rl::error::Error> {
//! let clock = Clock::manual(0); // leave it out to go by the system's clock
//! let mut config = Config::new();
//! config.parse(b"default = token-bucket,5,10\napi./login = fixed-window,2,10\n")?;
//! config.set_clock(clock.clone());
//! let service = Service::new(&config)?;
//!
//! let orders = Request { user: b"alice", api: b"/orders", cost: 1 };
//! for left in [4, 3, 2, 1, 0] {
//!     let decision = service.check(orders)?;
//!     assert!(decision.allowed);
//!     assert_eq!(decision.remaining, left);
//! }
//!
//! // The sixth is refused, and told when to come back.
//! let refused = service.check(orders)?;
//! assert!(!refused.allowed);
//! assert_eq!(refused.retry_after_ms, 2000);
//!
//! clock.advance_ns(2_000_000_000)?;
//! assert!(service.check(orders)?.allowed);
//!
//! // A refusal is an answer; an error is a request that makes no sense.
//! assert!(service.check(Request { cost: 0, ..orders }).is_err());
//!
//! // New rules take effect at once, and what was counted still counts: the bucket is
//! // empty, but fills faster.
//! let mut config = Config::new();
//! config.parse(b"default = token-bucket,50,10 + fixed-window,1000,60,per=all")?;
//! service.reload(&config)?;
//! assert_eq!(service.check(orders)?.retry_after_ms, 200);
//! # Ok(())
//! # }
//! ```
//!
//! # Where things are
//!
//! | module | what is there |
//! |---|---|
//! | [`config`] | the text of rules and settings, read and written |
//! | [`rule`] | what a rule says, as data, and the ranges of its numbers |
//! | [`algorithm`] | the four ways to count |
//! | [`clock`] | where the time comes from: the system, a test's hand, a function |
//! | [`service`] | checks, charges, waiting for a turn, reload; decisions, as header fields too; statistics |
//! | [`error`] | why a call failed, where, and what would be right |
//!
//! Behind these are the table of counters (`table`) in memory of the `machine`, the hashing
//! of names (`hash`) and the C interface (`capi`), from which `include/rl.h` is made. Programs in C
//! link `librl.so` or `librl.a`, which `make` builds; this crate is an ordinary
//! Rust library and the same code.
//!
//! How it works inside is told in `docs/design.md`, what it promises, and which
//! test shows it, in `docs/guarantees.md`.
//!
//! # What it costs
//!
//! No call starts a thread. Checks of every kind, peeks, charges, refunds and resets
//! allocate nothing when they are answered, but for the first of a thread after a
//! reload, which may allocate once. A check waits for another only while that one is
//! writing to the same bucket of five counters, or a little when others were faster
//! there; [`acquire`](service::Service::acquire) waits as it is asked to. The counters
//! take the memory that the setting `memory` says, 32 MiB where it says nothing; when
//! it is full, the setting `on-full` decides.

#![cfg_attr(loom, allow(dead_code, reason = "no model opens a zone"))]

pub mod algorithm;
mod capi;
pub mod clock;
pub mod config;
pub mod error;
mod fork;
mod hash;
mod machine;
pub mod rule;
pub mod service;
mod sync;
mod table;
