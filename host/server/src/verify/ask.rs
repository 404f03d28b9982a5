//! One decoded contract call, for the checks.

use alloy::sol_types::SolCall;

use assay_domain::Address;
use assay_evm::{
    call::{Call, returned},
    client::{Block, Client},
    fault::Fault,
};

/// The decoded result of one call; `None` when the contract does not answer it.
pub(super) async fn ask<C: SolCall>(
    client: &Client,
    to: Address,
    call: &C,
    at: Block,
) -> Result<Option<C::Return>, Fault> {
    Ok(returned::<C>(client.calls(&[Call::new(to, call)], at.hash).await?.first()))
}
