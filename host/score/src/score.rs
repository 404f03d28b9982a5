//! One subject's score: by the credit champion or a requested version, with off-chain assets, or at a past moment.

use std::sync::Arc;

use chrono::Utc;
use moka::future::Cache as Moka;

use super::{Scoring, ScoringError};
use crate::history::PastRecord;
use assay_chain::Read;
use assay_domain::{
    Address, Assessment, Coverage, Digest, Freshness, ModelKind, ModelVersion, Snapshot, Standing, Subject, Time,
    features::{Features, features},
    time_from_unix,
};
use assay_registry::{BoostModel, Chosen, CreditModel};
use assay_rollout::{Basis, Inputs, Scored, config};

/// Scores by model, why it answered, address, snapshot, and whether that dates transactions only to their day: another
/// model, a newer snapshot or a more exact one never gets the old score, and a score has the record of its own reason.
/// The features are stored with the score, for a boost.
pub(super) type Cache = Moka<(Digest, Chosen, Address, Time, bool), (Arc<Scored>, Arc<Features>)>;

/// Entries have the lifetime of a complete snapshot, `scoring.cache_ms` of `defaults.toml`: five minutes. A snapshot
/// with a shorter one is replaced by a newer key.
pub(super) fn cache(settings: &config::Scoring) -> Cache {
    Moka::builder().max_capacity(settings.cache_entries).time_to_live(settings.cache_ttl).build()
}

impl Scoring {
    /// The score of `subject`, from snapshots at most five minutes old.
    ///
    /// # Errors
    /// [`ScoringError::NotFound`] for an address without activity or a name that does not resolve,
    /// [`ScoringError::ChainsDown`] if nothing could be read, [`ScoringError::ChainsMissing`] if the chains that
    /// could be read show no activity, [`ScoringError::Version`] if the requested version
    /// is not in service, otherwise the failure of the model.
    pub async fn score(&self, subject: &Subject, ask: &Ask<'_>) -> Result<Arc<Scored>, ScoringError> {
        let (model, address) = self.answering_about(subject, ask).await?;
        Ok(self.score_address(&model, address, ask).await?.0)
    }

    /// The score of `subject` by the blocks of its transactions, which a statement can be verified from, with the
    /// features behind the score. [`Scoring::score`] may count transactions from the start of their day.
    ///
    /// # Errors
    /// As [`Scoring::score`].
    pub async fn score_and_features(
        &self,
        subject: &Subject,
        ask: &Ask<'_>,
    ) -> Result<(Arc<Scored>, Arc<Features>), ScoringError> {
        let (model, address) = self.answering_about(subject, ask).await?;
        let snapshot = self.exact(address).await?;
        self.assess(&model, &snapshot, ask).await
    }

    pub(super) async fn score_address(
        &self,
        model: &Answering,
        address: Address,
        ask: &Ask<'_>,
    ) -> Result<(Arc<Scored>, Arc<Features>), ScoringError> {
        let snapshot = self.active(address).await?;
        self.assess(model, &snapshot, ask).await
    }

    /// The snapshot of an address that can be scored.
    pub(super) async fn active(&self, address: Address) -> Result<Arc<Snapshot>, ScoringError> {
        active(self.read(address).await?.snapshot)
    }

    /// As [`Scoring::active`], with the blocks of the first and the last transaction.
    pub(super) async fn exact(&self, address: Address) -> Result<Arc<Snapshot>, ScoringError> {
        active(self.read_exactly(address).await?.snapshot)
    }

    /// The address that `subject` is, or that it names.
    ///
    /// # Errors
    /// [`ScoringError::NotFound`] for a name without one.
    pub async fn address(&self, subject: &Subject) -> Result<Address, ScoringError> {
        match subject {
            Subject::Address(address) => Ok(*address),
            Subject::Name(name) => Ok(self.chains.resolve(name).await?),
        }
    }

    pub async fn read(&self, address: Address) -> Result<Read, ScoringError> {
        readable(self.chains.snapshot(address).await)
    }

    /// `read` with the blocks of the first and the last transaction.
    pub async fn exactly(&self, read: Read) -> Read {
        self.chains.exactly(read).await
    }

    /// As [`Scoring::read`], with the blocks of the first and the last transaction.
    pub async fn read_exactly(&self, address: Address) -> Result<Read, ScoringError> {
        Ok(self.exactly(self.read(address).await?).await)
    }

