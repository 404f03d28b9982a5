//! The parts of the end-to-end tests: real processes, proxies, mocks with the real wire protocol, and clients. Nodes,
//! contracts and everything else that `make run` starts are in `assay-devnet`.

pub mod authors;
pub mod browser;
pub mod collector;
pub mod dice;
pub mod economy;
pub mod explorer;
pub mod facilitator;
pub mod features;
pub mod fuzz;
pub mod hostile;
pub mod native;
pub mod nginx;
pub mod oci;
pub mod packages;
pub mod payment;
pub mod pinning;
pub mod price_api;
pub mod proxy;
pub mod python;
pub mod receipts;
pub mod receiver;
pub mod redis;
pub mod reputation;
pub mod scripted;
pub mod service;
pub mod strangers;
pub mod stub;
pub mod venus;

use assay_devnet::gate;
pub use assay_devnet::{agents, devnet, host, ipfs, lenders, node, people, process, tour, until, upstreams};
