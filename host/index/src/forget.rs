//! Removes a chain.

use assay_domain::ChainId;

use crate::{Index, IndexError};

impl Index {
    /// Removes all of a chain; nothing happens where there is nothing.
    ///
    /// # Errors
    /// [`IndexError::Unwritable`].
    pub fn forget(&self, chain: ChainId) -> Result<(), IndexError> {
        let _alone = self.writing();
        self.write(|database| database.remove(chain))
    }
}
