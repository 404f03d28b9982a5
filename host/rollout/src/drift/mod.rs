//! The drift of inputs: what the scored wallets of each week look like to a model, compared with the table that it was
//! trained on, or with the first full week.
//!
//! | file | owns |
//! |---|---|
//! | `seen` | the wallets of this process, until they are stored |
//! | `weeks` | the weeks of one model, judged |

mod seen;
mod weeks;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, hash_map::Entry},
    num::NonZeroUsize,
    sync::Arc,
    time::{Duration, Instant},
};

use assay_domain::{Digest, ModelKind, ModelRef};
use assay_registry::Role;
use assay_store::StoreError;
use assay_tasks::{Spawner, blocking};
use tokio::sync::Mutex;

use crate::{
    Rollout, WEEK,
    cards::{Cards, ModelInputs},
    records::INPUTS,
};
pub(crate) use seen::SeenInputs;
use weeks::ModelWeeks;
pub use weeks::{Against, Drift, DriftWeek, InputShift};

/// Time between two evaluations of the inputs of new wallets.
const EVALUATE: Duration = Duration::from_secs(5);
/// Time between two writes: a crash loses at most this much.
const FLUSH: Duration = Duration::from_secs(60);
/// Time between two computations for the metrics.
const SHOW: Duration = Duration::from_secs(3_600);
/// Records that are read at a time.
const PAGE: NonZeroUsize = NonZeroUsize::new(8).unwrap();

/// The drift of the inputs of credit models. Cheap to clone.
#[derive(Clone)]
pub struct InputDrift {
    inner: Arc<InputDriftState>,
}

struct InputDriftState {
    rollout: Rollout,
    cards: Arc<Cards>,
    /// Versions and inputs that have a gauge.
    shown: Mutex<Vec<(String, String)>>,
}

/// The inputs of one model by week.
#[derive(Debug, Clone)]
pub struct ModelDrift {
    pub model: ModelRef,
    pub role: Role,
    /// The newest first, and of a week all wallets before the segments.
    pub weeks: Vec<DriftWeek>,
}

impl InputDrift {
    pub fn new(rollout: Rollout, cards: Arc<Cards>) -> Self {
        Self { inner: Arc::new(InputDriftState { rollout, cards, shown: Mutex::default() }) }
    }

    /// The inputs of champion and challengers by week, of all hosts together. Reads a few records at a time.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn found(&self) -> Result<Vec<ModelDrift>, StoreError> {
        self.evaluate().await;
        let InputDriftState { rollout, cards, .. } = &*self.inner;
        rollout.inner.inputs.flush(&rollout.inner.store).await?;
        let this_week = u64::try_from(chrono::Utc::now().timestamp()).unwrap_or(0) / WEEK;
        let mut found = Vec::new();
        let mut places = BTreeMap::<Digest, usize>::new();
        for (model, role) in rollout.credit_in_roles() {
            let Some(inputs) = cards.inputs(rollout.registry(), &model).await else { continue };
            places.insert(model.digest, found.len());
            found.push((model, role, ModelWeeks::new(inputs, this_week)));
        }
        let mut after = None;
        loop {
            let page = rollout.inner.store.page(&INPUTS, after.as_deref(), PAGE).await?;
            for (key, record) in page.records {
                let week = key.split('/').next().and_then(|week| week.parse::<u64>().ok());
                let place = places.get(&record.model.digest).and_then(|place| found.get_mut(*place));
                if let Some((week, (_, _, weeks))) = week.zip(place) {
                    weeks.add(week, &record);
                }
            }
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        let drift =
            |(model, role, weeks): (ModelRef, Role, ModelWeeks)| ModelDrift { model, role, weeks: weeks.judged() };
        Ok(found.into_iter().map(drift).collect())
    }

    /// Adds the inputs of the waiting wallets, even if the caller leaves: they are off the list by then, and would not
    /// be counted again this week.
    async fn evaluate(&self) {
        let drift = self.clone();
        // A panic is reported where it happens.
        let _ = assay_tasks::spawn("drift", async move { drift.evaluate_waiting().await }).await;
    }

