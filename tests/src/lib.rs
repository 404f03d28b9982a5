//! The parts of the end-to-end tests and of `make run`: a real chain node, real lending contracts, real processes.

pub mod agents;
pub mod browser;
pub mod collector;
pub mod devnet;
pub mod explorer;
pub mod facilitator;
pub mod features;
pub mod fuzz;
mod gate;
pub mod host;
pub mod hostile;
pub mod ipfs;
pub mod lenders;
pub mod native;
pub mod nginx;
pub mod node;
pub mod payment;
pub mod people;
pub mod pinning;
pub mod price_api;
pub mod process;
pub mod proxy;
pub mod python;
pub mod redis;
pub mod reputation;
pub mod service;
pub mod stub;
