//! `assay features export --as-of`: features of the past, the wallets that owed at that time, and the outcomes.

use std::{
    collections::BTreeSet,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use alloy::primitives::Address;
use assay_index::Index;
use assay_lending::{EventKind, What};
use assay_tests::{
    devnet::{Chain, Devnet},
    proxy::{Proxy, Reply},
    service::{KEY, Service, binary, plugins},
};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{devnet, index::through, run};

const DAY: u64 = 86_400;

/// A folder with an index, and a configuration that uses it.
pub(super) struct Desk(pub TempDir);

impl Desk {
    async fn on(devnet: &Devnet) -> Self {
        let config = devnet.config_toml("127.0.0.1:0", &plugins(), Path::new("{dir}/assay.redb"), KEY);
        let config =
            format!("{config}\n[reading]\nindex = \"on\"\nindex_path = \"{{dir}}/index\"\nindex_per_second = 0\n");
        Self::start(&config, &devnet.chains()).await
    }

    /// Has a server read the index of these chains, and ends it.
    pub async fn start(config: &str, chains: &[&Chain]) -> Self {
        let service = Service::start(config);
        for chain in chains {
            through(&service, chain.id, chain.head().await.expect("the chain answers").0 - 16).await;
        }
        let folder = service.kill();
        let config = config.replace("{dir}", &folder.path().display().to_string());
        std::fs::write(folder.path().join("assay.toml"), config).expect("the folder can be written");
        Self(folder)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn export(&self, to: &str, more: &[&str]) -> Command {
        let mut command = Command::new(binary());
        command.current_dir(self.0.path()).args(["features", "export", "-o", to]).args(more);
        command
    }

    /// The rows of an export that works.
    pub fn rows(&self, to: &str, more: &[&str]) -> Vec<Value> {
        let done = self.export(to, more).output().expect("assay runs");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let lines = BufReader::new(std::fs::File::open(self.path(to)).expect("a file")).lines();
        lines.map(|line| serde_json::from_str(&line.expect("a line")).expect("a row")).collect()
    }

    /// The first liquidation on chain 1: who, and when.
    fn liquidation(&self) -> (Address, u64) {
        let index = Index::open(&self.path("index")).expect("nobody holds it");
        let wallets = index.wallets(1, 0).expect("it can be read").map(|wallet| wallet.expect("it can be read"));
        let liquidated = wallets.flat_map(|wallet| {
            wallet.entries.clone().into_iter().filter_map(move |entry| match entry.what {
                What::Event { kind: EventKind::Liquidation, time } => Some((time, wallet.wallet)),
                _ => None,
            })
        });
        let (time, wallet) = liquidated.min().expect("somebody was liquidated");
        (wallet, time)
    }
}

fn chain(row: &Value, id: u64) -> &Value {
    row["chains"].as_array().expect("chains").iter().find(|chain| chain["chain_id"] == id).expect("the chain")
}

#[test]
fn borrowers_of_the_past_are_exported_with_what_happened_to_them() {
    run(async {
        let devnet = devnet().await;
        let desk = Desk::on(devnet).await;
        let (wallet, time) = desk.liquidation();
        let (market, moment) = (devnet.ethereum.market.pool.to_string(), (time - DAY).to_string());
        let population = ["--population", "borrowers", "--market", &market, "--chain", "1", "--as-of", &moment];
        let labelled = [&population[..], &["--outcome", "liquidation", "--within", "2d", "--min-debt", "10"]].concat();
        let rows = desk.rows("labelled.jsonl", &labelled);
        let of = |rows: &[Value], wallet: Address| {
            rows.iter().find(|row| row["id"] == wallet.to_checksum(None)).cloned().expect("it owed")
        };
        assert_eq!(of(&rows, wallet)["outcome"], true, "{rows:?}");
        assert!(rows.iter().any(|row| row["outcome"] == false), "{rows:?}");
        for row in &rows {
            assert!(chain(row, 1)["borrowed_usd"].as_f64().is_some_and(|owed| owed > 0.0), "{row}");
            assert_eq!(row["as_of"], time - DAY);
        }
        // The block is the last one before the moment, and the figures are those of the node at that block.
        let block = rows[0]["blocks"].as_array().expect("blocks").iter().find(|block| block["chain_id"] == 1);
        let (number, hash) =
            (block.expect("of chain 1")["number"].as_u64().expect("a number"), &block.unwrap()["hash"]);
        let rpc = &devnet.ethereum.rpc;
        let time_of = async |number: u64| {
            let block: Value =
                rpc.request("eth_getBlockByNumber", json!([format!("{number:#x}"), false])).await.unwrap();
            (u64::from_str_radix(block["timestamp"].as_str().unwrap().trim_start_matches("0x"), 16).unwrap(), block)
        };
        assert_eq!(&time_of(number).await.1["hash"], hash);
        assert!(time_of(number).await.0 < time - DAY && time_of(number + 1).await.0 >= time - DAY);
        for row in &rows {
            let asked = json!([row["id"], format!("{number:#x}")]);
            let sent: String = rpc.request("eth_getTransactionCount", asked).await.unwrap();
            assert_eq!(chain(row, 1)["transactions"], u64::from_str_radix(&sent[2..], 16).unwrap(), "{row}");
        }
        // An outcome that is not known yet is refused, and no file is written.
        let early =
            desk.export("early.jsonl", &[&population[..], &["--outcome", "liquidation", "--within", "3650d"]].concat());
        let said = { early }.output().expect("assay runs");
        assert!(String::from_utf8_lossy(&said.stderr).contains("the outcome is not known yet"), "{said:?}");
        assert_eq!((said.status.code(), desk.path("early.jsonl").exists()), (Some(2), false));
    });
}

#[test]
fn rows_of_the_past_are_the_same_whenever_they_are_read() {
    run(async {
        // Its chain goes on.
        let devnet = Devnet::start(|_| ()).await.expect("the devnet starts");
        let desk = Desk::on(&devnet).await;
        let (_, time) = desk.liquidation();
        let moment = (time - DAY).to_string();
        let wallets: Vec<String> = devnet.wallets.iter().map(|wallet| wallet.address.to_string()).collect();
        let mut arguments = vec!["--at-once", "4", "--as-of", &moment];
        arguments.extend(wallets.iter().map(String::as_str));
        let rows = desk.rows("whole.jsonl", &arguments);
        let ids: BTreeSet<&str> = rows.iter().map(|row| row["id"].as_str().expect("an id")).collect();
        assert_eq!(ids.len(), wallets.len());
        let whole = std::fs::read(desk.path("whole.jsonl")).expect("a file");
        // Without the index, and after the chains went on.
        devnet.ethereum.mine(3).await.expect("blocks");
        std::fs::rename(desk.path("index"), desk.path("elsewhere")).expect("nobody holds it");
        desk.rows("later.jsonl", &arguments);
        assert_eq!(std::fs::read(desk.path("later.jsonl")).expect("a file"), whole);
        // Killed after some rows, and started again.
        let mut running = desk.export("killed.jsonl", &arguments).stderr(Stdio::piped()).spawn().expect("assay runs");
        let mut said = BufReader::new(running.stderr.take().expect("a pipe")).lines();
        assert!(said.next().is_some_and(|line| line.expect("a line").starts_with("1/")));
        running.kill().expect("it runs");
        running.wait().expect("it ends");
        assert!(desk.rows("killed.jsonl", &arguments).len() == wallets.len());
        assert_eq!(std::fs::read(desk.path("killed.jsonl")).expect("a file"), whole);
    });
}

#[test]
fn an_export_that_is_killed_at_any_call_is_the_same_when_it_is_started_again() {
    run(async {
        let devnet = devnet().await;
        let desk = Desk::on(devnet).await;
        let proxy = Proxy::start(devnet.ethereum.url()).await;
        let config = std::fs::read_to_string(desk.path("assay.toml")).expect("a configuration");
        std::fs::write(desk.path("assay.toml"), config.replace(devnet.ethereum.url(), &proxy.url)).expect("written");
        let moment = (desk.liquidation().1 - DAY).to_string();
        let wallets: Vec<String> = devnet.wallets.iter().map(|wallet| wallet.address.to_string()).collect();
        let mut arguments = vec!["--at-once", "8", "--as-of", &moment];
        arguments.extend(wallets.iter().map(String::as_str));
        proxy.take();
        desk.rows("whole.jsonl", &arguments);
        let (calls, whole) = (proxy.take().len(), std::fs::read(desk.path("whole.jsonl")).expect("a file"));
        let kills = if std::env::var_os("ASSAY_SOAK").is_some() { 25 } else { 2 };
        for kill in 1..=kills {
            // Other calls go on, so that the process is anywhere between two of them.
            let (mut seen, at) = (0, calls * kill / (kills + 1));
            proxy.rule(move |_| {
                seen += 1;
                if seen == at { Reply::Hold } else { Reply::Pass }
            });
            let mut running =
                desk.export("killed.jsonl", &arguments).stderr(Stdio::null()).spawn().expect("assay runs");
            proxy.held().await;
            running.kill().expect("it runs");
            running.wait().expect("it ends");
            proxy.rule(|_| Reply::Pass);
            proxy.release(1);
            desk.rows("killed.jsonl", &arguments);
            assert!(
                std::fs::read(desk.path("killed.jsonl")).expect("a file") == whole,
                "killed at call {at} of {calls}"
            );
            std::fs::remove_file(desk.path("killed.jsonl")).expect("a file");
        }
    });
}
