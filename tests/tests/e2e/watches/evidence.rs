//! What an event says beyond its values: what leads back over the bound, the place of a liquidation, the score.

use alloy::primitives::U256;
use assay_tests::{
    devnet::actors::{DEPLOYER, address as wallet},
    lenders::comet::Comet,
    service::Service,
};
use serde_json::{Value, json};

use crate::statements::{ATTESTER, PREDEPLOY, signing};

use super::{Market, kinds, run, seen, told, value, watch};

/// Repays dollars of ada's debt, whose token is worth half a dollar.
async fn repay(market: &mut Market, dollars: u64) {
    let amount = U256::from(dollars * 2_000_000);
    let call = Comet::supplyToCall { dst: wallet("ada"), asset: market.base, amount };
    market.chain.call(wallet("ada"), market.comet, &call).await.expect("the debt is repaid");
}

/// The event that `watches.md` shows.
fn in_the_manual() -> Value {
    let manual = include_str!("../../../../host/docs/watches.md");
    let block = manual.split("```json\n").nth(1).and_then(|rest| rest.split("```").next());
    serde_json::from_str(block.expect("an event")).expect("JSON")
}

/// The fields of a value, with the kinds of theirs.
fn shape(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), shape(value))).collect(),
        Value::Array(all) => all.iter().map(shape).collect(),
        Value::Null => Value::Null,
        Value::String(_) => json!("text"),
        Value::Number(_) => json!("number"),
        Value::Bool(_) => json!("flag"),
    }
}

#[test]
fn a_crossing_says_the_smallest_repayment_that_clears_it() {
    run(async {
        let mut market = Market::start().await;
        let service = Service::start(&market.config(market.chain.url(), ""));
        let api = service.keyed();
        let when = json!([
            { "measure": "health_factor", "below": 1.3, "clear_above": 1.4 },
            { "measure": "debt_usd", "above": 900, "clear_below": 800 },
        ]);
        let watch = watch(&api, json!({ "when": when, "fires_at_once": true })).await;
        let start = value(&seen(&api, &watch, |watch| value(watch) > 1.4).await);
        let debt = told(&api, &watch, 1).await.remove(0);
        assert_eq!(debt["data"]["changes"]["steps"][0]["change"]["repay"]["usd"], 200.0, "{debt}");
        market.price((2_000.0 * 1.25 / start) as u64).await;
        let crossed = told(&api, &watch, 2).await.remove(1);
        assert_eq!(shape(&in_the_manual()), shape(&crossed), "the event in the manual is a real one");
        let changes = &crossed["data"]["changes"];
        let step = &changes["steps"][0];
        assert_eq!((&changes["target"], &step["kind"], &step["reaches"]), (&json!(1.4), &json!("repay"), &json!(true)));
        let dollars = step["change"]["repay"]["usd"].as_f64().expect("dollars") as u64;
        repay(&mut market, dollars - 1).await;
        let nearly = value(&seen(&api, &watch, |watch| value(watch) > 1.35).await);
        assert!(nearly < 1.4, "{nearly} after {dollars} dollars less one");
        assert_eq!(told(&api, &watch, 2).await.len(), 2);
        repay(&mut market, 1).await;
        seen(&api, &watch, |watch| value(watch) >= 1.4).await;
        assert_eq!(kinds(&told(&api, &watch, 3).await)[2], "watch.cleared");
    });
}

#[test]
fn a_liquidation_has_its_block_and_its_transaction() {
    run(async {
        let mut market = Market::start().await;
        let service = Service::start(&market.config(market.chain.url(), ""));
        let api = service.keyed();
        let watch = watch(&api, json!({ "when": [{ "measure": "liquidation" }] })).await;
        seen(&api, &watch, |watch| watch["when"][0]["values"][0]["value"] == 0).await;
        market.price(900).await;
        let absorb = Comet::absorbCall { account: wallet("ada") };
        market.chain.call(wallet(DEPLOYER), market.comet, &absorb).await.expect("ada is liquidated");
        let head = market.chain.head;
        let event = told(&api, &watch, 1).await.remove(0);
        assert_eq!(event["type"], "watch.liquidated");
        let rpc = market.chain.rpc.clone();
        let block: Value = rpc.request("eth_getBlockByNumber", json!([format!("{head:#x}"), false])).await.expect("it");
        let found = &event["data"]["liquidation"];
        assert_eq!(found["transaction_hash"], block["transactions"][0], "{event}");
        assert_eq!((&found["block"]["number"], &found["block"]["hash"]), (&json!(head), &block["hash"]));
        assert_eq!(event["data"]["market"], market.market());
    });
}

