//! The attesters and the name registries of one chain. One request covers all of them; further requests depend on the
//! answers. A chain without these contracts costs no request.

use alloy::primitives::Bytes;
use futures::future::join_all;
use serde_json::json;
use tokio::{
    sync::{Mutex, oneshot},
    time::{Instant, timeout_at},
};

use super::eas;
use crate::{
    config::SourceConfig,
    names::{NameError, NameRegistry, NameResolvers},
    pauses,
};
use assay_domain::{Address, Attestation, ChainId, Coverage, IdentitySource, Name};
use assay_evm::{
    call::Call,
    client::{Block, Client},
    fault::Fault,
};

/// The identity of an address on one chain.
#[derive(Debug, Default)]
pub(super) struct IdentityPart {
    pub attestations: Vec<Attestation>,
    pub sources: Vec<IdentitySource>,
}

pub(super) struct ChainIdentity {
    chain: ChainId,
    client: Client,
    items: Vec<IdentityItem>,
    names: NameResolvers,
    /// Which of the items have their contracts on the chain, and when that was checked.
    present: Mutex<Option<(Instant, Vec<bool>)>>,
}

/// A source of identity.
enum IdentityItem {
    Named(NameRegistry),
    Attested(SourceConfig),
}

/// The source could not be read.
struct SourceUnread;

