//! The store itself on several servers: a master that dies and is replaced, and a cluster of three.

use assay_rollout::records::{self, RolesRecord, SHADOWS, ShadowRecord};
use std::{io::Write as _, time::Duration};

use assay::config;
use assay_domain::{Address, ModelKind, Seen, time_from_unix};
use assay_store::{Batch, Family, Revision, Store, StoreError, Take};
use assay_tests::{
    redis::{self, Cluster, DURABLE, Redis, Watched},
    service::{Service, plugins, sandbox_config, signal},
    until::until,
};

use super::run;

async fn open(url: &str) -> Store {
    open_with(url, "connect_timeout_ms = 10_000\nanswer_timeout_ms = 10_000\npatience_ms = 60_000\n").await
}

async fn open_with(url: &str, settings: &str) -> Store {
    let mut file = tempfile::NamedTempFile::with_suffix(".toml").expect("a temporary file");
    let patient = &format!("[store]\n{settings}");
    file.write_all(redis::on(patient, url, "servers:").as_bytes()).expect("writing the configuration");
    let config = config::load(Some(file.path())).expect("a configuration");
    Store::open(&config.store).await.expect("the store opens")
}

/// What a server says of its replication under `name`.
fn offset(port: u16, name: &str) -> u64 {
    let said = redis::ask(port, &["info", "replication"]);
    let found = said.lines().find_map(|line| line.trim().strip_prefix(name)?.parse().ok());
    found.unwrap_or_else(|| panic!("no {name} in {said}"))
}

#[test]
fn a_new_master_is_found_and_counts_on() {
    run(async {
        let mut servers = Watched::start().await;
        let store = open(&servers.url).await;
        let meter = assay_access::records::units("a");
        for used in 1..=10 {
            assert_eq!(store.take(&meter, 1, 100).await.unwrap(), Take::Taken { used });
        }
        let master = servers.master.take().expect("it runs");
        // The replica has all that the master wrote.
        let (written, replica) = (offset(master.port, "master_repl_offset:"), servers.replica.port);
        until(async || offset(replica, "slave_repl_offset:"), |read| *read >= written).await;
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
        let (meter, roles) = (assay_access::records::units("a"), records::roles(ModelKind::Credit));
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

#[test]
fn a_write_that_is_answered_survives_its_master() {
    run(async {
        let meter = assay_access::records::units("a");
        // Without waiting, the master answers alone, and its end loses the write.
        for (wait, kept) in [("", 0), ("wait_replicas = 1\nreplica_timeout_ms = 200\npatience_ms = 600\n", 1)] {
            let master = Redis::start(&DURABLE);
            let replica = Redis::replica_of(master.port);
            let link = async || redis::ask(replica.port, &["info", "replication"]);
            until(link, |said| said.contains("master_link_status:up")).await;
            let store = open_with(&master.url(), wait).await;
            signal(replica.pid(), "STOP");
            let cut_off = store.take(&meter, 1, 100).await;
            match kept {
                0 => assert_eq!(cut_off.unwrap(), Take::Taken { used: 1 }),
                _ => assert!(matches!(cut_off, Err(StoreError::Unanswered { .. })), "{cut_off:?}"),
            }
            let answered = if kept == 1 {
                signal(replica.pid(), "CONT");
                let patient = "wait_replicas = 1\nreplica_timeout_ms = 5_000\npatience_ms = 60_000\n";
                let answered = open_with(&master.url(), patient).await;
                let answered = answered
                    .commit(Batch::new().put(&records::roles(ModelKind::Credit), &RolesRecord::default()).unwrap());
                assert!(answered.await.unwrap());
                true
            } else {
                false
            };
            drop(master);
            if !answered {
                signal(replica.pid(), "CONT");
            }
            redis::ask(replica.port, &["replicaof", "no", "one"]);
            let next = open_with(&replica.url(), "").await;
            let roles = next.get(&records::roles(ModelKind::Credit)).await.unwrap();
            assert_eq!(roles.is_some(), answered, "what was answered is there");
            println!("{wait:?}: units used after the change: {:?}", next.get(&meter).await.unwrap());
        }
    });
}

#[test]
fn records_are_kept_on_a_redis_behind_tls() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (certificate, key) = (at("certificate.pem"), at("key.pem"));
    let made = std::process::Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"])
        .args(["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE", "-keyout", &key, "-out", &certificate])
        .output()
        .expect("openssl");
    assert!(made.status.success(), "{made:?}");
    let port = redis::free_port().to_string();
    let files = ["--tls-cert-file", &certificate, "--tls-key-file", &key, "--tls-ca-cert-file", &certificate];
    let secure = ["--port", "0", "--tls-port", &port, "--tls-auth-clients", "no"];
    let _server = Redis::start(&[&DURABLE[..], &secure, &files].concat());
    let config = redis::on(&sandbox_config(&plugins()), &format!("rediss://localhost:{port}"), "secure:");
    let start = |folder, trusted: &str| Service::start_with(folder, &config, &[], &[("SSL_CERT_FILE", trusted)]);
    run(async {
        let service = start(tempfile::tempdir().unwrap(), &certificate);
        let champion = "/api/v2/admin/models/credit/champion";
        service.keyed().put(champion, &serde_json::json!({ "version": "1.0" })).await.ok();
        let again = start(service.kill(), &certificate);
        let score = again.keyed().get("/api/v2/sandbox/score/address/0x0000000000000000000000000000000000000001").await;
        assert_eq!(score.ok()["model_version"], "1.0", "the role is in the store");
    });
}
