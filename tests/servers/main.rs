//! The servers in examples/servers give what their rules say, over loopback, to clients of
//! several threads and addresses: to the request, while their rules change, and under
//! valgrind. What a client does to itself is no matter for another.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

#[path = "../c_build/mod.rs"]
#[allow(dead_code)]
mod c_build;
#[path = "../nginx/client.rs"]
#[allow(dead_code)]
mod client;
mod clients;
mod limits;
mod loops;
#[path = "../made/mod.rs"]
mod made;
#[path = "../nginx/processes.rs"]
#[allow(dead_code)]
mod processes;
mod reload;
#[path = "../running/mod.rs"]
mod running;
mod server;
mod start;
