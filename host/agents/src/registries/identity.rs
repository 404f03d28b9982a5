//! The identity registry's state: the number of agents, their owners, and the URIs of their documents.

use std::sync::atomic::Ordering::Relaxed;

use alloy::{primitives::Bytes, sol, sol_types::SolCall};
use serde_json::json;

use super::{AgentRegistries, AgentsError, MAX_AGENTS, bounded};
use assay_domain::{Address, U256};
use assay_evm::{
    call::Call,
    client::{Block, pinned},
    fault::Fault,
};

sol! {
    function ownerOf(uint256 tokenId) external view returns (address owner);
    function tokenURI(uint256 tokenId) external view returns (string uri);
}

/// The storage slot of the next id in the published registry: the first field of its ERC-7201 namespace.
const COUNT: &str = "0xa040f782729de4970518741823ec1276cbcd41a0c7493f62d173341566a04e00";

/// Consecutive ids without an owner that mark the end: fewer may be burned.
const GAP: u64 = 16;

/// A token that exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub id: u64,
    pub owner: Address,
    /// Unchecked; `None` if it cannot be read, such as one too long for the node.
    pub uri: Option<String>,
}

impl AgentRegistries {
    /// The number of agents ever registered, including token 0 and burned ones, and the tokens of `ids` that exist, in
    /// their order; all after one block. `ids` gets the number.
    ///
    /// # Errors
    /// [`AgentsError`].
    pub async fn page(&self, ids: impl FnOnce(u64) -> Vec<u64>) -> Result<(u64, Vec<Token>), AgentsError> {
        bounded(async {
            let head = self.inner.client.head().await?;
            let total = self.total(head).await?;
            Ok::<_, AgentsError>((total, self.tokens(&ids(total), head).await?))
        })
        .await
    }

    /// The token of this id; `None` if there is none.
    ///
    /// # Errors
    /// [`AgentsError`].
    pub async fn token(&self, id: u64) -> Result<Option<Token>, AgentsError> {
        bounded(async {
            let head = self.inner.client.head().await?;
            Ok::<_, AgentsError>(self.tokens(&[id], head).await?.into_iter().next())
        })
        .await
    }

    /// The next id: from storage if the registry is known to have it there, otherwise by a search over owners.
    async fn total(&self, head: Block) -> Result<u64, AgentsError> {
        let ask = ("eth_getStorageAt", json!([self.inner.identity, COUNT, pinned(head.hash)]));
        let stored = match self.inner.client.batch(vec![ask]).await?.into_iter().next() {
            Some(Ok(word)) => serde_json::from_value::<U256>(word)
                .ok()
                .and_then(|word| u64::try_from(word).ok())
                .filter(|next| *next <= MAX_AGENTS),
            Some(Err(fault @ Fault::UnknownBlock)) => return Err(fault.into()),
            // The endpoint does not have this method.
            Some(Err(_)) | None => None,
        };
        if let Some(next) = stored
            && (self.inner.counted.load(Relaxed) || self.ends_at(next, head).await?)
        {
            self.inner.counted.store(true, Relaxed);
            return Ok(next);
        }
        let total = self.search(head).await?;
        self.inner.found.store(total, Relaxed);
        Ok(total)
    }

    /// Whether `next` is the first id without an owner, except for a few burned ones before it. An empty registry does
    /// not prove that the storage slot is the count.
    async fn ends_at(&self, next: u64, head: Block) -> Result<bool, AgentsError> {
        let ids: Vec<u64> = (next.saturating_sub(GAP)..=next).collect();
        let owners = self.owners(&ids, head).await?;
        let last = owners.last().copied().flatten();
        Ok(next > 0 && last.is_none() && owners.iter().any(Option::is_some))
    }

    /// The first id without an owner for it and the few after it: doubling steps from the last result, then bisection.
    async fn search(&self, head: Block) -> Result<u64, AgentsError> {
        let mut low = self.inner.found.load(Relaxed).saturating_sub(1);
        if !self.any_from(low, head).await? {
            low = 0;
            if !self.any_from(low, head).await? {
                return Ok(0);
            }
        }
        let mut step = 1;
        let mut high = low + step;
        while self.any_from(high, head).await? {
            low = high;
            step *= 2;
            high = low + step;
            if high > MAX_AGENTS {
                return Err(AgentsError(format!("every id has an owner up to {low}: no registry that counts")));
            }
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.any_from(middle, head).await? {
                low = middle;
            } else {
                high = middle;
            }
        }
        Ok(high)
    }

    async fn any_from(&self, id: u64, head: Block) -> Result<bool, AgentsError> {
        let ids: Vec<u64> = (id..id + GAP).collect();
        Ok(self.owners(&ids, head).await?.iter().any(Option::is_some))
    }

    async fn tokens(&self, ids: &[u64], head: Block) -> Result<Vec<Token>, AgentsError> {
        let owners = self.owners(ids, head).await?;
        let known: Vec<(u64, Address)> = ids.iter().zip(owners).filter_map(|(id, owner)| Some((*id, owner?))).collect();
        let uris = self.uris(&known.iter().map(|(id, _)| *id).collect::<Vec<_>>(), head).await?;
        Ok(known.into_iter().zip(uris).map(|((id, owner), uri)| Token { id, owner, uri }).collect())
    }

    /// `None` for a token that does not exist.
    async fn owners(&self, ids: &[u64], head: Block) -> Result<Vec<Option<Address>>, AgentsError> {
        let identity = self.inner.identity;
        let calls: Vec<Call> =
            ids.iter().map(|id| Call::new(identity, &ownerOfCall { tokenId: U256::from(*id) })).collect();
        let answers = self.inner.client.calls(&calls, head.hash).await?;
        let read = |answer: Option<Bytes>| {
            let Some(bytes) = answer else { return Ok(None) };
            let owner = ownerOfCall::abi_decode_returns(&bytes)
                .map_err(|_| AgentsError(format!("no identity registry at {identity}")))?;
            Ok((owner != Address::ZERO).then_some(owner))
        };
        answers.into_iter().map(read).collect()
    }

    /// `None` for one that cannot be read. URIs can have any length: if they are too long for one response, each is
    /// requested separately.
    async fn uris(&self, ids: &[u64], head: Block) -> Result<Vec<Option<String>>, AgentsError> {
        let calls: Vec<Call> =
            ids.iter().map(|id| Call::new(self.inner.identity, &tokenURICall { tokenId: U256::from(*id) })).collect();
        let answers = match self.inner.client.calls(&calls, head.hash).await {
            Ok(answers) => answers,
            Err(Fault::Refused { .. } | Fault::Reverted { .. } | Fault::Malformed(_) | Fault::TooDense { .. }) => {
                let answers =
                    self.inner.client.batch(calls.iter().map(|call| call.ask(pinned(head.hash))).collect()).await?;
                calls.iter().zip(answers).map(|(call, answer)| call.answered(answer).ok().flatten()).collect()
            }
            Err(fault) => return Err(fault.into()),
        };
        Ok(answers.into_iter().map(|answer| tokenURICall::abi_decode_returns(&answer?).ok()).collect())
    }
}
