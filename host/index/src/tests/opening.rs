//! A folder in use, of a newer version, and without its format.

use std::fs;

use super::{damage::aside, *};

pub(super) fn filled(folder: &Path, wallets: u64) -> Index {
    let index = begun(folder);
    let item = |number| WalletEntries { wallet: wallet(number), market: 0, entries: borrowed(105, 7) };
    index.append(CHAIN, segment(100, 109, (0..wallets).map(item).collect())).unwrap();
    index
}

#[test]
fn one_process_holds_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let index = begun(folder.path());
    let error = Index::open(folder.path()).unwrap_err();
    assert_eq!(error, IndexError::Locked { folder: folder.path().to_owned() });
    assert!(error.to_string().contains("export"), "{error}");
    drop(index);
    opened(folder.path());
}

#[test]
fn a_newer_format_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    drop(filled(folder.path(), 3));
    fs::write(folder.path().join("format"), "2\n").unwrap();
    let error = unlocked(folder.path()).unwrap_err();
    assert_eq!(error, IndexError::Newer { folder: folder.path().to_owned(), found: 2, known: 1 });
    fs::write(folder.path().join("format"), "1\n").unwrap();
    assert_eq!(progress(&opened(folder.path())).entries, 6);
}

#[test]
fn a_folder_without_its_format_is_set_aside() {
    let folder = tempfile::tempdir().unwrap();
    drop(filled(folder.path(), 3));
    fs::remove_file(folder.path().join("format")).unwrap();
    let index = opened(folder.path());
    assert_eq!((index.progress(CHAIN).unwrap(), aside(folder.path()).len()), (None, 1));
}
