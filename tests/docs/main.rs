//! The documentation is true: links lead somewhere, rules are answered as a page says, programs
//! compile and print what stands below them, and what is made from the library is current.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "../c_build/mod.rs"]
#[allow(dead_code)]
mod c_build;
mod current;
mod links;
#[path = "../made/mod.rs"]
#[allow(dead_code)]
mod made;
mod page;
mod pasted;
mod programs;
mod rules;
#[path = "../running/mod.rs"]
#[allow(dead_code)]
mod running;
