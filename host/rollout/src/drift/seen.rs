//! The scored wallets of this process, until they are counted in the stored records of their weeks. A request only adds
//! a wallet to the sample of its week; its inputs are evaluated outside the request.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::{
    Basis, Scored, WEEK,
    cards::ModelInputs,
    records::{self, InputsRecord, Segment, WalletSample},
};
use assay_domain::{Address, Coverage, Digest, ModelPin, ModelRef, features::Features};
use assay_registry::{CreditModel, Registry};
use assay_store::{Batch, Store, StoreError};

/// Wallets that wait for the evaluation of their inputs; further ones count when they are scored again.
const WAITING: usize = 4_096;

pub(crate) struct SeenInputs {
    kept: Mutex<SeenState>,
    /// Locked while wallets are stored.
    storing: tokio::sync::Mutex<()>,
    /// Of the records. With zero nothing is kept.
    lifetime: Duration,
}

#[derive(Default)]
struct SeenState {
    /// By week and model.
    weeks: BTreeMap<(u64, Digest), WeekWallets>,
    waiting: Vec<WaitingWallet>,
}

/// The wallets of one model and week that this process scored.
struct WeekWallets {
    model: ModelPin,
    seen: WalletSample<()>,
    /// The wallets that are to be stored.
    new: Vec<WalletInputs>,
}

/// A wallet and what a model sees of it.
#[derive(Clone)]
struct WalletInputs {
    address: Address,
    segment: Segment,
    inputs: Arc<ModelInputs>,
    values: Vec<Option<f64>>,
}

/// A wallet whose inputs are to be evaluated for one model.
pub(super) struct WaitingWallet {
    pub model: ModelRef,
    pub features: Arc<Features>,
    week: u64,
    address: Address,
    segment: Segment,
}

