//! Signing of transactions. The caller stores a signed transaction before it sends it.

use alloy::{
    consensus::{SignableTransaction, TxEip1559},
    eips::eip2718::Encodable2718,
    primitives::{Bytes, TxKind, U256},
    signers::SignerSync,
};

use super::{Offer, Sender, SenderError};
use assay_domain::{Address, B256};

/// Gas of an empty transaction.
pub(crate) const CANCELLATION_GAS: u64 = 21_000;

/// A signed transaction, not yet sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed {
    pub hash: B256,
    pub raw: Bytes,
}

impl Sender {
    /// Signs an empty transfer to our own account, so that no other transaction with this nonce can be mined.
    ///
    /// # Errors
    /// [`SenderError::Unsigned`].
    pub fn sign_cancellation(&self, nonce: u64, offer: Offer) -> Result<Signed, SenderError> {
        self.sign_call(nonce, CANCELLATION_GAS, offer, self.address(), Bytes::new())
    }

    /// Signs a call of `to` with this nonce.
    ///
    /// # Errors
    /// [`SenderError::Unsigned`].
    pub fn sign_call(
        &self,
        nonce: u64,
        gas: u64,
        offer: Offer,
        to: Address,
        input: Bytes,
    ) -> Result<Signed, SenderError> {
        let transaction = TxEip1559 {
            chain_id: self.chain(),
            nonce,
            gas_limit: gas,
            max_fee_per_gas: offer.max_fee.into(),
            max_priority_fee_per_gas: offer.priority_fee.into(),
            to: TxKind::Call(to),
            value: U256::ZERO,
            access_list: Default::default(),
            input,
        };
        let signature = self
            .key
            .sign_hash_sync(&transaction.signature_hash())
            .map_err(|error| SenderError::Unsigned(error.to_string()))?;
        let signed = transaction.into_signed(signature);
        Ok(Signed { hash: *signed.hash(), raw: signed.encoded_2718().into() })
    }
}
