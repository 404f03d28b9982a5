//! The one account that writes to a chain: it signs, prices and sends transactions, and reads their status. It stores
//! nothing: the caller saves nonces and signed transactions before it sends them.

mod abi;
mod account;
mod feedback;
mod fees;
mod sign;
mod status;
mod words;

use std::sync::Arc;

use alloy::{primitives::Bytes, signers::local::PrivateKeySigner};
use serde_json::json;

use abi::{
    IdentityRegistry::{isAuthorizedOrOwnerCall, ownerOfCall},
    ReputationRegistry::{getIdentityRegistryCall, getLastIndexCall},
};
use words::{NO_REASON, refusal, revert_reason};

use assay_domain::{Address, B256, ChainId, Tag, U256};
use assay_evm::{
    call::{self, Call, returned},
    client::Client,
    fault::Fault,
};

pub use account::{AccountView, BlockRef};
pub use feedback::{FeedbackEvent, GivenFeedback};
pub use fees::{FeeMarket, Offer};
pub use sign::Signed;
pub use status::TransactionStatus;
pub use words::registry_reason;

/// Gas added to the estimate, in percent: another feedback may be mined first, and the first feedback of a client costs
/// more.
const GAS_MARGIN: u64 = 30;

/// The ERC-8004 registries and their chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Registries {
    pub chain: ChainId,
    pub identity: Address,
    pub reputation: Address,
}

/// One account that sends transactions. Cheap to clone.
#[derive(Clone)]
pub struct Sender {
    client: Client,
    key: Arc<PrivateKeySigner>,
    registries: Registries,
    confirmations: u64,
}

/// The agent of a feedback, as the identity registry knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    Missing,
    /// Owned by the account, or the account may act for it: the registry refuses the account's feedback.
    Own,
    /// Owned by this address.
    Other(Address),
}

/// One feedback, as the registry accepts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feedback<'a> {
    pub agent_id: u64,
    pub tag: Tag,
    pub value: u32,
    pub version: &'a str,
    pub endpoint: &'a str,
    pub uri: String,
    pub hash: B256,
}

/// The node's answer to a sent transaction. No answer says whether the transaction will be mined.
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

/// Why a request to the chain failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SenderError {
    #[error("the chain of the registries: {0}")]
    Chain(String),
    #[error("a transaction could not be signed: {0}")]
    Unsigned(String),
    #[error("gas costs more than reputation.max_fee_gwei at the moment")]
    Dear,
    #[error("{0} transactions are under way, as many as reputation.max_transactions allows; it waits for its turn")]
    Full(usize),
    #[error("the account {0} of this service cannot pay for gas; send ether to it")]
    NoFunds(Address),
}

impl From<Fault> for SenderError {
    fn from(fault: Fault) -> Self {
        Self::Chain(fault.to_string())
    }
}

/// Asks a reputation registry for its identity registry.
pub fn identity_of(registry: Address) -> Call {
    Call::new(registry, &getIdentityRegistryCall {})
}

impl Sender {
    /// The account of `key`. A block with `confirmations` blocks on top counts as settled.
    pub fn new(client: Client, key: PrivateKeySigner, registries: Registries, confirmations: u64) -> Self {
        Self { client, key: Arc::new(key), registries, confirmations }
    }

    pub fn address(&self) -> Address {
        self.key.address()
    }

    pub fn chain(&self) -> ChainId {
        self.registries.chain
    }

    /// The reputation registry.
    pub fn registry(&self) -> Address {
        self.registries.reputation
    }

    pub fn registries(&self) -> Registries {
        self.registries
    }

    /// The owner of an agent; `None` for an unknown agent.
    ///
    /// # Errors
    /// [`SenderError::Chain`] if the chain cannot be read.
    pub async fn owner_of(&self, agent_id: u64) -> Result<Option<Address>, SenderError> {
        let head = self.client.head().await?;
        let data = Bytes::from(alloy::sol_types::SolCall::abi_encode(&ownerOfCall { agentId: U256::from(agent_id) }));
        match self.client.attempt(self.registries.identity, &data, head.hash).await? {
            Err(_) => Ok(None),
            Ok(answer) => match returned::<ownerOfCall>(Some(&Some(answer))) {
                Some(owner) => Ok(Some(owner).filter(|owner| !owner.is_zero())),
                None => Err(SenderError::Chain("no identity registry answers at agents.identity_registry".into())),
            },
        }
    }

    /// The agent, and whether the account may act for it. If the registry cannot say who may act for an agent, only its
    /// owner counts.
    ///
    /// # Errors
    /// [`SenderError::Chain`] if the chain cannot be read.
    pub async fn subject(&self, agent_id: u64) -> Result<Subject, SenderError> {
        let Some(owner) = self.owner_of(agent_id).await? else { return Ok(Subject::Missing) };
        let head = self.client.head().await?;
        let call = isAuthorizedOrOwnerCall { spender: self.address(), agentId: U256::from(agent_id) };
        let answers = self.client.calls(&[Call::new(self.registries.identity, &call)], head.hash).await?;
        let is_own = owner == self.address() || returned::<isAuthorizedOrOwnerCall>(answers.first()) == Some(true);
        Ok(if is_own { Subject::Own } else { Subject::Other(owner) })
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
            Err(fault) if call::reverted(&fault) => Ok(Err(self.revert_words(&fault, to, data).await?)),
            Err(fault) => Err(fault.into()),
        }
    }

    /// The reason of a revert. Some nodes give a custom error only as data, which a call shows.
    async fn revert_words(&self, fault: &Fault, to: Address, data: &Bytes) -> Result<String, SenderError> {
        let reason = revert_reason(fault);
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
            Err(fault) => refusal(&fault).ok_or_else(|| fault.into()),
        }
    }

    async fn last_index(&self, agent_id: u64, at: BlockRef) -> Result<u64, SenderError> {
        let call = getLastIndexCall { agentId: U256::from(agent_id), clientAddress: self.address() };
        let answers = self.client.calls(&[Call::new(self.registry(), &call)], at.hash).await?;
        returned::<getLastIndexCall>(answers.first())
            .ok_or_else(|| SenderError::Chain("no reputation registry answers at agents.reputation_registry".into()))
    }
}
