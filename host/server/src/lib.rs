//! Assay computes a credit score for an Ethereum address from on-chain data. The scoring logic is in versioned
//! WebAssembly components that this host loads, checks, confines and swaps.
//!
//! This crate wires the parts of the server together: [`config`] loads the configuration, [`app`] starts the server, [`routes`] collects its routes,
//! [`verify`] compares the configuration with the chains, and [`sources`] pulls components from registries.

#![cfg_attr(not(test), warn(unreachable_pub))]

pub mod app;
pub mod config;
mod document;
mod examples;
pub mod operation;
pub mod routes;
pub mod sources;
pub mod verify;
