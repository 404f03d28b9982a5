//! Nodes that refuse, limit, return wrong data, or do not answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use assay::config::Config;
use assay_domain::Secret;
use assay_domain::{Address, Coverage, EventCounts, Snapshot};
use assay_tests::devnet::receipts::lending_events;
use assay_tests::devnet::{BASE, Devnet, ETHEREUM};
use assay_tests::proxy::{Call, Fault, Proxy, Reply};
use assay_tests::until::until;

use super::wallets::counted;
use super::{Reader, chain, remembering, with};

#[test]
fn limits_in_any_wording_are_learned_once() {
    with(async |devnet| {
        for (width, code, wording) in [
            (10, -32600, "You can make eth_getLogs requests with up to a 10 block range"),
            (64, -32602, "range 400 exceeds limit of 64"),
            (50, -32614, "eth_getLogs is limited to a 50 range"),
            (100, 35, "ranges over 100 blocks are not supported on freetier"),
            (20, -32000, "requested too many blocks from 0 to 400, maximum is set to 20"),
            (60, -32600, "block range is too wide"),
            (30, -32000, "Block range limit exceeded."),
            (25, -32000, "Maximum allowed number of requested blocks is 25"),
        ] {
            let proxy = Proxy::start(devnet.ethereum.url()).await;
            let refused = Arc::new(AtomicUsize::new(0));
            let count = refused.clone();
            proxy.rule(move |call| match call.span() {
                Some((from, to)) if to - from >= width => {
                    count.fetch_add(1, Ordering::Relaxed);
                    Reply::Error { code, message: wording.to_owned() }
                }
                _ => Reply::Pass,
            });
            let uncached = |config: &mut Config| config.scoring.incomplete_cache_ttl = Duration::ZERO;
            let reader = Reader::of(devnet).ethereum().through(&[&proxy]).with(uncached).started().await;
            let pool = |name| (devnet.wallet(name).address, name);
            for (wallet, name) in [pool("busy"), pool("borrower")] {
                // A machine that is too busy to answer in time leaves a gap, which the next read closes.
                let read = until(async || reader.pool(wallet).await, |read| read.coverage == Coverage::Complete).await;
                assert_eq!(
                    counted(&read),
                    lending_events(&devnet.ethereum, wallet).await.unwrap(),
                    "{name}: {wording}"
                );
            }
            // Three queries for each range, and four ranges at once. Without a width in the message, the width is
            // halved for a few rounds.
            let first = refused.load(Ordering::Relaxed);
            assert!(first <= 3 + 4 * 8, "{first} refusals: {wording}");
            reader.read(devnet.wallet("whale").address).await;
            // A limit that the words do not name is tried again after some answers: at most four ranges at once.
            let more = refused.load(Ordering::Relaxed) - first;
            assert!(more <= if wording.chars().any(|c| c.is_ascii_digit()) { 0 } else { 4 * 3 }, "{more}: {wording}");
        }
    });
}

#[test]
fn a_dense_range_is_split_and_only_there() {
    with(async |devnet| {
        let proxy = Proxy::start(devnet.ethereum.url()).await;
        let refusals = Arc::new(AtomicUsize::new(0));
        let count = refusals.clone();
        let (head, _) = devnet.ethereum.head().await.unwrap();
        proxy.rule(move |call| match call.span() {
            Some((from, to)) if from < head / 2 && to - from > 12 => {
                count.fetch_add(1, Ordering::Relaxed);
                Reply::Error { code: -32005, message: "query returned more than 10000 results".into() }
            }
            _ => Reply::Pass,
        });
        let reader = Reader::of(devnet).ethereum().through(&[&proxy]).started().await;
        let wallet = devnet.wallet("busy").address;
        let read = reader.pool(wallet).await;
        assert_eq!(counted(&read), lending_events(&devnet.ethereum, wallet).await.unwrap());
        assert!(refusals.load(Ordering::Relaxed) > 2);
        let widest = proxy
            .take()
            .iter()
            .filter_map(Call::span)
            .filter(|(from, _)| *from >= head / 2)
            .map(|(from, to)| to - from)
            .max();
        assert!(widest > Some(12), "{widest:?}");
    });
}

