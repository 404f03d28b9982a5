//! A folder in use, of a newer version, and damaged.

use std::fs;

use super::*;
use crate::IndexError;

fn filled(folder: &Path, wallets: u64) -> Index {
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
    Index::open(folder.path()).unwrap();
}

#[test]
fn a_newer_format_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    drop(filled(folder.path(), 3));
    fs::write(folder.path().join("format"), "2\n").unwrap();
    let error = Index::open(folder.path()).unwrap_err();
    assert_eq!(error, IndexError::Newer { folder: folder.path().to_owned(), found: 2, known: 1 });
    fs::write(folder.path().join("format"), "1\n").unwrap();
    assert_eq!(progress(&Index::open(folder.path()).unwrap()).entries, 6);
}

/// The names of what was set aside.
fn aside(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("db.damaged-")).collect()
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.path().is_dir() { found.extend(files(&entry.path())) } else { found.push(entry.path()) }
    }
    found.sort();
    found
}

/// A database with damage in one of its files is read as it was, or is empty. It is set aside, unless the damage makes it
/// look new.
#[test]
fn a_damaged_file_is_set_aside_and_an_empty_index_begins() {
    let whole = tempfile::tempdir().unwrap();
    let index = filled(whole.path(), 3_000);
    index.read(|database| database.compact(CHAIN)).unwrap();
    let expected = everything(&index);
    drop(index);
    let names: Vec<_> = files(&whole.path().join("db"))
        .iter()
        .map(|file| file.strip_prefix(whole.path()).unwrap().to_owned())
        .collect();
    let mut set_aside = 0;
    for name in names.iter().filter(|name| !name.ends_with("lock")) {
        for damage in [cut as fn(&Path), overwrite, remove] {
            let copy = tempfile::tempdir().unwrap();
            for file in files(whole.path()) {
                let to = copy.path().join(file.strip_prefix(whole.path()).unwrap());
                fs::create_dir_all(to.parent().unwrap()).unwrap();
                let bytes = fs::read(&file).unwrap();
                let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
                fs::write(&to, &bytes[..end]).unwrap();
                // The rest of a journal is a hole.
                fs::OpenOptions::new().write(true).open(&to).unwrap().set_len(bytes.len() as u64).unwrap();
            }
            damage(&copy.path().join(name));
            let index = Index::open(copy.path()).unwrap();
            let read = index.progress(CHAIN).and_then(|progress| match progress {
                None => Ok(None),
                Some(_) => index.wallets(CHAIN, 0)?.collect::<Result<Vec<_>, _>>().map(Some),
            });
            match read {
                Ok(Some(wallets)) => {
                    let found: BTreeMap<_, _> =
                        wallets.into_iter().map(|wallet| ((0, wallet.address), wallet.entries)).collect();
                    assert!(found == expected, "{}: other entries than were written", name.display());
                    continue;
                }
                Ok(None) => {}
                Err(IndexError::Damaged { aside, .. }) => assert!(aside.exists()),
                Err(error) => panic!("{}: {error}", name.display()),
            }
            set_aside += aside(copy.path()).len();
            assert_eq!(index.status().unwrap().chains.len(), 0);
            drop(index);
            assert_eq!(everything(&filled(copy.path(), 3_000)), expected, "it is built again");
        }
    }
    assert!(set_aside >= 5, "{set_aside}");
}

fn cut(file: &Path) {
    let length = fs::metadata(file).unwrap().len();
    fs::OpenOptions::new().write(true).open(file).unwrap().set_len(length / 2).unwrap();
}

fn overwrite(file: &Path) {
    let mut bytes = fs::read(file).unwrap();
    let middle = bytes.len() / 2;
    bytes.iter_mut().skip(middle.saturating_sub(64)).take(128).for_each(|byte| *byte ^= 0x5a);
    fs::write(file, bytes).unwrap();
}

fn remove(file: &Path) {
    fs::remove_file(file).unwrap();
}

#[test]
fn a_folder_without_its_format_is_set_aside() {
    let folder = tempfile::tempdir().unwrap();
    drop(filled(folder.path(), 3));
    fs::remove_file(folder.path().join("format")).unwrap();
    let index = Index::open(folder.path()).unwrap();
    assert_eq!((index.progress(CHAIN).unwrap(), aside(folder.path()).len()), (None, 1));
}
