//! Imports the files of an export into an index. Every file is compared with its digest before anything is written. A
//! chain appears in the index after its last file; an interrupted import continues with the next file.

use std::path::Path;

use assay_domain::ChainId;
use assay_lending::Entry;

use super::{
    error::SegmentsError,
    manifest::{ExportedChain, ExportedFile, Manifest},
    read::RowTable,
    row::EntryRow,
    take::{TakenRows, Taking},
};
use crate::{Index, WalletEntries};

/// The result of an import.
#[derive(Debug, Clone)]
pub struct Import {
    pub manifest: Manifest,
    /// SHA-256 of the manifest, in hexadecimal. If the exporting host reports the same digest, all data is from there.
    pub digest: String,
}

/// Imports the export in `folder`. Calls `done` with each imported file.
///
/// # Errors
/// [`SegmentsError::Indexed`] if a chain is in the index and `replace` is not set. [`SegmentsError::Bad`] names the
/// file that differs from the export.
pub fn import(
    index: &Index,
    folder: &Path,
    replace: bool,
    mut done: impl FnMut(&ExportedFile),
) -> Result<Import, SegmentsError> {
    let (manifest, digest) = Manifest::read(folder)?;
    for ExportedChain { chain, index: exported, files } in &manifest.chains {
        let there = index.progress(*chain)?;
        // A finished import, or an import without `replace`, must not change the chain.
        if let Some(there) = there.filter(|there| !replace && !there.is_same(exported)) {
            return Err(SegmentsError::Indexed {
                chain: *chain,
                through: there.through().map_or(0, |block| block.number),
            });
        }
        for file in files {
            let path = file.check(folder)?;
            let rows = RowTable::open(&path).map_err(|reason| SegmentsError::bad(&path, reason))?.rows();
            if rows != file.rows {
                let reason = format!("it has {rows} rows, the manifest says {}", file.rows);
                return Err(SegmentsError::bad(&path, reason));
            }
        }
    }
    for exported in &manifest.chains {
        if index.progress(exported.chain)?.is_none_or(|there| !there.is_same(&exported.index)) {
            take_chain(index, folder, exported, &digest, &mut done)?;
        }
    }
    Ok(Import { manifest, digest })
}

fn take_chain(
    index: &Index,
    folder: &Path,
    exported: &ExportedChain,
    digest: &str,
    done: &mut impl FnMut(&ExportedFile),
) -> Result<(), SegmentsError> {
    let ExportedChain { chain, index: progress, files } = exported;
    let mut taking = Taking::new(index, *chain, progress, digest)?;
    for file in files.iter().skip(taking.taken.files) {
        take_file(&mut taking, &folder.join(&file.name), *chain, file)?;
        taking.end_file()?;
        done(file);
    }
    let TakenRows { entries, events, .. } = taking.taken;
    if (entries, events) != (progress.entries, progress.events) {
        let reason = format!("chain {chain} has {entries} entries and {events} events, not as many as it says");
        return Err(SegmentsError::bad(&folder.join(super::MANIFEST), reason));
    }
    Ok(taking.end()?)
}

fn take_file(taking: &mut Taking<'_>, path: &Path, chain: ChainId, file: &ExportedFile) -> Result<(), SegmentsError> {
    let bad = |reason: String| SegmentsError::bad(path, reason);
    let mut table = RowTable::open(path).map_err(bad)?;
    let mut item = None::<WalletEntries>;
    while let Some(rows) = table.group(chain, &taking.progress.markets).map_err(bad)? {
        for EntryRow { wallet, market, entry } in rows {
            check(taking, file, &item, wallet, market, entry).map_err(bad)?;
            if let Some(whole) = item.take_if(|item| (item.wallet, item.market) != (wallet, market)) {
                taking.put(whole)?;
            }
            let same = item.get_or_insert_with(|| WalletEntries { wallet, market, entries: Vec::new() });
            same.entries.push(entry);
        }
    }
    item.map_or(Ok(()), |last| Ok(taking.put(last)?))
}

/// Checks that a row may follow `last`.
fn check(
    taking: &Taking<'_>,
    file: &ExportedFile,
    last: &Option<WalletEntries>,
    wallet: assay_domain::Address,
    market: usize,
    entry: Entry,
) -> Result<(), String> {
    let place = (wallet, market, entry.block);
    let before = last.as_ref().and_then(|last| Some((last.wallet, last.market, last.entries.last()?.block)));
    if before.is_some_and(|before| before > place) {
        return Err(format!("the rows of {wallet} are out of order"));
    }
    if wallet < file.first || wallet > file.last {
        return Err(format!("{wallet} is not among the wallets that the manifest says"));
    }
    if taking.progress.through().is_none_or(|through| entry.block > through.number) {
        return Err(format!("{wallet} has an entry of block {}, above the last one", entry.block));
    }
    Ok(())
}
