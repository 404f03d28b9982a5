//! Errors of the index, each with the operator's remedy.

use std::path::PathBuf;

use assay_domain::{Address, ChainId};

/// Why the index cannot be opened, read or written. The server can still answer, because it can also read each wallet
/// from the chain.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IndexError {
    #[error(
        "the index {} is in use by another process, such as a running server; stop that one, or work on a copy: `assay \
         index export` writes one, `assay index import` reads it into another reading.index_path",
        folder.display()
    )]
    Locked { folder: PathBuf },
    #[error("the index {} has format {found}, this version knows up to {known}; run the version that wrote it or a \
             newer one, or move the folder away to read the chains again", folder.display())]
    Newer { folder: PathBuf, found: u64, known: u64 },
    #[error("the index {} cannot be used: {reason}; check reading.index_path, the rights to it and the space left",
        folder.display())]
    Unusable { folder: PathBuf, reason: String },
    #[error("the index {} was damaged ({reason}) and is now empty; what was there is {}, which may be removed",
        folder.display(), aside.display())]
    Damaged { folder: PathBuf, reason: String, aside: PathBuf },
    /// The write may have happened or not; the progress tells.
    #[error("the index {} cannot be written: {reason}; check the disk and the space left on it", folder.display())]
    Unwritable { folder: PathBuf, reason: String },
    #[error("the index has nothing of chain {0}; a server with reading.index = \"on\" reads it")]
    Unknown(ChainId),
    #[error("chain {chain} is indexed for other markets or contracts; forget it first")]
    Otherwise { chain: ChainId },
    #[error("blocks from {got} of chain {chain} do not follow what the index has; the next block is {next}")]
    NotNext { chain: ChainId, next: u64, got: u64 },
    #[error("these entries of chain {chain} cannot be kept: {reason}")]
    Refused { chain: ChainId, reason: String },
    #[error("the index of chain {chain} has no market {market}; `assay index status` lists those it has")]
    NoMarket { chain: ChainId, market: Address },
    #[error("the index of chain {chain} is complete through block {through}; ask for that one or one below")]
    Above { chain: ChainId, through: u64 },
    #[error("the index of chain {chain} was changed while it was read; ask again")]
    Changed { chain: ChainId },
}
