//! What the model of a served score claims of the wallet, from the card of the model.

use crate::{
    http::{state::Inner, wire::ScoreBody},
    rollout::{Basis, Scored},
};
use assay_domain::{Claimed, claimed};

impl Inner {
    /// What the model of `scored` claims of the wallet.
    pub async fn claimed(&self, scored: &Scored) -> Claimed {
        if matches!(scored.basis, Basis::Unknown) {
            return Claimed::Nothing;
        }
        let model = &scored.model;
        let info = || {
            let loaded = self.rollout.registry().version_of(model.kind, &model.version);
            let loaded = loaded.filter(|loaded| loaded.digest() == model.digest)?;
            Some((loaded.info().clone(), loaded.notes().card.clone()))
        };
        let claims = self.cards.claims(model, info).await;
        match scored.basis {
            Basis::Wallet(standing) => claimed(&claims, &standing, scored.assessment.score.range()),
            _ if claims.is_empty() => Claimed::Nothing,
            _ => Claimed::Outside("No rate is claimed for a score with off-chain assets.".to_owned()),
        }
    }

    /// The body of a score; with `factors` also what the model claims.
    pub async fn explained(&self, scored: &Scored, factors: bool) -> ScoreBody {
        let body = ScoreBody::scored(scored, factors);
        if factors { body.claimed(self.claimed(scored).await) } else { body }
    }
}
