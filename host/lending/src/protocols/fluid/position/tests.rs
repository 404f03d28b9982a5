//! Positions read from words of storage and from answers.

use super::*;
use assay_domain::{Price, PriceSource};

const USDC: Address = Address::repeat_byte(1);
const WETH: Address = Address::repeat_byte(2);
const ODD: Address = Address::repeat_byte(3);
const POOL: Address = Address::repeat_byte(4);

fn number(number: u64) -> U256 {
    U256::from(number)
}

/// A rate of the oracle, in debt for each unit of collateral.
fn rate(rate: u64) -> Option<U256> {
    Some(number(rate) * number(10).pow(number(27)))
}

fn position(id: u32, sides: [Unit; 2], rate: Option<U256>, (supply, borrow): (u64, u64)) -> VaultPosition {
    let [of_supply, of_borrow] = sides;
    let vault = Vault::sample(of_supply, of_borrow, 900, rate);
    VaultPosition { id, vault, supply: number(supply), borrow: number(borrow), is_liquidated: false }
}

fn of(positions: Vec<VaultPosition>) -> FluidPositions {
    let owned = positions.iter().map(|position| (B256::from(U256::from(position.id)), true)).collect();
    let priced = [(USDC, Some(0)), (WETH, Some(0))].into();
    FluidPositions { positions, owned, priced, ..FluidPositions::default() }
}

fn prices() -> Prices {
    let price = |usd| Price { usd, source: PriceSource::Feed };
    [(Some(USDC), price(1.0)), (Some(WETH), price(2_000.0)), (None, price(2_000.0))].into_iter().collect()
}

fn held(positions: Vec<VaultPosition>) -> Option<Held> {
    of(positions).held_at(&[], &prices())
}

const ETHER_DOLLARS: [Unit; 2] = [Unit::Token(WETH), Unit::Token(USDC)];

#[test]
fn the_health_factor_is_that_of_the_vaults_oracle() {
    let held = held(vec![
        position(1, ETHER_DOLLARS, rate(1_900), (2, 1_000)),
        position(2, ETHER_DOLLARS, rate(1_900), (1, 1_368)),
    ]);
    let held = held.unwrap();
    assert_eq!((held.supplied_usd, held.borrowed_usd, held.supplied_assets), (6_000.0, 2_368.0, 1));
    assert_eq!(held.parts.health_factor, Some(1_710.0 / 1_368.0), "the nearest to liquidation");
    let collateral = held.parts.assets.iter().find(|asset| asset.side == AssetSide::Collateral).unwrap();
    assert_eq!((collateral.price_usd, collateral.liquidation_threshold), (Some(1_900.0), Some(0.9)));
}

#[test]
fn an_oracle_that_does_not_answer_leaves_the_health_factor_unread() {
    let held =
        held(vec![position(1, ETHER_DOLLARS, None, (2, 1_000)), position(2, ETHER_DOLLARS, rate(1_900), (1, 1_000))]);
    let held = held.unwrap();
    assert!(held.parts.lacking);
    assert_eq!((held.borrowed_usd, held.parts.health_factor), (2_000.0, None));
}

#[test]
fn shares_of_a_pool_have_the_price_of_the_vaults_oracle() {
    let unit = 10_u64.pow(18);
    // A share is worth three dollars, in units of no decimals.
    let three = Some(number(3) * number(10).pow(number(27 - 18)));
    let smart = held(vec![position(1, [Unit::Pool(POOL), Unit::Token(USDC)], three, (4 * unit, 6))]).unwrap();
    assert_eq!((smart.supplied_usd, smart.borrowed_usd), (12.0, 6.0));
    assert_eq!(smart.parts.assets[1].token, Some(POOL));
    // An ether is worth 500 shares of debt.
    let shares = Some(number(500) * number(10).pow(number(27 + 18)));
    let debt = held(vec![position(1, [Unit::Token(WETH), Unit::Pool(POOL)], shares, (1, unit * 10))]).unwrap();
    assert!((debt.borrowed_usd - 40.0).abs() < 1e-9, "{}", debt.borrowed_usd);
    assert_eq!(debt.parts.health_factor, Some(45.0));
}

