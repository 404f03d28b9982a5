//! Reading an explorer's lists of an address, page by page.

use super::{
    progress::{ListedScope, Output},
    reading::ListingState,
    tally,
};
use crate::{
    explorer::{Explorer, ExplorerList, ExplorerRefusal, ListPages},
    limits,
};
use assay_evm::client::Block;

/// Continues all lists; whether they are complete.
pub(super) async fn read(explorer: &Explorer, reading: &mut ListingState, head: Block, output: &Output<'_>) -> bool {
    let mut complete = true;
    for list in ExplorerList::ALL {
        match read_list(explorer, reading, list, head, output).await {
            Ok(all) => complete &= all,
            Err(refusal) => {
                tracing::debug!(chain = output.chain, ?list, %refusal, "a list of the explorer cannot be read");
                complete = false;
                if !matches!(refusal, ExplorerRefusal::Other(_) | ExplorerRefusal::TooLarge) {
                    break;
                }
            }
        }
    }
    complete
}

/// Continues one list; whether it is complete.
async fn read_list(
    explorer: &Explorer,
    reading: &mut ListingState,
    list: ExplorerList,
    head: Block,
    output: &Output<'_>,
) -> Result<bool, ExplorerRefusal> {
    let from = *tally::from(&mut reading.settled, list);
    let mut pages = ListPages::new(explorer, list, reading.wallet, from, head.number);
    for _ in 0..limits::PAGES_PER_LIST {
        let Some(rows) = pages.next().await? else { return Ok(!pages.damaged) };
        // An unreadable row may be any row: nothing that came with it is settled.
        if reading.take(list, rows, !pages.damaged) {
            output.save(reading.wallet, &reading.settled).await;
            output.publish(reading, ListedScope::All, false);
        }
    }
    Ok(pages.is_done() && !pages.damaged)
}
