//! Stored records of one account's transactions. A transaction is stored before it is sent.

use alloy::{
    consensus::{Transaction, TxEnvelope},
    eips::eip2718::Decodable2718,
    primitives::Bytes,
};
use assay_domain::{Address, B256, ChainId, Time};
use serde::{Deserialize, Serialize};

use crate::sender::Offer;

/// A nonce with all transactions that were signed for it. At most one of them can be mined. It is kept until the nonce
/// is used with enough confirmations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NonceRecord {
    pub nonce: u64,
    /// Newest last.
    pub signed: Vec<SignedRecord>,
}

/// A signed transaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedRecord {
    pub hash: B256,
    pub raw: Bytes,
    /// Wei for a unit of gas.
    pub max_fee: u64,
    pub priority_fee: u64,
    pub at: Time,
    /// It is empty and only uses the nonce, so no other transaction with it can be mined.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cancels: bool,
}

/// A mined transaction with enough confirmations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LandedRecord {
    pub hash: B256,
    pub block: u64,
    pub gas_used: u64,
    /// Wei that the account paid for it; 0 in older records.
    #[serde(default)]
    pub cost: u64,
}

impl NonceRecord {
    /// Whether one of its transactions has this hash.
    pub fn has(&self, hash: B256) -> bool {
        self.signed.iter().any(|signed| signed.hash == hash)
    }

    /// Whether the reverted transaction of `landed` used up its gas limit, as one does whose state changed after the
    /// estimate. A call that the contract refuses uses a part of the limit.
    pub fn ran_out_of_gas(&self, landed: &LandedRecord) -> bool {
        let signed = self.signed.iter().find(|signed| signed.hash == landed.hash);
        // A call through a proxy reserves one 64th of the gas for the proxy.
        signed.and_then(SignedRecord::gas_limit).is_some_and(|limit| landed.gas_used >= limit - limit / 20)
    }

    /// Maximum wei that the nonce can cost: its transactions' gas limits at their highest fees. One of them is mined.
    pub fn most_cost(&self) -> u128 {
        let cost = |signed: &SignedRecord| cost(signed.gas_limit().unwrap_or_default(), signed.max_fee);
        self.signed.iter().map(cost).max().unwrap_or_default()
    }

    /// The account that signed the transactions, and the chain that they are for; `None` if they cannot be read.
    pub(super) fn signer(&self) -> Option<(ChainId, Address)> {
        let transaction = TxEnvelope::decode_2718(&mut self.signed.first()?.raw.as_ref()).ok()?;
        let signer = transaction.signature().recover_address_from_prehash(&transaction.signature_hash());
        Some((transaction.chain_id()?, signer.ok()?))
    }

    /// The highest fees that a node may hold for the nonce.
    pub(super) fn highest(&self) -> Offer {
        let none = Offer { max_fee: 0, priority_fee: 0 };
        self.signed.iter().map(SignedRecord::offer).fold(none, |most, offer| Offer {
            max_fee: most.max_fee.max(offer.max_fee),
            priority_fee: most.priority_fee.max(offer.priority_fee),
        })
    }
}

/// Wei for `gas` units of gas at `fee`.
pub(super) fn cost(gas: u64, fee: u64) -> u128 {
    u128::from(gas).saturating_mul(u128::from(fee))
}

impl SignedRecord {
    /// The gas that the transaction may take; `None` if it cannot be read.
    fn gas_limit(&self) -> Option<u64> {
        TxEnvelope::decode_2718(&mut self.raw.as_ref()).ok().map(|transaction| transaction.gas_limit())
    }

    pub(super) fn offer(&self) -> Offer {
        Offer { max_fee: self.max_fee, priority_fee: self.priority_fee }
    }
}
