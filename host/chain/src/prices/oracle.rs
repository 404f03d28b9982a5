//! Prices from the oracles of lending markets. These state no time, so the freshness of a price depends on how well the
//! market is maintained.

use alloy::{primitives::Bytes, sol};

use assay_domain::{Address, U256};
use assay_evm::call::{Call, returned};

sol! {
    function getAssetPrice(address asset) external view returns (uint256 price);
    function getSourceOfAsset(address asset) external view returns (address source);
}

/// An oracle, and its unit: the number that means one dollar.
pub(super) type Oracle = (Address, U256);

/// The oracles' answers about an asset.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct OracleQuote {
    /// Dollars for one whole token, from the first oracle that has a price.
    pub price: Option<f64>,
    /// Whether an oracle has a source for the asset, or does not answer: a price is expected.
    pub listed: bool,
}

/// The calls that ask `oracles` about `asset`.
pub(super) fn ask(oracles: &[Oracle], asset: Address) -> impl Iterator<Item = Call> {
    let both = move |oracle| {
        [Call::new(oracle, &getAssetPriceCall { asset }), Call::new(oracle, &getSourceOfAssetCall { asset })]
    };
    oracles.iter().flat_map(move |(oracle, _)| both(*oracle))
}

/// Reads the next `answers`, which answer the calls of [`ask`].
pub(super) fn quote<'a>(oracles: &[Oracle], answers: &mut impl Iterator<Item = &'a Option<Bytes>>) -> OracleQuote {
    let mut quote = OracleQuote::default();
    for (_, unit) in oracles {
        let price = returned::<getAssetPriceCall>(answers.next()).filter(|price| !price.is_zero());
        let source = returned::<getSourceOfAssetCall>(answers.next());
        quote.listed |= price.is_some() || source.is_none_or(|source| source != Address::ZERO);
        quote.price = quote.price.or(price.map(|price| f64::from(price) / f64::from(*unit)));
    }
    quote
}

#[cfg(test)]
mod tests {
    use alloy::sol_types::SolCall;

    use super::*;
    use assay_domain::address;

    const ASSET: Address = address!("0x00000000000000000000000000000000000000aa");
    const UNIT: U256 = U256::from_limbs([100_000_000, 0, 0, 0]);

    fn price(price: u64) -> Option<Bytes> {
        Some(getAssetPriceCall::abi_encode_returns(&U256::from(price)).into())
    }

    fn source(source: Address) -> Option<Bytes> {
        Some(getSourceOfAssetCall::abi_encode_returns(&source).into())
    }

    #[test]
    fn the_first_oracle_with_a_price_gives_it_and_each_takes_its_answers() {
        let oracles = [(Address::ZERO, UNIT), (ASSET, UNIT)];
        assert_eq!(ask(&oracles, ASSET).count(), 4);
        let answers = [None, source(Address::ZERO), price(250_000_000), source(ASSET), price(7), None];
        let mut rest = answers.iter();
        assert_eq!(quote(&oracles, &mut rest), OracleQuote { price: Some(2.5), listed: true });
        assert_eq!(rest.len(), 2);
    }

    #[test]
    fn an_asset_with_a_source_and_no_price_is_listed_all_the_same() {
        let of = |answers: [Option<Bytes>; 2]| quote(&[(ASSET, UNIT)], &mut answers.iter());
        assert_eq!(of([price(0), source(ASSET)]), OracleQuote { price: None, listed: true });
        assert_eq!(of([None, source(ASSET)]), OracleQuote { price: None, listed: true });
        assert_eq!(of([None, source(Address::ZERO)]), OracleQuote::default());
        assert_eq!(
            of([None, None]),
            OracleQuote { price: None, listed: true },
            "an oracle that does not answer may have one"
        );
    }
}