#[test]
fn what_fails_at_width_one_is_a_gap_and_not_nothing() {
    with(async |devnet| {
        let proxy = Proxy::start(devnet.ethereum.url()).await;
        let bad = devnet.ethereum.head().await.unwrap().0 / 2;
        let damaged = move |call: &Call| match call.span() {
            Some((from, to)) if (from..=to).contains(&bad) => {
                Reply::Error { code: -32000, message: "response size exceeded".into() }
            }
            _ => Reply::Pass,
        };
        proxy.rule(damaged);
        let reader = Reader::of(devnet).ethereum().through(&[&proxy]).started().await;
        let read = reader.pool(devnet.wallet("borrower").address).await;
        assert_eq!((read.coverage, read.synced_to_block), (Coverage::Partial, Some(bad - 1)));
        assert!(read.counts.repay > Some(0) && read.counts.repay < Some(26));

        // If nothing can be read, the report contains no figures.
        proxy.rule(|call| match call.method.as_str() {
            "eth_getLogs" => Reply::Error { code: -32601, message: "the method eth_getLogs does not exist".into() },
            _ => Reply::Pass,
        });
        let read = reader.pool(devnet.wallet("whale").address).await;
        assert_eq!(
            (read.coverage, read.synced_to_block, read.counts),
            (Coverage::Failed, None, EventCounts::default())
        );
    });
}

#[test]
fn a_chain_that_is_gone_fails_alone() {
    with(async |devnet| {
        let gone = Secret::new("http://127.0.0.1:9/with/a/key");
        let reader = Reader::of(devnet).with(|config| config.chains[1].rpc = vec![gone.clone()]).started().await;
        let wallet = devnet.wallet("whale").address;
        let snapshot = reader.read(wallet).await;
        assert_eq!(chain(&snapshot, ETHEREUM).coverage, Coverage::Complete);
        let base = chain(&snapshot, BASE);
        assert_eq!((base.coverage, base.pools[0].coverage), (Coverage::Failed, Coverage::Failed));
        assert_eq!((base.pools[0].counts, base.pools[0].synced_to_block), (EventCounts::default(), None));
        assert!(!snapshot.all_failed() && snapshot.has_activity());
        let status = reader.chains().status();
        assert_eq!(status[1].endpoint.as_deref(), Some("127.0.0.1:9"));
        assert!(status[1].head.is_none() && !status[1].error.as_deref().unwrap().contains("key"), "{status:?}");

        let all_gone = |config: &mut assay::config::Config| {
            config.chains.iter_mut().for_each(|chain| chain.rpc = vec![gone.clone()])
        };
        let reader = Reader::of(devnet).with(all_gone).started().await;
        assert!(reader.read(wallet).await.all_failed());
    });
}

#[test]
fn a_silent_node_does_not_hold_up_the_answer() {
    with(async |devnet| {
        let proxy = Proxy::start(devnet.ethereum.url()).await;
        proxy.rule(|_| Reply::Hold);
        let hurried = |config: &mut assay::config::Config| config.scoring.read_budget = Duration::from_millis(300);
        let reader = Reader::of(devnet).ethereum().through(&[&proxy]).with(hurried).started().await;
        assert!(reader.read(devnet.wallet("whale").address).await.all_failed());
    });
}

#[test]
fn an_endpoint_of_another_chain_is_not_used() {
    with(async |devnet| {
        let (other, right) = (Proxy::start(devnet.base.url()).await, Proxy::start(devnet.ethereum.url()).await);
        let reader = Reader::of(devnet).ethereum().through(&[&other, &right]).started().await;
        let wallet = devnet.wallet("borrower").address;
        let read = reader.pool(wallet).await;
        assert_eq!(counted(&read), lending_events(&devnet.ethereum, wallet).await.unwrap());
        assert!(other.take().iter().all(|call| call.method == "eth_chainId"));
        let reader = Reader::of(devnet).ethereum().through(&[&other]).started().await;
        assert!(reader.read(wallet).await.all_failed());
        assert!(reader.chains().status()[0].error.as_deref().unwrap().contains("serves chain 8453"));
    });
}

