//! Reading an explorer's lists of an address, page after page.

use tokio::sync::watch;

use super::{
    history::{Listed, Reader, Told},
    reading::Reading,
    tally,
};
use crate::explorer::{Explorer, List, Pages, Refusal};
use assay_evm::client::Block;

/// Pages of one list in one read: some 25,000 rows.
const PAGES: u32 = 25;

impl Reader {
    /// Reads all lists on; whether that was all of them.
    pub(super) async fn lists(
        &self,
        explorer: &Explorer,
        reading: &mut Reading,
        head: Block,
        view: &watch::Sender<Listed>,
    ) -> bool {
        let mut whole = true;
        for list in List::ALL {
            match self.list(explorer, reading, list, head, view).await {
                Ok(all) => whole &= all,
                Err(refusal) => {
                    tracing::debug!(chain = self.chain, ?list, %refusal, "a list of the explorer cannot be read");
                    whole = false;
                    if !matches!(refusal, Refusal::Other(_) | Refusal::TooLarge) {
                        break;
                    }
                }
            }
        }
        whole
    }

    /// Reads one list on; whether that was all of it.
    async fn list(
        &self,
        explorer: &Explorer,
        reading: &mut Reading,
        list: List,
        head: Block,
        view: &watch::Sender<Listed>,
    ) -> Result<bool, Refusal> {
        let from = *tally::from(&mut reading.settled, list);
        let mut pages = Pages::new(explorer, list, reading.wallet, from, head.number);
        for _ in 0..PAGES {
            let Some(rows) = pages.next().await? else { return Ok(!pages.damaged) };
            // A row that cannot be read may be any: what came with it is not settled.
            if reading.take(list, rows, !pages.damaged) {
                self.keep(reading.wallet, &reading.settled).await;
                view.send_replace(Listed { progress: reading.with_tail(), whole: false, told: Told::Lists });
            }
        }
        Ok(pages.is_done() && !pages.damaged)
    }
}
