//! The one account that writes to a chain: what it signs, offers, sends, and what became of that. It keeps nothing:
//! nonces and signed transactions are kept by whoever asks for them, before they are sent.

mod abi;
mod fees;
mod given;
mod records;
mod sight;
mod sign;
mod view;

use std::sync::Arc;

use alloy::{primitives::Bytes, signers::local::PrivateKeySigner};
use serde_json::json;

use abi::{
    IdentityRegistry::ownerOfCall,
    ReputationRegistry::{getIdentityRegistryCall, getLastIndexCall},
};
use assay_domain::{Address, B256, ChainId, Tag, U256};
use assay_evm::{
    call::{self, Call, returned},
    client::Client,
    fault::Fault,
};

pub use fees::{Market, Offer};
pub use given::{Given, Told};
pub use records::{LandedRecord, SignedRecord, SlotRecord};
pub use sight::Sight;
pub use sign::Signed;
pub use view::{At, View};

/// Gas beyond the estimate, in percent: another feedback may be first in the meantime, and the first of a client costs
/// more.
const GAS_MARGIN: u64 = 30;

/// The ERC-8004 registries, and the chain that they are on.
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
    ceiling: u64,
}

/// One feedback as the registry takes it.
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

/// What came of sending a transaction. None of it says whether it will be mined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// The node has it, now or before.
    Taken,
    /// The nonce is used up, by this transaction or another.
    Spent,
    /// It offers less than the node or another transaction with its nonce asks for.
    TooLittle,
    /// The account cannot pay for it.
    NoFunds,
}

/// Why something could not be done or told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SenderError {
    #[error("the chain of the registries: {0}")]
    Chain(String),
    /// The registry will not take it, today or later.
    #[error("the Reputation Registry refuses the feedback: {0}")]
    Refused(String),
    #[error("a transaction could not be signed: {0}")]
    Unsigned(String),
}

impl From<Fault> for SenderError {
    fn from(fault: Fault) -> Self {
        Self::Chain(fault.to_string())
    }
}

/// Asks a reputation registry whose agents it is for.
pub fn identity_of(registry: Address) -> Call {
    Call::new(registry, &getIdentityRegistryCall {})
}

impl Sender {
    /// The account of `key`, which offers at most `ceiling` wei for a unit of gas, and whose transactions count after
    /// `confirmations` blocks.
    pub fn new(
        client: Client,
        key: PrivateKeySigner,
        registries: Registries,
        confirmations: u64,
        ceiling: u64,
    ) -> Self {
        Self { client, key: Arc::new(key), registries, confirmations, ceiling }
    }

    pub fn address(&self) -> Address {
        self.key.address()
    }

    pub fn chain(&self) -> ChainId {
        self.registries.chain
    }

    /// The contract that takes feedback.
    pub fn registry(&self) -> Address {
        self.registries.reputation
    }

    pub fn registries(&self) -> Registries {
        self.registries
    }

    /// The most that is offered for a unit of gas, in wei.
    pub fn ceiling(&self) -> u64 {
        self.ceiling
    }

    /// Who owns an agent; `None` where there is no such agent.
    ///
    /// # Errors
    /// [`SenderError::Chain`] where that cannot be told.
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

    /// Gas for a feedback, with room. It is tried out after the newest block: what waits may never come, and the first
    /// feedback of a client costs more than the next.
    ///
    /// # Errors
    /// [`SenderError::Refused`] where the registry reverts, [`SenderError::Chain`] where that cannot be told.
    pub async fn gas(&self, feedback: &Feedback<'_>) -> Result<u64, SenderError> {
        self.gas_of(self.registry(), &self.call(feedback)).await?.map_err(|fault| SenderError::Refused(reason(&fault)))
    }

    /// Gas for a call of `to`, with room; the words of the revert where it is reverted.
    ///
    /// # Errors
    /// [`SenderError::Chain`] where that cannot be told.
    pub async fn gas_for(&self, to: Address, data: &Bytes) -> Result<Result<u64, String>, SenderError> {
        Ok(self.gas_of(to, data).await?.map_err(|fault| reverted(&fault)))
    }

