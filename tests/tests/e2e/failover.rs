//! The store itself on several servers: a master that dies and is replaced, and a cluster of three.

use assay::rollout::records::{self, RolesRecord, SHADOWS, ShadowRecord};
use std::{io::Write as _, time::Duration};

use assay::config;
use assay_domain::{Address, ModelKind, Seen, time_from_unix};
use assay_store::{Batch, Family, Revision, Store, Take};
use assay_tests::redis::{self, Cluster, Watched};

use super::run;

async fn open(url: &str) -> Store {
    let mut file = tempfile::NamedTempFile::with_suffix(".toml").expect("a temporary file");
    let patient = "[store]\nconnect_timeout_ms = 10_000\nanswer_timeout_ms = 10_000\npatience_ms = 60_000\n";
    file.write_all(redis::on(patient, url, "servers:").as_bytes()).expect("writing the configuration");
    let config = config::load(Some(file.path())).expect("a configuration");
    Store::open(&config.store).await.expect("the store opens")
}

#[test]
fn a_new_master_is_found_and_counts_on() {
    run(async {
        let mut servers = Watched::start().await;
        let store = open(&servers.url).await;
        let meter = assay::access::records::units("a");
        for used in 1..=10 {
            assert_eq!(store.take(&meter, 1, 100).await.unwrap(), Take::Taken { used });
        }
        let master = servers.master.take().expect("it runs");
        assert_eq!(redis::ask(master.port, &["wait", "1", "60000"]).trim(), "1", "the replica has it all");
        drop(master);
        // One after another, so that only the first can be in progress while the master dies.
        for used in 11..=20 {
            assert_eq!(store.take(&meter, 1, 100).await.unwrap(), Take::Taken { used });
        }
        let lease = store.acquire("work", "a", Duration::from_secs(600)).await.unwrap().expect("nobody has it");
        assert!(store.commit(Batch::new().if_leased(&lease).refund(&meter, 20)).await.unwrap());
        assert_eq!(store.get(&meter).await.unwrap(), Some(0));
    });
}

#[test]
fn a_cluster_keeps_together_what_must_happen_together() {
    run(async {
        let cluster = Cluster::start().await;
        let store = open(&cluster.url).await;
        let (meter, roles) = (assay::access::records::units("a"), records::roles(ModelKind::Credit));
        let batch = || {
            let batch =
                Batch::new().if_unchanged(&roles, Revision::ABSENT).put(&roles, &RolesRecord::default()).unwrap();
            batch.put(&records::shadow(1, "a"), &ShadowRecord::default()).unwrap().take(&meter, 5, 9)
        };
        assert!(store.commit(batch()).await.unwrap());
        assert!(!store.commit(batch()).await.unwrap());
        assert_eq!(store.take(&meter, 5, 9).await.unwrap(), Take::Exhausted { used: 5 });
        assert_eq!(store.list(&SHADOWS).await.unwrap().len(), 1);

        // Each record may be on another node; they are written and read in one call nevertheless.
        let wallets: Vec<_> = (0..100).map(|n| Family::spread("first/").key(Address::repeat_byte(n))).collect();
        let seen = |n: usize| Seen { block: n as u64, time: time_from_unix(1) };
        let mut batch = Batch::new();
        for (n, wallet) in wallets.iter().enumerate() {
            batch = batch.put(wallet, &seen(n)).unwrap();
        }
        assert!(store.commit(batch).await.unwrap());
        let found = store.get_many(&wallets).await.unwrap();
        assert!(found.iter().enumerate().all(|(n, found)| *found == Some(seen(n))), "{found:?}");
        for port in cluster.ports() {
            let keys: u64 = redis::ask(port, &["dbsize"]).trim().parse().expect("a number");
            assert!(keys > 10, "{keys} of the records are at {port}");
        }
    });
}
