//! The accounts of a wallet that span several markets of one controller, such as the Comptroller of Compound v2.

use std::collections::BTreeMap;

use crate::protocols::AccountView;
use assay_domain::{AssetSide, CollateralAccount, Position};

/// The largest difference between the controller's figures and those of the assets, as a share of the debt.
const ROUNDED: f64 = 1e-6;

/// Adds the health factors of `views` to `positions`, and which deposits secure no debt. If a controller's figures do
/// not follow from the assets, as with a market that is not configured, the thresholds count as unread, and so does the
/// health factor.
pub(crate) fn join(positions: &mut [&mut Position], views: &[AccountView]) {
    let accounts: BTreeMap<_, _> = views.iter().map(|view| (view.account, view)).collect();
    for position in positions.iter_mut().filter(|position| spans_markets(position)) {
        let market = position.market_address;
        for asset in position.assets.iter_mut().filter(|asset| asset.side == AssetSide::Collateral) {
            match accounts.get(&asset.account) {
                Some(view) if view.members.contains(&market) => {}
                Some(_) => (asset.side, asset.liquidation_threshold) = (AssetSide::Deposit, None),
                None => asset.liquidation_threshold = None,
            }
        }
    }
    for (account, view) in accounts {
        let own = |position: &&mut Position| position.assets.iter().any(|asset| asset.account == account);
        let assets = positions.iter().filter(|position| own(position)).flat_map(|position| &position.assets);
        let joined = CollateralAccount { assets: assets.collect() };
        let owed = joined.owed_usd();
        // Without collateral, rounding may leave less than nothing.
        let stated = (owed > 0.0).then(|| ((owed + view.room_usd) / owed).max(0.0));
        let computed = joined.health_factor(&|_| 1.0);
        let follows = match (stated, computed) {
            (Some(stated), Some(computed)) => (stated - computed).abs() <= ROUNDED * stated.max(1.0),
            (stated, computed) => stated.is_none() && computed.is_none(),
        };
        for position in positions.iter_mut().filter(|position| own(position)) {
            if follows {
                position.health_factor = stated;
            } else {
                position.assets.iter_mut().for_each(|asset| asset.liquidation_threshold = None);
            }
        }
    }
}

/// Whether the accounts of a position are not those of its market.
fn spans_markets(position: &Position) -> bool {
    !position.protocol.has_details()
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_domain::{Address, B256, PositionAsset, Protocol, U256};

    const ACCOUNT: B256 = B256::repeat_byte(7);

    fn position(market: u8, side: AssetSide, usd: u64) -> Position {
        let asset = PositionAsset {
            token: None,
            symbol: None,
            side,
            amount: U256::from(usd),
            decimals: 0,
            usd: usd as f64,
            liquidation_threshold: (side == AssetSide::Collateral).then_some(0.75),
            price_usd: Some(1.0),
            account: ACCOUNT,
        };
        Position {
            chain_id: 1,
            protocol: Protocol::LenderBV2,
            market_address: Address::repeat_byte(market),
            market: None,
            supplied_usd: 0.0,
            borrowed_usd: 0.0,
            supplied_assets: 0,
            assets: vec![asset],
            health_factor: None,
            mode: None,
            delegations: Some(Vec::new()),
        }
    }

    fn joined(members: &[u8], room_usd: f64) -> Vec<Position> {
        let mut all = vec![
            position(1, AssetSide::Collateral, 400),
            position(2, AssetSide::Debt, 150),
            position(3, AssetSide::Collateral, 90),
        ];
        let members = members.iter().map(|market| Address::repeat_byte(*market)).collect();
        let views = [AccountView { account: ACCOUNT, members, room_usd }];
        join(&mut all.iter_mut().collect::<Vec<_>>(), &views);
        all
    }

    #[test]
    fn one_market_secures_the_debt_of_another() {
        let all = joined(&[1, 2], 150.0);
        assert_eq!(all.iter().map(|position| position.health_factor).collect::<Vec<_>>(), [Some(2.0); 3]);
        let sides = [AssetSide::Collateral, AssetSide::Debt, AssetSide::Deposit];
        assert_eq!(all.iter().map(|position| position.assets[0].side).collect::<Vec<_>>(), sides, "not entered");
    }

    #[test]
    fn figures_that_the_assets_do_not_explain_are_unread() {
        // A debt of 50 in a market that is not configured.
        for all in [joined(&[1, 2], 100.0), joined(&[], 150.0)] {
            assert!(all.iter().all(|position| position.health_factor.is_none()));
            assert!(all.iter().all(|position| position.assets[0].liquidation_threshold.is_none()));
        }
        let mut alone = position(1, AssetSide::Collateral, 400);
        join(&mut [&mut alone], &[]);
        assert_eq!(alone.assets[0].liquidation_threshold, None, "nobody says whether it secures a debt");
    }
}
