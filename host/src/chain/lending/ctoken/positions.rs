//! What a wallet has in a cToken: its cTokens at the stored rate of exchange, and its stored debt, both as of the market's last
//! use, priced by the Comptroller's oracle.

use alloy::{primitives::Bytes, sol};

use crate::{
    chain::{
        call::{Call, returned},
        client::Client,
        fault::Fault,
        lending::{hints::Hint, terms::Held},
    },
    domain::{Address, B256, U256},
};

sol! {
    function comptroller() external view returns (address comptroller);
    function underlying() external view returns (address token);
    function symbol() external view returns (string symbol);
    function oracle() external view returns (address oracle);
    function getAccountSnapshot(address account) external view returns (
        uint256 error, uint256 cTokenBalance, uint256 borrowBalance, uint256 exchangeRateMantissa);
    function getUnderlyingPrice(address cToken) external view returns (uint256 price);
}

/// The cToken of the native currency, which alone has no underlying token.
const NATIVE: &str = "cETH";
/// Rates of exchange are multiples of 10^-18 of the smallest unit.
const RATE: u64 = 1_000_000_000_000_000_000;
/// A price is dollars per smallest unit, times this.
const PRICE: f64 = 1e36;

/// What is fixed of a market for a while.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::chain) struct Terms {
    ctoken: Address,
    comptroller: Address,
    /// `None` for the native currency.
    underlying: Option<Address>,
    oracle: Address,
}

impl Terms {
    /// Looks all of `ctokens` up together, in two round trips. `None` for one that does not answer like a cToken.
    pub(in crate::chain) async fn look_up(client: &Client, ctokens: &[Address], at: B256) -> Result<Vec<Option<Self>>, Fault> {
        let three = |ctoken: &Address| {
            [Call::new(*ctoken, &comptrollerCall {}), Call::new(*ctoken, &underlyingCall {}), Call::new(*ctoken, &symbolCall {})]
        };
        let answers = client.calls(&ctokens.iter().flat_map(three).collect::<Vec<_>>(), at).await?;
        let found: Vec<_> = ctokens.iter().zip(answers.chunks(3)).map(|(ctoken, answers)| Self::bare(*ctoken, answers)).collect();
        let oracle = |terms: &Option<Self>| Call::new(terms.as_ref().map_or(Address::ZERO, |terms| terms.comptroller), &oracleCall {});
        let oracles = client.calls(&found.iter().map(oracle).collect::<Vec<_>>(), at).await?;
        let whole = |(terms, oracle): (Option<Self>, &Option<Bytes>)| {
            let oracle = returned::<oracleCall>(Some(oracle)).filter(|oracle| !oracle.is_zero())?;
            Some(Self { oracle, ..terms? })
        };
        Ok(found.into_iter().zip(&oracles).map(whole).collect())
    }

    fn bare(ctoken: Address, answers: &[Option<Bytes>]) -> Option<Self> {
        let comptroller = returned::<comptrollerCall>(answers.first()).filter(|comptroller| !comptroller.is_zero())?;
        let underlying = returned::<underlyingCall>(answers.get(1)).filter(|token| !token.is_zero());
        // Without its token, transfers of it would be missed.
        let known = underlying.is_some() || returned::<symbolCall>(answers.get(2)).is_some_and(|symbol| symbol == NATIVE);
        known.then_some(Self { ctoken, comptroller, underlying, oracle: Address::ZERO })
    }

    pub(in crate::chain) fn hints(&self) -> Vec<Hint> {
        super::hints(self.ctoken, self.underlying, self.comptroller)
    }

    /// The calls that tell a wallet's position; [`held`](Self::held) reads their answers.
    pub(in crate::chain) fn calls(&self, account: Address) -> Vec<Call> {
        vec![
            Call::new(self.ctoken, &getAccountSnapshotCall { account }),
            Call::new(self.oracle, &getUnderlyingPriceCall { cToken: self.ctoken }),
        ]
    }