    async fn evaluate_waiting(&self) {
        let InputDriftState { rollout, cards, .. } = &*self.inner;
        let waiting = rollout.inner.inputs.take();
        let mut known = HashMap::<Digest, Option<Arc<ModelInputs>>>::new();
        for wallet in &waiting {
            if let Entry::Vacant(unknown) = known.entry(wallet.model.digest) {
                unknown.insert(cards.inputs(rollout.registry(), &wallet.model).await);
            }
        }
        let rollout = rollout.clone();
        blocking(move || {
            for wallet in waiting {
                if let Some(Some(inputs)) = known.get(&wallet.model.digest) {
                    rollout.inner.inputs.add(&wallet, inputs);
                }
            }
        })
        .await;
    }

    /// Evaluates and stores the inputs of scored wallets, and sets the gauges, until the server stops.
    pub fn start(&self, tasks: &Spawner) {
        tasks.keep("inputs", self.clone(), |drift, stopping| async move {
            // The first time, the models are loaded by then.
            let (mut flush, mut show) = (Instant::now() + FLUSH, Instant::now() + FLUSH);
            loop {
                let ending = tokio::select! {
                    () = tokio::time::sleep(EVALUATE) => false,
                    () = stopping.cancelled() => true,
                };
                drift.evaluate().await;
                if ending || Instant::now() >= flush {
                    flush = Instant::now() + FLUSH;
                    let rollout = &drift.inner.rollout.inner;
                    if let Err(error) = rollout.inputs.flush(&rollout.store).await {
                        tracing::error!(%error, "the inputs of scored wallets cannot be stored");
                    }
                }
                if ending {
                    return;
                }
                if Instant::now() >= show {
                    show = Instant::now() + SHOW;
                    match drift.found().await {
                        Ok(found) => drift.show(&found).await,
                        Err(error) => tracing::warn!(%error, "the drift of inputs cannot be computed"),
                    }
                }
            }
        });
    }

    /// Sets the gauges of the models in a role; those of others say nothing from then on.
    pub async fn show(&self, found: &[ModelDrift]) {
        let mut shown = self.inner.shown.lock().await;
        for (version, input) in shown.drain(..) {
            metrics::gauge!("assay_inputs_drifted", "version" => version.clone()).set(f64::NAN);
            metrics::gauge!("assay_input_psi", "version" => version, "input" => input).set(f64::NAN);
        }
        for ModelDrift { model, weeks, .. } in found {
            let version = model.version.to_string();
            let newest = weeks.iter().find(|week| week.segment.is_none() && week.is_judged());
            let Some(newest) = newest else { continue };
            let of_week = weeks.iter().filter(|week| week.from == newest.from).flat_map(|week| &week.inputs);
            let drifted: BTreeSet<_> =
                of_week.filter(|input| input.drift == Some(Drift::Drifted)).map(|input| &input.name).collect();
            metrics::gauge!("assay_inputs_drifted", "version" => version.clone()).set(drifted.len() as f64);
            for InputShift { name, psi, .. } in &newest.inputs {
                let psi = psi.unwrap_or(f64::NAN);
                metrics::gauge!("assay_input_psi", "version" => version.clone(), "input" => name.clone()).set(psi);
                shown.push((version.clone(), name.clone()));
            }
        }
    }
}

impl Rollout {
    /// Credit champion, versions of the split and challengers, the champion first.
    fn credit_in_roles(&self) -> Vec<(ModelRef, Role)> {
        let role = |role: Role| matches!(role, Role::Champion | Role::Split | Role::Challenger);
        let listed = self.registry().list().into_iter().filter(|status| role(status.role));
        let mut found: Vec<_> = listed
            .filter_map(|status| {
                let info = status.info.filter(|info| info.kind == ModelKind::Credit)?;
                Some((ModelRef { kind: info.kind, version: info.version, digest: status.digest? }, status.role))
            })
            .collect();
        found.sort_by_key(|(_, role)| *role != Role::Champion);
        found
    }
}
