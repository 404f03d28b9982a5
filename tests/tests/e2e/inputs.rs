//! The inputs that models see of the wallets that a server scores, by week.

use assay_tests::{
    devnet::actors::address,
    service::{Answer, Caller, Service, plugins},
    until::until,
};
use serde_json::{Value, json};

use super::{configured, run, shadow::ALWAYS};

const WALLETS: [&str; 3] = ["borrower", "saver", "whale"];

/// What the champion and the challenger have of this week, all wallets and segments.
async fn weeks(api: &Caller) -> Vec<Vec<Value>> {
    let found = api.get("/api/v2/admin/models/drift").await.ok();
    assert_eq!(found["minimum_wallets"], 500);
    let models = found["models"].as_array().expect("models").iter();
    models.map(|model| model["weeks"].as_array().expect("weeks").clone()).collect()
}

fn wallets(weeks: &[Value]) -> u64 {
    let all = weeks.iter().filter(|week| week["segment"] == "all");
    all.map(|week| week["wallets"].as_u64().expect("a count")).sum()
}

/// Waits until champion and challenger each have `count` wallets: the latest may still be under evaluation.
async fn weeks_of(api: &Caller, count: u64) -> Vec<Vec<Value>> {
    until(async || weeks(api).await, |found| found.iter().all(|weeks| wallets(weeks) >= count)).await
}

async fn score(api: &Caller, wallets: &[&str]) {
    for wallet in wallets {
        let path = format!("/api/v2/score/address/{}", address(wallet));
        let is_read = |answer: &Answer| answer.status == 200 && answer.json()["credit_events_coverage"] != "pending";
        api.until(&path, is_read).await;
    }
}

#[test]
fn the_inputs_of_scored_wallets_are_counted_by_wallet_and_survive_a_restart() {
    run(async {
        // Nothing is cached: each request is a computed score.
        let config = configured(&plugins(), ALWAYS).await;
        let service = Service::start(&config);
        let api = service.keyed();
        api.put("/api/v2/admin/models/credit/challengers", &json!({ "versions": ["1.4"] })).await.ok();
        score(&api, &WALLETS).await;
        score(&api, &WALLETS[..1]).await;
        let found = weeks_of(&api, 3).await;
        assert_eq!(
            found.iter().map(|weeks| wallets(weeks)).collect::<Vec<_>>(),
            [3, 3],
            "wallets, not calls: {found:?}"
        );
        let [champion, challenger] = [&found[0][0], &found[1][0]];
        let names = |week: &Value| {
            let inputs = week["inputs"].as_array().expect("inputs").iter();
            inputs.map(|input| input["name"].as_str().expect("a name").to_owned()).collect::<Vec<_>>()
        };
        // Each model has the figures that it reads.
        assert!(names(champion).contains(&"Wallet age, days".to_owned()), "{champion}");
        assert!(names(challenger).contains(&"Lowest health factor".to_owned()), "{challenger}");
        assert!(!names(challenger).contains(&"Wallet age, days".to_owned()), "{challenger}");
        let of = |week: &Value, name: &str| {
            let mut inputs = week["inputs"].as_array().expect("inputs").iter();
            inputs.find(|input| input["name"] == name).cloned().expect("the input")
        };
        let loans = of(challenger, "Loans");
        assert_eq!((&loans["psi"], &loans["drift"], &loans["against"]), (&Value::Null, &Value::Null, &Value::Null));
        assert!(loans["median"].is_f64() && loans["missing"].is_f64(), "{loans}");
        let segments: u64 = found[1].iter().skip(1).map(|week| week["wallets"].as_u64().expect("a count")).sum();
        assert_eq!(segments, 3, "each wallet is in one segment: {:?}", found[1]);

        let dir = service.terminate_keeping().await;
        let service = Service::start_in(dir, &config, &[]);
        let api = service.keyed();
        score(&api, &WALLETS[1..]).await;
        assert_eq!(weeks(&api).await, found, "a wallet counts once a week");
        score(&api, &["liquidated"]).await;
        let found = weeks_of(&api, 4).await;
        assert_eq!(found.iter().map(|weeks| wallets(weeks)).collect::<Vec<_>>(), [4, 4], "{found:?}");
    });
}
