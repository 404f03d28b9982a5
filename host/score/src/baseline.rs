//! A score whose features can be changed: what the model says of features that the wallet does not have.

use std::sync::Arc;

use crate::{Ask, Scoring, ScoringError};
use assay_domain::{
    Assessment, Outlook, Position, Score, Snapshot, Subject,
    features::{Change, ChangeError, Features, TokenPositions},
    parse_address,
};
use assay_registry::{CreditModel, ScoreError};
use assay_rollout::Scored;
use assay_tasks::blocking;

/// A score with its features and its model. Calls about changed features count neither for the model nor against it.
#[derive(Clone)]
pub struct Baseline {
    pub scored: Arc<Scored>,
    pub features: Arc<Features>,
    model: CreditModel,
    /// Points between a mock score and what the model says of its features.
    shift: i64,
    /// The positions behind the features; none for a mock.
    held: Arc<TokenPositions>,
}

/// Why there is no answer about changed features.
#[derive(Debug, thiserror::Error)]
pub enum WhatIfError {
    #[error(transparent)]
    Change(#[from] ChangeError),
    #[error(transparent)]
    Scoring(#[from] ScoringError),
}

impl Baseline {
    pub fn new(model: CreditModel, scored: Arc<Scored>, features: Arc<Features>) -> Self {
        Self { scored, features, model, shift: 0, held: Arc::default() }
    }

    /// A mock score, which moves as the score of `model` does.
    ///
    /// # Errors
    /// The failure of the model, or its refusal of these features.
    pub fn mock(model: CreditModel, scored: Arc<Scored>, features: Arc<Features>) -> Result<Self, ScoringError> {
        let says = model.score_uncounted(&features).0?;
        let shift = i64::from(scored.assessment.score.get()) - i64::from(says.score.get());
        Ok(Self { scored, features, model, shift, held: Arc::default() })
    }

    /// What would raise the score to `target`, the next range by default, and what would lower it.
    ///
    /// # Errors
    /// A failure of the model.
    pub async fn outlook(self, target: Option<Score>) -> Result<Outlook, ScoringError> {
        let score = self.scored.assessment.score;
        let found =
            blocking(move || assay_domain::outlook(&self.features, score, target, |changed| self.score_of(changed)));
        found.await
    }

    /// The features and positions after `changes`, and what the model says of them.
    ///
    /// # Errors
    /// The first change that does not apply, a refusal, or a failure of the model.
    pub fn after(&self, changes: &[Change]) -> Result<(Features, Vec<Position>, Assessment), WhatIfError> {
        let changes: Vec<Change> = changes.iter().map(|change| self.named(change)).collect();
        let (features, held) = self.held.after(&self.features, &changes)?;
        let says = self.model.explained_uncounted(&features).map_err(ScoringError::from)?;
        let score = self.shifted(says.score);
        Ok((features, held.positions, Assessment { score, decile: self.model.decile(score), ..says }))
    }

    /// `change` with the name that features have for its market, if it has the address of one of the wallet's: features
    /// have no addresses.
    fn named(&self, change: &Change) -> Change {
        let mut change = change.clone();
        if let Change::Repay(of) | Change::Borrow(of) | Change::Deposit(of) | Change::Withdraw(of) = &mut change
            && let Some(address) = of.market.market.as_deref().and_then(|text| parse_address(text).ok())
        {
            let (chain, protocol) = (of.market.chain_id, of.market.protocol.as_str());
            let is = |position: &&Position| {
                (position.chain_id, position.protocol.as_str(), position.market_address) == (chain, protocol, address)
            };
            if let Some(position) = self.held.positions.iter().find(is) {
                of.market = position.market_name();
            }
        }
        change
    }

    /// What the model says of `features`; `None` if it refuses them.
    ///
    /// # Errors
    /// A failure of the model.
    pub fn assess(&self, features: &Features) -> Result<Option<Assessment>, ScoringError> {
        match self.model.score_uncounted(features).0 {
            Ok(says) => {
                let score = self.shifted(says.score);
                Ok(Some(Assessment { score, decile: self.model.decile(score), ..says }))
            }
            Err(ScoreError::Refused(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The score of `features`; `None` if the model refuses them.
    ///
    /// # Errors
    /// A failure of the model.
    pub fn score_of(&self, features: &Features) -> Result<Option<Score>, ScoringError> {
        Ok(self.assess(features)?.map(|says| says.score))
    }

    fn shifted(&self, score: Score) -> Score {
        let (lowest, highest) = (i64::from(Score::MIN.get()), i64::from(Score::MAX.get()));
        let moved = (i64::from(score.get()) + self.shift).clamp(lowest, highest);
        u32::try_from(moved).ok().and_then(Score::new).unwrap_or(score)
    }
}

impl Scoring {
    /// The score of `subject` with its features, to be changed.
    ///
    /// # Errors
    /// As [`Scoring::score`].
    pub async fn baseline(&self, subject: &Subject, ask: &Ask<'_>) -> Result<Baseline, ScoringError> {
        let (answering, address) = self.answering_about(subject, ask).await?;
        let snapshot = self.active(address).await?;
        let (scored, features) = self.assess(&answering, &snapshot, ask).await?;
        let held = Arc::new(self.held(&snapshot));
        Ok(Baseline { held, ..Baseline::new(answering.model, scored, features) })
    }

    fn held(&self, snapshot: &Snapshot) -> TokenPositions {
        let positions: Vec<Position> = snapshot.chains.iter().flat_map(|chain| chain.positions.clone()).collect();
        let tokens =
            positions.iter().flat_map(|position| position.assets.iter().map(|asset| (position.chain_id, asset.token)));
        let classes = tokens.map(|(chain, token)| ((chain, token), self.chains.exposure(chain, token))).collect();
        TokenPositions { positions, classes }
    }
}
