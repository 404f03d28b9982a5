//! The index that all chains share. Its folder is opened once, when the first chain needs it.

use std::path::PathBuf;

use tokio::{sync::OnceCell, task::spawn_blocking, time::sleep};

use crate::{Index, IndexError, pauses};

#[derive(Debug)]
pub struct LazyIndex {
    folder: PathBuf,
    /// `None` if it cannot be opened.
    opened: OnceCell<Option<Index>>,
}

impl LazyIndex {
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, opened: OnceCell::new() }
    }

    /// Whether an earlier process created the folder.
    pub fn exists(&self) -> bool {
        self.folder.is_dir()
    }

    /// The index; `None` if it cannot be opened, which is logged.
    pub async fn index(&self) -> Option<Index> {
        self.opened.get_or_init(|| self.open()).await.clone()
    }

    async fn open(&self) -> Option<Index> {
        let mut tries = 0;
        loop {
            let folder = self.folder.clone();
            let opened = spawn_blocking(move || Index::open(&folder)).await;
            tries += 1;
            match opened {
                Ok(Ok(index)) => return Some(index),
                Ok(Err(IndexError::Locked { .. })) if tries < pauses::FOLDER_TRIES => sleep(pauses::FOLDER_HELD).await,
                Ok(Err(error)) => {
                    tracing::warn!(%error, "the market index is not used; each wallet is read by itself until the next \
                                            start");
                    return None;
                }
                Err(error) => {
                    tracing::error!(%error, "the market index cannot be opened");
                    return None;
                }
            }
        }
    }
}
