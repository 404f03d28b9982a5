//! A payment by signature (ERC-3009): the payer's authorisation, the EIP-712 hash that the payer signs, and the signer.
//! This module does not know whether a payment was used.

use alloy::{
    primitives::Signature,
    sol,
    sol_types::{Eip712Domain, SolStruct},
};
use serde::{Deserialize, Serialize};

use crate::{Address, B256, ChainId, U256};

sol! {
    struct TransferWithAuthorization {
        address from;
        address to;
        uint256 value;
        uint256 validAfter;
        uint256 validBefore;
        bytes32 nonce;
    }
}

/// A payer's authorisation of one transfer of an amount to an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Authorization {
    pub from: Address,
    pub to: Address,
    /// In the smallest unit of the asset.
    pub value: U256,
    /// Unix seconds; both ends are exclusive.
    pub valid_after: U256,
    pub valid_before: U256,
    /// Chosen by the payer. An asset accepts each nonce of a payer once.
    pub nonce: B256,
}

/// Identifies a payment: no asset accepts a nonce of a payer twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PaymentId {
    pub chain: ChainId,
    pub asset: Address,
    pub from: Address,
    pub nonce: B256,
}

/// The EIP-712 domain, which limits a signature to one asset on one chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SigningDomain {
    pub name: String,
    pub version: String,
    pub chain: ChainId,
    pub asset: Address,
}

impl SigningDomain {
    /// The value that a contract returns as its `DOMAIN_SEPARATOR`.
    pub fn separator(&self) -> B256 {
        self.eip712().separator()
    }

    /// The hash that the payer signs for `authorization`.
    pub fn hash(&self, authorization: &Authorization) -> B256 {
        let Authorization { from, to, value, valid_after, valid_before, nonce } = *authorization;
        TransferWithAuthorization { from, to, value, validAfter: valid_after, validBefore: valid_before, nonce }
            .eip712_signing_hash(&self.eip712())
    }

    fn eip712(&self) -> Eip712Domain {
        let (name, version) = (self.name.clone().into(), self.version.clone().into());
        Eip712Domain::new(Some(name), Some(version), Some(U256::from(self.chain)), Some(self.asset), None)
    }
}

/// The account whose key signed `hash` with the 65 bytes of `signature`. `None` for any other form, and for the second
/// valid form of each signature, which assets reject.
pub fn signer(hash: B256, signature: &[u8]) -> Option<Address> {
    let last = *signature.get(64).filter(|last| signature.len() == 65 && [0, 1, 27, 28].contains(*last))?;
    let signature = Signature::from_bytes_and_parity(signature.get(..64)?, last % 27 == 1);
    if signature.normalize_s().is_some() {
        return None;
    }
    signature.recover_address_from_prehash(&hash).ok()
}

/// Why a scenario of a sandbox refuses a payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaymentRefusal {
    Network,
    Recipient,
    Value,
    NotYetValid,
    Expired,
    Signature,
    InsufficientFunds,
    NonceUsed,
    TransactionReverted,
    SettlementFailed,
}

#[cfg(test)]
mod tests {
    use alloy::signers::{SignerSync, local::PrivateKeySigner};

    use super::*;
    use crate::address;

    fn usdc() -> SigningDomain {
        let asset = address!("0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913");
        SigningDomain { name: "USD Coin".into(), version: "2".into(), chain: 8453, asset }
    }

    #[test]
    fn the_domain_is_that_of_the_contract_on_base() {
        // The value of DOMAIN_SEPARATOR() of the contract on Base.
        assert_eq!(
            usdc().separator().to_string(),
            "0x02fa7265e7c5d81118673727957699e4d68f74cd74b7db77da710fe8a2c7834f"
        );
    }

    #[test]
    fn whoever_signed_is_found_and_nobody_else() {
        let key = PrivateKeySigner::random();
        let authorization = Authorization {
            from: key.address(),
            to: Address::with_last_byte(1),
            value: U256::from(100_000),
            valid_after: U256::ZERO,
            valid_before: U256::from(2_000_000_000_u64),
            nonce: B256::with_last_byte(7),
        };
        let hash = usdc().hash(&authorization);
        let signature = key.sign_hash_sync(&hash).unwrap();
        let bytes = signature.as_bytes();
        assert_eq!(signer(hash, &bytes), Some(key.address()));
        let mut low = bytes;
        low[64] -= 27;
        assert_eq!(signer(hash, &low), Some(key.address()));
        for other in [
            usdc().hash(&Authorization { value: U256::from(1), ..authorization }),
            SigningDomain { chain: 84_532, ..usdc() }.hash(&authorization),
            SigningDomain { name: "USDC".into(), ..usdc() }.hash(&authorization),
        ] {
            assert_ne!(signer(other, &bytes), Some(key.address()));
        }
        // `n - s` with the other parity is also a signature of this key, but assets do not accept it.
        let order = "0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141".parse::<U256>().unwrap();
        let high = Signature::new(signature.r(), order - signature.s(), !signature.v()).as_bytes();
        for wrong in [&high[..], &bytes[..64], &[&bytes[..64], &[29]].concat(), &[]] {
            assert_eq!(signer(hash, wrong), None);
        }
    }
}
