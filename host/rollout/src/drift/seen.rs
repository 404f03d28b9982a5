//! The scored wallets of this process, until the inputs that models see of them are stored. A request only adds a
//! wallet to the sample of its week; its inputs are evaluated outside the request.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use uuid::Uuid;

use crate::{
    Basis, Scored, WEEK,
    records::{self, InputsRecord, Segment},
};
use assay_domain::{Coverage, Digest, ModelRef, features::Features};
use assay_registry::{CreditModel, Registry};
use assay_store::{Batch, Store, StoreError};

/// Wallets that wait for the evaluation of their inputs; further ones count when they are scored again.
const WAITING: usize = 4_096;

pub(crate) struct SeenInputs {
    kept: Mutex<SeenState>,
    /// Of the records. With zero nothing is kept.
    lifetime: Duration,
    process: String,
}

#[derive(Default)]
struct SeenState {
    /// By week and model.
    weeks: BTreeMap<(u64, Digest), WeekInputs>,
    waiting: Vec<WaitingWallet>,
}

struct WeekInputs {
    record: InputsRecord,
    is_changed: bool,
}

/// A wallet whose inputs are to be evaluated for one model.
pub(super) struct WaitingWallet {
    pub model: ModelRef,
    pub features: Arc<Features>,
    week: u64,
    hash: u64,
    segment: Segment,
}

impl SeenInputs {
    pub(crate) fn new(lifetime: Duration) -> Self {
        Self { kept: Mutex::default(), lifetime, process: Uuid::new_v4().simple().to_string() }
    }

    /// Adds the wallet of `scored` for the model that scored it, and for champion and challengers.
    pub(crate) fn see(&self, registry: &Registry, scored: &Scored, features: &Arc<Features>) {
        let Basis::Wallet(standing) = &scored.basis else { return };
        // While the history is being read, its figures say nothing about the wallet; a later score has them.
        if self.lifetime.is_zero() || scored.coverage == Coverage::Pending {
            return;
        }
        let (mut models, active) = (vec![scored.model.clone()], registry.active_guard());
        let in_roles = active.challengers::<CreditModel>().into_iter().chain(active.champion::<CreditModel>().ok());
        for model in in_roles {
            if models.iter().all(|known| known.digest != model.digest()) {
                models.push(model.reference().clone());
            }
        }
        let week = u64::try_from(scored.fresh.read_at.timestamp()).unwrap_or(0) / WEEK;
        let segment = Segment::of(standing);
        let mut kept = self.kept();
        for model in models {
            if kept.waiting.len() >= WAITING {
                metrics::counter!("assay_inputs_dropped_total").increment(1);
                return;
            }
            let new = || WeekInputs { record: InputsRecord::new((&model).into()), is_changed: false };
            let of = kept.weeks.entry((week, model.digest)).or_insert_with(new);
            if let Some(hash) = of.record.see(scored.address, segment) {
                let features = Arc::clone(features);
                kept.waiting.push(WaitingWallet { model, features, week, hash, segment });
            }
        }
    }

    /// The wallets whose inputs are to be evaluated.
    pub(super) fn take(&self) -> Vec<WaitingWallet> {
        std::mem::take(&mut self.kept().waiting)
    }

    /// Adds the inputs of a wallet.
    pub(super) fn add<'a>(&self, wallet: &WaitingWallet, values: impl Iterator<Item = (&'a str, Option<f64>)>) {
        if let Some(of) = self.kept().weeks.get_mut(&(wallet.week, wallet.model.digest)) {
            of.record.add(wallet.hash, wallet.segment, values);
            of.is_changed = true;
        }
    }

    /// Writes the changed records to the store.
    pub(super) async fn flush(&self, store: &Store) -> Result<(), StoreError> {
        let changed: Vec<_> = {
            let mut kept = self.kept();
            let newest = kept.weeks.keys().next_back().map_or(0, |(week, _)| *week);
            // A score is minutes old at most, so two weeks can be open.
            kept.weeks.retain(|(week, _), of| *week + 1 >= newest || of.is_changed);
            let changed = |(at, of): (&(u64, Digest), &mut WeekInputs)| {
                std::mem::take(&mut of.is_changed).then(|| (*at, of.record.clone()))
            };
            kept.weeks.iter_mut().filter_map(changed).collect()
        };
        let write = async {
            let mut batch = Batch::new();
            for ((week, model), record) in &changed {
                let key = records::inputs(*week, model, &self.process);
                batch = batch.put_expiring(&key, record, self.lifetime)?;
            }
            store.commit(batch).await
        };
        if changed.is_empty() {
            return Ok(());
        }
        let stored = write.await;
        if stored.is_err() {
            let mut kept = self.kept();
            for (at, _) in &changed {
                if let Some(of) = kept.weeks.get_mut(at) {
                    of.is_changed = true;
                }
            }
        }
        stored.map(drop)
    }

    fn kept(&self) -> MutexGuard<'_, SeenState> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
