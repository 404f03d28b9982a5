//! Blocks that the chain replaces: the index never has those above the finality, and undoes those below it.

use assay_tests::devnet::ETHEREUM;

use super::super::history::one_more_event;
use super::super::{Reader, alone};
use super::interrupted::undisturbed;
use super::{FINALITY, indexed};

#[test]
fn a_reorganisation_to_the_finality_changes_nothing() {
    alone(async |devnet| {
        let on = &devnet.ethereum;
        let reader = Reader::of(devnet).ethereum().with(indexed).started().await;
        // It looks its markets up at a block that the chain keeps.
        reader.in_step(ETHEREUM, &on.rpc).await;
        let here = on.snapshot().await.unwrap();
        one_more_event(devnet, on).await;
        on.mine(FINALITY - 1).await.unwrap();
        let before = reader.in_step(ETHEREUM, &on.rpc).await;
        on.revert(here).await.unwrap();
        let here = on.snapshot().await.unwrap();
        on.pass(1_000).await.unwrap();
        on.mine(3).await.unwrap();
        one_more_event(devnet, on).await;
        on.mine(2 * FINALITY).await.unwrap();
        let after = reader.in_step(ETHEREUM, &on.rpc).await;
        assert!(after.through > before.through);
        let whole = undisturbed(devnet).await;
        assert_eq!(reader.contents(ETHEREUM).await, whole);
        on.revert(here).await.unwrap();
    });
}

#[test]
fn a_chain_that_was_replaced_below_its_finality_is_read_again_from_there() {
    alone(async |devnet| {
        let on = &devnet.ethereum;
        let reader = Reader::of(devnet).ethereum().with(indexed).started().await;
        let first = reader.in_step(ETHEREUM, &on.rpc).await;
        let here = on.snapshot().await.unwrap();
        one_more_event(devnet, on).await;
        on.mine(40).await.unwrap();
        let settled = reader.in_step(ETHEREUM, &on.rpc).await;
        assert!(settled.through > first.through);
        // Shorter: the endpoint may only be behind.
        on.revert(here).await.unwrap();
        let here = on.snapshot().await.unwrap();
        reader.index(ETHEREUM, |state| state.trouble.is_some()).await;
        on.pass(1_000).await.unwrap();
        one_more_event(devnet, on).await;
        on.mine(60).await.unwrap();
        let again = reader.in_step(ETHEREUM, &on.rpc).await;
        assert_ne!(again.hash, settled.hash);
        let (plain, saver) = (Reader::of(devnet).ethereum().started().await, devnet.wallet("saver").address);
        assert_eq!(reader.read(saver).await.chains, plain.read(saver).await.chains);
        let whole = undisturbed(devnet).await;
        assert_eq!(reader.contents(ETHEREUM).await, whole);
        on.revert(here).await.unwrap();
    });
}
