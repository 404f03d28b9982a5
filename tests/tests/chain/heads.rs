//! Heads that are old, behind, or of the past: an answer at such a block is provisional, and is not asked for while
//! another endpoint is further.

use std::time::Duration;

use assay::config::Config;
use assay_domain::{Coverage, Part, Snapshot};
use assay_tests::devnet::receipts::lending_events;
use assay_tests::devnet::{Devnet, ETHEREUM};
use assay_tests::proxy::{Call, Fault, Proxy, Reply};
use assay_tests::until::until;
use serde_json::json;

use super::wallets::counted;
use super::{Reader, chain, remembering, with};

const DAY: Duration = Duration::from_secs(86_400);
/// Weeks of the devnet's history.
const BEHIND: u64 = 50;

fn uncached(config: &mut Config) {
    (config.scoring.cache_ttl, config.scoring.incomplete_cache_ttl) = (Duration::ZERO, Duration::ZERO);
    // The age of a price is measured when it is read.
    config.prices.refresh = Duration::ZERO;
}

pub(super) fn bounded(age: Duration) -> impl FnOnce(&mut Config) {
    move |config| config.chains[0].max_head_age = Some(age)
}

pub(super) fn asks_head(call: &Call) -> bool {
    call.method == "eth_getBlockByNumber" && call.params[0] == "latest"
}

/// The head is this block.
fn stuck_at(block: u64) -> impl FnMut(&Call) -> Reply + Send {
    move |call| match asks_head(call) {
        true => Reply::Instead(json!([format!("{block:#x}"), false])),
        false => Reply::Pass,
    }
}

/// The block so far behind the head, and the time between them.
pub(super) async fn behind(devnet: &Devnet) -> (u64, Duration) {
    let (head, now) = devnet.ethereum.head().await.unwrap();
    let block = head - BEHIND;
    let there: serde_json::Value =
        devnet.ethereum.rpc.request("eth_getBlockByNumber", json!([format!("{block:#x}"), false])).await.unwrap();
    let time = u64::from_str_radix(&there["timestamp"].as_str().unwrap()[2..], 16).unwrap();
    let age = Duration::from_secs(now - time);
    assert!(age > 2 * DAY, "{age:?}");
    (block, age)
}

/// Why the head is doubted, in words.
fn doubt(snapshot: &Snapshot) -> Option<String> {
    let unread = chain(snapshot, ETHEREUM).unread.iter().find(|unread| unread.part == Part::Head)?;
    Some(unread.reason.clone())
}

#[test]
fn an_endpoint_that_is_stuck_for_days_makes_answers_provisional_until_it_goes_on() {
    with(async |devnet| {
        let (block, _) = behind(devnet).await;
        let proxy = Proxy::start(devnet.ethereum.url()).await;
        proxy.rule(stuck_at(block));
        let reader = Reader::of(devnet).ethereum().through(&[&proxy]).with(bounded(DAY)).with(uncached).started().await;
        let wallet = devnet.wallet("borrower").address;
        let read = reader.read(wallet).await;
        let said = doubt(&read).expect("a doubt");
        assert!(said.contains(&format!("block {block} is")) && said.contains("days old by the clock"), "{said}");
        assert_eq!((read.score_coverage(), read.events_coverage()), (Coverage::Partial, Coverage::Partial));
        let warning = reader.chains().status()[0].doubt().expect("a warning");
        assert!(warning.contains("days old") && warning.contains("chains.max_head_age"), "{warning}");
        assert!(!reader.chains().is_clock_suspected(), "one chain says nothing of the clock");

        proxy.rule(|_| Reply::Pass);
        let read = reader.read(wallet).await;
        assert_eq!((doubt(&read), read.score_coverage()), (None, Coverage::Complete));
        assert_eq!(reader.chains().status()[0].doubt(), None);
    });
}

#[test]
fn several_chains_that_are_all_old_put_the_clock_in_doubt() {
    with(async |devnet| {
        let heads = [&devnet.ethereum, &devnet.base].map(async |on| {
            let proxy = Proxy::start(on.url()).await;
            proxy.rule(stuck_at(on.head().await.unwrap().0 - BEHIND));
            proxy
        });
        let [ethereum, base] = heads;
        let (ethereum, base) = (ethereum.await, base.await);
        let reader = Reader::of(devnet)
            .through(&[&ethereum])
            .with(|config| config.chains[1].rpc = vec![assay_domain::Secret::new(&base.url)])
            .with(|config| config.chains.iter_mut().for_each(|chain| chain.max_head_age = Some(DAY)))
            .with(uncached)
            .started()
            .await;
        let wallet = devnet.wallet("borrower").address;
        reader.read(wallet).await;
        let read = reader.read(wallet).await;
        assert!(reader.chains().is_clock_suspected());
        let said = doubt(&read).expect("a doubt");
        assert!(said.contains("the clock of this machine seems to be wrong"), "{said}");
        assert_eq!(read.score_coverage(), Coverage::Partial);
        assert!(reader.chains().status().iter().all(|status| status.doubt().is_none()), "the clock is one warning");
        // The feeds are as fresh as their chain.
        let prices = |part: &Part| matches!(part, Part::Price(_));
        assert!(!read.unread().any(|(_, unread)| prices(&unread.part)));
    });
}

