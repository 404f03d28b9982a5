//! Local chains with all that a server reads and writes, for `make run` and the tests: real nodes, real lending
//! contracts, names, agents, payments and IPFS.

pub mod agents;
pub mod caller;
pub mod devnet;
pub mod dollar;
pub mod gate;
pub mod host;
pub mod ipfs;
pub mod lenders;
pub mod node;
pub mod npm_client;
pub mod people;
pub mod tour;
pub mod until;
pub mod upstreams;

pub use assay_process as process;
