//! The one account that writes to a chain: it signs, prices and sends transactions, and reads their status. It stores
//! nothing: the caller saves nonces and signed transactions before it sends them.

mod abi;
mod account;
mod feedback;
mod fees;
mod sign;
mod status;

use std::sync::Arc;

use alloy::{primitives::Bytes, signers::local::PrivateKeySigner, sol_types::SolError};
use serde_json::json;

use abi::{
    IdentityRegistry::{ERC721NonexistentToken, isAuthorizedOrOwnerCall, ownerOfCall},
    ReputationRegistry::{getIdentityRegistryCall, getLastIndexCall},
};
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

/// Gas added to the estimate, in percent: another feedback may be mined first, and the first feedback of a client costs
/// more.
const GAS_MARGIN: u64 = 30;

/// In place of the reason of a revert that has none.
const NO_REASON: &str = "without a reason";

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
    Other,
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
    /// [`SenderError::Chain`] where the chain cannot be read.
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

    /// The agent, and whether the account may act for it. A registry that cannot say who may act for an agent says who
    /// owns it.
    ///
    /// # Errors
    /// [`SenderError::Chain`] where the chain cannot be read.
    pub async fn subject(&self, agent_id: u64) -> Result<Subject, SenderError> {
        let Some(owner) = self.owner_of(agent_id).await? else { return Ok(Subject::Missing) };
        let head = self.client.head().await?;
        let call = isAuthorizedOrOwnerCall { spender: self.address(), agentId: U256::from(agent_id) };
        let answers = self.client.calls(&[Call::new(self.registries.identity, &call)], head.hash).await?;
        let is_own = owner == self.address() || returned::<isAuthorizedOrOwnerCall>(answers.first()) == Some(true);
        Ok(if is_own { Subject::Own } else { Subject::Other })
    }

    /// Gas for a call of `to`, with a margin; the inner error is the reason of a revert. The estimate uses the newest
    /// block: pending transactions may never be mined, and the first feedback of a client costs more than the next.
    ///
    ///
    /// # Errors
    /// [`SenderError::Chain`] where the chain cannot be read.
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
    /// [`SenderError::Chain`] where it is unknown whether the node has the transaction.
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

/// Why the registry reverts, in words.
pub fn registry_reason(reason: &str) -> String {
    let selector = alloy::hex::encode(ERC721NonexistentToken::SELECTOR);
    if reason.contains("Self-feedback") {
        "this service's account is the agent's owner or acts for it".into()
    } else if reason.contains("ERC721NonexistentToken") || reason.contains(&selector) {
        "the agent does not exist in the Identity Registry".into()
    } else {
        reason.to_owned()
    }
}

/// The reason in a revert.
fn revert_reason(fault: &Fault) -> String {
    let Fault::Refused { message, .. } = fault else { return NO_REASON.into() };
    let reason = message
        .split_once("revert")
        .map_or(message.as_str(), |(_, rest)| rest.trim_start_matches("ed").trim_start_matches([':', ' ']));
    if reason.is_empty() { NO_REASON.into() } else { reason.to_owned() }
}

/// The meaning of a node's error, `None` for an unknown one. Each node software has its own wording.
fn refusal(fault: &Fault) -> Option<SendOutcome> {
    let Fault::Refused { message, .. } = fault else { return None };
    let message = message.to_lowercase();
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| message.contains(phrase));
    if says(&["already known", "already imported", "known transaction", "already in mempool", "alreadyknown"]) {
        Some(SendOutcome::Accepted)
    } else if says(&["nonce too low", "nonce is too low", "oldnonce", "invalid nonce"]) {
        Some(SendOutcome::NonceUsed)
    } else if says(&["replacement transaction underpriced", "replacement not allowed", "replacementnotallowed"]) {
        Some(SendOutcome::ReplacementUnderpriced)
    } else if says(&["underpriced", "less than block base fee", "fee too low", "feetoolow", "gas price too low"]) {
        Some(SendOutcome::Underpriced)
    } else if says(&["insufficient funds", "insufficient balance", "insufficientfunds"]) {
        Some(SendOutcome::InsufficientFunds)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_of_transactions_are_told_apart() {
        let said = |message: &str| refusal(&Fault::Refused { code: -32000, message: message.into() });
        for (message, meaning) in [
            ("already known", Some(SendOutcome::Accepted)),
            ("nonce too low: next nonce 5, tx nonce 4", Some(SendOutcome::NonceUsed)),
            ("replacement transaction underpriced", Some(SendOutcome::ReplacementUnderpriced)),
            ("transaction underpriced: gas tip cap 1", Some(SendOutcome::Underpriced)),
            ("max fee per gas less than block base fee: address 0x1", Some(SendOutcome::Underpriced)),
            ("insufficient funds for gas * price + value", Some(SendOutcome::InsufficientFunds)),
            ("Insufficient funds for gas * price + value", Some(SendOutcome::InsufficientFunds)),
            ("invalid sender", None),
        ] {
            assert_eq!(said(message), meaning, "{message}");
        }
        assert_eq!(refusal(&Fault::NoState), None);
    }

    #[test]
    fn the_registry_is_quoted_and_a_stake_in_the_agent_explained() {
        let reason =
            |message: &str| registry_reason(&revert_reason(&Fault::Refused { code: 3, message: message.into() }));
        assert_eq!(reason("execution reverted: too many decimals"), "too many decimals");
        assert_eq!(reason("execution reverted"), "without a reason");
        assert!(reason("execution reverted: Self-feedback not allowed").contains("owner"));
        let missing = format!("execution reverted: custom error 0x7e273289{:064x}", 7);
        assert!(reason(&missing).contains("does not exist"), "{}", reason(&missing));
    }
}
