//! The smallest repayment that brings a health factor or a debt back over its bound, in whole dollars.

use serde_json::{Value, json};

use crate::{
    market::MarketName,
    trigger::{Limit, Measure},
};
use assay_domain::{
    CollateralAccount, Position, Snapshot,
    features::{Change, MarketAmount},
};

/// What leads back to the value that clears `limit`; empty if nothing is known to.
pub(crate) fn way_back(measure: Measure, limit: Limit, market: Option<MarketName>, snapshot: &Snapshot) -> Vec<Value> {
    let positions: Vec<Position> = snapshot.chains.iter().flat_map(|chain| chain.positions.clone()).collect();
    let is_of = |position: &&Position| {
        market.is_none_or(|market| {
            let own = (position.protocol, position.chain_id, position.market_address);
            own == (market.protocol, market.chain, market.address)
        })
    };
    let mut of_market: Vec<&Position> = positions.iter().filter(is_of).collect();
    of_market.sort_by(|one, other| other.borrowed_usd.total_cmp(&one.borrowed_usd));
    let Some(position) = of_market.first() else { return Vec::new() };
    let step = match (measure, limit) {
        (Measure::HealthFactor, Limit::Below { clear, .. }) => repayment(position, &positions, clear),
        (Measure::DebtUsd, Limit::Above { clear, .. }) => {
            let owes: f64 = of_market.iter().map(|position| position.borrowed_usd).sum();
            let wanted = (owes - clear).max(0.0).ceil();
            let usd = wanted.min(position.borrowed_usd);
            Some(step(position, usd, json!({ "reaches": usd >= wanted, "debt_usd": owes - usd })))
        }
        _ => None,
    };
    step.into_iter().collect()
}

/// The repayment after which every account of `position` has a health factor of at least `clear`. `None` if an amount,
/// a threshold or a price of it is unread.
fn repayment(position: &Position, positions: &[Position], clear: f64) -> Option<Value> {
    let mut usd = 0.0;
    for account in CollateralAccount::of(position, positions) {
        let owes = account.owed_usd();
        if owes <= 0.0 {
            continue;
        }
        // Collateral times threshold, over debt.
        let factor = account.health_factor(&|_| 1.0)?;
        usd += (owes - owes * factor / clear).max(0.0);
    }
    (usd > 0.0).then(|| step(position, usd.ceil(), json!({ "reaches": true, "health_factor": clear })))
}

/// A repayment in the form of the changes of a score.
fn step(position: &Position, usd: f64, more: Value) -> Value {
    let name = MarketName { protocol: position.protocol, chain: position.chain_id, address: position.market_address };
    let change = Change::Repay(MarketAmount { market: name.into(), usd });
    let mut step = json!({ "kind": "repay", "change": change });
    if let (Value::Object(step), Value::Object(more)) = (&mut step, more) {
        step.extend(more);
    }
    step
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_domain::{Address, AssetSide, B256, PositionAsset, Protocol, U256};

    fn asset(side: AssetSide, tokens: u64, price_usd: Option<f64>, account: u8) -> PositionAsset {
        PositionAsset {
            token: Some(Address::with_last_byte(side as u8)),
            symbol: None,
            side,
            amount: U256::from(tokens),
            decimals: 0,
            usd: tokens as f64 * price_usd.unwrap_or_default(),
            liquidation_threshold: Some(0.8),
            price_usd,
            account: B256::with_last_byte(account),
        }
    }

    fn position(assets: Vec<PositionAsset>) -> Position {
        Position {
            chain_id: 1,
            protocol: Protocol::LenderAV3,
            market_address: Address::with_last_byte(7),
            market: None,
            supplied_usd: 2_000.0,
            borrowed_usd: 1_000.0,
            supplied_assets: 1,
            assets,
            health_factor: None,
            mode: None,
            delegations: None,
        }
    }

    /// The dollars of the repayment to a health factor of 2.
    fn dollars(assets: Vec<PositionAsset>) -> Option<Value> {
        let position = position(assets);
        Some(repayment(&position, std::slice::from_ref(&position), 2.0)?["change"]["repay"]["usd"].clone())
    }

    #[test]
    fn the_smallest_repayment_brings_every_account_to_the_bound() {
        use AssetSide::{Collateral, Debt};
        // 1,600 dollars secure 800 of debt twice.
        let one = |account| vec![asset(Collateral, 1, Some(2_000.0), account), asset(Debt, 1_000, Some(1.0), account)];
        assert_eq!(dollars(one(1)), Some(200.0.into()));
        assert_eq!(dollars([one(1), one(2)].concat()), Some(400.0.into()));
        let safe = vec![asset(Collateral, 2, Some(2_000.0), 2), asset(Debt, 1_000, Some(1.0), 2)];
        assert_eq!(dollars([one(1), safe.clone()].concat()), Some(200.0.into()), "each account by itself");
        assert_eq!(dollars(safe), None);
        let unread = vec![asset(Collateral, 1, None, 1), asset(Debt, 1_000, Some(1.0), 1)];
        assert_eq!(dollars(unread), None, "a price that was not read is not guessed");
    }
}
