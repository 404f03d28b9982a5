//! The drift of inputs over the wallets of all hosts.

use assay_tests::until;

use super::{Caller, DURABLE, Redis, Service, Value, configured, devnet, on, plugins, run};

const DRIFT: &str = "/api/v2/admin/models/drift";

/// The inputs of the champion in the newest week, of all wallets.
async fn newest(api: &Caller) -> Value {
    let mut found = api.get(DRIFT).await.ok();
    found["models"][0]["weeks"][0].take()
}

async fn score(api: &Caller, names: &[&str]) {
    for name in names {
        let wallet = devnet().await.wallet(name).address;
        api.until(&format!("/api/v2/score/address/{wallet}"), |answer| answer.status == 200).await;
    }
}

#[test]
fn hosts_show_one_drift_of_their_wallets_together_in_which_each_counts_once() {
    run(async {
        let server = Redis::start(&DURABLE);
        let config = on(server.port, &configured(&plugins(), "").await);
        let [one, two] = [1, 2].map(|_| Service::start(&config));
        score(&one.keyed(), &["saver", "borrower"]).await;
        score(&two.keyed(), &["borrower", "whale"]).await;
        // A host stores its own wallets when it is asked, and every minute.
        let both = async || [newest(&two.keyed()).await, newest(&one.keyed()).await];
        let [_, week] = until::until(both, |weeks| weeks[1]["wallets"] == 3).await;
        assert_eq!(week["segment"], "all", "{week}");
        assert_eq!(newest(&two.keyed()).await, week);

        // What a host has stored outlives it, and its next process counts beside it.
        let config = std::fs::read_to_string(one.dir().join("assay.toml")).expect("the configuration");
        let one = Service::start_in(one.kill(), &config, &[]);
        assert_eq!(newest(&one.keyed()).await["wallets"], 3);
        score(&one.keyed(), &["saver", "farmer"]).await;
        let both = async || [newest(&one.keyed()).await, newest(&two.keyed()).await];
        let [of_one, of_two] = until::until(both, |weeks| weeks[1]["wallets"] == 4).await;
        assert_eq!(of_one, of_two);
    });
}
