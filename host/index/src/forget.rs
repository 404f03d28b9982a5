//! Removes a chain.

use assay_domain::ChainId;

use crate::{Index, IndexError};

impl Index {
    /// Removes all data of a chain, if there is any.
    ///
    /// # Errors
    /// [`IndexError::Unwritable`].
    pub fn forget(&self, chain: ChainId) -> Result<(), IndexError> {
        let _alone = self.writing();
        self.write(|database| database.remove(chain))
    }
}
