//! What holds of every mock wallet.

use proptest::{collection::vec, num::f64::ANY, prelude::*};
use sandbox::{MockReport, boosted_score, factors, portfolio, report, score, types::OffChain};

/// 2026-01-01 and 2015-08-01, before which there is no chain.
const YEARS: std::ops::Range<u64> = 1_438_387_200..1_767_225_600;

/// Mostly of the right length.
fn address() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![9 => vec(any::<u8>(), 20), 1 => vec(any::<u8>(), 0..100)]
}

/// The price that every token of this symbol has.
fn price(symbol: &str) -> f64 {
    match symbol {
        "ETH" => 3_000.0,
        "POL" => 0.5,
        "WBTC" => 60_000.0,
        "LINK" => 16.0,
        "UNI" => 8.0,
        _ => 1.0,
    }
}

fn check(report: &MockReport) -> Result<(), TestCaseError> {
    for token in &report.tokens {
        let balance: f64 = token.balance.parse().expect("decimal text");
        prop_assert!((balance * price(&token.symbol) - token.value_usd).abs() < 1e-6, "{token:?}");
        prop_assert!(token.value_usd > 0.0 && report.active_chains.contains(&token.chain_id), "{token:?}");
    }
    prop_assert!(YEARS.contains(&report.first_transaction));
    for pool in &report.pools {
        let events = pool.supply + pool.withdraw + pool.borrow + pool.repay + pool.liquidation;
        prop_assert_eq!(pool.first_event.is_some(), events > 0);
        prop_assert_eq!(pool.last_event.is_some(), events > 0);
        prop_assert!(
            pool.first_event
                .is_none_or(|at| at >= report.first_transaction && Some(at) <= pool.last_event && YEARS.contains(&at))
        );
        prop_assert!(pool.last_event.is_none_or(|at| YEARS.contains(&at)));
        prop_assert!(pool.withdraw <= pool.supply && pool.repay <= pool.borrow, "{pool:?}");
        prop_assert!(pool.borrow == 0 || pool.supply > 0, "{pool:?}");
        prop_assert!(pool.liquidation == 0 || (pool.borrow > 0 && report.score < 750), "{pool:?}");
        prop_assert!(report.active_chains.contains(&pool.chain_id));
    }
    for position in &report.positions {
        let pools =
            report.pools.iter().filter(|pool| pool.chain_id == position.chain_id && pool.protocol == position.name);
        let (supply, borrow) =
            pools.fold((0, 0), |(supply, borrow), pool| (supply + pool.supply, borrow + pool.borrow));
        prop_assert!(supply > 0 && (borrow > 0 || position.borrowed == 0.0), "{position:?}");
        prop_assert!(position.borrowed <= position.supplied, "{position:?}");
    }
    for nft in &report.nfts {
        prop_assert!(report.active_chains.contains(&nft.chain_id));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn answers_agree_with_one_another(address in address()) {
        let report = report(&address);
        check(&report)?;
        prop_assert!((300..=1000).contains(&report.score));
        prop_assert_eq!(report.score, score(&address));
        let portfolio = portfolio(&address);
        let chains: Vec<_> = portfolio.iter().map(|chain| chain.chain_id).collect();
        prop_assert_eq!(&chains, &report.active_chains);
        for chain in portfolio {
            let tokens = report.tokens.iter().filter(|token| token.chain_id == chain.chain_id);
            prop_assert_eq!(tokens.map(|token| token.value_usd).sum::<f64>(), chain.total_asset_usd);
        }
    }

    #[test]
    fn factors_add_up_to_the_score(address in address()) {
        let factors = factors(&address);
        prop_assert_eq!(300 + factors.iter().map(|factor| factor.points).sum::<i32>(), score(&address).cast_signed());
        for factor in &factors {
            prop_assert!((0..=factor.possible.cast_signed()).contains(&factor.points), "{factor:?}");
            prop_assert!(factor.description.chars().count() <= 200);
        }
    }

    #[test]
    fn the_same_bytes_give_the_same_answers(address in address()) {
        prop_assert_eq!(report(&address), report(&address.clone()));
        prop_assert_eq!(factors(&address), factors(&address.clone()));
    }

    #[test]
    fn a_boost_closes_at_most_half_of_the_gap(address in address(), assets in ANY) {
        let (base, boosted) = (score(&address), boosted_score(&address, &OffChain { total_asset_usd: assets }));
        prop_assert!(boosted >= base && boosted - base <= (1000 - base).div_ceil(2));
        let all = boosted_score(&address, &OffChain { total_asset_usd: 100_000.0 });
        prop_assert_eq!(all - base, (1000 - base).div_ceil(2));
    }
}

fn numbered(last: u8) -> Vec<u8> {
    let mut address = vec![0; 20];
    address[19] = last;
    address
}

#[test]
fn four_addresses_reach_a_range_each() {
    let scores = [1, 2, 3, 4].map(|last| score(&numbered(last)));
    assert!((920..=1000).contains(&scores[0]), "{scores:?}");
    assert!((750..=839).contains(&scores[1]), "{scores:?}");
    assert!((640..=749).contains(&scores[2]), "{scores:?}");
    assert!((300..=639).contains(&scores[3]), "{scores:?}");
}

#[test]
fn every_range_is_as_frequent_as_its_share() {
    let mut counts = [0; 5];
    for n in 0..10_000u64 {
        let mut address = [7; 20];
        address[12..].copy_from_slice(&n.to_be_bytes());
        let range = match score(&address) {
            920.. => 4,
            840.. => 3,
            750.. => 2,
            640.. => 1,
            _ => 0,
        };
        counts[range] += 1;
    }
    for (count, share) in counts.into_iter().zip([7, 12, 34, 20, 27]) {
        assert!((share * 100 - 200..=share * 100 + 200).contains(&count), "{counts:?}");
    }
}
