//! Shares of a constant-product pool of two tokens (Uniswap v2 and its copies), valued by the pool's reserves. Anyone
//! with borrowed money can push the reserves off balance for one transaction, but not the pool's value *in* balance:
//! twice the square root of the product of both sides at outside prices. That is never more than the sum of the sides.
//! If one side has no price, only the other side counts: doubling it would let anyone create value by pairing a dollar
//! with their own token.
//!
//! Any contract can answer like a pool, and name any factory. Only pools that a configured factory confirms count,
//! because the factory wrote their code. Every other such contract is a token without a price.

use alloy::{primitives::Bytes, sol};

use assay_domain::{Address, Prices, U256};
use assay_evm::call::{Call, returned};

sol! {
    /// Some copies return more.
    function getReserves() external view returns (uint256 reserve0, uint256 reserve1);
    function totalSupply() external view returns (uint256 supply);
    function balanceOf(address owner) external view returns (uint256 balance);
    /// Of a factory.
    function getPair(address token0, address token1) external view returns (address pair);
    /// Of a factory with several pools of the same tokens, such as Velodrome's and Aerodrome's.
    function isPool(address pool) external view returns (bool own);
}

pub(super) const QUESTIONS: usize = 6;

/// A pool at one block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PoolShare {
    sides: [PoolReserve; 2],
    supply: U256,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PoolReserve {
    token: Address,
    reserve: U256,
}

/// A contract that answers like a pool, as it describes itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PoolClaim {
    pub pair: Address,
    pub tokens: [Address; 2],
    /// A configured one.
    pub factory: Address,
}

impl PoolClaim {
    /// The calls that read the reserves of the pool, and ask the factory whether the pool is its own.
    pub(super) fn questions(self) -> [Call; QUESTIONS] {
        let Self { pair, tokens: [token0, token1], factory } = self;
        let backing = |token: Address| Call::new(token, &balanceOfCall { owner: pair });
        [
            Call::new(factory, &getPairCall { token0, token1 }),
            Call::new(factory, &isPoolCall { pool: pair }),
            Call::new(pair, &getReservesCall {}),
            Call::new(pair, &totalSupplyCall {}),
            backing(token0),
            backing(token1),
        ]
    }

    /// The pool, by the answers to [`questions`](Self::questions); `None` if the factory does not know it. A reserve
    /// counts up to the pool's balance.
    pub(super) fn confirmed(self, answers: &[Option<Bytes>]) -> Option<PoolShare> {
        let named = returned::<getPairCall>(answers.first()) == Some(self.pair);
        let listed = returned::<isPoolCall>(answers.get(1)) == Some(true);
        if !(named || listed) {
            return None;
        }
        let reserves = returned::<getReservesCall>(answers.get(2))?;
        let supply = returned::<totalSupplyCall>(answers.get(3)).filter(|supply| !supply.is_zero())?;
        let backed = |at: usize| returned::<balanceOfCall>(answers.get(at));
        let side = |token, reserve: U256, backing: U256| PoolReserve { token, reserve: reserve.min(backing) };
        let [token0, token1] = self.tokens;
        Some(PoolShare {
            sides: [side(token0, reserves.reserve0, backed(4)?), side(token1, reserves.reserve1, backed(5)?)],
            supply,
        })
    }
}