#[test]
fn an_endpoint_that_is_behind_is_not_asked_while_another_is_not() {
    with(async |devnet| {
        let (block, _) = behind(devnet).await;
        let (first, second) = (Proxy::start(devnet.ethereum.url()).await, Proxy::start(devnet.ethereum.url()).await);
        first.rule(stuck_at(block));
        let reader =
            Reader::of(devnet).ethereum().through(&[&first, &second]).with(bounded(DAY)).with(uncached).started().await;
        let head = devnet.ethereum.head().await.unwrap().0;
        for wallet in &devnet.wallets {
            let read = reader.read(wallet.address).await;
            let pool = &read.chains[0].pools[0];
            assert_eq!((read.score_coverage(), doubt(&read)), (Coverage::Complete, None), "{}", wallet.name);
            assert_eq!(pool.synced_to_block, Some(head), "{}", wallet.name);
            let truth = lending_events(&devnet.ethereum, wallet.address).await.unwrap();
            assert_eq!(counted(pool), truth, "{}", wallet.name);
        }
        // On a busy machine a question may be asked of both. It names the block by its hash, so its answer is right.
        let others = first.take().into_iter().filter(|call| !asks_head(call) && call.method != "eth_chainId");
        let others: Vec<_> = others.map(|call| call.method).collect();
        assert!(others.len() < devnet.wallets.len() / 4, "{others:?}");

        // It is used if no other endpoint answers, and the answer says what it is.
        second.rule(|_| Reply::Status(503, None));
        let wallet = devnet.wallet("borrower").address;
        let last = async || {
            let read = reader.read(wallet).await;
            (read.score_coverage(), doubt(&read))
        };
        let (coverage, _) = until(last, |(_, doubt)| doubt.is_some()).await;
        assert_eq!(coverage, Coverage::Partial);
    });
}

#[test]
fn a_head_that_goes_back_is_never_final() {
    with(async |devnet| {
        let (block, age) = behind(devnet).await;
        let proxy = Proxy::start(devnet.ethereum.url()).await;
        // Neither block is too old, but one is far behind the other.
        let reader =
            Reader::of(devnet).ethereum().through(&[&proxy]).with(bounded(2 * age)).with(uncached).started().await;
        let wallet = devnet.wallet("borrower").address;
        let whole = reader.read(wallet).await;
        assert_eq!((whole.score_coverage(), doubt(&whole)), (Coverage::Complete, None));
        proxy.take();
        let head = devnet.ethereum.head().await.unwrap().0;
        proxy.rule(stuck_at(block));
        let read = reader.read(wallet).await;
        let said = doubt(&read).expect("a doubt");
        assert!(said.contains(&format!("block {block} is far behind block {head}")), "{said}");
        assert_eq!(read.score_coverage(), Coverage::Partial);

        // The history was not read from its start, and is not when the head is back.
        proxy.rule(|_| Reply::Pass);
        let read = reader.read(wallet).await;
        assert_eq!((read.score_coverage(), doubt(&read)), (Coverage::Complete, None));
        let first = proxy.take().iter().filter_map(Call::span).map(|(from, _)| from).min().unwrap();
        assert!(first > block, "{first} is not above {block}");

        // Half of the nodes behind the URL lag: each answer is of the newest block.
        let mut lags = false;
        let mut lagging = stuck_at(block);
        proxy.rule(move |call| {
            lags ^= asks_head(call);
            if lags { lagging(call) } else { Reply::Pass }
        });
        for _ in 0..6 {
            let read = reader.read(wallet).await;
            assert_eq!((read.score_coverage(), doubt(&read)), (Coverage::Complete, None));
            assert_eq!(read.chains[0].pools[0].synced_to_block, Some(head));
        }
    });
}

#[test]
fn a_head_below_a_record_forces_no_new_read() {
    with(async |devnet| {
        let (block, age) = behind(devnet).await;
        let proxy = Proxy::start(devnet.ethereum.url()).await;
        // Neither block is old, and none is far behind the other.
        let wide = bounded(4 * age);
        let mut reader = Reader::of(devnet).ethereum().through(&[&proxy]).with(wide).with(uncached).started().await;
        let wallet = devnet.wallet("borrower").address;
        assert_eq!(reader.read(wallet).await.events_coverage(), Coverage::Complete);
        let early = async || reader.chains().client(ETHEREUM).unwrap().early();
        until(early, Option::is_some).await;
        for restart in [false, true] {
            proxy.take();
            // Before the restart, which asks for the head as well: a read joins a request that is under way.
            proxy.rule(stuck_at(block));
            if restart {
                reader.restart().await;
            }
            assert_eq!(reader.read(wallet).await.events_coverage(), Coverage::Partial, "restart: {restart}");
            proxy.rule(|_| Reply::Pass);
            assert_eq!(reader.read(wallet).await.events_coverage(), Coverage::Complete, "restart: {restart}");
            let first = proxy.take().iter().filter_map(Call::span).map(|(from, _)| from).min().unwrap();
            assert!(first > block, "{first} is not above {block}, restart: {restart}");
        }
    });
}

