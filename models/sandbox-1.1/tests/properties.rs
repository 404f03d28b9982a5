//! The wallets of 1.0, in the terms of production.

use proptest::{collection::vec, prelude::*};
use sandbox_1_1::{boosted_score, factors, portfolio, report, score, types::OffChain};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn scores_and_wallets_are_those_of_the_first_version(address in vec(any::<u8>(), 20), assets in 0.0..2e5) {
        let off_chain = OffChain { total_asset_usd: assets };
        prop_assert_eq!(score(&address), sandbox::score(&address));
        prop_assert_eq!(boosted_score(&address, &off_chain), sandbox::boosted_score(&address, &off_chain));
        let (mut new, mut old) = (report(&address), sandbox::report(&address));
        prop_assert_eq!(&new.tokens, &old.tokens);
        new.pools.iter_mut().chain(&mut old.pools).for_each(|pool| pool.market = None);
        prop_assert_eq!(new, old);
    }

    #[test]
    fn values_contain_the_collateral_and_add_up(address in vec(any::<u8>(), 20)) {
        let report = report(&address);
        for chain in portfolio(&address) {
            let held = report.tokens.iter().filter(|token| token.chain_id == chain.chain_id);
            let supplied = report.positions.iter().filter(|position| position.chain_id == chain.chain_id);
            let sum = held.map(|t| t.value_usd).sum::<f64>() + supplied.map(|p| p.supplied).sum::<f64>();
            prop_assert_eq!(chain.total_asset_usd, sum);
        }
        let held: f64 = portfolio(&address).iter().map(|chain| chain.total_asset_usd).sum();
        let dollars = format!("{} dollars", held as u64);
        prop_assert!(factors(&address)[3].description.contains(&dollars));
    }
}

#[test]
fn markets_have_the_names_of_production() {
    for n in 0..2_000_u64 {
        let mut address = [3; 20];
        address[12..].copy_from_slice(&n.to_be_bytes());
        for pool in report(&address).pools {
            let expected = match (pool.protocol.as_str(), pool.chain_id) {
                ("lenderA_v3", 1) => Some("Core"),
                ("lenderB_v3", _) => Some("USDC"),
                _ => None,
            };
            assert_eq!(pool.market.as_deref(), expected, "{pool:?}");
        }
    }
}
