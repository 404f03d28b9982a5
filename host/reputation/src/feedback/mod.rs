//! The ERC-8004 registries as the account that gives feedback uses them: who an agent is, the call that gives feedback,
//! and what was given.

mod abi;
mod given;

use alloy::{
    primitives::{Bytes, U256},
    sol_types::{SolCall, SolError},
};

use abi::{
    IdentityRegistry::{ERC721NonexistentToken, isAuthorizedOrOwnerCall, ownerOfCall},
    ReputationRegistry::{getLastIndexCall, giveFeedbackCall},
};
use assay_domain::{Address, B256, ChainId, Tag};
use assay_evm::{
    call::{Call, returned},
    client::Block,
};
use assay_outbox::sender::{Sender, SenderError};

pub(crate) use given::GivenFeedback;

/// The ERC-8004 registries and their chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Registries {
    pub chain: ChainId,
    pub identity: Address,
    pub reputation: Address,
}

/// The agent of a feedback, in the identity registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    Missing,
    /// Owned by the account, or the account may act for it: the registry refuses the account's feedback.
    Own,
    /// Of this owner.
    Other(Address),
}

/// One feedback, as the registry accepts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Feedback<'a> {
    pub agent_id: u64,
    pub tag: Tag,
    pub value: u32,
    pub version: &'a str,
    pub endpoint: &'a str,
    pub uri: String,
    pub hash: B256,
}

/// The registries, for one account. Cheap to clone.
#[derive(Clone)]
pub struct FeedbackRegistry {
    sender: Sender,
    registries: Registries,
}

impl FeedbackRegistry {
    /// The registries on the chain of `sender`, whose account gives the feedback.
    pub fn new(sender: Sender, registries: Registries) -> Self {
        Self { sender, registries }
    }

    pub fn registries(&self) -> Registries {
        self.registries
    }

    pub fn sender(&self) -> &Sender {
        &self.sender
    }

    /// The account that gives the feedback.
    pub fn account(&self) -> Address {
        self.sender.address()
    }

    /// The owner of an agent; `None` for an unknown agent.
    ///
    /// # Errors
    /// [`SenderError::Chain`] if the chain cannot be read.
    pub(crate) async fn owner_of(&self, agent_id: u64) -> Result<Option<Address>, SenderError> {
        let client = self.sender.client();
        let head = client.head().await?;
        let data = Bytes::from(ownerOfCall { agentId: U256::from(agent_id) }.abi_encode());
        match client.attempt(self.registries.identity, &data, head.hash).await? {
            Err(_) => Ok(None),
            Ok(answer) => match returned::<ownerOfCall>(Some(&Some(answer))) {
                Some(owner) => Ok(Some(owner).filter(|owner| !owner.is_zero())),
                None => Err(SenderError::Chain("no identity registry answers at agents.identity_registry".into())),
            },
        }
    }

    /// The agent, and whether the account may act for it. If a registry does not name the approved accounts of an
    /// agent, its owner counts.
    ///
    /// # Errors
    /// [`SenderError::Chain`] if the chain cannot be read.
    pub(crate) async fn subject(&self, agent_id: u64) -> Result<Subject, SenderError> {
        let Some(owner) = self.owner_of(agent_id).await? else { return Ok(Subject::Missing) };
        let client = self.sender.client();
        let head = client.head().await?;
        let call = isAuthorizedOrOwnerCall { spender: self.account(), agentId: U256::from(agent_id) };
        let answers = client.calls(&[Call::new(self.registries.identity, &call)], head.hash).await?;
        let is_own = owner == self.account() || returned::<isAuthorizedOrOwnerCall>(answers.first()) == Some(true);
        Ok(if is_own { Subject::Own } else { Subject::Other(owner) })
    }

    async fn last_index(&self, agent_id: u64, at: Block) -> Result<u64, SenderError> {
        let call = getLastIndexCall { agentId: U256::from(agent_id), clientAddress: self.account() };
        let answers = self.sender.client().calls(&[Call::new(self.registries.reputation, &call)], at.hash).await?;
        returned::<getLastIndexCall>(answers.first())
            .ok_or_else(|| SenderError::Chain("no reputation registry answers at agents.reputation_registry".into()))
    }
}

/// The call of the reputation registry that gives `feedback`.
pub(crate) fn give_call(feedback: &Feedback<'_>) -> Bytes {
    let call = giveFeedbackCall {
        agentId: U256::from(feedback.agent_id),
        value: i128::from(feedback.value),
        valueDecimals: 0,
        tag1: feedback.tag.as_str().to_owned(),
        tag2: feedback.version.to_owned(),
        endpoint: feedback.endpoint.to_owned(),
        feedbackURI: feedback.uri.clone(),
        feedbackHash: feedback.hash,
    };
    call.abi_encode().into()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_registry_is_quoted_and_a_stake_in_the_agent_explained() {
        assert_eq!(registry_reason("too many decimals"), "too many decimals");
        assert!(registry_reason("Self-feedback not allowed").contains("owner"));
        let missing = registry_reason(&format!("custom error 0x7e273289{:064x}", 7));
        assert!(missing.contains("does not exist"), "{missing}");
    }
}