    /// As [`Scoring::read_exactly`], without the cache.
    pub async fn read_now(&self, address: Address) -> Result<Read, ScoringError> {
        let read = readable(self.chains.current_snapshot(address).await)?;
        Ok(self.exactly(read).await)
    }

    pub async fn assess(
        &self,
        answering: &Answering,
        snapshot: &Snapshot,
        ask: &Ask<'_>,
    ) -> Result<(Arc<Scored>, Arc<Features>), ScoringError> {
        let Answering { model, chosen } = answering;
        let key = (model.digest(), *chosen, snapshot.address, snapshot.as_of, snapshot.is_by_day());
        if let Some((scored, features)) = self.inner.scores.get(&key).await {
            if !ask.factors || scored.assessment.is_explained() {
                return Ok((scored, features));
            }
            // The model was not called for words before.
            let assessment = model.explain(&features, &scored.assessment)?;
            let found = (Arc::new(Scored { assessment, ..Scored::clone(&scored) }), features);
            self.inner.scores.insert(key, found.clone()).await;
            return Ok(found);
        }
        let features = Arc::new(features(snapshot));
        let assessment = if ask.factors { model.explained(&features)? } else { model.score(&features)? };
        let slot = self.inner.rollout.reserve_record();
        let record = slot.as_ref().map(|slot| slot.id);
        let scored = Arc::new(Scored { record, ..self.scored(answering, snapshot, &features, assessment) });
        if let Some(slot) = slot {
            slot.fill(&scored, Inputs { features: Arc::clone(&features), boost: None, asked_by: ask.by.to_owned() });
        }
        self.inner.rollout.offer(model, &scored, &features);
        let found = (scored, features);
        self.inner.scores.insert(key, found.clone()).await;
        Ok(found)
    }
}

impl Scoring {
    /// The score of `snapshot` without a record.
    pub(super) fn scored(
        &self,
        Answering { model, chosen }: &Answering,
        snapshot: &Snapshot,
        features: &Features,
        assessment: Assessment,
    ) -> Scored {
        Scored {
            address: snapshot.address,
            assessment,
            model: model.reference().clone(),
            chosen: *chosen,
            at: Utc::now(),
            coverage: snapshot.score_coverage(),
            fresh: self.freshness(snapshot),
            record: None,
            basis: Basis::Wallet(Standing::of(features)),
            origins: Arc::new(snapshot.origins()),
        }
    }
}

/// `snapshot` if it can be scored.
///
/// # Errors
/// [`ScoringError::NotFound`] without activity, [`ScoringError::ChainsMissing`] if that may be on chains that could not
/// be read.
pub(super) fn active(snapshot: Arc<Snapshot>) -> Result<Arc<Snapshot>, ScoringError> {
    if !snapshot.has_activity() {
        let failed = snapshot.failed_chains();
        if !failed.is_empty() {
            return Err(ScoringError::ChainsMissing(failed));
        }
        // Where an unread part could show activity, the score is provisional.
        if !snapshot.may_have_activity() {
            return Err(ScoringError::NotFound);
        }
    }
    Ok(snapshot)
}

/// # Errors
/// [`ScoringError::ChainsDown`] if nothing could be read.
fn readable(read: Read) -> Result<Read, ScoringError> {
    if read.snapshot.chains.is_empty() {
        return Err(ScoringError::NoChain);
    }
    if read.snapshot.all_failed() {
        return Err(ScoringError::ChainsDown);
    }
    Ok(read)
}

/// A request for a score, without its subject.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    /// Name of the API key.
    pub by: &'a str,
    /// The version that the request names.
    pub version: Option<&'a ModelVersion>,
    /// The version that a header of the request names.
    pub header: Option<&'a ModelVersion>,
    /// Whether the answer shows the factors, whose words then come from the model.
    pub factors: bool,
    /// Whether one version answers about all wallets.
    pub one_version: bool,
}

impl<'a> Ask<'a> {
    /// The request of the key of this name, which names no version.
    pub fn by(by: &'a str, factors: bool) -> Self {
        Self { by, version: None, header: None, factors, one_version: false }
    }
}

/// The credit model that answers a request, and why.
#[derive(Debug, Clone)]
pub struct Answering {
    pub model: CreditModel,
    pub chosen: Chosen,
}

