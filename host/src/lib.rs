//! Assay computes a credit score for an Ethereum address from what the chain says about it. The scoring itself is in
//! versioned WebAssembly components that this host loads, checks, confines and swaps.
//!
//! Modules stand in layers and import strictly downward; `tests/layers.rs` enforces the table.
//!
//! | layer | modules |
//! |---|---|
//! | 7 | `cli` |
//! | 6 | `app` |
//! | 5 | `http` |
//! | 4 | `scoring`, `agents`, `reputation`, `access`, `backtest` |
//! | 3 | `chain` |
//! | 2 | `store`, `registry` |
//! | 1 | `config`, `telemetry`, `tasks`, `features`, `stats` |
//! | 0 | `domain` |

pub mod access;
pub mod agents;
pub mod app;
pub mod backtest;
pub mod cli;
pub mod config;
pub mod http;
pub mod reputation;
pub mod rollout;
pub mod scoring;
pub mod tasks;
pub mod telemetry;
pub mod verify;
