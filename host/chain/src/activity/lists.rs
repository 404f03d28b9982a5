//! Reading an explorer's lists of an address, page by page.

use super::{
    progress::{Output, Scope},
    reading::Reading,
    tally,
};
use crate::explorer::{Explorer, List, Pages, Refusal};
use assay_evm::client::Block;

/// Pages of one list in one read: some 25,000 rows.
const MAX_PAGES: u32 = 25;

/// Continues all lists; whether they are complete.
pub(super) async fn read(explorer: &Explorer, reading: &mut Reading, head: Block, output: &Output<'_>) -> bool {
    let mut complete = true;
    for list in List::ALL {
        match read_list(explorer, reading, list, head, output).await {
            Ok(all) => complete &= all,
            Err(refusal) => {
                tracing::debug!(chain = output.chain, ?list, %refusal, "a list of the explorer cannot be read");
                complete = false;
                if !matches!(refusal, Refusal::Other(_) | Refusal::TooLarge) {
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
    reading: &mut Reading,
    list: List,
    head: Block,
    output: &Output<'_>,
) -> Result<bool, Refusal> {
    let from = *tally::from(&mut reading.settled, list);
    let mut pages = Pages::new(explorer, list, reading.wallet, from, head.number);
    for _ in 0..MAX_PAGES {
        let Some(rows) = pages.next().await? else { return Ok(!pages.damaged) };
        // An unreadable row may be any row: nothing that came with it is settled.
        if reading.take(list, rows, !pages.damaged) {
            output.save(reading.wallet, &reading.settled).await;
            output.publish(reading, Scope::All, false);
        }
    }
    Ok(pages.is_done() && !pages.damaged)
}
