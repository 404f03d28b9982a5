//! The outcomes of the scored wallets: the kept scores of champion and challengers joined with the liquidations of the
//! index of markets, compared with the claims of the models, and the shift of the scores by week.
//!
//! | file | owns |
//! |---|---|
//! | `liquidations` | who was liquidated when, from the index |
//! | `join` | scores and liquidations as tables of rates |
//! | `drift` | the scores of each week beside those of the first |

mod drift;
mod join;
pub mod liquidations;

use std::{sync::Arc, time::Duration};

use assay_chain::{Chains, config::ChainConfig};
use assay_domain::{Address, Claim, ClaimVerdict, EtherPrices, ModelKind, ModelRef};
use assay_registry::Role;
use assay_store::StoreError;
use tokio::sync::Mutex;

use crate::{
    Observations, Rollout,
    cards::{Cards, Described},
};
use assay_tasks::{Spawner, blocking};
pub(crate) use drift::ENOUGH;
pub use drift::Week;
pub use join::{Realised, RealisedRange};
use liquidations::{Liquidations, Unindexed};

/// Time between two computations for the metrics.
const EVERY: Duration = Duration::from_secs(3_600);
/// The first one comes sooner, when the models are loaded and the index is open.
const FIRST: Duration = Duration::from_secs(60);

/// The outcomes of the scored wallets. Cheap to clone.
#[derive(Clone)]
pub struct Outcomes {
    inner: Arc<OutcomesState>,
}

struct OutcomesState {
    rollout: Rollout,
    chains: Chains,
    /// Chains that have markets.
    with_markets: Vec<u64>,
    /// Chains whose native currency is ether, with a feed.
    with_ether: Vec<u64>,
    cards: Arc<Cards>,
    /// One join at a time, which takes some memory.
    joining: Arc<Mutex<()>>,
    /// Versions that have a gauge.
    shown: Mutex<Vec<String>>,
}

/// The outcomes of every model in a role.
#[derive(Debug, Clone)]
pub struct Joined {
    /// Liquidations are known up to this moment, in Unix seconds; `None` without an index.
    pub known_until: Option<u64>,
    /// Why nothing was joined.
    pub reason: Option<String>,
    pub models: Vec<OfModel>,
}

/// The outcomes of one model.
#[derive(Debug, Clone)]
pub struct OfModel {
    pub model: ModelRef,
    pub role: Role,
    /// Kept scores, and the wallets that they are of.
    pub scores: u64,
    pub wallets: u64,
    /// One table for each claim.
    pub realised: Vec<Realised>,
    pub weeks: Vec<Week>,
}

impl Outcomes {
    pub fn new(configured: &[ChainConfig], rollout: Rollout, chains: Chains, cards: Arc<Cards>) -> Self {
        let with_markets = configured.iter().filter(|chain| !chain.markets.is_empty()).map(|chain| chain.id);
        let with_markets = with_markets.collect();
        let is_ether = |chain: &&ChainConfig| chain.native.symbol == "ETH" && chain.native.feed.is_some();
        let with_ether = configured.iter().filter(is_ether).map(|chain| chain.id).collect();
        let (joining, shown) = (Arc::default(), Mutex::default());
        let state = OutcomesState { rollout, chains, with_markets, with_ether, cards, joining, shown };
        Self { inner: Arc::new(state) }
    }

