//! A wallet's positions by token after changes, for the prices at which they can be liquidated.

use std::collections::{BTreeSet, HashMap};

use super::{Change, ChangeError, MarketAmount, MarketName, PriceMove, Priced};
use crate::{Address, AssetSide, ChainId, ExposureClass, Position, PositionAsset, U256, features::Features};

/// The positions of a wallet, with the classes of their tokens; `None` is the native currency.
#[derive(Debug, Clone, Default)]
pub struct TokenPositions {
    pub positions: Vec<Position>,
    pub classes: HashMap<(ChainId, Option<Address>), ExposureClass>,
}

impl TokenPositions {
    /// `features` and these positions after `changes`, in their order.
    ///
    /// # Errors
    /// That of the first change which does not apply.
    pub fn after(&self, features: &Features, changes: &[Change]) -> Result<(Features, Self), ChangeError> {
        changes.iter().try_fold((features.clone(), self.clone()), |(mut features, mut held), change| {
            match change {
                Change::Price(of @ PriceMove { asset: Priced::Token(token), .. }) => {
                    features.reprice_token(token, of.factor()?, &held)?;
                }
                change => features = features.changed(change)?,
            }
            held.change(change);
            Ok((features, held))
        })
    }

    pub(super) fn class_of(&self, chain: ChainId, token: Option<Address>) -> ExposureClass {
        self.classes.get(&(chain, token)).copied().unwrap_or(ExposureClass::Other)
    }

    /// The symbols of collateral and debt, for a message.
    pub(super) fn symbols(&self) -> String {
        let assets = self.positions.iter().flat_map(|position| &position.assets);
        let counted = assets.filter(|asset| asset.side != AssetSide::Deposit);
        let name = |asset: &PositionAsset| match (&asset.symbol, asset.token) {
            (Some(symbol), _) => Some(symbol.clone()),
            (None, token) => token.map(|token| token.to_string()),
        };
        let names: BTreeSet<String> = counted.filter_map(name).collect();
        if names.is_empty() { "none".to_owned() } else { Vec::from_iter(names).join(", ") }
    }

