//! What a read of a known wallet asks for: nothing that the head, an earlier read or another wallet's read has said.

use std::collections::BTreeMap;

use assay_domain::{Address, Coverage, Snapshot};
use assay_tests::devnet::Devnet;
use assay_tests::proxy::{Call, Proxy};
use futures::future::join_all;
use serde_json::{Value, json};

use super::history::uncached;
use super::{Reader, alone};

const WALLET: &str = "borrower";

/// A reader of chain 1 whose calls are recorded, after two reads of the wallet.
async fn knowing(devnet: &Devnet) -> (Reader, Proxy) {
    let proxy = Proxy::start(devnet.ethereum.url()).await;
    let reader = Reader::of(devnet).ethereum().through(&[&proxy]).with(uncached).started().await;
    for _ in 0..2 {
        devnet.ethereum.mine(1).await.unwrap();
        reader.read(devnet.wallet(WALLET).address).await;
    }
    (reader, proxy)
}

/// The calls of a complete read of `wallet`, by method.
async fn asked(reader: &Reader, proxy: &Proxy, wallet: Address) -> BTreeMap<String, Vec<Value>> {
    proxy.take();
    assert_eq!(reader.read_for_a_score(wallet).await.coverage(), Coverage::Complete);
    let mut asked = BTreeMap::<String, Vec<Value>>::new();
    for Call { method, params, .. } in proxy.take() {
        asked.entry(method).or_default().push(params);
    }
    asked
}

fn counts(asked: &BTreeMap<String, Vec<Value>>) -> Vec<(&str, usize)> {
    asked.iter().map(|(method, calls)| (method.as_str(), calls.len())).collect()
}

#[test]
fn a_known_wallet_takes_five_calls_on_each_chain_and_over_a_gap_six() {
    alone(async |devnet| {
        let (reader, proxy) = knowing(devnet).await;
        let wallet = devnet.wallet(WALLET).address;
        let five = [("eth_call", 1), ("eth_getBlockByNumber", 1), ("eth_getLogs", 2), ("eth_getTransactionCount", 1)];
        for _ in 0..2 {
            devnet.ethereum.mine(1).await.unwrap();
            assert_eq!(counts(&asked(&reader, &proxy, wallet).await), five);
        }
        // The head does not name the one before: its block is asked for, and answers for all below it.
        let before = devnet.ethereum.head().await.unwrap().0;
        devnet.ethereum.mine(3).await.unwrap();
        let over_a_gap = asked(&reader, &proxy, wallet).await;
        assert_eq!(
            over_a_gap["eth_getBlockByNumber"],
            [json!(["latest", false]), json!([format!("{before:#x}"), false])]
        );
        assert_eq!(over_a_gap.values().map(Vec::len).sum::<usize>(), 6);
        devnet.ethereum.mine(1).await.unwrap();
        assert_eq!(counts(&asked(&reader, &proxy, wallet).await), five);
    });
}

#[test]
fn after_a_reorganisation_the_stored_blocks_are_asked_for_again() {
    alone(async |devnet| {
        let on = &devnet.ethereum;
        let here = on.snapshot().await.unwrap();
        let (reader, proxy) = knowing(devnet).await;
        let wallet = devnet.wallet(WALLET).address;
        devnet.ethereum.mine(1).await.unwrap();
        let known = reader.read(wallet).await;
        let head = on.head().await.unwrap().0;
        on.revert(here).await.unwrap();
        on.pass(1_000).await.unwrap();
        on.mine(40).await.unwrap();
        let asked = asked(&reader, &proxy, wallet).await;
        let blocks = &asked["eth_getBlockByNumber"];
        let number = |params: &Value| u64::from_str_radix(params[0].as_str()?.strip_prefix("0x")?, 16).ok();
        let numbers: Vec<u64> = blocks.iter().filter_map(number).collect();
        assert!(numbers.contains(&head) && numbers.iter().any(|number| *number < head), "{numbers:?}");
        let again = reader.read(wallet).await;
        let counted = |read: &Snapshot| read.chains[0].pools.iter().map(|pool| pool.counts).collect::<Vec<_>>();
        assert_eq!(counted(&again), counted(&known));
    });
}

#[test]
fn code_is_asked_for_again_when_the_nonce_moves() {
    alone(async |devnet| {
        let (reader, proxy) = knowing(devnet).await;
        let (on, wallet) = (&devnet.ethereum, devnet.wallet(WALLET).address);
        let transactions = reader.read(wallet).await.chains[0].activity.transactions;
        on.send(wallet, Address::repeat_byte(0x11), Vec::new(), Default::default()).await.unwrap();
        let moved = asked(&reader, &proxy, wallet).await;
        assert_eq!(moved["eth_getCode"].len(), 1);
        assert_eq!(reader.read(wallet).await.chains[0].activity.transactions, transactions + 1);
        assert!(!asked(&reader, &proxy, wallet).await.contains_key("eth_getCode"));
        // An account with code is asked each time: its nonce says nothing about it.
        let code = json!([wallet, format!("0xef0100{}", "22".repeat(20))]);
        on.rpc.request::<Value>("anvil_setCode", code).await.unwrap();
        on.rpc.request::<Value>("anvil_setNonce", json!([wallet, format!("{:#x}", transactions + 2)])).await.unwrap();
        on.mine(1).await.unwrap();
        for _ in 0..2 {
            assert_eq!(asked(&reader, &proxy, wallet).await["eth_getCode"].len(), 1);
        }
        on.rpc.request::<Value>("anvil_setCode", json!([wallet, "0x"])).await.unwrap();
        on.rpc.request::<Value>("anvil_setNonce", json!([wallet, format!("{:#x}", transactions + 1)])).await.unwrap();
        on.mine(1).await.unwrap();
    });
}

#[test]
fn wallets_that_are_read_at_once_share_all_but_their_accounts() {
    alone(async |devnet| {
        let (reader, proxy) = knowing(devnet).await;
        let wallets: Vec<Address> = (1..=20).map(Address::repeat_byte).collect();
        let all = || join_all(wallets.iter().map(|wallet| reader.read_for_a_score(*wallet)));
        all().await;
        devnet.ethereum.mine(1).await.unwrap();
        proxy.take();
        assert!(all().await.iter().all(|read| read.coverage() == Coverage::Complete));
        let calls = proxy.take();
        let of = |method: &str| calls.iter().filter(|call| call.method == method).count();
        assert_eq!(of("eth_getTransactionCount"), wallets.len());
        for method in ["eth_call", "eth_getLogs", "eth_getBlockByNumber"] {
            assert!((1..wallets.len() / 2).contains(&of(method)), "{method}: {}", of(method));
        }
    });
}