impl PoolShare {
    /// Dollars for one whole share in a holding of `amount`; `None` if neither side has a price, or `amount` is more
    /// than the supply. `decimals_of` gives a token's decimals.
    pub(super) fn price(
        &self,
        amount: U256,
        decimals: u8,
        prices: &Prices,
        decimals_of: impl Fn(Address) -> Option<u8>,
    ) -> Option<f64> {
        if amount > self.supply {
            return None;
        }
        let worth = |side: &PoolReserve| {
            let price = prices.get(&Some(side.token))?;
            Some(f64::from(side.reserve) / 10f64.powi(i32::from(decimals_of(side.token)?)) * price.usd)
        };
        let [side0, side1] = &self.sides;
        let worth = match (worth(side0), worth(side1)) {
            (Some(worth0), Some(worth1)) => 2.0 * (worth0 * worth1).sqrt(),
            (Some(worth), None) | (None, Some(worth)) => worth,
            (None, None) => return None,
        };
        let shares = f64::from(self.supply) / 10f64.powi(i32::from(decimals));
        Some(worth / shares).filter(|price| price.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use alloy::sol_types::SolCall;

    use super::*;
    use assay_domain::{Price, PriceSource};

    const TOKENS: [Address; 2] = [Address::repeat_byte(1), Address::repeat_byte(2)];

    fn number(number: u128) -> Option<Bytes> {
        Some(totalSupplyCall::abi_encode_returns(&U256::from(number)).into())
    }

    const CLAIM: PoolClaim =
        PoolClaim { pair: Address::repeat_byte(3), tokens: TOKENS, factory: Address::repeat_byte(4) };

    fn named(pair: Address) -> Option<Bytes> {
        Some(getPairCall::abi_encode_returns(&pair).into())
    }

    /// The answers of a pool of 18 and 6 places, with 10^18 shares, which its factory names.
    fn answers(reserves: (u128, u128), backing: (u128, u128)) -> [Option<Bytes>; QUESTIONS] {
        let reserves = (U256::from(reserves.0), U256::from(reserves.1)).into();
        [
            named(CLAIM.pair),
            None,
            Some(getReservesCall::abi_encode_returns(&reserves).into()),
            number(10u128.pow(18)),
            number(backing.0),
            number(backing.1),
        ]
    }

    fn pool(reserves: (u128, u128), backing: (u128, u128)) -> PoolShare {
        CLAIM.confirmed(&answers(reserves, backing)).unwrap()
    }

    fn price(pair: &PoolShare, prices: &[(Address, f64)]) -> Option<f64> {
        let price = |usd: f64| Price { usd, source: PriceSource::Feed };
        let prices = prices.iter().map(|(token, usd)| (Some(*token), price(*usd))).collect();
        pair.price(U256::from(1), 18, &prices, |token| Some(if token == TOKENS[0] { 18 } else { 6 }))
    }

    const ETHER: u128 = 1_000_000_000_000_000_000;
    const BOTH: [(Address, f64); 2] = [(TOKENS[0], 2_000.0), (TOKENS[1], 1.0)];

    #[test]
    fn in_balance_a_pool_is_worth_its_reserves() {
        let reserves = (10 * ETHER, 20_000_000_000);
        assert_eq!(price(&pool(reserves, reserves), &BOTH), Some(40_000.0));
        assert_eq!(price(&pool(reserves, reserves), &BOTH[1..]), Some(20_000.0));
        assert_eq!(price(&pool(reserves, reserves), &[]), None);
    }

    #[test]
    fn off_balance_it_is_worth_no_more() {
        // The same product: somebody sold 990 ether to it. Its reserves alone would say 2,000,200 dollars.
        let reserves = (1_000 * ETHER, 200_000_000);
        assert!((price(&pool(reserves, reserves), &BOTH).unwrap() - 40_000.0).abs() < 1e-6);
    }

    #[test]
    fn what_is_not_there_does_not_count() {
        let said = (10 * ETHER, 20_000_000_000);
        assert_eq!(price(&pool(said, (0, 20_000_000_000)), &BOTH), Some(0.0));
        assert_eq!(pool(said, said).price(U256::MAX, 18, &Prices::new(), |_| Some(18)), None);
        let mut none = answers(said, said);
        none[3] = number(0);
        assert_eq!(CLAIM.confirmed(&none), None);
    }

    #[test]
    fn a_pool_is_one_that_its_factory_names() {
        let said = (10 * ETHER, 20_000_000_000);
        let yes = Some(isPoolCall::abi_encode_returns(&true).into());
        let no = Some(isPoolCall::abi_encode_returns(&false).into());
        for (name, list, is_pool) in [
            (named(CLAIM.pair), None, true),
            (named(CLAIM.pair), no.clone(), true),
            (None, yes, true),
            (named(Address::ZERO), no.clone(), false),
            (named(Address::repeat_byte(5)), None, false),
            (Some(Bytes::new()), Some(Bytes::new()), false),
            (None, None, false),
        ] {
            let mut answers = answers(said, said);
            (answers[0], answers[1]) = (name.clone(), list.clone());
            assert_eq!(CLAIM.confirmed(&answers).is_some(), is_pool, "{name:?} {list:?}");
        }
    }
}
