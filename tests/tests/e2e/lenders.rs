//! Lenders that the devnet does not have, through the whole server: the report and the score state what is incomplete,
//! and protocols that do not count in the score are still shown.

use std::{collections::BTreeSet, path::Path};

use alloy::primitives::U256;
use assay_tests::devnet::actors::address as wallet;
use assay_tests::lenders::Small;
use assay_tests::lenders::comet::{self, Comet};
use assay_tests::lenders::config::{CHAIN, Setup, price_feed};
use assay_tests::lenders::ctoken::{self, CErc20, CToken, Token};
use assay_tests::service::{Answer, KEY, Service, plugins};
use serde_json::{Value, json};

use super::{on_devnet, run};

#[test]
fn a_debt_without_an_event_makes_report_and_score_provisional() {
    run(async {
        let mut chain = Small::start(CHAIN).await.expect("the chain starts");
        let native_feed = price_feed(&mut chain, 2_000.0);
        // The base asset is worth half a dollar, the collateral 2,000 and 30.
        let market =
            comet::deploy(&mut chain, &[(6, 0.5, [2_000.0, 30.0])]).await.expect("the market is deployed").remove(0);
        let (base, pledge) = (market.base, market.collateral[0]);
        let amount = |whole: u64, decimals: u32| U256::from(whole) * U256::from(10).pow(U256::from(decimals));
        for name in ["ada", "emil"] {
            let supply = Comet::supplyToCall { dst: wallet(name), asset: pledge, amount: amount(1, 18) };
            chain.call(wallet(name), market.comet, &supply).await.expect("collateral is supplied");
        }
        let borrow = Comet::withdrawToCall { to: wallet("ada"), asset: base, amount: amount(300, 6) };
        chain.call(wallet("ada"), market.comet, &borrow).await.expect("base is borrowed");
        let repay = Comet::supplyToCall { dst: wallet("ada"), asset: base, amount: amount(100, 6) };
        chain.call(wallet("ada"), market.comet, &repay).await.expect("base is repaid");
        let silent = Comet::transferAssetCall { dst: wallet("ben"), asset: base, amount: amount(50, 6) };
        chain.call(wallet("emil"), market.comet, &silent).await.expect("base is borrowed by a transfer");

        let setup = Setup { native_feed, markets: vec![("lenderB_v3", "USD", market.comet)], ..Setup::default() };
        let service = Service::start(&setup.toml(chain.url(), &plugins(), Path::new("{dir}/assay.redb"), KEY));
        let api = service.keyed();
        for (name, coverage, counts, borrowed) in [
            ("ada", "complete", json!({"supply": 1, "withdraw": 0, "borrow": 1, "repay": 1, "liquidation": 0}), 100.0),
            ("emil", "partial", json!({"supply": 1, "withdraw": 0, "borrow": 0, "repay": 0, "liquidation": 0}), 25.0),
        ] {
            let report = api.get(&format!("/api/v2/report/address/{}", wallet(name))).await.ok();
            let pool = &report["credit_events"]["pools"][0];
            assert_eq!((&pool["protocol"], &pool["counts"]), (&json!("lenderB_v3"), &counts), "{name}");
            assert_eq!(
                (&pool["coverage"], &report["credit_events"]["coverage"]),
                (&json!(coverage), &json!(coverage)),
                "{name}"
            );
            let defi = &report["defi"];
            assert_eq!(
                (defi["total_supplied"].as_f64(), defi["total_borrowed"].as_f64()),
                (Some(2_000.0), Some(borrowed)),
                "{name}"
            );
            let position = &report["credit_events"]["positions"][0];
            assert_eq!((&position["supplied"], &position["borrowed"]), (&json!(2_000.0), &json!(borrowed)), "{name}");
            let health = position["health_factor"].as_f64().expect("a health factor");
            assert!(health > 1.0 && health < 2_000.0 / borrowed, "{name}: {health}");
            let score = api.get(&format!("/api/v2/score/address/{}", wallet(name))).await.ok();
            assert_eq!(
                (&score["credit_events_coverage"], &score["provisional"]),
                (&json!(coverage), &json!(coverage != "complete"))
            );
        }
    });
}