    async fn gas_of(&self, to: Address, data: &Bytes) -> Result<Result<u64, Fault>, SenderError> {
        let transaction = json!({ "from": self.address(), "to": to, "data": data });
        let answer =
            self.client.batch(vec![("eth_estimateGas", json!([transaction, "latest"]))]).await?.into_iter().next();
        match answer.unwrap_or_else(|| Err(Fault::Malformed("no answer".into()))) {
            Ok(value) => {
                let gas = assay_evm::client::quantity(value)?;
                Ok(Ok(gas.saturating_add(gas.saturating_mul(GAS_MARGIN) / 100)))
            }
            Err(fault) if call::reverted(&fault) => Ok(Err(fault)),
            Err(fault) => Err(fault.into()),
        }
    }

    /// Hands a signed transaction to the node. To do it again is harmless.
    ///
    /// # Errors
    /// [`SenderError::Chain`]; whether the node has the transaction is then unknown.
    pub async fn send(&self, raw: &Bytes) -> Result<Sent, SenderError> {
        let answer = self.client.batch(vec![("eth_sendRawTransaction", json!([raw]))]).await?.into_iter().next();
        match answer.unwrap_or_else(|| Err(Fault::Malformed("no answer".into()))) {
            Ok(_) => Ok(Sent::Taken),
            Err(fault) => refusal(&fault).ok_or_else(|| fault.into()),
        }
    }

    async fn last_index(&self, agent_id: u64, at: At) -> Result<u64, SenderError> {
        let call = getLastIndexCall { agentId: U256::from(agent_id), clientAddress: self.address() };
        let answers = self.client.calls(&[Call::new(self.registry(), &call)], at.hash).await?;
        returned::<getLastIndexCall>(answers.first())
            .ok_or_else(|| SenderError::Chain("no reputation registry answers at agents.reputation_registry".into()))
    }
}

/// The registry's own words in a revert.
fn reason(fault: &Fault) -> String {
    let words = reverted(fault);
    if words.contains("Self-feedback") {
        "this service's account is the agent's owner or acts for it".into()
    } else {
        words
    }
}

/// A contract's own words in a revert.
fn reverted(fault: &Fault) -> String {
    let Fault::Refused { message, .. } = fault else { return "without a reason".into() };
    let words = message
        .split_once("revert")
        .map_or(message.as_str(), |(_, rest)| rest.trim_start_matches("ed").trim_start_matches([':', ' ']));
    if words.is_empty() { "without a reason".into() } else { words.to_owned() }
}

/// What nodes say of a transaction that they do not take. Each client has its own words.
fn refusal(fault: &Fault) -> Option<Sent> {
    let Fault::Refused { message, .. } = fault else { return None };
    let message = message.to_lowercase();
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| message.contains(phrase));
    if says(&["already known", "already imported", "known transaction", "already in mempool", "alreadyknown"]) {
        Some(Sent::Taken)
    } else if says(&["nonce too low", "nonce is too low", "oldnonce", "invalid nonce"]) {
        Some(Sent::Spent)
    } else if says(&["underpriced", "less than block base fee", "fee too low", "feetoolow", "gas price too low"]) {
        Some(Sent::TooLittle)
    } else if says(&["insufficient funds", "insufficient balance", "insufficientfunds"]) {
        Some(Sent::NoFunds)
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
            ("already known", Some(Sent::Taken)),
            ("nonce too low: next nonce 5, tx nonce 4", Some(Sent::Spent)),
            ("replacement transaction underpriced", Some(Sent::TooLittle)),
            ("max fee per gas less than block base fee: address 0x1", Some(Sent::TooLittle)),
            ("insufficient funds for gas * price + value", Some(Sent::NoFunds)),
            ("Insufficient funds for gas * price + value", Some(Sent::NoFunds)),
            ("invalid sender", None),
        ] {
            assert_eq!(said(message), meaning, "{message}");
        }
        assert_eq!(refusal(&Fault::NoState), None);
    }

    #[test]
    fn the_registry_is_quoted_and_a_stake_in_the_agent_explained() {
        let said = |message: &str| reason(&Fault::Refused { code: 3, message: message.into() });
        assert_eq!(said("execution reverted: too many decimals"), "too many decimals");
        assert_eq!(said("execution reverted"), "without a reason");
        assert!(said("execution reverted: Self-feedback not allowed").contains("owner"));
    }
}
