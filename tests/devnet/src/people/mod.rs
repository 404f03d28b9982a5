//! Names and attestations on a small chain: the real registries and resolvers of ENS and the real attestation service,
//! stubs of contracts that no package has, and a gateway for records that are not on a chain.

pub mod eas;
pub mod ens;
pub mod gateway;

use std::collections::BTreeMap;

use alloy::primitives::{Address, Bytes};
use alloy::sol_types::SolValue;
use tokio::sync::OnceCell;

use crate::devnet::Error;
use crate::lenders::{Small, stubs};

/// The file of the stubs.
const STUBS: &str = "People.sol";

/// Queues the creation of a stub, and returns its future address.
///
/// # Errors
/// When it cannot be compiled.
pub async fn stub(chain: &mut Small, name: &str, arguments: impl Into<Bytes>) -> Result<Address, Error> {
    static COMPILED: OnceCell<BTreeMap<String, Bytes>> = OnceCell::const_new();
    let code = COMPILED.get_or_try_init(|| stubs(STUBS)).await?;
    let code = code.get(name).ok_or_else(|| Error::Unknown(format!("the stub {name}")))?;
    Ok(chain.create([code.as_ref(), &arguments.into()].concat(), name))
}

/// Queues a resolver whose records are at `gateways`. It gives `sender` as its address unless that is zero, and asks
/// `rounds` times.
///
/// # Errors
/// When it cannot be compiled.
pub async fn offchain(chain: &mut Small, gateways: &[String], sender: Address, rounds: u64) -> Result<Address, Error> {
    let arguments = (gateways.to_vec(), sender, alloy::primitives::U256::from(rounds)).abi_encode_params();
    stub(chain, "OffchainStub", arguments).await
}
