//! Addresses with more rows than one explorer response. No chain here has so many, so the mock generates the rows.

use assay::config::Config;
use assay_domain::{Address, Coverage};
use assay_tests::devnet::{Devnet, ETHEREUM};
use assay_tests::explorer::{Explorer, Flavour, Reply};
use serde_json::{Value, json};

use super::super::{alone, chain};
use super::{Reader, of_chain, reader};

/// The finality of the devnet's chains, in blocks.
const FINALITY: u64 = 16;

/// An address with one sent transaction for each entry of `rows`, which are block numbers.
async fn busy(devnet: &Devnet, explorer: &Explorer, rows: Vec<u64>) -> Address {
    let (on, wallet) = (&devnet.ethereum, Address::repeat_byte(0xb5));
    let _: Value = on.rpc.request("anvil_setNonce", json!([wallet, format!("{:#x}", rows.len())])).await.unwrap();
    let mut times = std::collections::BTreeMap::new();
    for block in &rows {
        if !times.contains_key(block) {
            let found: Value =
                on.rpc.request("eth_getBlockByNumber", json!([format!("{block:#x}"), false])).await.unwrap();
            let time = u64::from_str_radix(found["timestamp"].as_str().unwrap().trim_start_matches("0x"), 16).unwrap();
            times.insert(*block, time);
        }
    }
    explorer.make_up(wallet, rows.into_iter().map(|block| (block, times[&block])));
    wallet
}

fn lists(explorer: &Explorer) -> Vec<(u64, usize)> {
    explorer
        .take()
        .iter()
        .filter(|asked| asked.action == "txlist")
        .map(|asked| (asked.startblock, asked.page))
        .collect()
}

fn within(told: Option<u32>, exact: usize, part: f64) -> bool {
    told.is_some_and(|told| f64::from(told.abs_diff(exact as u32)) <= part * exact as f64)
}

#[test]
fn more_rows_than_pages_may_count_are_read_to_the_last() {
    alone(async |devnet| {
        let here = devnet.ethereum.snapshot().await.unwrap();
        let explorer = of_chain(Flavour::Etherscan, &devnet.ethereum).await;
        // 12,345 rows: seventy in a block, and one block that fills two and a half pages.
        let spread = (0..9_845).map(|i| 10 + i / 70);
        let rows: Vec<u64> = spread.chain(std::iter::repeat_n(160, 2_500)).collect();
        let wallet = busy(devnet, &explorer, rows).await;
        let mut reader = reader(devnet, &explorer).started().await;
        let snapshot = reader.read(wallet).await;
        let read = chain(&snapshot, ETHEREUM);
        assert_eq!((read.coverage, read.activity.transactions), (Coverage::Complete, 12_345));
        assert!(within(read.activity.counterparties, 12_345, 0.15), "{:?}", read.activity.counterparties);
        let asked = lists(&explorer);
        assert!((13..=16).contains(&asked.len()), "{asked:?}");
        assert!(asked.iter().any(|(_, page)| *page == 3), "{asked:?}");

        // No row is requested again, also after a restart.
        reader.restart().await;
        assert_eq!(reader.read(wallet).await.chains[0].activity, read.activity);
        assert_eq!(lists(&explorer), [(161, 1)]);

        // An explorer that returns fewer rows than requested, without an error.
        explorer.rule(|_| Reply::Capped(500));
        let capped = super::reader(devnet, &explorer).started().await;
        let spread: Vec<u64> = (0..4_321).map(|i| 10 + i / 30).collect();
        let wallet = busy(devnet, &explorer, spread).await;
        let read = capped.read(wallet).await.chains[0].clone();
        assert_eq!((read.coverage, read.activity.transactions), (Coverage::Complete, 4_321));
        devnet.ethereum.revert(here).await.unwrap();
    });
}

#[test]
fn very_many_rows_are_read_over_several_requests() {
    alone(async |devnet| {
        let here = devnet.ethereum.snapshot().await.unwrap();
        let explorer = of_chain(Flavour::Blockscout, &devnet.ethereum).await;
        // Pages of a hundred rows; one read takes at most 25 pages.
        explorer.rule(|_| Reply::Capped(100));
        let wallet = busy(devnet, &explorer, (0..6_000).map(|i| 10 + i / 30).collect()).await;
        let uncached = |config: &mut Config| config.chains[0].finality = FINALITY;
        let mut reader: Reader = reader(devnet, &explorer).with(uncached).started().await;
        let (mut reads, mut before) = (0, 0);
        loop {
            reads += 1;
            let read = reader.read(wallet).await.chains[0].clone();
            let asked = lists(&explorer);
            assert!(asked.len() <= 25, "{} calls", asked.len());
            let start = asked.first().unwrap().0;
            assert!(start > before || reads == 1, "{start} after {before}");
            before = start;
            if read.coverage == Coverage::Complete {
                assert!(within(read.activity.counterparties, 6_000, 0.15), "{:?}", read.activity.counterparties);
                break;
            }
            assert!(reads < 9);
            // Rows that were read stay stored, also after a restart.
            reader.restart().await;
        }
        assert!(reads >= 3, "{reads} reads");
        devnet.ethereum.revert(here).await.unwrap();
    });
}
