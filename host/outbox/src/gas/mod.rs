//! The gas that the account may lose, in money. One ledger holds the transfers of payments and the feedback, their
//! replacements and cancellations: what is in flight, by the stored records, and what was lost, by the records here.
//! The one worker of the account writes them.

pub mod config;
mod ledger;
mod money;
mod state;

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use chrono::Utc;

pub use ledger::{Admission, Class, Exhausted, Ledger, Limits, LossRecord, Party, Risk, Standings};
pub use money::{NativePrice, Usd};
pub use state::{BudgetState, GasState};

use assay_chain::Chains;
use assay_domain::ChainId;
use assay_store::{Batch, Family, Key, Store, StoreError};

/// The loss by the transactions of a class or of a party.
fn loss(whose: &str) -> Key<LossRecord> {
    Family::new("gas-lost/").key(whose)
}

fn class_loss(class: Class) -> Key<LossRecord> {
    loss(&format!("class/{}", class.as_str()))
}

/// Revenue of a payer's payments that no gas has used, in millionths of a dollar.
fn credit(payer: &Party) -> Key<u64> {
    Family::new("gas-credit/").key(payer.as_str())
}

/// The gas of one transaction that ended, or of several of the same parties.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    pub cost: Usd,
    /// The part without revenue.
    pub lost: Usd,
    /// The part that the parties can have caused.
    pub blamed: Usd,
}

impl Spent {
    /// The part of the loss that counts against the budgets, if the payer's payments brought `credit` more than gas has
    /// used.
    pub fn uncovered(&self, credit: Usd) -> Usd {
        self.lost.minus(credit.minus(self.cost.minus(self.lost)))
    }
}

/// The book of the account. Cheap to clone.
#[derive(Clone)]
pub struct GasBook {
    store: Store,
    limits: Limits,
    chain: Option<(Chains, ChainId)>,
    /// The latest price; the configured one before any was read.
    price: Arc<Mutex<NativePrice>>,
    assumed: NativePrice,
}

impl GasBook {
    /// Without `chain`, the assumed price of the native currency applies.
    pub fn new(config: &config::Gas, store: Store, chain: Option<(Chains, ChainId)>) -> Self {
        let assumed = NativePrice(config.native_usd);
        Self { store, limits: config.into(), chain, price: Arc::new(Mutex::new(assumed)), assumed }
    }

    /// The price of the native currency, by its feed; the configured one if no feed gives one.
    pub async fn native_price(&self) -> NativePrice {
        let Some((chains, id)) = &self.chain else { return self.assumed };
        let price = chains.native_price(*id).await.map_or(self.assumed, NativePrice);
        *self.price.lock().unwrap_or_else(PoisonError::into_inner) = price;
        price
    }