    /// The outcomes of the scores that are kept.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn joined(&self) -> Result<Joined, StoreError> {
        let alone = self.inner.joining.clone().lock_owned().await;
        let roles = self.in_roles();
        let digests: Vec<_> = roles.iter().map(|(_, model, _)| model.digest).collect();
        let mut by_model = self.inner.rollout.observed(&digests).await?;
        let mut wallets: Vec<_> = by_model.values().flat_map(|of| &of.scores).map(|found| found.address).collect();
        wallets.sort_unstable();
        wallets.dedup();
        let (known, reason) = match self.liquidations(wallets).await {
            Ok(known) => (Some(known), None),
            Err(why) => (None, Some(why.to_string())),
        };
        let known_until = known.as_ref().map(|known| known.until);
        let mut own = Vec::new();
        for (described, model, role) in roles {
            let observed = by_model.remove(&model.digest).unwrap_or_default();
            let claims = self.inner.cards.claims(&model, || Some(described)).await;
            own.push(ModelOutcomes { model, role, observed, claims });
        }
        let ether = self.inner.rollout.ether().await?;
        // Also if the caller leaves meanwhile.
        let join = move || {
            let _alone = alone;
            own.into_iter().map(|own| of_model(own, known.as_ref(), &ether)).collect()
        };
        Ok(Joined { known_until, reason, models: blocking(join).await })
    }

    /// Credit champion and challengers, the champion first.
    fn in_roles(&self) -> Vec<(Described, ModelRef, Role)> {
        let role = |role: Role| matches!(role, Role::Champion | Role::Challenger);
        let listed = self.inner.rollout.registry().list().into_iter().filter(|status| role(status.role));
        let mut found: Vec<_> = listed
            .filter_map(|status| {
                let info = status.info.filter(|info| info.kind == ModelKind::Credit)?;
                let model = ModelRef { kind: info.kind, version: info.version.clone(), digest: status.digest? };
                Some(((info, status.card), model, status.role))
            })
            .collect();
        found.sort_by_key(|(_, _, role)| *role != Role::Champion);
        found
    }

    async fn liquidations(&self, wallets: Vec<Address>) -> Result<Liquidations, Unindexed> {
        let index = self.inner.chains.indexed().await.ok_or(Unindexed::NoIndex)?;
        let chains = self.inner.with_markets.clone();
        let until = liquidations::known_until(&index, &self.inner.chains, &chains).await?;
        blocking(move || Liquidations::of(&index, &chains, &wallets, until)).await
    }

    /// Sets the gauges every hour until the server stops.
    pub fn start(&self, tasks: &Spawner) {
        tasks.keep("outcomes", self.clone(), |outcomes, stopping| async move {
            let mut wait = FIRST;
            loop {
                tokio::select! {
                    () = tokio::time::sleep(wait) => {}
                    () = stopping.cancelled() => return,
                }
                wait = EVERY;
                if let Err(error) = outcomes.see_ether().await {
                    tracing::warn!(%error, "the price of ether cannot be kept");
                }
                match outcomes.joined().await {
                    Ok(joined) => outcomes.show(&joined).await,
                    Err(error) => tracing::warn!(%error, "the outcomes of scores cannot be joined"),
                }
            }
        });
    }

    /// Keeps the price of ether for today, by the first chain that has one.
    async fn see_ether(&self) -> Result<(), StoreError> {
        for chain in &self.inner.with_ether {
            if let Some(usd) = self.inner.chains.native_price(*chain).await {
                let now = u64::try_from(chrono::Utc::now().timestamp()).unwrap_or(0);
                return self.inner.rollout.see_ether(now, usd).await;
            }
        }
        Ok(())
    }

    /// Sets the gauges of the models in a role; those of others say nothing from then on.
    pub async fn show(&self, joined: &Joined) {
        let mut shown = self.inner.shown.lock().await;
        let versions: Vec<_> = joined.models.iter().map(|of| of.model.version.to_string()).collect();
        for gone in shown.iter().filter(|version| !versions.contains(version)) {
            metrics::gauge!("assay_outcome_psi", "version" => gone.clone()).set(f64::NAN);
            metrics::gauge!("assay_outcome_claims_broken", "version" => gone.clone()).set(f64::NAN);
        }
        for (of, version) in joined.models.iter().zip(&versions) {
            let psi = drift::newest(&of.weeks).unwrap_or(f64::NAN);
            metrics::gauge!("assay_outcome_psi", "version" => version.clone()).set(psi);
            let ranges = of.realised.iter().flat_map(|table| &table.ranges);
            let broken = ranges.filter(|range| range.verdict == Some(ClaimVerdict::Fails)).count();
            metrics::gauge!("assay_outcome_claims_broken", "version" => version.clone()).set(broken as f64);
        }
        *shown = versions;
    }
}

/// A model in a role, its kept scores and what it claims.
struct ModelOutcomes {
    model: ModelRef,
    role: Role,
    observed: Observations,
    claims: Arc<[Claim]>,
}

fn of_model(
    ModelOutcomes { model, role, observed, claims }: ModelOutcomes,
    known: Option<&Liquidations>,
    ether: &EtherPrices,
) -> OfModel {
    let scores = &observed.scores;
    let mut wallets: Vec<_> = scores.iter().map(|found| found.address).collect();
    wallets.sort_unstable();
    wallets.dedup();
    OfModel {
        model,
        role,
        scores: scores.len() as u64,
        wallets: wallets.len() as u64,
        realised: known.map(|known| join::realised(scores, &claims, known, ether)).unwrap_or_default(),
        weeks: drift::weeks(&observed),
    }
}