impl ChainIdentity {
    pub(super) fn new(chain: ChainId, client: Client, sources: &[SourceConfig], names: &NameResolvers) -> Self {
        let registries = names.on(chain).cloned().map(IdentityItem::Named);
        let sources = sources.iter().filter(|source| source.chain == chain).cloned().map(IdentityItem::Attested);
        Self {
            chain,
            client,
            items: registries.chain(sources).collect(),
            names: names.clone(),
            present: Mutex::default(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub(super) fn id(&self) -> ChainId {
        self.chain
    }

    /// The identity of `wallet` in the state after `head`. A source that cannot be read by `deadline` counts as failed.
    pub(super) async fn read(
        &self,
        wallet: Address,
        head: oneshot::Receiver<Block>,
        deadline: Instant,
    ) -> IdentityPart {
        let asked = match timeout_at(deadline, self.present_items()).await {
            Ok(Ok(asked)) => asked,
            Ok(Err(fault)) => {
                tracing::warn!(chain = self.chain, %fault, "identity contracts cannot be looked up");
                return self.failed(&self.items.iter().collect::<Vec<_>>());
            }
            Err(_) => return self.failed(&self.items.iter().collect::<Vec<_>>()),
        };
        if asked.is_empty() {
            return IdentityPart::default();
        }
        // The reader of the chain has logged why there is no head.
        let Ok(Ok(head)) = timeout_at(deadline, head).await else { return self.failed(&asked) };
        let plans: Vec<Vec<Call>> = asked.iter().map(|item| item.calls(wallet)).collect();
        let calls: Vec<Call> = plans.iter().flatten().cloned().collect();
        let answers = match timeout_at(deadline, self.client.shared_calls(calls, head.hash)).await {
            Ok(Ok(answers)) => answers,
            Ok(Err(fault)) => {
                tracing::warn!(chain = self.chain, %fault, "attestations cannot be read");
                return self.failed(&asked);
            }
            Err(_) => return self.failed(&asked),
        };
        let mut rest = answers.as_slice();
        let reads = asked.iter().zip(&plans).map(|(item, plan)| {
            let (own, after) = rest.split_at(plan.len().min(rest.len()));
            rest = after;
            async move { timeout_at(deadline, self.follow(item, own, wallet, head)).await.unwrap_or(Err(SourceUnread)) }
        });
        let reads: Vec<_> = join_all(reads.collect::<Vec<_>>()).await;
        let mut part = IdentityPart::default();
        for (item, read) in asked.iter().zip(reads) {
            part.sources
                .push(item.source(self.chain, if read.is_ok() { Coverage::Complete } else { Coverage::Failed }));
            part.attestations.extend(read.ok().flatten());
        }
        part
    }

    async fn follow(
        &self,
        item: &IdentityItem,
        answers: &[Option<Bytes>],
        wallet: Address,
        head: Block,
    ) -> Result<Option<Attestation>, SourceUnread> {
        let read = match item {
            IdentityItem::Named(registry) => self.named(registry, answers, wallet, head).await,
            IdentityItem::Attested(source) => self.attested(source, answers, wallet, head).await,
        };
        read.map_err(|why| {
            tracing::warn!(chain = self.chain, %why, "an identity source cannot be read");
            SourceUnread
        })
    }

    /// A name counts if it resolves to the wallet: anyone can set any reverse name.
    async fn named(
        &self,
        registry: &NameRegistry,
        answers: &[Option<Bytes>],
        wallet: Address,
        head: Block,
    ) -> Result<Option<Attestation>, String> {
        let resolver = NameRegistry::found(answers).ok_or("the registry of names does not answer")?;
        let Some(resolver) = resolver else { return Ok(None) };
        let claimed = registry.reverse_name(resolver, wallet, head).await.map_err(|why| why.to_string())?;
        // A name that is not in its normal form may imitate another name.
        let name = claimed.and_then(|claimed| Name::parse(&claimed).ok().filter(|name| name.as_str() == claimed));
        let Some(name) = name.filter(|name| registry.config.under.as_deref().is_none_or(|under| name.is_under(under)))
        else {
            return Ok(None);
        };
        match self.names.resolve(&name).await {
            Ok(owner) if owner == wallet => Ok(Some(Attestation {
                provider: registry.config.provider.clone(),
                kind: None,
                chain_id: self.chain,
                name: Some(name.as_str().to_owned()),
                schema: None,
                uid: None,
                attester: None,
                issued: None,
                expires: None,
                score: None,
            })),
            Ok(_) | Err(NameError::NotResolved | NameError::NotConfigured) => Ok(None),
            Err(why @ NameError::Unreadable) => Err(why.to_string()),
        }
    }

    async fn attested(
        &self,
        source: &SourceConfig,
        answers: &[Option<Bytes>],
        wallet: Address,
        head: Block,
    ) -> Result<Option<Attestation>, String> {
        let uids = eas::looked_up(source, answers.first()).ok_or("the index of attestations does not answer")?;
        if uids.is_empty() {
            return Ok(None);
        }
        let calls: Vec<Call> = uids.iter().map(|uid| eas::read(source, *uid)).collect();
        let answers = self.client.calls(&calls, head.hash).await.map_err(|fault| fault.to_string())?;
        let mut found = None;
        for (at, uid) in uids.into_iter().enumerate() {
            let valid = eas::valid(source, wallet, uid, head.time, answers.get(at))
                .ok_or("the attestation service does not answer")?;
            found = found.or(valid);
        }
        Ok(found)
    }

    /// The items with contracts on the chain. Looked up once; missing contracts are looked up again later.
    async fn present_items(&self) -> Result<Vec<&IdentityItem>, Fault> {
        let mut present = self.present.lock().await;
        let known = present
            .as_ref()
            .filter(|(at, there)| there.iter().all(|there| *there) || at.elapsed() < pauses::IDENTITY_CONTRACT);
        let there = match known {
            Some((_, there)) => there.clone(),
            None => {
                let there = self.look().await?;
                if present.is_none() {
                    let missing = there.iter().filter(|there| !**there).count();
                    tracing::info!(chain = self.chain, there = there.len() - missing, missing, "identity contracts");
                }
                *present = Some((Instant::now(), there.clone()));
                there
            }
        };
        Ok(self.items.iter().zip(there).filter_map(|(item, there)| there.then_some(item)).collect())
    }

    async fn look(&self) -> Result<Vec<bool>, Fault> {
        let contracts: Vec<Vec<Address>> = self.items.iter().map(IdentityItem::contracts).collect();
        let mut distinct: Vec<Address> = contracts.iter().flatten().copied().collect();
        distinct.sort_unstable();
        distinct.dedup();
        let asks = distinct.iter().map(|contract| ("eth_getCode", json!([contract, "latest"]))).collect();
        let mut coded = Vec::new();
        for (contract, code) in distinct.iter().zip(self.client.batch(asks).await?) {
            let code: Bytes = serde_json::from_value(code?).map_err(|error| Fault::unreadable(&error))?;
            if !code.is_empty() {
                coded.push(*contract);
            }
        }
        Ok(contracts.iter().map(|contracts| contracts.iter().all(|contract| coded.contains(contract))).collect())
    }

    fn failed(&self, items: &[&IdentityItem]) -> IdentityPart {
        let sources = items.iter().map(|item| item.source(self.chain, Coverage::Failed)).collect();
        IdentityPart { attestations: Vec::new(), sources }
    }
}

impl IdentityItem {
    fn contracts(&self) -> Vec<Address> {
        match self {
            Self::Named(registry) => vec![registry.config.registry],
            Self::Attested(source) => vec![source.eas, source.index],
        }
    }

    fn calls(&self, wallet: Address) -> Vec<Call> {
        match self {
            Self::Named(registry) => registry.calls(&registry.reverse(wallet)),
            Self::Attested(source) => vec![eas::look_up(source, wallet)],
        }
    }

    fn source(&self, chain_id: ChainId, coverage: Coverage) -> IdentitySource {
        let (provider, kind) = match self {
            Self::Named(registry) => (registry.config.provider.clone(), None),
            Self::Attested(source) => (source.provider.clone(), source.kind.clone()),
        };
        IdentitySource { provider, kind, chain_id, coverage }
    }
}