#[test]
fn a_credential_that_a_node_repeats_is_kept_from_errors() {
    with(async |devnet| {
        let proxy = Proxy::start(devnet.ethereum.url()).await;
        let url = proxy.url.replace("://", "://operator:pass-word@");
        let repeated = format!("{url} may not do this; operator has pass-word, sent as Basic b3BlcmF0b3I6cGFzcy13b3Jk");
        proxy.rule(move |_| Reply::Error { code: -32000, message: repeated.clone() });
        let there = vec![Secret::new(url.as_str())];
        let reader = Reader::of(devnet).ethereum().with(|config| config.chains[0].rpc = there).started().await;
        assert_eq!(reader.pool(devnet.wallet("borrower").address).await.coverage, Coverage::Failed);
        let error = reader.chains().status()[0].error.clone().unwrap();
        assert!(error.contains("may not do this"), "{error}");
        for secret in ["operator", "pass-word", "b3Blc"] {
            assert!(!error.contains(secret), "{error}");
        }
    });
}

#[test]
fn the_next_endpoint_is_asked_when_one_fails() {
    with(async |devnet| {
        let (first, second) = (Proxy::start(devnet.ethereum.url()).await, Proxy::start(devnet.ethereum.url()).await);
        let reader = Reader::of(devnet)
            .ethereum()
            .through(&[&first, &second])
            .with(|c| c.reading.rpc.retries = 1)
            .started()
            .await;
        let wallet = devnet.wallet("borrower").address;
        reader.read(devnet.wallet("saver").address).await;
        assert!(second.take().is_empty());
        first.rule(|_| Reply::Status(503, None));
        let read = reader.read(wallet).await;
        assert_eq!(read.coverage(), Coverage::Complete);
        assert!(!second.take().is_empty());
    });
}

#[test]
fn a_chain_that_comes_back_is_read_again() {
    with(async |devnet| {
        let proxy = Proxy::start(devnet.ethereum.url()).await;
        proxy.rule(|_| Reply::Status(502, None));
        let hurried = |config: &mut assay::config::Config| {
            config.reading.rpc.retries = 1;
            config.scoring.incomplete_cache_ttl = Duration::ZERO;
        };
        let reader = Reader::of(devnet).ethereum().through(&[&proxy]).with(hurried).started().await;
        let wallet = devnet.wallet("borrower").address;
        assert!(reader.read(wallet).await.all_failed());
        proxy.rule(|_| Reply::Pass);
        // A read joins a request that is under way, and that of a moment ago failed.
        until(async || reader.read(wallet).await.coverage(), |coverage| *coverage == Coverage::Complete).await;
        assert_eq!(reader.chains().status()[0].error, None);
    });
}

#[test]
fn a_silent_endpoint_is_left_for_the_next() {
    with(async |devnet| {
        let (first, second) = (Proxy::start(devnet.ethereum.url()).await, Proxy::start(devnet.ethereum.url()).await);
        first.rule(|_| Reply::Hold);
        let reader = Reader::of(devnet).ethereum().through(&[&first, &second]).started().await;
        assert_eq!(reader.read(devnet.wallet("borrower").address).await.coverage(), Coverage::Complete);
    });
}

#[test]
fn a_block_that_a_balanced_endpoint_does_not_know_yet_is_asked_for_again() {
    with(async |devnet| {
        let proxy = Proxy::start(devnet.ethereum.url()).await;
        let reader = Reader::of(devnet).ethereum().through(&[&proxy]).started().await;
        reader.read(devnet.wallet("saver").address).await;
        let mut behind = true;
        proxy.rule(move |call| match call.method.as_str() {
            "eth_call" if std::mem::take(&mut behind) => {
                Reply::Error { code: -32000, message: "header not found".into() }
            }
            _ => Reply::Pass,
        });
        assert_eq!(reader.read(devnet.wallet("borrower").address).await.coverage(), Coverage::Complete);
    });
}

