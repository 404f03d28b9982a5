//! Damage in any file of the database.

use std::{fs, path::PathBuf};

use super::{opening::filled, *};

const WALLETS: u64 = 3_000;

/// A file of an index, without the hole at the end of a journal.
#[derive(Clone)]
struct Copy {
    name: PathBuf,
    bytes: Vec<u8>,
    length: u64,
}

impl Copy {
    fn of(folder: &Path, file: &Path) -> Self {
        let mut bytes = fs::read(file).unwrap();
        let length = bytes.len() as u64;
        while bytes.len() >= 4_096 && bytes[bytes.len() - 4_096..] == [0; 4_096] {
            bytes.truncate(bytes.len() - 4_096);
        }
        Self { name: file.strip_prefix(folder).unwrap().to_owned(), bytes, length }
    }

    fn write(&self, folder: &Path) {
        let to = folder.join(&self.name);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::write(&to, &self.bytes).unwrap();
        fs::OpenOptions::new().write(true).open(&to).unwrap().set_len(self.length).unwrap();
    }

    fn cut(&self) -> Self {
        let bytes = self.bytes[..self.bytes.len() / 2].to_vec();
        Self { length: bytes.len() as u64, bytes, ..self.clone() }
    }

    fn overwritten(&self) -> Self {
        let mut other = self.clone();
        let middle = other.bytes.len() / 2;
        other.bytes.iter_mut().skip(middle.saturating_sub(64)).take(128).for_each(|byte| *byte ^= 0x5a);
        other
    }
}

/// All files in a folder and its subfolders.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.path().is_dir() { found.extend(files(&entry.path())) } else { found.push(entry.path()) }
    }
    found
}

/// The names of databases that were set aside.
pub(super) fn aside(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("db.damaged-")).collect()
}

/// A database with one damaged file is either read correctly or empty. It is set aside, unless the damage makes it look
/// new.
#[test]
fn a_damaged_file_is_set_aside_and_an_empty_index_begins() {
    let whole = tempfile::tempdir().unwrap();
    let index = filled(whole.path(), WALLETS);
    index.read(|database| database.compact(CHAIN)).unwrap();
    let expected = everything(&index);
    drop(index);
    let whole: Vec<_> = files(whole.path()).iter().map(|file| Copy::of(whole.path(), file)).collect();
    let mut set_aside = 0;
    for file in whole.iter().filter(|file| file.name.starts_with("db") && !file.name.ends_with("lock")) {
        for damaged in [Some(file.cut()), Some(file.overwritten()), None] {
            let copy = tempfile::tempdir().unwrap();
            whole.iter().filter(|other| other.name != file.name).for_each(|file| file.write(copy.path()));
            damaged.iter().for_each(|file| file.write(copy.path()));
            set_aside += usize::from(is_set_aside(copy.path(), &file.name, &expected));
        }
    }
    assert!(set_aside >= 10, "{set_aside}");
}

/// Opens and reads a damaged index. Returns whether it was set aside.
fn is_set_aside(folder: &Path, name: &Path, expected: &BTreeMap<(usize, Address), Vec<Entry>>) -> bool {
    let index = opened(folder);
    let read = index.progress(CHAIN).and_then(|progress| match progress {
        None => Ok(None),
        Some(_) => index.wallets(CHAIN, 0)?.collect::<Result<Vec<_>, _>>().map(Some),
    });
    match read {
        Ok(Some(wallets)) => {
            let found: BTreeMap<_, _> =
                wallets.into_iter().map(|item| ((item.market, item.wallet), item.entries)).collect();
            assert!(found == *expected, "{}: other entries than were written", name.display());
            return false;
        }
        Ok(None) => {}
        Err(IndexError::Damaged { aside, .. }) => assert!(aside.exists()),
        Err(error) => panic!("{}: {error}", name.display()),
    }
    assert_eq!(index.status().unwrap().chains.len(), 0);
    assert_eq!(index.on_disk().set_aside, aside(folder).len());
    drop(index);
    assert_eq!(everything(&filled(folder, WALLETS)), *expected, "it is built again");
    !aside(folder).is_empty()
}
