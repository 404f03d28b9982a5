//! Shares of a constant-product pool of two tokens (Uniswap v2 and its copies), valued by the pool's reserves. Anyone
//! with borrowed money can push the reserves off balance for one transaction, but not the pool's value *in* balance:
//! twice the square root of the product of both sides at outside prices. That is never more than the sum of the sides.
//! If one side has no price, the share is valued by the other side alone: doubling it would let anyone create value
//! by pairing a dollar with a token of their own.

use alloy::{primitives::Bytes, sol};

use assay_domain::{Address, Prices, U256};
use assay_evm::call::{Call, returned};

sol! {
    function getReserves() external view returns (uint256 reserve0, uint256 reserve1, uint256 time);
    function totalSupply() external view returns (uint256 supply);
    function balanceOf(address owner) external view returns (uint256 balance);
}

pub(super) const QUESTIONS: usize = 4;

/// A pool at one block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pair {
    sides: [Side; 2],
    supply: U256,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Side {
    token: Address,
    reserve: U256,
}

/// The calls that read the reserves of the pool at `pair`.
pub(super) fn questions(pair: Address, [token0, token1]: [Address; 2]) -> [Call; QUESTIONS] {
    let backing = |token: Address| Call::new(token, &balanceOfCall { owner: pair });
    [Call::new(pair, &getReservesCall {}), Call::new(pair, &totalSupplyCall {}), backing(token0), backing(token1)]
}

impl Pair {
    /// Reads the answers to [`questions`]; `None` if the contract is no such pool. A reserve counts up to the pool's
    /// balance.
    pub(super) fn read([token0, token1]: [Address; 2], answers: &[Option<Bytes>]) -> Option<Self> {
        let reserves = returned::<getReservesCall>(answers.first())?;
        let supply = returned::<totalSupplyCall>(answers.get(1)).filter(|supply| !supply.is_zero())?;
        let backed = |at: usize| returned::<balanceOfCall>(answers.get(at));
        let side = |token, reserve: U256, backing: U256| Side { token, reserve: reserve.min(backing) };
        Some(Self {
            sides: [side(token0, reserves.reserve0, backed(2)?), side(token1, reserves.reserve1, backed(3)?)],
            supply,
        })
    }

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
        let worth = |side: &Side| {
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

    /// A pool of 18 and 6 places, with 10^18 shares.
    fn pool(reserves: (u128, u128), backing: (u128, u128)) -> Pair {
        let reserves = (U256::from(reserves.0), U256::from(reserves.1), U256::ZERO).into();
        let answers = [
            Some(getReservesCall::abi_encode_returns(&reserves).into()),
            number(10u128.pow(18)),
            number(backing.0),
            number(backing.1),
        ];
        Pair::read(TOKENS, &answers).unwrap()
    }

    fn price(pair: &Pair, prices: &[(Address, f64)]) -> Option<f64> {
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
        assert_eq!(Pair::read(TOKENS, &[None, number(1), number(1), number(1)]), None);
    }
}
