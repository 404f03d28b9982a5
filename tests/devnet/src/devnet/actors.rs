//! The accounts of the devnet besides the wallets, and the derivation of addresses from names.

use alloy::primitives::{Address, B256, keccak256};
use alloy::signers::local::PrivateKeySigner;

/// Deploys and governs the market.
pub const DEPLOYER: &str = "deployer";
/// Gives wallets their ether and tokens.
pub const FAUCET: &str = "faucet";
/// Supplies the tokens that wallets borrow.
pub const BANK: &str = "bank";
/// Liquidates.
pub const LIQUIDATOR: &str = "liquidator";
/// Receives the protocol's share of interest.
pub const TREASURY: &str = "treasury";

/// The private key of the account with this name: the same on every machine, and worthless.
pub fn private_key(name: &str) -> B256 {
    keccak256(format!("assay devnet {name}"))
}

/// # Panics
/// Never in practice: that needs a hash outside the curve's order.
pub fn signer(name: &str) -> PrivateKeySigner {
    PrivateKeySigner::from_bytes(&private_key(name)).expect("a hash below the curve's order")
}

pub fn address(name: &str) -> Address {
    signer(name).address()
}
