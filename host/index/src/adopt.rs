//! Contracts that are new on the chain: nothing of them was missed.

use alloy::primitives::Bytes;
use assay_domain::ChainId;

use crate::{Index, IndexError, Progress};

impl Index {
    /// Says that what the chain's index has is also the answer to `asked`, so that it is gone on with by that.
    ///
    /// # Errors
    /// [`IndexError::Unknown`] where the chain has no index, or that the folder cannot be written.
    pub fn adopt(&self, chain: ChainId, asked: &Bytes) -> Result<Progress, IndexError> {
        let _alone = self.writing();
        self.end_truncation(chain)?;
        let mut progress = self.progress(chain)?.ok_or(IndexError::Unknown(chain))?;
        progress.asked = asked.clone();
        self.write(|database| {
            let Some(entries) = database.view().entries(chain) else { return Ok(()) };
            let mut batch = database.batch();
            database.put_progress(&mut batch, &entries, &progress)?;
            database.commit(batch, &entries)
        })?;
        Ok(progress)
    }
}
