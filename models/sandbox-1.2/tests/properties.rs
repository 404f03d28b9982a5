//! The wallets are those of 1.1, and each scenario has a behaviour.

use std::collections::BTreeSet;

use proptest::prelude::*;
use sandbox_1_2::{Behaviour, Subject, behaviour_of, scenarios};

proptest! {
    #[test]
    fn scores_and_reports_are_those_of_1_1(address in any::<[u8; 20]>(), dollars in 0.0..1e6_f64) {
        prop_assert_eq!(sandbox_1_2::score(&address), sandbox_1_1::score(&address));
        let boosted = sandbox_1_2::boosted_score(&address, &sandbox_1_2::types::OffChain { total_asset_usd: dollars });
        let before = assay_model::OffChain { total_asset_usd: dollars };
        prop_assert_eq!(boosted, sandbox_1_1::boosted_score(&address, &before));
        let (report, before) = (sandbox_1_2::report(&address), sandbox_1_1::report(&address));
        prop_assert_eq!((report.score, report.total_transactions), (before.score, before.total_transactions));
        prop_assert_eq!(report.pools.len(), before.pools.len());
        for (pool, before) in report.pools.iter().zip(&before.pools) {
            let bare = before.protocol == "lenderB_v2";
            prop_assert_eq!(pool.supply, (!bare).then_some(before.supply));
            prop_assert_eq!((pool.borrow, pool.liquidation), (Some(before.borrow), Some(before.liquidation)));
            prop_assert_eq!((&pool.market, pool.last_event), (&before.market, before.last_event));
        }
        prop_assert_eq!(behaviour_of(&Subject::Address(address.to_vec())), None);
    }
}

#[test]
fn every_scenario_has_a_behaviour_and_an_id_of_its_own() {
    let all = scenarios();
    assert_eq!(all.len(), 24);
    let ids: BTreeSet<_> = all.iter().map(|scenario| scenario.id.as_str()).collect();
    assert_eq!(ids.len(), all.len());
    for scenario in &all {
        assert!(behaviour_of(&scenario.subject).is_some(), "{}", scenario.id);
    }
    for none in [Subject::Agent(100), Subject::Agent(114), Subject::Address(vec![1; 20]), Subject::Address(Vec::new())]
    {
        assert_eq!(behaviour_of(&none), None);
    }
}

#[test]
fn the_wallets_of_scenarios_show_what_they_are_for() {
    for scenario in scenarios() {
        let Subject::Address(address) = &scenario.subject else { continue };
        let report = sandbox_1_2::report(address);
        assert!(report.pools.iter().any(|pool| pool.borrow > Some(0)), "{}", scenario.id);
        if let Some(Behaviour::ChainUnread(chain)) = behaviour_of(&scenario.subject) {
            assert!(report.pools.iter().any(|pool| pool.chain_id == chain), "{}", scenario.id);
        }
    }
}
