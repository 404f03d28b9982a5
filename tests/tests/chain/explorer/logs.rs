//! First lending histories from the logs of an explorer, where the node answers for short ranges alone: equal to those
//! from the node, and never wrong and complete, whatever the explorer does.

use assay::config::Config;
use assay_domain::{Coverage, PoolHistory};
use assay_tests::devnet::Devnet;
use assay_tests::explorer::{Asked, Explorer, Flavour, Reply};
use assay_tests::proxy::{self, Call, Proxy};

use super::super::{PATIENCE, remembering, with};
use super::{Reader, of_chain, reader};

/// Blocks for which the node answers logs.
const RANGE: u64 = 25;

fn limited(call: &Call) -> proxy::Reply {
    match call.span() {
        Some((from, to)) if to - from >= RANGE => {
            proxy::Reply::Error { code: -32600, message: format!("query exceeds max block range {RANGE}") }
        }
        _ => proxy::Reply::Pass,
    }
}

/// No reply of this explorer stalls, so a slow one is that of a busy machine.
fn patient(config: &mut Config) {
    (config.scoring.read_budget, config.reading.explorer.timeout) = (PATIENCE, PATIENCE);
}

/// A new reader of the explorer and of a node that limits ranges, which has learned the limit.
async fn started(devnet: &Devnet, explorer: &Explorer, node: &Proxy) -> Reader {
    let reader = reader(devnet, explorer).through(&[node]).with(patient).started().await;
    reader.read(devnet.wallet("empty").address).await;
    explorer.take();
    node.take();
    reader
}

/// The histories of all wallets of the devnet, as the node tells them.
async fn right(devnet: &Devnet) -> Vec<PoolHistory> {
    let reader = Reader::of(devnet).ethereum().with(patient).started().await;
    let mut pools = Vec::new();
    for wallet in &devnet.wallets {
        pools.push(reader.pool(wallet.address).await);
    }
    pools
}

fn ranges(calls: &[Call]) -> usize {
    calls.iter().filter(|call| call.method == "eth_getLogs").count()
}

fn about_logs(asked: &[Asked]) -> usize {
    asked.iter().filter(|asked| asked.action == "getLogs").count()
}

#[test]
fn first_histories_come_from_the_explorer_and_are_those_of_the_node() {
    with(async |devnet| {
        let right = right(devnet).await;
        for flavour in [Flavour::Etherscan, Flavour::Blockscout] {
            let (explorer, node) = (of_chain(flavour, &devnet.ethereum).await, remembering(&devnet.ethereum).await);
            node.rule(limited);
            let reader = started(devnet, &explorer, &node).await;
            for (wallet, right) in devnet.wallets.iter().zip(&right) {
                assert_eq!(&reader.pool(wallet.address).await, right, "{} {flavour:?}", wallet.name);
            }
            let (head, _) = devnet.ethereum.head().await.unwrap();
            let (listed, asked) = (about_logs(&explorer.take()), ranges(&node.take()));
            let by_node = devnet.wallets.len() * usize::try_from(head / RANGE).unwrap() * 3;
            println!(
                "{} wallets: {listed} pages of logs, {asked} log queries; without the explorer {by_node}",
                right.len()
            );
            assert!(listed > devnet.wallets.len() && asked * 4 < by_node);
        }
    });
}

#[test]
fn a_node_that_answers_for_the_whole_range_is_preferred() {
    with(async |devnet| {
        let explorer = of_chain(Flavour::Etherscan, &devnet.ethereum).await;
        let reader = reader(devnet, &explorer).with(patient).started().await;
        reader.read(devnet.wallet("borrower").address).await;
        assert_eq!(about_logs(&explorer.take()), 0);
    });
}

#[test]
fn an_explorer_that_misbehaves_makes_no_history_wrong() {
    with(async |devnet| {
        let right = right(devnet).await;
        let node = remembering(&devnet.ethereum).await;
        node.rule(limited);
        let replies = [
            Reply::Lags(1),
            Reply::Lags(40),
            Reply::Lags(1_000_000),
            Reply::Behind,
            Reply::Damaged,
            Reply::Foreign,
            Reply::Doubled,
            Reply::Backwards,
            Reply::Half,
            Reply::Capped(100),
            Reply::Status(502),
            Reply::No("Invalid API Key"),
        ];
        for reply in replies {
            let explorer = of_chain(Flavour::Etherscan, &devnet.ethereum).await;
            let own = reply.clone();
            explorer.rule(move |asked| if asked.action == "getLogs" { own.clone() } else { Reply::Right });
            let reader = started(devnet, &explorer, &node).await;
            for (wallet, right) in devnet.wallets.iter().zip(&right).step_by(3) {
                assert_eq!(&reader.pool(wallet.address).await, right, "{} {reply:?}", wallet.name);
            }
        }
    });
}

#[test]
fn what_an_explorer_leaves_out_of_a_wallet_makes_no_history_wrong_and_complete() {
    with(async |devnet| {
        let right = right(devnet).await;
        let node = remembering(&devnet.ethereum).await;
        node.rule(limited);
        let (mut doubted, mut healed) = (0, 0);
        // A different sixteenth of the transactions each time.
        for start in ["0x0", "0x7", "0xc"] {
            let explorer = of_chain(Flavour::Etherscan, &devnet.ethereum).await;
            // The lists of a market, by which the explorer is compared with the node, are whole.
            explorer.rule(move |asked| match asked.action.as_str() {
                "getLogs" if asked.address.is_empty() => Reply::Lacks(start),
                _ => Reply::Right,
            });
            let reader = started(devnet, &explorer, &node).await;
            for (wallet, right) in devnet.wallets.iter().zip(&right) {
                let read = reader.pool(wallet.address).await;
                if read.counts == right.counts {
                    continue;
                }
                assert_ne!(read.coverage, Coverage::Complete, "{} without {start}: {read:?}", wallet.name);
                doubted += 1;
                healed += usize::from(&reader.pool(wallet.address).await == right);
            }
        }
        println!("{doubted} histories lacked an event and were not complete; the next read of {healed} was right");
        assert!(doubted > 0 && healed == doubted);
    });
}
