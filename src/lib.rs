//! librl: a rate limiter that any program can link.

pub mod algorithm;
mod capi;
pub mod clock;
pub mod config;
pub mod error;
mod hash;
pub mod rule;
pub mod service;
mod sync;
mod table;