impl SeenInputs {
    pub(crate) fn new(lifetime: Duration) -> Self {
        Self { kept: Mutex::default(), storing: tokio::sync::Mutex::default(), lifetime }
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
            let new = || WeekWallets::new((&model).into());
            let of = kept.weeks.entry((week, model.digest)).or_insert_with(new);
            if of.seen.see_first(scored.address, ()).is_some() {
                let (features, address) = (Arc::clone(features), scored.address);
                kept.waiting.push(WaitingWallet { model, features, week, address, segment });
            }
        }
    }

    /// The wallets whose inputs are to be evaluated.
    pub(super) fn take(&self) -> Vec<WaitingWallet> {
        std::mem::take(&mut self.kept().waiting)
    }

    /// Evaluates the inputs of a wallet, and keeps them until they are stored.
    pub(super) fn add(&self, wallet: &WaitingWallet, inputs: &Arc<ModelInputs>) {
        let WaitingWallet { model, features, week, address, segment } = wallet;
        let values = inputs.values(features);
        let new = WalletInputs { address: *address, segment: *segment, inputs: Arc::clone(inputs), values };
        if let Some(of) = self.kept().weeks.get_mut(&(*week, model.digest)) {
            of.new.push(new);
        }
    }

    /// Counts the new wallets in the stored records of their weeks. A wallet stays new until it is stored: if it is
    /// stored twice, it counts once.
    pub(super) async fn flush(&self, store: &Store) -> Result<(), StoreError> {
        let _alone = self.storing.lock().await;
        let new: Vec<_> = {
            let mut kept = self.kept();
            let newest = kept.weeks.keys().next_back().map_or(0, |(week, _)| *week);
            // A score is minutes old at most, so two weeks can be open.
            kept.weeks.retain(|(week, _), of| *week + 1 >= newest || !of.new.is_empty());
            let with_new = kept.weeks.iter().filter(|(_, of)| !of.new.is_empty());
            with_new.map(|(at, of)| (*at, of.model.clone(), of.new.clone())).collect()
        };
        let mut stored = Ok(());
        for (at, model, wallets) in new {
            match self.count(store, at.0, &model, &wallets).await {
                Ok(()) => {
                    if let Some(of) = self.kept().weeks.get_mut(&at) {
                        of.new.drain(..wallets.len());
                    }
                }
                Err(error) => stored = Err(error),
            }
        }
        stored
    }

    /// Counts wallets in the record of a week and a model, in which other processes count too.
    async fn count(
        &self,
        store: &Store,
        week: u64,
        model: &ModelPin,
        wallets: &[WalletInputs],
    ) -> Result<(), StoreError> {
        let key = records::inputs(week, &model.digest);
        loop {
            let found = store.read(&key).await?;
            let mut record = found.value.unwrap_or_else(|| InputsRecord::new(model.clone()));
            let mut is_changed = false;
            for WalletInputs { address, segment, inputs, values } in wallets {
                let named = inputs.iter().map(|input| input.name.as_str()).zip(values.iter().copied());
                is_changed |= record.count(*address, *segment, named);
            }
            let batch = Batch::new().if_unchanged(&key, found.revision).put_expiring(&key, &record, self.lifetime)?;
            if !is_changed || store.commit(batch).await? {
                return Ok(());
            }
        }
    }

    fn kept(&self) -> MutexGuard<'_, SeenState> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WeekWallets {
    fn new(model: ModelPin) -> Self {
        Self { model, seen: WalletSample::default(), new: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cards;
    use assay_domain::{ModelInfo, ModelKind};
    use assay_store::config::Store as StoreConfig;

    const CARD: &str = "[[input]]\nname = \"loans\"\nis = \"sum(markets.borrow)\"\n[[input]]\nname = \"age\"\nis = \
                        \"days(min(chains.first_transaction))\"\n";
    const WEEK_NUMBER: u64 = 2_900;

    fn model() -> ModelPin {
        ModelPin { version: "9.9".parse().unwrap(), digest: Digest([1; 32]) }
    }

    fn inputs() -> Arc<ModelInputs> {
        let (shelf, ModelPin { version, digest }) = (tempfile::tempdir().unwrap(), model());
        let info = ModelInfo {
            kind: ModelKind::Credit,
            version,
            title: "A model".into(),
            authors: Vec::new(),
            reads: Vec::new(),
            claims: None,
        };
        Arc::new(cards::inputs(shelf.path(), &info, digest, Some(CARD)).unwrap())
    }

    /// The state of a process that has evaluated these wallets. Wallet 2 has no age.
    fn process(inputs: &Arc<ModelInputs>, wallets: &[u8]) -> SeenInputs {
        let seen = SeenInputs::new(Duration::from_secs(3_600));
        let wallet = |n: &u8| WalletInputs {
            address: Address::repeat_byte(*n),
            segment: if *n == 2 { Segment::OwesNothing } else { Segment::Owes },
            inputs: Arc::clone(inputs),
            values: vec![Some(f64::from(*n)), (*n != 2).then_some(400.0)],
        };
        let of = WeekWallets { new: wallets.iter().map(wallet).collect(), ..WeekWallets::new(model()) };
        seen.kept().weeks.insert((WEEK_NUMBER, model().digest), of);
        seen
    }

    /// All wallets, those that owe, the values of `age`, and how many of them are absent.
    async fn stored(store: &Store) -> [u64; 4] {
        let record = store.get(&records::inputs(WEEK_NUMBER, &model().digest)).await.unwrap().unwrap();
        let age = record.sketch("age", None);
        [record.wallets(None), record.wallets(Some(Segment::Owes)), age.count(), age.missing()]
    }

    #[tokio::test]
    async fn a_wallet_counts_once_a_week_over_restarts_and_hosts() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&StoreConfig::embedded(folder.path().join("assay.redb"))).await.unwrap();
        let inputs = inputs();
        for (wallets, expected) in [
            (&[1, 2][..], [2, 1, 2, 1]),
            (&[1][..], [2, 1, 2, 1]),
            (&[1, 1, 2][..], [2, 1, 2, 1]),
            (&[3, 1][..], [3, 2, 3, 1]),
        ] {
            let process = process(&inputs, wallets);
            for _ in 0..2 {
                process.flush(&store).await.unwrap();
                assert_eq!(stored(&store).await, expected, "{wallets:?}");
            }
            assert!(process.kept().weeks.values().all(|of| of.new.is_empty()), "{wallets:?}");
        }
        let [one, two] = [&[4, 5, 1][..], &[5, 6][..]].map(|wallets| process(&inputs, wallets));
        let (first, second) = tokio::join!(one.flush(&store), two.flush(&store));
        assert!(first.is_ok() && second.is_ok());
        assert_eq!(stored(&store).await, [6, 5, 6, 1]);
    }
}
