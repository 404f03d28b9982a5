//! Digests: what became of the watches of a group, once a day.

use chrono::Utc;
use serde_json::{Value, json};

use crate::{
    evaluate::Evaluated,
    event::{Told, moment},
    exposure::FALLS,
    portfolio::{Debts, NearBound, Portfolio},
    watches::{Watch, WatchesInner},
};
use assay_domain::Time;
use assay_store::{Lease, StoreError};

impl WatchesInner {
    /// Stores the digest of `group` that is due now.
    ///
    /// # Errors
    /// The store's failure.
    pub(crate) async fn digest(&self, lease: &Lease, group: &Watch, now: Time) -> Result<Evaluated, StoreError> {
        self.store_digest(lease, group, now, Some(now)).await
    }

    /// Stores a digest that its owner has asked for. The next one is due as before.
    ///
    /// # Errors
    /// The store's failure.
    pub(crate) async fn digest_on_request(&self, lease: &Lease, group: &Watch) -> Result<Evaluated, StoreError> {
        self.store_digest(lease, group, Utc::now(), group.state.evaluated_at).await
    }

    async fn store_digest(
        &self,
        lease: &Lease,
        group: &Watch,
        now: Time,
        evaluated_at: Option<Time>,
    ) -> Result<Evaluated, StoreError> {
        let mut state = group.state.clone();
        state.next = state.next.max(1);
        let members = self.members(group.record.id).await?;
        let told = Told { watch: &group.record, address: None, now };
        let event = told.plain(state.next, "digest", digest(&Portfolio::of(&members)));
        state.next += 1;
        state.evaluated_at = evaluated_at;
        self.store_evaluated(lease, group, state, vec![event], Vec::new()).await
    }
}

fn digest(portfolio: &Portfolio) -> Value {
    let Portfolio { watches, paused, crossed, near, stale, unread, nearest, debts } = portfolio;
    json!({
        "watches": watches, "paused": paused, "crossed": crossed, "near": near, "stale": stale, "unread": unread,
        "nearest": nearest.iter().map(near_bound).collect::<Value>(),
        "debt": debt(debts),
    })
}

fn near_bound(near: &NearBound) -> Value {
    let NearBound { watch, subject, label, measure, market, value, bound, distance, at } = near;
    json!({
        "watch_id": watch.to_string(), "subject": subject, "label": label, "measure": measure, "market": market,
        "value": value, "bound": bound, "distance": distance, "at": moment(*at),
    })
}

fn debt(debts: &Debts) -> Value {
    let falls = FALLS.iter().zip(debts.at_risk_usd);
    let sum = |usd: f64| (debts.read > 0).then_some(usd);
    json!({
        "wallets_read": debts.read, "wallets_unread": debts.unread, "oldest_at": debts.oldest.map(moment),
        "owed_usd": sum(debts.owed_usd), "at_risk_usd": sum(debts.at_risk_now_usd),
        "unknown_usd": sum(debts.unknown_usd),
        "if_prices_fall":
            falls.map(|(percent, usd)| json!({ "percent": percent, "at_risk_usd": sum(usd) })).collect::<Value>(),
    })
}