#[test]
fn a_rate_limit_is_waited_for_and_not_split() {
    with(async |devnet| {
        let proxy = Proxy::start(devnet.ethereum.url()).await;
        let left = AtomicU64::new(3);
        proxy.rule(move |call| {
            if call.method != "eth_getLogs"
                || left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)).is_err()
            {
                return Reply::Pass;
            }
            match left.load(Ordering::Relaxed) {
                2 => Reply::Status(429, Some(0)),
                1 => Reply::Error { code: -32005, message: "rate limited, try again in 4ms".into() },
                _ => Reply::Status(503, None),
            }
        });
        let reader = Reader::of(devnet).ethereum().through(&[&proxy]).started().await;
        let wallet = devnet.wallet("borrower").address;
        let read = reader.pool(wallet).await;
        assert_eq!(counted(&read), lending_events(&devnet.ethereum, wallet).await.unwrap());
        let spans: Vec<_> = proxy.take().iter().filter_map(Call::span).collect();
        assert_eq!(spans.len(), 6);
        assert!(spans.iter().all(|span| *span == spans[0]), "{spans:?}");
    });
}

#[test]
fn a_node_without_old_state_still_counts() {
    with(async |devnet| {
        let proxy = Proxy::start(devnet.ethereum.url()).await;
        proxy.rule(|call| match call.params[1].as_str() {
            Some(block) if call.method == "eth_getTransactionCount" && block.starts_with("0x") => Reply::Error {
                code: -32000,
                message: "missing trie node 0123 (path ) state 0x4567 is not available".into(),
            },
            _ => Reply::Pass,
        });
        let reader = Reader::of(devnet).ethereum().through(&[&proxy]).started().await;
        let read = reader.read(devnet.wallet("borrower").address).await;
        let activity = &read.chains[0].activity;
        assert_eq!((activity.first_transaction, activity.last_transaction), (None, None));
        assert!(activity.transactions > 0);
        assert_eq!(read.coverage(), Coverage::Partial);
    });
}

/// Asserts that every part that `read` reports as complete equals the undisturbed read `whole`. Incomplete parts may
/// lack data.
fn is_right_or_honest(read: &Snapshot, whole: &Snapshot, what: &str) {
    let (read, whole) = (&read.chains[0], &whole.chains[0]);
    for (pool, right) in read.pools.iter().zip(&whole.pools) {
        match pool.coverage {
            Coverage::Complete => assert_eq!(pool.counts, right.counts, "{what}"),
            Coverage::Failed => {
                assert_eq!((pool.counts, pool.synced_to_block), (EventCounts::default(), None), "{what}")
            }
            Coverage::Partial | Coverage::Pending => {}
        }
    }
    if read.coverage == Coverage::Complete {
        let mut positions = read.positions.clone();
        for (position, right) in positions.iter_mut().zip(&whole.positions) {
            // Credit is in the logs; it is unread if the history of its pool is not complete.
            position.delegations = position.delegations.take().or_else(|| right.delegations.clone());
        }
        assert_eq!(
            (&read.activity, &read.tokens, &positions),
            (&whole.activity, &whole.tokens, &whole.positions),
            "{what}"
        );
    }
}

/// A wallet with debt on chain 1, and an undisturbed read of it.
async fn indebted(devnet: &Devnet) -> (Address, Arc<Snapshot>) {
    let reader = Reader::of(devnet).ethereum().started().await;
    for wallet in &devnet.wallets {
        let read = reader.read(wallet.address).await;
        if read.chains[0].positions.iter().any(|position| position.borrowed_usd > 0.0) {
            assert_eq!(read.coverage(), Coverage::Complete, "{}", wallet.name);
            return (wallet.address, read);
        }
    }
    panic!("no wallet owes anything");
}

fn impatient(config: &mut assay::config::Config) {
    config.reading.rpc.retries = 1;
    config.scoring.cache_ttl = Duration::ZERO;
    config.scoring.incomplete_cache_ttl = Duration::ZERO;
}

/// The result while a fault lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ends {
    /// As without the fault.
    Well,
    /// Without a lending history.
    Unread,
}