#[test]
fn a_ctoken_shows_its_events_and_does_not_move_the_score() {
    run(async {
        let mut chain = Small::start(CHAIN).await.expect("the chain starts");
        let native_feed = price_feed(&mut chain, 2_000.0);
        let market = ctoken::deploy(&mut chain, 2_000.0).await.expect("the markets are deployed").usdc;
        let (ada, million) = (wallet("ada"), |dollars: u64| U256::from(dollars) * U256::from(1_000_000));
        chain.queue(ada, market.underlying, &Token::giveCall { to: ada, amount: million(500) });
        chain.queue(ada, market.ctoken, &CErc20::mintCall { amount: million(400) });
        chain.queue(ada, market.ctoken, &CToken::borrowCall { amount: million(100) });
        chain.queue(ada, market.ctoken, &CErc20::repayBorrowCall { amount: million(30) });
        chain.mine().await.expect("ada supplies, borrows and repays");

        let setup = Setup { native_feed, markets: vec![("lenderB_v2", "cUSDC", market.ctoken)], ..Setup::default() };
        let service = Service::start(&setup.toml(chain.url(), &plugins(), Path::new("{dir}/assay.redb"), KEY));
        let report = service.keyed().get(&format!("/api/v2/report/address/{ada}")).await.ok();
        let events = &report["credit_events"];
        let pool = &events["pools"][0];
        assert_eq!(
            (&pool["protocol"], &pool["market"], &pool["coverage"]),
            (&json!("lenderB_v2"), &json!("cUSDC"), &json!("complete"))
        );
        assert_eq!((&pool["feeds_score"], &events["feeds_score"]), (&json!(false), &json!(false)));
        let counts = json!({"supply": null, "withdraw": null, "borrow": 1, "repay": 1, "liquidation": 0});
        assert_eq!(pool["counts"], counts);
        // The factors of the score count none of them.
        assert_eq!((&events["totals"]["repay"], &events["score_totals"]["repay"]), (&json!(1), &json!(0)));
        let dated: BTreeSet<_> =
            events["events"].as_array().expect("events").iter().map(|one| one["kind"].to_string()).collect();
        assert_eq!(dated, ["borrow", "repay"].map(|kind| json!(kind).to_string()).into());
        let position = &events["positions"][0];
        assert_eq!((&position["supplied"], &position["borrowed"]), (&json!(400.0), &json!(70.0)));
        let health = position["health_factor"].as_f64().expect("that of the Comptroller");
        assert!((health - 400.0 * 0.75 / 70.0).abs() < 1e-9, "{health}");
        let tokens = report["assets"]["tokens"].as_array().expect("tokens");
        assert!(tokens.iter().all(|token| token["priced"].is_boolean()), "{tokens:?}");
        let not_covered = events["not_covered"].as_array().expect("a list");
        for (protocol, said) in [("lenderB_v2", false), ("lenderB_v3", true), ("lenderA_v3", true)] {
            assert_eq!(not_covered.contains(&json!(protocol)), said, "{protocol}");
        }
        // The report names what the reader cannot find.
        let remarks: Vec<_> = events["remarks"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
        assert!(remarks.iter().any(|remark| remark.starts_with("lenderB_v2: debt in ETH")), "{remarks:?}");
        let defi = &report["defi"];
        assert_eq!((defi["total_supplied"].as_f64(), defi["total_borrowed"].as_f64()), (Some(400.0), Some(70.0)));
    });
}

#[test]
fn a_delegator_and_its_delegate_are_told_whose_debt_it_is() {
    run(async {
        let service = on_devnet(&plugins(), "").await;
        let api = service.keyed();
        let told = async |name: &str| {
            let path = format!("/api/v2/report/address/{}", wallet(name));
            let is_read = |answer: &Answer| answer.json()["credit_events"]["coverage"] == "complete";
            let report = api.until(&path, is_read).await.ok();
            let positions = report["credit_events"]["positions"].as_array().expect("positions").clone();
            let lent = |position: &&Value| position["delegations"].as_array().is_some_and(|all| !all.is_empty());
            positions.iter().find(lent).unwrap_or_else(|| panic!("{name}: {positions:?}")).clone()
        };
        let (owner, delegate) = (told("delegator").await, told("delegate").await);
        for position in [&owner, &delegate] {
            assert_eq!((&position["protocol"], &position["protocol_name"]), (&json!("lenderA_v3"), &json!("Aave v3")));
            let credit = &position["delegations"][0];
            let parties = ["owner", "delegate"].map(|party| credit[party].as_str().expect("an address").to_owned());
            assert_eq!(parties, ["delegator", "delegate"].map(|name| wallet(name).to_checksum(None)));
            assert_eq!((&credit["symbol"], &credit["drawn"]), (&json!("DAI"), &json!("10000")), "{credit}");
            assert_eq!(credit["allowance"], "5000", "{credit}");
        }
        let owed = owner["borrowed"].as_f64().expect("dollars");
        assert!(owed > 5_900.0, "the owner owes what was drawn and not repaid: {owner}");
        assert_eq!((&delegate["borrowed"], &delegate["assets"]), (&json!(0.0), &json!([])), "{delegate}");
        let limit = |side: &str| {
            let asset = owner["assets"].as_array().expect("assets").iter().find(|asset| asset["side"] == side);
            asset.expect("one on each side")["liquidation_price"].as_f64()
        };
        assert!(limit("collateral").is_some() && limit("debt").is_some(), "{owner}");
    });
}