impl Scoring {
    /// The model that answers `ask` about `wallet`; `None` for a request about several wallets, which one model
    /// answers. A version that the request names goes before the pin of its key, that before a header, and that before
    /// the share of the wallet.
    ///
    /// # Errors
    /// [`ScoringError::Version`] for a version that is not loaded or out of service, [`ScoringError::NoChoice`] for a
    /// header of a key that may not choose, [`ScoringError::Model`] without a champion or for a version of the split
    /// that cannot answer.
    pub fn answering(&self, ask: &Ask<'_>, wallet: Option<Address>) -> Result<Answering, ScoringError> {
        let registry = &self.inner.registry;
        if let Some(version) = ask.version {
            return Ok(Answering { model: registry.in_service(version)?, chosen: Chosen::Requested });
        }
        // One moment of the roles decides.
        let active = registry.active_guard();
        if let Some(model) = active.pinned(ask.by, Utc::now())? {
            return Ok(Answering { model, chosen: Chosen::Pinned });
        }
        if let Some(version) = ask.header {
            if !active.lets_choose(ModelKind::Credit, ask.by) {
                return Err(ScoringError::NoChoice);
            }
            return Ok(Answering { model: registry.in_service(version)?, chosen: Chosen::Header });
        }
        let (model, chosen) = active.by_share(wallet.filter(|_| !ask.one_version))?;
        Ok(Answering { model, chosen })
    }

    /// The model that answers `ask` about `subject`, and its address. A version that cannot answer is refused before a
    /// name is resolved.
    pub(super) async fn answering_about(
        &self,
        subject: &Subject,
        ask: &Ask<'_>,
    ) -> Result<(Answering, Address), ScoringError> {
        self.answering(ask, None)?;
        let address = self.address(subject).await?;
        Ok((self.answering(ask, Some(address))?, address))
    }

    /// The score by `model` of what was read.
    ///
    /// # Errors
    /// [`ScoringError::NotFound`] if the wallet had no activity, otherwise the failure of the model.
    pub fn past(
        &self,
        Answering { model, chosen }: &Answering,
        wallet: Address,
        read: &PastRecord,
        with_words: bool,
    ) -> Result<Arc<Scored>, ScoringError> {
        if !read.has_activity {
            return Err(ScoringError::NotFound);
        }
        let features = &read.features;
        Ok(Arc::new(Scored {
            address: wallet,
            assessment: if with_words { model.explained(features)? } else { model.score(features)? },
            model: model.reference().clone(),
            chosen: *chosen,
            at: Utc::now(),
            coverage: Coverage::Complete,
            fresh: Freshness { read_at: time_from_unix(read.features.as_of), life: self.inner.lifetimes.of(true) },
            record: None,
            basis: Basis::Wallet(Standing::of(&read.features)),
            origins: Arc::new(read.origins()),
        }))
    }
}

impl Scoring {
    /// The score of `subject` with `total_asset_usd` of off-chain assets added by the boost champion.
    /// Decile and model version are those of the credit model, whose scale the score has.
    ///
    /// # Errors
    /// As [`Scoring::score`].
    pub async fn boosted(
        &self,
        subject: &Subject,
        total_asset_usd: f64,
        ask: &Ask<'_>,
    ) -> Result<Arc<Scored>, ScoringError> {
        let (credit, address) = self.answering_about(subject, ask).await?;
        let (base, features) = self.score_address(&credit, address, ask).await?;
        let model = self.inner.registry.champion::<BoostModel>()?;
        let score = model.boost(base.assessment.score, total_asset_usd)?;
        let assessment =
            Assessment { score, decile: credit.model.decile(score), factors: base.assessment.factors.clone() };
        let slot = self.inner.rollout.reserve_record();
        let record = slot.as_ref().map(|slot| slot.id);
        // The score was calculated now, from a snapshot that may be older.
        let scored =
            Arc::new(Scored { assessment, at: Utc::now(), record, basis: Basis::Boosted, ..Scored::clone(&base) });
        if let Some(slot) = slot {
            let boost = Some((model.reference().clone(), total_asset_usd));
            slot.fill(&scored, Inputs { features, boost, asked_by: ask.by.to_owned() });
        }
        Ok(scored)
    }
}