#[test]
fn no_spoilt_answer_becomes_a_wrong_number() {
    with(async |devnet| {
        let (wallet, whole) = indebted(devnet).await;
        for (fault, ends) in [
            (Fault::Half, Ends::Unread),
            (Fault::Reset, Ends::Unread),
            (Fault::Page, Ends::Unread),
            (Fault::Redirect, Ends::Unread),
            (Fault::OtherId, Ends::Unread),
            (Fault::Backwards, Ends::Well),
            (Fault::Unordered, Ends::Well),
            (Fault::Twice, Ends::Well),
            (Fault::Foreign, Ends::Well),
            // A debt without a borrow event: the history is rejected.
            (Fault::NoLogs, Ends::Unread),
            (Fault::Removed, Ends::Unread),
            (Fault::Pending, Ends::Unread),
        ] {
            let proxy = remembering(&devnet.ethereum).await;
            let reader = Reader::of(devnet).ethereum().through(&[&proxy]).with(impatient).started().await;
            reader.read(devnet.wallet("saver").address).await;
            // The fault first applies to logs alone, then to all responses.
            proxy.rule(move |call| if call.method == "eth_getLogs" { Reply::Spoil(fault) } else { Reply::Pass });
            let read = reader.read(wallet).await;
            is_right_or_honest(&read, &whole, &format!("{fault:?} of logs"));
            let expected = ends == Ends::Well;
            assert_eq!(read.events_coverage() == Coverage::Complete, expected, "{fault:?}");
            proxy.rule(move |_| Reply::Spoil(fault));
            is_right_or_honest(&*reader.read(wallet).await, &whole, &format!("{fault:?} of everything"));
            // Logs that are missing in the settled part stay missing: the report shows this while the debt exists.
            if fault == Fault::NoLogs {
                continue;
            }
            // After the fault, the report is correct again.
            proxy.rule(|_| Reply::Pass);
            let coverage = async || {
                let read = reader.read(wallet).await;
                is_right_or_honest(&read, &whole, &format!("after {fault:?}"));
                (fault, read.coverage())
            };
            until(coverage, |(_, coverage)| *coverage == Coverage::Complete).await;
        }
    });
}

#[test]
fn a_batch_that_is_answered_in_part_or_in_another_order_is_no_other_answer() {
    with(async |devnet| {
        let wallet = devnet.wallet("borrower").address;
        let whole = Reader::of(devnet).ethereum().started().await.read(wallet).await;
        for fault in [Fault::Partly, Fault::Backwards, Fault::OtherId] {
            let proxy = remembering(&devnet.ethereum).await;
            // Without a multicall contract all calls go in batches.
            let batched = |config: &mut assay::config::Config| config.chains[0].multicall = None;
            let reader = Reader::of(devnet).ethereum().through(&[&proxy]).with(impatient).with(batched).started().await;
            proxy.rule(move |call| match call.method.as_str() {
                "eth_chainId" | "eth_getLogs" => Reply::Pass,
                _ => Reply::Spoil(fault),
            });
            let read = reader.read(wallet).await;
            is_right_or_honest(&read, &whole, &format!("{fault:?}"));
            assert_eq!(read.coverage() == Coverage::Complete, fault == Fault::Backwards, "{fault:?}");
        }
    });
}

#[test]
fn a_head_that_lags_and_goes_back_is_followed() {
    with(async |devnet| {
        let (on, wallet) = (&devnet.ethereum, devnet.wallet("busy").address);
        let proxy = Proxy::start(on.url()).await;
        let reader = Reader::of(devnet).ethereum().through(&[&proxy]).with(impatient).started().await;
        let whole = reader.read(wallet).await;
        let head = on.head().await.unwrap().0;
        // Within the settled blocks, below them, and back again.
        for behind in [5, 40, 2, 0] {
            proxy.rule(move |call| match call.method.as_str() {
                "eth_getBlockByNumber" if call.params[0] == "latest" => {
                    Reply::Instead(serde_json::json!([format!("{:#x}", head - behind), false]))
                }
                _ => Reply::Pass,
            });
            let pool = reader.pool(wallet).await;
            assert_eq!(
                (pool.coverage, pool.synced_to_block),
                (Coverage::Complete, Some(head - behind)),
                "{behind} behind"
            );
            let (now, then) = (counted(&pool), counted(&whole.chains[0].pools[0]));
            assert!(now.total() <= then.total(), "{behind} behind");
            if behind == 0 {
                assert_eq!(now, then);
            }
        }
    });
}