    /// `None` where a balance, or a price that matters, is missing.
    pub(in crate::chain) fn held(&self, answers: &[Option<Bytes>]) -> Option<Held> {
        let has = returned::<getAccountSnapshotCall>(answers.first()).filter(|snapshot| snapshot.error.is_zero())?;
        let supplied = has.cTokenBalance.checked_mul(has.exchangeRateMantissa)?.checked_div(U256::from(RATE))?;
        let borrowed = has.borrowBalance;
        if supplied.is_zero() && borrowed.is_zero() {
            return Some(Held { supplied_usd: 0.0, borrowed_usd: 0.0, supplied_assets: 0 });
        }
        // A price of 0 is the oracle saying that it has none.
        let price = returned::<getUnderlyingPriceCall>(answers.get(1)).filter(|price| !price.is_zero())?;
        let dollars = |amount: U256| amount.checked_mul(price).map(|scaled| f64::from(scaled) / PRICE);
        Some(Held { supplied_usd: dollars(supplied)?, borrowed_usd: dollars(borrowed)?, supplied_assets: u32::from(!supplied.is_zero()) })
    }
}

#[cfg(test)]
mod tests {
    use alloy::sol_types::SolCall;

    use super::*;

    fn terms() -> Terms {
        Terms { ctoken: Address::ZERO, comptroller: Address::ZERO, underlying: None, oracle: Address::ZERO }
    }

    fn snapshot(error: u64, ctokens: u128, debt: u128, rate: u128) -> Option<Bytes> {
        let [error, ctokens, debt, rate] = [u128::from(error), ctokens, debt, rate].map(U256::from);
        let snapshot = getAccountSnapshotReturn { error, cTokenBalance: ctokens, borrowBalance: debt, exchangeRateMantissa: rate };
        Some(getAccountSnapshotCall::abi_encode_returns(&snapshot).into())
    }

    fn price(dollars: u64, decimals: u64) -> Option<Bytes> {
        let price = U256::from(dollars) * U256::from(10).pow(U256::from(36 - decimals));
        Some(getUnderlyingPriceCall::abi_encode_returns(&price).into())
    }

    fn told(answers: [Option<Bytes>; 2]) -> Option<(f64, f64, u32)> {
        terms().held(&answers).map(|held| (held.supplied_usd, held.borrowed_usd, held.supplied_assets))
    }

    #[test]
    fn a_position_is_ctokens_at_their_rate_and_debt_in_dollars() {
        // 5,000 cUSDC (8 decimals) at 0.02 USDC (6 decimals), and 30 USDC of debt.
        let usdc = snapshot(0, 500_000_000_000, 30_000_000, 200_000_000_000_000);
        assert_eq!(told([usdc, price(1, 6)]), Some((100.0, 30.0, 1)));
        // A debt of 2 ether and nothing else.
        assert_eq!(told([snapshot(0, 0, 2_000_000_000_000_000_000, 1), price(2_500, 18)]), Some((0.0, 5_000.0, 0)));
        assert_eq!(told([snapshot(0, 0, 0, 1), None]), Some((0.0, 0.0, 0)));
    }

    #[test]
    fn a_missing_part_is_no_position() {
        assert_eq!(told([snapshot(0, 1, 5, u128::from(RATE)), None]), None);
        assert_eq!(told([snapshot(0, 1, 5, u128::from(RATE)), price(0, 18)]), None);
        assert_eq!(told([snapshot(9, 1, 5, u128::from(RATE)), price(1, 18)]), None);
        assert_eq!(told([None, price(1, 18)]), None);
    }

    #[test]
    fn only_the_native_market_has_no_token() {
        let address = |byte| Some(Bytes::from(comptrollerCall::abi_encode_returns(&Address::repeat_byte(byte))));
        let symbol = |symbol: &str| Some(Bytes::from(symbolCall::abi_encode_returns(&symbol.to_owned())));
        let bare = |answers: [Option<Bytes>; 3]| Terms::bare(Address::ZERO, &answers).map(|terms| terms.underlying);
        assert_eq!(bare([address(1), address(2), symbol("cDAI")]), Some(Some(Address::repeat_byte(2))));
        assert_eq!(bare([address(1), None, symbol("cETH")]), Some(None));
        for other in [[address(1), None, symbol("cDAI")], [None, address(2), symbol("cDAI")], [address(0), address(2), None]] {
            assert_eq!(bare(other), None);
        }
    }
}
