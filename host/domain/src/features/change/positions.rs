//! A wallet's positions by token after changes, for the prices at which they can be liquidated.

use super::{Change, MarketAmount, MarketName, PriceMove};
use crate::{Address, AssetSide, ChainId, ExposureClass, Position, U256};

/// The class of a token on a chain; `None` is the native currency.
pub type ClassOf<'a> = &'a dyn Fn(ChainId, Option<Address>) -> ExposureClass;

/// `positions` after `changes` that the features of the wallet have taken. Debt and collateral of a market change in
/// proportion, so a first debt or deposit, whose token nobody named, is not in them.
pub fn positions_after(positions: &[Position], changes: &[Change], class_of: ClassOf<'_>) -> Vec<Position> {
    let mut positions = positions.to_vec();
    for change in changes {
        for position in &mut positions {
            let secured: f64 = of(position, AssetSide::Collateral).sum();
            let owed: f64 = of(position, AssetSide::Debt).sum();
            match change {
                Change::Repay(amount) => resize(position, amount, AssetSide::Debt, owed - amount.usd, owed),
                Change::Borrow(amount) => resize(position, amount, AssetSide::Debt, owed + amount.usd, owed),
                Change::Deposit(amount) => {
                    resize(position, amount, AssetSide::Collateral, secured + amount.usd, secured);
                }
                Change::Withdraw(amount) => {
                    resize(position, amount, AssetSide::Collateral, secured - amount.usd, secured);
                }
                Change::Price(PriceMove { asset: class, percent }) => {
                    let (chain, factor) = (position.chain_id, 1.0 + percent / 100.0);
                    for asset in position.assets.iter_mut().filter(|asset| class_of(chain, asset.token) == *class) {
                        asset.usd *= factor;
                        asset.price_usd = asset.price_usd.map(|price| price * factor);
                    }
                }
                Change::Days(_) => {}
            }
        }
    }
    positions
}

impl Position {
    /// The name of its market in features.
    pub fn market_name(&self) -> MarketName {
        let protocol = self.protocol.as_str().to_owned();
        MarketName { chain_id: self.chain_id, protocol, market: self.market.clone() }
    }
}

fn of(position: &Position, side: AssetSide) -> impl Iterator<Item = f64> + '_ {
    position.assets.iter().filter(move |asset| asset.side == side).map(|asset| asset.usd)
}

/// Scales one side of the market that `amount` names from `was` to `is` dollars.
fn resize(position: &mut Position, amount: &MarketAmount, side: AssetSide, is: f64, was: f64) {
    if position.market_name() != amount.market || was <= 0.0 {
        return;
    }
    let factor = (is / was).max(0.0);
    for asset in position.assets.iter_mut().filter(|asset| asset.side == side) {
        asset.usd *= factor;
        // A float has 16 digits, more than a price.
        asset.amount = U256::try_from(f64::from(asset.amount) * factor).unwrap_or(asset.amount);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{B256, PositionAsset, Protocol};

    const ETHER: Address = Address::repeat_byte(1);
    const DOLLAR: Address = Address::repeat_byte(2);

    fn position() -> Position {
        let asset = |token, side, whole: u64, price: f64| PositionAsset {
            token: Some(token),
            symbol: None,
            side,
            amount: U256::from(whole) * U256::from(1_000_000),
            decimals: 6,
            usd: whole as f64 * price,
            liquidation_threshold: (side == AssetSide::Collateral).then_some(0.8),
            price_usd: Some(price),
            account: B256::repeat_byte(9),
        };
        Position {
            chain_id: 1,
            protocol: Protocol::LenderAV3,
            market_address: Address::repeat_byte(9),
            market: None,
            supplied_usd: 8_000.0,
            borrowed_usd: 4_000.0,
            supplied_assets: 1,
            assets: vec![asset(ETHER, AssetSide::Collateral, 4, 2_000.0), asset(DOLLAR, AssetSide::Debt, 4_000, 1.0)],
            health_factor: None,
            mode: None,
            delegations: None,
        }
    }

    fn class(_: ChainId, token: Option<Address>) -> ExposureClass {
        if token == Some(ETHER) { ExposureClass::Native } else { ExposureClass::Stablecoin }
    }

    /// The price of ether at which the position can be liquidated after `changes`.
    fn price(changes: &[Change]) -> Option<f64> {
        let after = positions_after(&[position()], changes, &class);
        let price = after[0].liquidation_price(&after[0].assets[0], &after)?;
        Some((price * 1e6).round() / 1e6)
    }

    #[test]
    fn a_change_moves_the_price_of_a_liquidation() {
        let amount = |usd| MarketAmount { market: "1/lenderA_v3".parse().unwrap(), usd };
        assert_eq!(price(&[]), Some(1_250.0));
        assert_eq!(price(&[Change::Repay(amount(2_000.0))]), Some(625.0));
        assert_eq!(price(&[Change::Borrow(amount(1_000.0))]), Some(1_562.5));
        assert_eq!(price(&[Change::Deposit(amount(8_000.0))]), Some(625.0));
        assert_eq!(price(&[Change::Withdraw(amount(4_000.0))]), Some(2_500.0));
        assert_eq!(price(&[Change::Days(3)]), Some(1_250.0));
        assert_eq!(price(&[Change::Repay(amount(4_000.0))]), None, "nothing is owed");
        let fall = Change::Price(PriceMove { asset: ExposureClass::Native, percent: -50.0 });
        assert_eq!(price(std::slice::from_ref(&fall)), Some(1_250.0), "no price moves the price of a liquidation");
        let after = positions_after(&[position()], &[fall], &class);
        assert_eq!((after[0].assets[0].price_usd, after[0].assets[1].price_usd), (Some(1_000.0), Some(1.0)));
        let other = MarketAmount { market: "1/lenderA_v2".parse().unwrap(), usd: 1.0 };
        assert_eq!(positions_after(&[position()], &[Change::Repay(other)], &class), [position()]);
    }
}
