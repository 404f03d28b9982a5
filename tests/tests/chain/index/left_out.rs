//! An endpoint that leaves out logs: another one, or the blooms of new blocks, tell.

use std::collections::HashSet;

use assay_index::Checked;
use assay_tests::devnet::ETHEREUM;
use assay_tests::proxy::{Call, Proxy, Reply};
use serde_json::json;

use super::super::history::one_more_event;
use super::super::{Reader, alone, with};
use super::interrupted::undisturbed;
use super::{FINALITY, indexed, narrow, opened};

/// Every twentieth answer to a query of logs has none.
fn forgetful() -> impl FnMut(&Call) -> Reply + Send + 'static {
    let (mut narrow, mut answered) = (narrow(4), 0_u32);
    move |call| match narrow(call) {
        Reply::Pass if call.span().is_some() => {
            answered += 1;
            if answered.is_multiple_of(20) { Reply::Result(json!([])) } else { Reply::Pass }
        }
        reply => reply,
    }
}

/// How the blocks in the index of a reader that has ended were checked.
async fn checked(folder: &std::path::Path) -> Checked {
    opened(folder).await.progress(ETHEREUM).unwrap().unwrap().checked
}

#[test]
fn a_second_endpoint_has_what_the_first_leaves_out() {
    with(async |devnet| {
        let whole = undisturbed(devnet).await;
        for forgetful_first in [true, false] {
            let [bad, good] = [Proxy::start(devnet.ethereum.url()).await, Proxy::start(devnet.ethereum.url()).await];
            bad.rule(forgetful());
            good.rule(narrow(10));
            let order = if forgetful_first { [&bad, &good] } else { [&good, &bad] };
            let reader = Reader::of(devnet).ethereum().through(&order).with(indexed).started().await;
            reader.in_step(ETHEREUM, &devnet.ethereum.rpc).await;
            let (contents, folder) = reader.kept(ETHEREUM).await;
            assert_eq!(contents, whole, "the forgetful one is first: {forgetful_first}");
            let checked = checked(folder.path()).await;
            assert!(checked.by_endpoint > 0 && checked.unchecked == 0, "{checked:?}");
            let receipts =
                |proxy: &Proxy| proxy.take().iter().filter(|call| call.method == "eth_getTransactionReceipt").count();
            assert!(receipts(&bad) + receipts(&good) > 0, "receipts decide");
        }
    });
}

#[test]
fn blooms_tell_of_logs_that_the_only_endpoint_leaves_out() {
    alone(async |devnet| {
        let (on, proxy) = (&devnet.ethereum, Proxy::start(devnet.ethereum.url()).await);
        let here = on.snapshot().await.unwrap();
        let reader = Reader::of(devnet).ethereum().through(&[&proxy]).with(indexed).started().await;
        reader.in_step(ETHEREUM, &on.rpc).await;
        // The first answer for every span has no logs.
        let mut seen = HashSet::new();
        proxy.rule(move |call| match call.span() {
            Some(span) if seen.insert(span) => Reply::Result(json!([])),
            _ => Reply::Pass,
        });
        proxy.take();
        one_more_event(devnet, on).await;
        on.mine(FINALITY + 3).await.unwrap();
        reader.in_step(ETHEREUM, &on.rpc).await;
        let whole = undisturbed(devnet).await;
        let (contents, folder) = reader.kept(ETHEREUM).await;
        assert_eq!(contents, whole);
        assert!(checked(folder.path()).await.by_bloom > 0);
        on.revert(here).await.unwrap();
    });
}
