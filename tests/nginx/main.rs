//! The module for nginx, under the nginx that is installed here: a master with workers, in a
//! directory of its own, asked over loopback. `integrations/nginx/README.md` is what is
//! examined.
//!
//! A test says what stands in its configuration (`site`), starts it (`server`) and asks
//! (`client`).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod answers;
mod client;
mod costs;
mod full;
mod harness;
mod inherited;
mod killed;
mod load;
#[path = "../made/mod.rs"]
#[allow(dead_code)]
mod made;
mod names;
mod once;
mod page;
mod pasted;
mod processes;
mod refused_configurations;
mod reload;
#[path = "../running/mod.rs"]
#[allow(dead_code)]
mod running;
mod server;
mod several;
mod shared;
mod site;
mod upgrade;
mod variables;
mod workers;
mod zones;
