//! The one account that writes to a chain: it signs, prices and sends transactions, and reads their status. It stores
//! nothing: the caller saves nonces and signed transactions before it sends them.

mod account;
mod error;
mod fees;
mod sign;
mod status;
mod words;

use std::sync::Arc;

use alloy::{primitives::Bytes, signers::local::PrivateKeySigner};
use serde_json::json;

use words::{NO_REASON, revert_reason};

use assay_domain::{Address, ChainId};
use assay_evm::{
    client::Client,
    fault::{Fault, Rejection},
};

pub use account::AccountView;
pub use error::SenderError;
pub use fees::{FeeMarket, Offer};
pub(crate) use sign::CANCELLATION_GAS;
pub use sign::Signed;
pub use status::TransactionStatus;

/// Gas added to the estimate, in percent: another feedback may be mined first, and the first feedback of a client costs
/// more.
const GAS_MARGIN: u64 = 30;

/// One account that sends transactions. Cheap to clone.
#[derive(Clone)]
pub struct Sender {
    client: Client,
    key: Arc<PrivateKeySigner>,
    chain: ChainId,
    confirmations: u64,
}

/// How the node answers to a sent transaction. No answer says whether the transaction will be mined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendOutcome {
    /// The node has the transaction.
    Accepted,
    /// This or another transaction with the nonce is mined.
    NonceUsed,
    /// The fee is below what the node requires.
    Underpriced,
    /// The node holds another transaction with the nonce, and the fee is below what its replacement requires.
    ReplacementUnderpriced,
    /// The account cannot pay for it.
    InsufficientFunds,
}

impl From<Rejection> for SendOutcome {
    fn from(why: Rejection) -> Self {
        match why {
            Rejection::Known => Self::Accepted,
            Rejection::NonceUsed => Self::NonceUsed,
            Rejection::ReplacementUnderpriced => Self::ReplacementUnderpriced,
            Rejection::Underpriced => Self::Underpriced,
            Rejection::InsufficientFunds => Self::InsufficientFunds,
        }
    }
}

impl Sender {
    /// The account of `key` on `chain`, which `client` reads. A block with `confirmations` blocks on top counts as
    /// settled.
    pub fn new(client: Client, key: PrivateKeySigner, chain: ChainId, confirmations: u64) -> Self {
        Self { client, key: Arc::new(key), chain, confirmations }
    }

    pub fn client(&self) -> &Client {
        &self.client
    }

    pub fn address(&self) -> Address {
        self.key.address()
    }

    pub fn chain(&self) -> ChainId {
        self.chain
    }

    /// Gas for a call of `to`, with a margin; the inner error is the reason of a revert. The estimate uses the newest
    /// block: pending transactions may never be mined, and the first feedback of a client costs more than the next.
    ///
    /// # Errors
    /// [`SenderError::Chain`] if the chain cannot be read.
    pub async fn estimate_gas(&self, to: Address, data: &Bytes) -> Result<Result<u64, String>, SenderError> {
        let transaction = json!({ "from": self.address(), "to": to, "data": data });
        let answer =
            self.client.batch(vec![("eth_estimateGas", json!([transaction, "latest"]))]).await?.into_iter().next();
        match answer.unwrap_or_else(|| Err(Fault::Malformed("no answer".into()))) {
            Ok(value) => {
                let gas = assay_evm::client::quantity(value)?;
                Ok(Ok(gas.saturating_add(gas.saturating_mul(GAS_MARGIN) / 100)))
            }
            Err(Fault::Reverted { message }) => Ok(Err(self.revert_words(&message, to, data).await?)),
            Err(fault) => Err(fault.into()),
        }
    }

    /// The reason of a revert. Some nodes give a custom error only as data, which a call shows.
    async fn revert_words(&self, message: &str, to: Address, data: &Bytes) -> Result<String, SenderError> {
        let reason = revert_reason(message);
        if reason != NO_REASON {
            return Ok(reason);
        }
        let head = self.client.head().await?;
        let answer = self.client.attempt(to, data, head.hash).await?;
        Ok(answer.err().filter(|data| !data.is_empty()).map_or(reason, |data| format!("custom error {data}")))
    }

    /// Sends a signed transaction. Sending it again is harmless.
    ///
    /// # Errors
    /// [`SenderError::Chain`] if it is unknown whether the node has the transaction.
    pub async fn send(&self, raw: &Bytes) -> Result<SendOutcome, SenderError> {
        let answer = self.client.batch(vec![("eth_sendRawTransaction", json!([raw]))]).await?.into_iter().next();
        match answer.unwrap_or_else(|| Err(Fault::Malformed("no answer".into()))) {
            Ok(_) => Ok(SendOutcome::Accepted),
            Err(Fault::Rejected { why, .. }) => Ok(why.into()),
            Err(fault) => Err(fault.into()),
        }
    }
}