    /// The price that [`native_price`](Self::native_price) last returned in this process, without a call.
    pub fn last_price(&self) -> NativePrice {
        *self.price.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The ledger with `in_flight`, and with what is stored about `others`.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn ledger(
        &self,
        in_flight: &[Risk],
        others: impl IntoIterator<Item = Party>,
    ) -> Result<Ledger, StoreError> {
        let now = Utc::now();
        let parties = in_flight.iter().flat_map(Risk::parties).cloned().chain(others);
        let parties: Vec<Party> = parties.collect::<HashSet<_>>().into_iter().collect();
        let classes: Vec<_> = Class::ALL.into_iter().map(class_loss).collect();
        let losses: Vec<_> = classes.into_iter().chain(parties.iter().map(|party| loss(party.as_str()))).collect();
        let losses = self.store.get_many(&losses).await?;
        let (of_classes, of_parties) = losses.split_at(Class::ALL.len().min(losses.len()));
        let credits: Vec<_> = parties.iter().map(credit).collect();
        let credits = self.store.get_many(&credits).await?;
        let left = |record: &Option<LossRecord>, limit: Usd| {
            record.map_or(Usd::ZERO, |record| record.left(limit, self.limits.period, now))
        };
        let standings = Standings {
            classes: Class::ALL
                .into_iter()
                .zip(of_classes)
                .map(|(class, record)| (class, left(record, self.limits.of(class))))
                .collect(),
            lost: parties
                .iter()
                .zip(of_parties)
                .map(|(party, record)| (party.clone(), left(record, self.limits.party)))
                .collect(),
            last: parties
                .iter()
                .zip(of_parties)
                .filter_map(|(party, record)| Some((party.clone(), (*record)?.last?)))
                .collect(),
            credit: parties
                .into_iter()
                .zip(credits.into_iter().map(|credit| Usd(credit.unwrap_or_default())))
                .collect(),
        };
        let mut ledger = Ledger::new(self.limits, standings);
        in_flight.iter().for_each(|risk| ledger.add(risk));
        Ok(ledger)
    }

    /// The first of `parties` whose losses have reached the limit.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn exhausted(&self, parties: Vec<Party>) -> Result<Option<Exhausted>, StoreError> {
        let ledger = self.ledger(&[], parties.iter().cloned()).await?;
        let limit = self.limits.party;
        let found = parties.iter().find(|party| ledger.debt(party) >= limit);
        Ok(found.map(|party| ledger.exhausted(party, ledger.debt(party).minus(limit) + Usd(limit.0 / 10))))
    }

    /// Adds to `batch` that `payer` paid `brought`, less the gas that `cost` this.
    #[must_use]
    pub fn earned(&self, batch: Batch, payer: &Party, brought: Usd, cost: Usd) -> Batch {
        match brought.0.checked_sub(cost.0) {
            Some(gain) => batch.take(&credit(payer), gain, u64::MAX),
            None => batch.refund(&credit(payer), cost.0 - brought.0),
        }
    }

    /// Adds to `batch` the gas of transactions of the parties of `risk` that have ended. The payer's credit pays first;
    /// what it does not cover of a loss counts against the budgets.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn spent(&self, batch: Batch, risk: &Risk, spent: Spent) -> Result<Batch, StoreError> {
        if spent == Spent::default() {
            return Ok(batch);
        }
        let credited = Usd(self.store.get(&credit(&risk.payer)).await?.unwrap_or_default());
        let mut batch = batch.refund(&credit(&risk.payer), spent.cost.0);
        let (now, period) = (Utc::now(), self.limits.period);
        let lost = spent.uncovered(credited);
        if lost == Usd::ZERO {
            return Ok(batch);
        }
        let class = (class_loss(risk.class), self.limits.of(risk.class), lost);
        let blamed = spent.blamed.min(lost);
        let parties = risk.parties().filter(|_| blamed > Usd::ZERO);
        let parties = parties.map(|party| (loss(party.as_str()), self.limits.party, blamed));
        for (key, limit, lost) in std::iter::once(class).chain(parties) {
            let record = self.store.get(&key).await?.unwrap_or(LossRecord::none(now));
            let next = record.plus((lost, risk.class), limit, period, now);
            batch = batch.put_expiring(&key, &next, self.kept(limit, &record, lost))?;
        }
        tracing::warn!(class = risk.class.as_str(), payer = risk.payer.as_str(), %lost,
            "gas of a transaction that brought nothing");
        Ok(batch)
    }

    /// How long a loss is stored: until it has returned.
    fn kept(&self, limit: Usd, record: &LossRecord, more: Usd) -> Duration {
        self.limits.returns(record.lost + more, limit).max(Duration::from_secs(1)) + Duration::from_secs(60)
    }
}

impl Ledger {
    pub fn measure(&self) {
        for class in Class::ALL {
            let (at_risk, lost) = (self.at_risk_in(class).dollars(), self.lost_in(class).dollars());
            metrics::gauge!("assay_gas_at_risk_dollars", "of" => class.as_str()).set(at_risk);
            metrics::gauge!("assay_gas_lost_dollars", "of" => class.as_str()).set(lost);
        }
    }
}
