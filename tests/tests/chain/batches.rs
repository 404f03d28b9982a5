//! Wallets that are read together share requests, and each is read as it is alone.

use std::collections::BTreeSet;

use assay::config::Config;
use assay_chain::Chains;
use assay_domain::{Address, Coverage, Snapshot};
use assay_tests::devnet::Devnet;
use assay_tests::proxy::{Call, Proxy, Reply};
use futures::future::join_all;

use super::{PATIENCE, Reader, chain, remembering, with};

/// Wallets in one batch of the API.
const MANY: usize = 100;

fn patient(config: &mut Config) {
    config.scoring.read_budget = PATIENCE;
}

/// The wallets of the devnet, and others without any history.
fn wallets(devnet: &Devnet) -> Vec<Address> {
    let strangers = (1..=u8::MAX).map(Address::repeat_byte);
    devnet.wallets.iter().map(|wallet| wallet.address).chain(strangers).take(MANY).collect()
}

async fn all(chains: &Chains, wallets: &[Address]) -> Vec<Snapshot> {
    let reads = join_all(wallets.iter().map(|wallet| chains.snapshot(*wallet))).await;
    reads.into_iter().map(|read| (*read.snapshot).clone()).collect()
}

/// Asserts that both snapshots of a wallet say the same.
fn assert_same(one: &Snapshot, other: &Snapshot) {
    let what =
        |snapshot: &Snapshot| (snapshot.chains.clone(), snapshot.attestations.clone(), snapshot.identity.clone());
    assert_eq!(what(one), what(other), "{}", one.address);
}

fn requests(calls: &[Call]) -> usize {
    calls.iter().map(|call| call.request).collect::<BTreeSet<_>>().len()
}

/// A reader of chain 1 that has read one wallet, so that what all wallets share is known.
async fn primed(devnet: &Devnet, proxy: &Proxy) -> Reader {
    let reader = Reader::of(devnet).ethereum().through(&[proxy]).with(patient).started().await;
    reader.read(Address::repeat_byte(0xee)).await;
    proxy.take();
    reader
}

#[test]
fn a_hundred_wallets_share_requests() {
    with(async |devnet| {
        let proxy = remembering(&devnet.ethereum).await;
        let wallets = wallets(devnet);
        // Single reads at once would share too.
        let (reader, mut alone) = (primed(devnet, &proxy).await, Vec::new());
        for wallet in &wallets {
            alone.push((*reader.read_for_a_score(*wallet).await).clone());
        }
        let one_by_one = proxy.take();
        let reader = primed(devnet, &proxy).await;
        let together = all(&reader.chains().together(), &wallets).await;
        let shared = proxy.take();
        alone.iter().zip(&together).for_each(|(alone, together)| assert_same(alone, together));
        let heads: BTreeSet<_> = together.iter().map(|snapshot| snapshot.chains[0].pools[0].synced_to_block).collect();
        assert_eq!(heads.len(), 1, "{heads:?}");
        println!(
            "{MANY} wallets: {} requests with {} calls alone, {} with {} together",
            requests(&one_by_one),
            one_by_one.len(),
            requests(&shared),
            shared.len()
        );
        let count = |calls: &[Call], method: &str| calls.iter().filter(|call| call.method == method).count();
        for method in ["eth_call", "eth_getLogs"] {
            let (before, after) = (count(&one_by_one, method), count(&shared, method));
            assert!(after * 5 <= before, "{method}: {before} alone, {after} together");
        }
        assert!(requests(&shared) * 4 <= requests(&one_by_one));
    });
}

#[test]
fn every_wallet_is_read_together_as_it_is_alone() {
    with(async |devnet| {
        let (alone, together) = (Reader::of(devnet).started().await, Reader::of(devnet).with(patient).started().await);
        let wallets: Vec<_> = devnet.wallets.iter().map(|wallet| wallet.address).collect();
        let read = all(&together.chains().together(), &wallets).await;
        for snapshot in &read {
            assert_eq!(snapshot.coverage(), Coverage::Complete);
            assert_same(snapshot, &*alone.read(snapshot.address).await);
        }
        // Known wallets too.
        let again = Reader::of(devnet).with(patient).with(|config| config.scoring.cache_ttl = Default::default());
        let again = again.started().await;
        for _ in 0..2 {
            let read_again = all(&again.chains().together(), &wallets).await;
            read.iter().zip(&read_again).for_each(|(one, other)| assert_same(one, other));
        }
    });
}

#[test]
fn what_fails_for_one_wallet_fails_for_no_other() {
    with(async |devnet| {
        let proxy = remembering(&devnet.ethereum).await;
        let bad = devnet.wallet("borrower").address;
        let written = hex::encode(bad);
        for method in ["eth_call", "eth_getLogs", "eth_getTransactionCount"] {
            let reader = primed(devnet, &proxy).await;
            let whole = primed(devnet, &proxy).await;
            let names = written.clone();
            proxy.rule(move |call| match call.method == method && call.params.to_string().contains(&names) {
                true => Reply::Error { code: -32000, message: "internal error".to_owned() },
                false => Reply::Pass,
            });
            let wallets: Vec<_> = devnet.wallets.iter().map(|wallet| wallet.address).collect();
            let read = all(&reader.chains().together(), &wallets).await;
            for snapshot in &read {
                let complete = chain(snapshot, 1).coverage == Coverage::Complete
                    && snapshot.events_coverage() == Coverage::Complete;
                assert_eq!(complete, snapshot.address != bad, "{method}: {}", snapshot.address);
                assert_same(snapshot, &*whole.read(snapshot.address).await);
            }
            proxy.rule(|_| Reply::Pass);
        }
    });
}

#[test]
fn a_batch_that_is_kept_has_no_turn_while_it_reads_nothing() {
    with(async |devnet| {
        let one_at_a_time = |config: &mut Config| config.reading.rpc.per_second = 10;
        let reader = Reader::of(devnet).ethereum().with(patient).with(one_at_a_time).started().await;
        let together = reader.chains().together();
        for (chains, wallet) in [(&together, "borrower"), (reader.chains(), "saver"), (&together, "whale")] {
            let read = chains.snapshot(devnet.wallet(wallet).address).await.snapshot;
            assert_eq!(read.coverage(), Coverage::Complete, "{wallet}");
        }
    });
}
