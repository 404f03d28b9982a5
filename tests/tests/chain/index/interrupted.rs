//! A reader of an index that is killed at any moment goes on where it was, and ends as one that was not.

use assay_tests::devnet::{Chain, Devnet, ETHEREUM};
use assay_tests::proxy::{Call, Proxy, Reply};

use super::super::history::one_more_event;
use super::super::{Reader, alone, with};
use super::{Contents, FINALITY, indexed, narrow};

/// Blocks of the widest range: many ranges on a short chain.
const WIDTH: u64 = 4;

/// 5, or 50 where the test is to take its time.
fn kills() -> usize {
    if std::env::var_os("ASSAY_SOAK").is_some() { 50 } else { 5 }
}

/// The index of chain 1 that was built in one go.
pub(super) async fn undisturbed(devnet: &Devnet) -> Contents {
    let reader = Reader::of(devnet).ethereum().with(indexed).started().await;
    reader.in_step(ETHEREUM, &devnet.ethereum.rpc).await;
    reader.contents(ETHEREUM).await
}

/// Holds the `nth` call that `counts`, and passes all others that are narrow enough.
fn hold(nth: usize, counts: impl Fn(&Call) -> bool + Send + 'static) -> impl FnMut(&Call) -> Reply + Send + 'static {
    let (mut narrow, mut seen) = (narrow(WIDTH), 0);
    move |call| {
        let reply = narrow(call);
        seen += usize::from(counts(call) && matches!(reply, Reply::Pass));
        if seen == nth && counts(call) && matches!(reply, Reply::Pass) { Reply::Hold } else { reply }
    }
}

#[test]
fn killed_during_the_first_reading_it_ends_as_one_that_was_not() {
    with(async |devnet| {
        let whole = undisturbed(devnet).await;
        let mut reader = Reader::of(devnet).ethereum().with(indexed);
        let ranges = (devnet.ethereum.head().await.unwrap().0 / WIDTH) as usize;
        let mut reached = Vec::new();
        for kill in 0..kills() {
            // Its own: a late query of the reader before would be the one that is held, before this reader has begun.
            let proxy = Proxy::start(devnet.ethereum.url()).await;
            reader = reader.through(&[&proxy]);
            // At all distances, some with an append before them.
            proxy.rule(hold(kill * 67 % ranges.min(199) + 1, |call| call.span().is_some()));
            if kill == 0 {
                reader.start().await
            } else {
                reader.restart().await
            }
            let mut states = reader.chains().index(ETHEREUM).unwrap();
            tokio::select! {
                () = proxy.held() => {}
                _ = states.wait_for(assay_chain::IndexState::is_in_step) => {}
            }
            reached.push(states.borrow().through);
            proxy.release(1);
        }
        assert!(reached.is_sorted(), "{reached:?}");
        let proxy = Proxy::start(devnet.ethereum.url()).await;
        proxy.rule(narrow(WIDTH));
        reader = reader.through(&[&proxy]);
        reader.restart().await;
        reader.in_step(ETHEREUM, &devnet.ethereum.rpc).await;
        assert_eq!(reader.contents(ETHEREUM).await, whole);
    });
}

/// One more event, and a block after it.
async fn goes_on(devnet: &Devnet, on: &Chain) {
    one_more_event(devnet, on).await;
    on.mine(1).await.unwrap();
}

#[test]
fn killed_while_it_follows_it_ends_as_one_that_was_not() {
    alone(async |devnet| {
        let (on, proxy) = (&devnet.ethereum, Proxy::start(devnet.ethereum.url()).await);
        let here = on.snapshot().await.unwrap();
        let mut reader = Reader::of(devnet).ethereum().through(&[&proxy]).with(indexed).started().await;
        reader.in_step(ETHEREUM, &on.rpc).await;
        for kill in 0..kills() {
            goes_on(devnet, on).await;
            // The calls of a round: the head, the last block, logs, blooms, the new last block.
            proxy.rule(hold(kill % 7 + 1, |_| true));
            reader.restart().await;
            let mut states = reader.chains().index(ETHEREUM).unwrap();
            tokio::select! {
                () = proxy.held() => {}
                _ = states.wait_for(assay_chain::IndexState::is_in_step) => {}
            }
            proxy.release(1);
        }
        on.mine(FINALITY).await.unwrap();
        proxy.rule(narrow(100));
        reader.restart().await;
        reader.in_step(ETHEREUM, &on.rpc).await;
        let whole = undisturbed(devnet).await;
        let last = whole.wallets.iter().flat_map(|(.., entries)| entries).map(|entry| entry.block).max().unwrap();
        assert!(last + 3 > on.head().await.unwrap().0 - FINALITY, "the last events are in it");
        assert_eq!(reader.contents(ETHEREUM).await, whole);
        on.revert(here).await.unwrap();
    });
}
