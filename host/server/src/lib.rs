//! Assay computes a credit score for an Ethereum address from what the chain says about it. The scoring itself is in
//! versioned WebAssembly components that this host loads, checks, confines and swaps.
//!
//! This crate is the server: it reads the configuration, wires the parts together and serves HTTP. The layers below it
//! are crates of their own.

#![cfg_attr(not(test), warn(unreachable_pub))]

pub mod app;
pub mod config;
pub mod sources;
pub mod verify;
