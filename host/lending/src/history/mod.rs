//! Histories: the events of a wallet in the markets of a chain. A read ([`read`]) plans its log queries ([`plan`]),
//! passes over the blocks ([`pass`]), turns logs into events ([`events`]), and counts them in the [`ledger`]. Settled
//! history is stored in a record.

pub(crate) mod begin;
pub(crate) mod checkpoints;
pub(crate) mod doubts;
pub(crate) mod events;
pub(crate) mod ledger;
pub(crate) mod named;
pub(crate) mod numbered;
pub(crate) mod pass;
pub(crate) mod past;
pub(crate) mod plan;
pub(crate) mod read;
pub(crate) mod reader;
pub(crate) mod receipts;
pub(crate) mod scan;
pub(crate) mod second;
pub(crate) mod settled;
pub(crate) mod tally;
pub(crate) mod whole;
