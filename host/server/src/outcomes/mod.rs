//! What became of the wallets that were scored: the kept scores of champion and challengers joined with the liquidations
//! of the index of markets, beside what the models claim, and how far the scores have moved week by week.
//!
//! | file | owns |
//! |---|---|
//! | `liquidations` | who was liquidated when, from the index |
//! | `join` | scores and liquidations as tables of rates |
//! | `drift` | the scores of each week beside those of the first |

mod drift;
mod join;
pub mod liquidations;

use std::{collections::HashMap, sync::Arc, time::Duration};

use assay_chain::Chains;
use assay_domain::{Address, Claim, Digest, ModelKind, ModelRef};
use assay_registry::Role;
use assay_store::StoreError;
use tokio::sync::Mutex;

use crate::{
    cards::{Cards, Described},
    config::Config,
    rollout::{Rollout, records::ObservedScore},
    scoring::blocking,
    tasks::Spawner,
};
pub use drift::Week;
pub use join::{Realised, RealisedRange};
use liquidations::{Liquidations, Unindexed};

/// Time between two computations for the metrics.
const EVERY: Duration = Duration::from_secs(3_600);
/// The first one comes sooner, when the models are loaded and the index is open.
const FIRST: Duration = Duration::from_secs(60);

/// What became of the scored wallets. Cheap to clone.
#[derive(Clone)]
pub struct Outcomes {
    inner: Arc<Inner>,
}

struct Inner {
    rollout: Rollout,
    chains: Chains,
    /// Chains that have markets.
    with_markets: Vec<u64>,
    cards: Arc<Cards>,
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
    pub fn new(config: &Config, rollout: Rollout, chains: Chains, cards: Arc<Cards>) -> Self {
        let with_markets = config.chains.iter().filter(|chain| !chain.markets.is_empty()).map(|chain| chain.id);
        let with_markets = with_markets.collect();
        Self { inner: Arc::new(Inner { rollout, chains, with_markets, cards, shown: Mutex::default() }) }
    }

    /// The outcomes of the scores that are kept.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn joined(&self) -> Result<Joined, StoreError> {
        let mut by_model = HashMap::<Digest, Vec<ObservedScore>>::new();
        for found in self.inner.rollout.observed().await? {
            by_model.entry(found.model.digest).or_default().push(found);
        }
        let mut wallets: Vec<Address> = by_model.values().flatten().map(|found| found.address).collect();
        wallets.sort_unstable();
        wallets.dedup();
        let (known, reason) = match self.liquidations(wallets).await {
            Ok(known) => (Some(known), None),
            Err(why) => (None, Some(why.to_string())),
        };
        let mut models = Vec::new();
        for (described, model, role) in self.in_roles() {
            let scores = by_model.remove(&model.digest).unwrap_or_default();
            let claims = self.inner.cards.claims(&model, || Some(described)).await;
            models.push(of_model(model, role, &scores, &claims, known.as_ref()));
        }
        Ok(Joined { known_until: known.map(|known| known.until), reason, models })
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
        let (outcomes, stopping) = (self.clone(), tasks.stopping());
        tasks.spawn("outcomes", async move {
            let mut wait = FIRST;
            loop {
                tokio::select! {
                    () = tokio::time::sleep(wait) => {}
                    () = stopping.cancelled() => return,
                }
                wait = EVERY;
                match outcomes.joined().await {
                    Ok(joined) => outcomes.show(&joined).await,
                    Err(error) => tracing::warn!(%error, "the outcomes of scores cannot be joined"),
                }
            }
        });
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
            let broken = ranges.filter(|range| range.agrees == Some(false)).count();
            metrics::gauge!("assay_outcome_claims_broken", "version" => version.clone()).set(broken as f64);
        }
        *shown = versions;
    }
}

fn of_model(
    model: ModelRef,
    role: Role,
    scores: &[ObservedScore],
    claims: &[Claim],
    known: Option<&Liquidations>,
) -> OfModel {
    let mut wallets: Vec<_> = scores.iter().map(|found| found.address).collect();
    wallets.sort_unstable();
    wallets.dedup();
    OfModel {
        model,
        role,
        scores: scores.len() as u64,
        wallets: wallets.len() as u64,
        realised: known.map(|known| join::realised(scores, claims, known)).unwrap_or_default(),
        weeks: drift::weeks(scores),
    }
}