#[test]
fn shares_on_both_sides_have_no_price_and_are_said_to_be_unread() {
    let both = position(1, [Unit::Pool(POOL), Unit::Pool(ODD)], rate(1), (100, 50));
    assert!(held(vec![both]).is_none());
    assert_eq!(of(vec![both]).lacks(), Some(UNREAD_POOLS));
    let empty = VaultPosition { supply: U256::ZERO, borrow: U256::ZERO, ..both };
    assert_eq!(held(vec![empty]), Some(Held::default()));
    assert_eq!(of(vec![empty]).lacks(), Some(UNREAD_VAULTS));
    assert_eq!(of(vec![VaultPosition { is_liquidated: true, ..empty }]).lacks(), Some(LIQUIDATED));
    let counted = of(vec![empty]).with(Vec::new(), true);
    assert_eq!(counted.lacks(), Some(COUNTED_VAULTS));
    assert_eq!(of(Vec::new()).lacks(), None, "a wallet that never had a position");
}

#[test]
fn a_token_without_a_price_is_unpriced_unless_a_debt_depends_on_it() {
    let odd = [Unit::Token(ODD), Unit::Token(USDC)];
    let deposit = held(vec![position(1, odd, rate(2), (100, 0))]).unwrap();
    assert_eq!((deposit.supplied_usd, deposit.parts.unpriced), (0.0, vec![ODD]));
    assert!(held(vec![position(1, odd, rate(2), (100, 50))]).is_none());
    let native = held(vec![position(1, [Unit::Token(NATIVE), Unit::Token(USDC)], rate(2), (10_u64.pow(18), 0))]);
    assert_eq!(native.unwrap().parts.assets[0].token, None);
}

#[test]
fn deposits_are_what_their_shares_are_worth() {
    let token = ShareToken { token: Address::repeat_byte(9), asset: USDC };
    let mut found = of(Vec::new()).with(vec![(token, number(100))], false);
    found.priced = [(USDC, Some(2))].into();
    assert_eq!(found.questions().len(), 1);
    let answer = Some(Bytes::from(number(105).abi_encode()));
    let held = found.held_at(&[answer], &prices()).unwrap();
    assert_eq!((held.supplied_usd, held.parts.assets[0].side), (1.05, AssetSide::Deposit));
    assert!(found.held_at(&[None], &prices()).is_none());
    assert_eq!(found.balances(&[]).unwrap().len(), 1);
}

/// The word of a position with this tick, generation, collateral and dust.
fn word(tick: i32, generation: u64, supply: u64, dust: u64) -> U256 {
    let sign = u64::from(tick >= 0);
    let tick = number(u64::from(tick.unsigned_abs()));
    let big = |amount: u64| number(amount << 8);
    (number(sign) << 1_usize)
        | (tick << 2_usize)
        | (number(generation) << 21_usize)
        | (big(supply) << 45_usize)
        | (big(dust) << 109_usize)
}

#[test]
fn the_debt_is_the_collateral_times_the_ratio_less_the_dust() {
    let kept = Kept::read(word(0, 1, 1_000, 7)).unwrap();
    let debt = kept.debt.unwrap();
    assert_eq!((kept.supply, debt.amount, debt.without_dust(debt.amount)), (number(1_000), number(1_000), number(993)));
    let below = Kept::read(word(-1, 1, 1_000_000, 0)).unwrap().debt.unwrap();
    assert_eq!(below.amount, number(998_502), "1.0015 less");
    assert_eq!(Kept::read(U256::ZERO), Some(Kept { supply: U256::ZERO, debt: None }), "no position yet");
    assert_eq!(Kept::read((number(500 << 8) << 45_usize) | U256::ONE).unwrap().debt, None, "only collateral");
}

#[test]
fn a_tick_that_was_liquidated_asks_what_is_left() {
    let debt = Kept::read(word(5, 2, 1_000, 0)).unwrap().debt.unwrap();
    let tick = |generations: u64, is_liquidated: u64| number((generations << 1) | is_liquidated);
    assert!(!debt.is_liquidated(tick(2, 0)), "its own generation");
    assert!(debt.is_liquidated(tick(2, 1)) && debt.is_liquidated(tick(3, 0)));
    assert!(debt.ask_latest(POOL, tick(2, 0)).is_none() && debt.ask_latest(POOL, tick(3, 0)).is_some());
    let answer = (I256::MIN, number(40), number(50), number(1), number(1)).abi_encode();
    assert_eq!(debt.left(Some(&Some(answer.into()))), Some((number(50), number(40))));
    assert_eq!(debt.left(Some(&None)), None);
}
