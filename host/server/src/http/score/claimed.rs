//! What the model of a served score claims of the wallet, from the card of the model.

use crate::{
    http::{state::Inner, wire::ScoreBody},
    rollout::Scored,
};
use assay_domain::Claimed;

impl Inner {
    /// What the model of `scored` claims of the wallet.
    pub async fn claimed(&self, scored: &Scored) -> Claimed {
        self.cards.claimed(self.rollout.registry(), scored).await
    }

    /// The body of a score; with `factors` also what the model claims.
    pub async fn explained(&self, scored: &Scored, factors: bool) -> ScoreBody {
        let body = ScoreBody::scored(scored, factors);
        if factors { body.claimed(self.claimed(scored).await) } else { body }
    }
}