    /// Makes a change that the features have taken. Debt and collateral of a market change in proportion, so a first
    /// debt or deposit, whose token nobody named, is not in them.
    fn change(&mut self, change: &Change) {
        let Self { positions, classes } = self;
        for position in positions {
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
                Change::Price(PriceMove { asset: priced, percent }) => {
                    let (chain, factor) = (position.chain_id, 1.0 + percent / 100.0);
                    let class_of = |token| classes.get(&(chain, token)).copied().unwrap_or(ExposureClass::Other);
                    let is_priced = |asset: &PositionAsset| match priced {
                        Priced::Class(class) => class_of(asset.token) == *class,
                        Priced::Token(token) => token.names(asset),
                    };
                    for asset in position.assets.iter_mut().filter(|asset| is_priced(asset)) {
                        asset.usd *= factor;
                        asset.price_usd = asset.price_usd.map(|price| price * factor);
                    }
                }
                Change::Days(_) => {}
            }
        }
    }
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
    use crate::{
        B256, PositionAsset, Protocol,
        features::{Exposure, change::tests::wallet},
    };

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

    fn held() -> TokenPositions {
        let classes = [(ETHER, ExposureClass::Native), (DOLLAR, ExposureClass::Stablecoin)];
        let classes = classes.map(|(token, class)| ((1, Some(token)), class)).into();
        TokenPositions { positions: vec![position()], classes }
    }

    fn after(changes: &[Change]) -> Vec<Position> {
        let mut held = held();
        changes.iter().for_each(|change| held.change(change));
        held.positions
    }

    /// The price of ether at which the position can be liquidated after `changes`.
    fn price(changes: &[Change]) -> Option<f64> {
        let after = after(changes);
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
        let fall = Change::Price(PriceMove { asset: ExposureClass::Native.into(), percent: -50.0 });
        assert_eq!(price(std::slice::from_ref(&fall)), Some(1_250.0), "no price moves the price of a liquidation");
        let after = after(&[fall]);
        assert_eq!((after[0].assets[0].price_usd, after[0].assets[1].price_usd), (Some(1_000.0), Some(1.0)));
        let other = MarketAmount { market: "1/lenderA_v2".parse().unwrap(), usd: 1.0 };
        assert_eq!(self::after(&[Change::Repay(other)]), [position()]);
    }

    /// A wallet with ether at a threshold of 0.8 and its staked form at 0.5, both of the class `native`.
    fn two_tokens() -> (Features, TokenPositions) {
        const STAKED: Address = Address::repeat_byte(3);
        let mut held = held();
        let own = &mut held.positions[0].assets;
        let mut staked = own[0].clone();
        (staked.token, staked.symbol, staked.liquidation_threshold) = (Some(STAKED), Some("stETH".into()), Some(0.5));
        own.insert(1, staked);
        own[0].symbol = Some("WETH".into());
        held.classes.insert((1, Some(STAKED)), ExposureClass::Native);
        let mut features = wallet(&[("lenderA_v3", 16_000.0, 4_000.0)]);
        let position = features.markets[0].position.as_mut().unwrap();
        position.debt = vec![Exposure { class: ExposureClass::Stablecoin, usd: 4_000.0 }];
        position.health_factor = Some((8_000.0 * 0.8 + 8_000.0 * 0.5) / 4_000.0);
        (features, held)
    }

    #[test]
    fn the_price_of_one_token_moves_what_it_secures() {
        let (features, held) = two_tokens();
        let fall = |name: &str| {
            let change = Change::Price(PriceMove { asset: name.parse().unwrap(), percent: -50.0 });
            let (after, held) = held.after(&features, &[change]).unwrap();
            let position = after.markets[0].position.clone().unwrap();
            assert_eq!((position.collateral.len(), position.collateral[0].usd), (1, after.markets[0].supplied_usd));
            let prices: Vec<_> = held.positions[0].assets.iter().map(|asset| asset.price_usd.unwrap()).collect();
            (after.markets[0].supplied_usd, position.health_factor.unwrap(), prices)
        };
        assert_eq!(fall("weth"), (12_000.0, 1.8, vec![1_000.0, 2_000.0, 1.0]));
        assert_eq!(fall("stETH"), (12_000.0, 2.1, vec![2_000.0, 1_000.0, 1.0]), "by its own threshold");
        assert_eq!(fall(&ETHER.to_string()), fall("WETH"));
        assert_eq!(fall("native"), (8_000.0, 1.3, vec![1_000.0, 1_000.0, 1.0]), "both");
    }

    #[test]
    fn a_token_that_is_not_held_or_was_not_read_has_no_price_to_move() {
        let (mut features, mut held) = two_tokens();
        let change = [Change::Price(PriceMove { asset: "UNI".parse().unwrap(), percent: -50.0 })];
        let refused = held.after(&features, &change).unwrap_err().to_string();
        assert!(refused.contains("no market of the wallet has the token UNI") && refused.contains("WETH, stETH"));
        let weth = [Change::Price(PriceMove { asset: "WETH".parse().unwrap(), percent: -50.0 })];
        assert!(matches!(features.after(&weth), Err(ChangeError::NoTokens(_))));
        let mut other = features.markets[0].clone();
        other.protocol = "lenderB_v3".into();
        features.markets.push(other);
        let unread = held.after(&features, &weth).unwrap_err();
        assert_eq!(unread, ChangeError::TokensUnread("1/lenderB_v3".parse().unwrap()));
        held.positions.clear();
        assert!(matches!(held.after(&features, &weth), Err(ChangeError::NoToken { .. })));
        assert!("".parse::<Priced>().is_err() && "0x12".parse::<Priced>().is_err());
    }
}
