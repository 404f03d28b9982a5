//! Everything read from chains: one client per chain, and for an address its activity, holdings, lending positions and
//! lending history on all of them as one snapshot. A chain that cannot be read is a failed part of a snapshot, never a
//! failed request. And the little that is written: transactions of one account, and documents for IPFS.

mod activity;
mod agents;
mod call;
mod client;
mod endpoint;
mod explorer;
mod fault;
#[doc(hidden)]
pub mod fuzz;
mod guarded;
mod holdings;
mod identity;
mod intake;
mod ipfs;
mod lending;
mod logs;
mod names;
mod payment;
mod prices;
mod read;
mod redact;
mod sender;
mod snapshots;
mod span;
mod transport;
mod verify;
mod wording;

pub use agents::{
    AgentChange, AgentEvent, AgentRegistries, AgentsError, Documents, Located, Mark, Outside, Token, base64,
};
pub use ipfs::{Ipfs, IpfsError, cid};
pub use names::NameError;
pub use payment::{Asset, Facilitator, FacilitatorError, PaymentError, Settlement, Standing, Use};
pub use sender::{
    At, Feedback, Given, LandedRecord, Market, Offer, Sender, SenderError, Sent, Sight, Signed, SignedRecord,
    SlotRecord, Told, View,
};
pub use snapshots::{ChainStatus, Chains, Read};
pub use verify::{Finding, verify};