#[test]
fn a_liquidation_in_another_block_after_a_reorganisation_is_retracted_and_reported_from_there() {
    run(async {
        let mut market = Market::start().await;
        let service = Service::start(&market.config(market.chain.url(), ""));
        let api = service.keyed();
        let watch = watch(&api, json!({ "when": [{ "measure": "liquidation" }] })).await;
        seen(&api, &watch, |watch| watch["when"][0]["values"][0]["value"] == 0).await;
        market.price(900).await;
        let rpc = market.chain.rpc.clone();
        let before: Value = rpc.request("evm_snapshot", json!([])).await.expect("a snapshot");
        let absorb = Comet::absorbCall { account: wallet("ada") };
        market.chain.call(wallet(DEPLOYER), market.comet, &absorb).await.expect("ada is liquidated");
        let first = told(&api, &watch, 1).await.remove(0);
        let _: Value = rpc.request("evm_revert", json!([before])).await.expect("the chain goes back");
        // In the other chain less is owed, and the number of liquidations is the same.
        repay(&mut market, 10).await;
        market.chain.call(wallet("ada"), market.comet, &absorb).await.expect("ada is liquidated");
        let _: Value = rpc.request("anvil_mine", json!(["0x2", "0x1"])).await.expect("more blocks");
        let events = told(&api, &watch, 3).await;
        assert_eq!(kinds(&events), ["watch.liquidated", "watch.retracted", "watch.liquidated"]);
        assert_eq!(events[1]["data"]["retracts"], first["data"]["id"]);
        let (old, new) = (&first["data"]["liquidation"], &events[2]["data"]["liquidation"]);
        assert!(new["transaction_hash"].is_string() && new["transaction_hash"] != old["transaction_hash"], "{new}");
        assert_ne!(new["block"]["hash"], old["block"]["hash"]);
    });
}

#[test]
fn an_event_of_a_score_has_its_reasons_its_changes_and_its_statement() {
    run(async {
        let market = Market::start().await;
        let attestation = signing(ATTESTER, 1, PREDEPLOY);
        let service = Service::start(&market.config(market.chain.url(), &attestation));
        let api = service.keyed();
        let when = json!([{ "measure": "score", "below": 1_000 }]);
        let watch = watch(&api, json!({ "when": when, "fires_at_once": true, "statement": true })).await;
        let event = told(&api, &watch, 1).await.remove(0);
        assert!(event.to_string().len() < 20_000, "{} bytes", event.to_string().len());
        let data = &event["data"];
        assert!(data["reasons"].as_array().is_some_and(|all| !all.is_empty()), "{event}");
        let steps = data["changes"]["steps"].as_array().expect("steps");
        assert_eq!((steps.len(), data["changes"]["target"].as_f64()), (3, Some(1_000.0)), "{event}");
        // The evidence has the same score, and the statement commits to it.
        let path = format!("{}?include_reasons=true", data["evidence"].as_str().expect("a path"));
        let evidence = api.get(&path).await.ok();
        assert_eq!((&evidence["score"], &evidence["reasons"]), (&data["after"]["value"], &data["reasons"]));
        let statement = &data["statement"];
        assert_eq!(statement["score_id"], data["score_id"]);
        let message = &statement["sig"]["message"];
        assert_eq!(
            message["recipient"].as_str().map(str::to_lowercase),
            Some(wallet("ada").to_string().to_lowercase())
        );
        // A server that signs none says so.
        let other = Service::start(&market.config(market.chain.url(), ""));
        let body = json!({ "address": wallet("ada"), "when": when, "statement": true });
        let refused = other.keyed().post("/api/v2/watches", &body).await;
        assert!(refused.status == 422 && refused.text.contains("signs no statements"), "{}", refused.text);
    });
}
