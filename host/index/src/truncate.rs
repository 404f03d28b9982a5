//! Removes blocks that a reorganisation replaced. The progress goes back first; from then on, readers skip higher
//! blocks. The entries are removed afterwards, if necessary after a restart.

use assay_domain::ChainId;

use crate::{
    Checkpoint, Index, IndexError, IndexProgress,
    folder::{Database, DatabaseFault},
    history::unpack,
    items::count,
    limits,
};

impl Index {
    /// Goes back to the newest checkpoint at or below `block` and returns it. `None` means that there is none and the
    /// chain is read from its start again.
    ///
    /// # Errors
    /// [`IndexError::Unwritable`]: no reader sees the entries that are left, and the next append removes them first.
    pub fn truncate(&self, chain: ChainId, block: u64) -> Result<Option<Checkpoint>, IndexError> {
        let _alone = self.writing();
        let Some(mut progress) = self.progress(chain)? else { return Ok(None) };
        if progress.through().is_none_or(|through| through.number <= block) {
            return Ok(progress.through());
        }
        progress.checkpoints.retain(|checkpoint| checkpoint.number <= block);
        progress.rewinding = true;
        progress.rewinds = progress.rewinds.saturating_add(1);
        self.write(|database| {
            let Some(entries) = database.view().entries(chain) else { return Ok(()) };
            let mut batch = database.batch(&entries);
            batch.put_progress(&progress)?;
            database.commit(batch)
        })?;
        self.end_truncation(chain)?;
        Ok(progress.through())
    }

    /// Removes all data of a chain, if there is any.
    ///
    /// # Errors
    /// [`IndexError::Unwritable`].
    pub fn forget(&self, chain: ChainId) -> Result<(), IndexError> {
        let _alone = self.writing();
        self.write(|database| database.remove(chain))
    }

    /// Removes entries that a truncation left.
    pub(crate) fn end_truncation(&self, chain: ChainId) -> Result<(), IndexError> {
        self.write(|database| match database.view().progress(chain)? {
            Some(progress) if progress.rewinding => end(database, chain, progress),
            _ => Ok(()),
        })
    }
}

fn end(database: &Database, chain: ChainId, mut progress: IndexProgress) -> Result<(), DatabaseFault> {
    let view = database.view();
    let Some(keyspace) = view.entries(chain) else { return Ok(()) };
    let assets = view.assets(chain)?;
    let through = progress.through();
    (progress.events, progress.entries, progress.rewinding) = (0, 0, false);
    let mut batch = database.batch(&keyspace);
    for item in view.after(&keyspace, None) {
        let (bytes, value) = item?;
        let (key, entries) = unpack(&bytes, &value, &assets)?;
        if through.is_some_and(|through| key.block <= through.number) {
            let (entries, events) = count(&entries);
            (progress.entries, progress.events) = (progress.entries + entries, progress.events + events);
            continue;
        }
        batch.remove(&bytes);
        if batch.len() >= limits::REMOVALS_PER_WRITE {
            database.commit(std::mem::replace(&mut batch, database.batch(&keyspace)))?;
        }
    }
    batch.put_progress(&progress)?;
    database.commit(batch)
}
