//! The C interface: one file for each noun of `include/rl.h`, which is made from
//! the comments in this directory (`make header`).
//!
//! This layer converts and nothing else. It decides nothing about limits, and it
//! keeps two promises: whatever number, length or NULL comes from C is answered
//! with a status, and no panic goes out. What only the caller can know (that a
//! pointer points at what its type says, and lives long enough) is all that the
//! `unsafe` here leans on.

#![allow(unsafe_code, non_camel_case_types)]

mod answer;
mod charge;
mod check;
mod clock;
mod config;
mod decision;
mod error;
mod ffi;
#[cfg(test)]
mod layout;
mod request;
mod service;
mod stats;
mod status;
mod version;
mod zone;