#[test]
fn a_restart_does_not_go_back() {
    with(async |devnet| {
        let (block, age) = behind(devnet).await;
        let proxy = Proxy::start(devnet.ethereum.url()).await;
        let bounded = bounded(2 * age);
        let mut reader = Reader::of(devnet).ethereum().through(&[&proxy]).with(bounded).with(uncached).started().await;
        let wallet = devnet.wallet("borrower").address;
        assert_eq!(doubt(&*reader.read(wallet).await), None);
        proxy.rule(stuck_at(block));
        reader.restart().await;
        let head = devnet.ethereum.head().await.unwrap().0;
        let said = doubt(&*reader.read(wallet).await).expect("a doubt");
        assert!(said.contains(&format!("block {block} is far behind block {head}")), "{said}");
    });
}

#[test]
fn prices_of_a_doubted_head_do_not_outlive_the_doubt() {
    with(async |devnet| {
        let (block, _) = behind(devnet).await;
        let proxy = Proxy::start(devnet.ethereum.url()).await;
        proxy.rule(stuck_at(block));
        let kept = |config: &mut Config| config.prices.refresh = DAY;
        let reader = Reader::of(devnet).ethereum().through(&[&proxy]).with(bounded(DAY)).with(uncached).with(kept);
        let reader = reader.started().await;
        let wallet = devnet.wallet("holder").address;
        let lacks = |read: &Snapshot| read.unread().any(|(_, unread)| matches!(unread.part, Part::Price(_)));
        assert!(lacks(&*reader.read(wallet).await), "the rounds of that block are old");
        proxy.rule(|_| Reply::Pass);
        let read = reader.read(wallet).await;
        assert_eq!((lacks(&read), doubt(&read)), (false, None));
        // While nothing is doubted, they are shared.
        proxy.take();
        reader.read(devnet.wallet("saver").address).await;
        proxy.rule(stuck_at(block));
        assert!(!lacks(&*reader.read(wallet).await), "earlier ones are better than those of a doubted block");
    });
}

#[test]
fn logs_are_asked_only_of_an_endpoint_that_has_their_blocks() {
    with(async |devnet| {
        let (first, second) = (Proxy::start(devnet.ethereum.url()).await, Proxy::start(devnet.ethereum.url()).await);
        first.rule(|call| if call.method == "eth_getLogs" { Reply::Status(503, None) } else { Reply::Pass });
        let head = devnet.ethereum.head().await.unwrap().0;
        second.rule(stuck_at(head - 1));
        let impatient = |config: &mut Config| config.reading.rpc.retries = 0;
        let reader =
            Reader::of(devnet).ethereum().through(&[&first, &second]).with(impatient).with(uncached).started().await;
        let wallet = devnet.wallet("borrower").address;
        let asked = |proxy: &Proxy| proxy.take().iter().filter(|call| call.method == "eth_getLogs").count();
        assert_ne!(reader.read(wallet).await.events_coverage(), Coverage::Complete);
        assert_eq!(asked(&second), 0, "it would leave out the logs of the last block");
        second.rule(|_| Reply::Pass);
        until(async || reader.read(wallet).await.events_coverage(), |coverage| *coverage == Coverage::Complete).await;
        assert!(asked(&second) > 0);
    });
}

#[test]
fn some_unreadable_answers_cost_no_chain() {
    with(async |devnet| {
        for (fault, every) in [
            (Fault::Page, 100),
            (Fault::Page, 20),
            (Fault::Half, 20),
            (Fault::OtherId, 100),
            (Fault::OtherId, 20),
            (Fault::Partly, 20),
        ] {
            let proxy = remembering(&devnet.ethereum).await;
            // Without a multicall contract there are more batches.
            let batched = |config: &mut Config| config.chains[0].multicall = None;
            let reader = Reader::of(devnet).ethereum().through(&[&proxy]).with(batched).with(uncached).started().await;
            proxy.rule(move |call| if call.request % every == 7 { Reply::Spoil(fault) } else { Reply::Pass });
            for wallet in &devnet.wallets {
                let read = reader.read(wallet.address).await;
                assert_eq!(read.coverage(), Coverage::Complete, "{fault:?} 1 in {every}: {}", wallet.name);
                let truth = lending_events(&devnet.ethereum, wallet.address).await.unwrap();
                assert_eq!(counted(&read.chains[0].pools[0]), truth, "{fault:?} 1 in {every}: {}", wallet.name);
            }
        }
    });
}
