//! What a first read costs on a chain as high as Ethereum, how exact it is, and endpoints that ignore the block of a
//! question.

use std::collections::HashSet;

use assay::config::Config;
use assay_domain::{Address, ChainSnapshot, Coverage, Part, features::features};
use assay_tests::devnet::{Devnet, Wallet};
use assay_tests::proxy::{Call, Proxy, Reply};
use serde_json::json;

use super::activity::{PRIMER, Tall, WALLET, number, probed, uncached};
use super::wallets::same_activity;
use super::{Reader, with};

const DAY: i64 = 86_400;
/// Calls of a first read.
const MOST_CALLS: usize = 100;
/// Round trips of a first read.
const MOST_TRIPS: usize = 7;

/// The round trips of a search: its requests follow one another, after that for the head.
fn trips(calls: &[Call]) -> usize {
    let is_of_search =
        |call: &&Call| probed(call).is_some() || (call.method == "eth_getBlockByNumber" && call.params[0] != "latest");
    1 + calls.iter().filter(is_of_search).map(|call| call.request).collect::<HashSet<_>>().len()
}

async fn reader(devnet: &Devnet, tall: &Tall, change: fn(&mut Config)) -> Reader {
    let also = |config: &mut Config| {
        config.chains[0].markets.clear();
        change(config);
    };
    let reader = Reader::of(devnet).ethereum().through(&[&tall.proxy]).with(also).started().await;
    // The head is known then, and what all wallets share.
    reader.read(PRIMER).await;
    tall.proxy.take();
    reader
}

#[test]
fn a_first_read_takes_few_calls_in_few_round_trips() {
    with(async |devnet| {
        let tall = Tall::start(devnet).await;
        let reader = reader(devnet, &tall, |_| {}).await;
        let scored = reader.read_for_a_score(WALLET).await;
        let calls = tall.proxy.take();
        assert!(calls.len() <= MOST_CALLS && trips(&calls) <= MOST_TRIPS, "{} in {}", calls.len(), trips(&calls));
        assert_eq!(scored.coverage(), Coverage::Complete);
        let days = tall.right().map(|right| right.map(|(_, time)| time / DAY * DAY));
        assert_eq!(Tall::dates(&scored.chains[0]).map(|date| date.map(|(_, time)| time)), days);
        assert!(scored.is_by_day());

        // A report has the blocks; the score that was given keeps its features.
        let reported = reader.read(WALLET).await;
        assert_eq!((Tall::dates(&reported.chains[0]), reported.coverage()), (tall.right(), Coverage::Complete));
        assert!(tall.proxy.take().iter().any(|call| probed(call).is_some()));
        let kept = reader.read_for_a_score(WALLET).await;
        assert_eq!(features(&kept), features(&scored));
        assert_eq!(features(&reported).as_of, features(&scored).as_of);
        // Both are kept.
        assert_eq!(Tall::dates(&reader.read(WALLET).await.chains[0]), tall.right());
        assert!(tall.proxy.take().iter().all(|call| probed(call).is_none()));
    });
}

#[test]
fn a_known_wallet_is_not_searched_again() {
    with(async |devnet| {
        let tall = Tall::start(devnet).await;
        let mut reader = reader(devnet, &tall, uncached).await;
        let first = reader.read_for_a_score(WALLET).await;
        for restarted in [false, true] {
            if restarted {
                reader.restart().await;
            }
            tall.proxy.take();
            let again = reader.read_for_a_score(WALLET).await;
            assert_eq!(Tall::dates(&again.chains[0]), Tall::dates(&first.chains[0]));
            let calls = tall.proxy.take();
            assert!(calls.iter().all(|call| probed(call).is_none()), "{calls:?}");
        }
    });
}

#[test]
fn a_wallet_that_sent_nothing_is_not_searched() {
    with(async |devnet| {
        let tall = Tall::start(devnet).await;
        let reader = reader(devnet, &tall, uncached).await;
        let read = reader.read_for_a_score(Address::repeat_byte(0x78)).await;
        assert_eq!(read.coverage(), Coverage::Complete);
        let calls = tall.proxy.take();
        let searched: Vec<_> = calls.iter().filter(|call| probed(call).is_some()).collect();
        assert!(searched.is_empty() && calls.len() < 20, "{searched:?} of {}", calls.len());
    });
}

/// An endpoint that answers each question for a nonce with the newest one.
async fn ignoring(devnet: &Devnet) -> Proxy {
    let proxy = Proxy::start(devnet.ethereum.url()).await;
    proxy.rule(|call| match call.method.as_str() {
        "eth_getTransactionCount" if number(&call.params[1]).is_some() => {
            Reply::Instead(json!([call.params[0], "latest"]))
        }
        _ => Reply::Pass,
    });
    proxy
}

fn unread(chain: &ChainSnapshot) -> Vec<Part> {
    let of_dates = |part: &Part| matches!(part, Part::FirstTransaction | Part::LastTransaction);
    chain.unread.iter().map(|unread| unread.part.clone()).filter(of_dates).collect()
}

/// Wallets that sent transactions, of different ages.
fn senders(devnet: &Devnet) -> impl Iterator<Item = &Wallet> {
    ["newcomer", "borrower", "liquidated-recently", "saver", "collector"].into_iter().map(|name| devnet.wallet(name))
}

#[test]
fn an_endpoint_that_ignores_the_block_dates_nothing() {
    with(async |devnet| {
        let proxy = ignoring(devnet).await;
        let reader = Reader::of(devnet).ethereum().through(&[&proxy]).with(uncached).started().await;
        for wallet in senders(devnet) {
            // The second read does not search again, and says the same.
            for searched in [true, false] {
                proxy.take();
                let read = reader.read_for_a_score(wallet.address).await;
                let chain = &read.chains[0];
                assert_eq!(unread(chain), [Part::FirstTransaction, Part::LastTransaction], "{}", wallet.name);
                assert_eq!((Tall::dates(chain), chain.coverage), ([None, None], Coverage::Partial), "{}", wallet.name);
                assert!(chain.activity.transactions > 0);
                assert_eq!(proxy.take().iter().any(|call| probed(call).is_some()), searched, "{}", wallet.name);
            }
        }
        // A wallet that only receives is no contradiction.
        let empty = reader.read_for_a_score(devnet.wallet("empty").address).await;
        assert_eq!(empty.coverage(), Coverage::Complete);
    });
}

#[test]
fn another_endpoint_is_asked_if_one_ignores_the_block() {
    with(async |devnet| {
        let (odd, sound) = (ignoring(devnet).await, Proxy::start(devnet.ethereum.url()).await);
        let reader = Reader::of(devnet).ethereum().through(&[&odd, &sound]).with(uncached).started().await;
        for wallet in senders(devnet) {
            let read = reader.read(wallet.address).await;
            assert_eq!(read.coverage(), Coverage::Complete, "{}: {:?}", wallet.name, read.chains[0].unread);
            same_activity(&devnet.ethereum, wallet.address, &read.chains[0].activity, wallet.name).await;
        }
    });
}
