//! Exports that can be imported, and some that cannot.

use std::{
    fs,
    panic::{self, AssertUnwindSafe},
};

use tempfile::{TempDir, tempdir};

use super::*;
use crate::segments::{ExportedFile, MANIFEST, Manifest, SegmentsError, export, import};

const OTHER: u64 = 8453;

/// An index of two chains with entries of every kind, and its export.
fn exported() -> (TempDir, Index, TempDir, Manifest) {
    let (folder, files) = (tempdir().unwrap(), tempdir().unwrap());
    let index = begun(folder.path());
    index.begin(OTHER, &markets(), &asked()).unwrap();
    for place in 0..8 {
        let from = 100 + place * 10;
        let items = (0..400_u64).map(|number| WalletEntries {
            wallet: wallet(number % 150),
            market: (number % 3) as usize,
            entries: [borrowed(from + number % 10, number as i64 - 200), strange(from + 9)].concat(),
        });
        index.append(CHAIN, segment(from, from + 9, items.collect())).unwrap();
    }
    index
        .append(OTHER, segment(100, 109, vec![WalletEntries { wallet: wallet(1), market: 0, entries: strange(104) }]))
        .unwrap();
    let manifest = export(&index, &[CHAIN, OTHER], files.path(), |_| {}).unwrap();
    (folder, index, files, manifest)
}

/// Entries with extreme values.
fn strange(block: u64) -> Vec<Entry> {
    let moved = |side, amount, fixed_rate| What::Moved(Move { side, asset: Address::ZERO.into(), amount, fixed_rate });
    let whats = [
        moved(Side::Base, I256::MIN, false),
        moved(Side::Collateral, I256::MAX, true),
        moved(Side::Supply, I256::ZERO, false),
        What::Incomplete { owned: I256::MINUS_ONE },
        What::Event { kind: EventKind::Liquidation, time: u64::MAX },
        What::Event { kind: EventKind::Supply, time: 0 },
    ];
    whats.map(|what| Entry { block, what }).to_vec()
}

fn imported(files: &Path) -> (TempDir, Index) {
    let folder = tempdir().unwrap();
    let index = opened(folder.path());
    import(&index, files, false, |_| {}).unwrap();
    (folder, index)
}

fn assert_equal(a: &Index, b: &Index) {
    assert_eq!(a.progress(CHAIN).unwrap(), b.progress(CHAIN).unwrap());
    assert_eq!(a.progress(OTHER).unwrap(), b.progress(OTHER).unwrap());
    assert!(everything(a) == everything(b));
    for (chain, number) in (0..160).map(|number| (CHAIN, number)).chain([(OTHER, 1)]) {
        assert_eq!(a.history(chain, wallet(number)).unwrap(), b.history(chain, wallet(number)).unwrap());
    }
}

#[test]
fn an_import_is_what_was_exported() {
    let (_folder, index, files, manifest) = exported();
    assert!(manifest.chains[0].files.len() > 2, "several files");
    let (_other, other) = imported(files.path());
    assert_equal(&index, &other);
    // Both indexes continue from here, and truncate, in the same way.
    for index in [&index, &other] {
        let item = WalletEntries { wallet: wallet(3), market: 1, entries: borrowed(185, 9) };
        index.append(CHAIN, segment(180, 189, vec![item])).unwrap();
    }
    assert_equal(&index, &other);
    for index in [&index, &other] {
        assert_eq!(index.truncate(CHAIN, 145).unwrap(), Some(checkpoint(139)));
    }
    assert_eq!(everything(&index), everything(&other));
    let again = tempdir().unwrap();
    let manifests =
        [&index, &other].map(|index| export(index, &[CHAIN], &again.path().join(index_name(index)), |_| {}).unwrap());
    assert_eq!(manifests[0].chains[0].files, manifests[1].chains[0].files, "the same bytes");
}

fn index_name(index: &Index) -> String {
    format!("{index:p}")
}

#[test]
fn a_chain_is_replaced_only_where_that_is_wanted() {
    let (_folder, index, files, _) = exported();
    let report = import(&index, files.path(), false, |_| panic!("it is there")).unwrap();
    assert_eq!(report.digest.len(), 64);
    let item = WalletEntries { wallet: wallet(3), market: 1, entries: borrowed(185, 9) };
    index.append(CHAIN, segment(180, 189, vec![item])).unwrap();
    let error = import(&index, files.path(), false, |_| {}).unwrap_err();
    assert!(matches!(error, SegmentsError::Indexed { chain: CHAIN, through: 189 }), "{error}");
    import(&index, files.path(), true, |_| {}).unwrap();
    assert_equal(&index, &imported(files.path()).1);
    assert!(matches!(export(&index, &[CHAIN], files.path(), |_| {}), Err(SegmentsError::There { .. })));
}

#[test]
fn an_interrupted_import_goes_on_with_the_next_file() {
    let (_folder, whole, files, manifest) = exported();
    let folder = tempdir().unwrap();
    let index = opened(folder.path());
    for stop in 1..=2 {
        let mut taken = 0;
        let interrupted = panic::catch_unwind(AssertUnwindSafe(|| {
            import(&index, files.path(), false, |_| {
                taken += 1;
                assert!(taken < stop, "interrupted");
            })
        }));
        assert!(interrupted.is_err());
        assert_eq!(index.progress(CHAIN).unwrap(), None, "a part is nothing");
        assert!(index.history(CHAIN, wallet(1)).unwrap().is_none());
    }
    drop(index);
    let index = opened(folder.path());
    let mut left = Vec::new();
    import(&index, files.path(), false, |file: &ExportedFile| left.push(file.name.clone())).unwrap();
    let names = manifest.chains.iter().flat_map(|chain| &chain.files).map(|file| file.name.clone());
    assert_eq!(left, names.skip(3).collect::<Vec<_>>(), "one, and then two, were taken before");
    assert_equal(&index, &whole);
}

#[test]
fn what_is_not_the_export_is_refused_by_name_before_anything_is_taken() {
    let (_folder, _, files, manifest) = exported();
    let names: Vec<_> = manifest.chains[0].files.iter().map(|file| file.name.clone()).collect();
    let change = |name: &str, change: &dyn Fn(Vec<u8>) -> Vec<u8>| {
        let bytes = fs::read(files.path().join(name)).unwrap();
        fs::write(files.path().join(name), change(bytes)).unwrap();
    };
    let edit = |from: &str, to: &str| {
        change(MANIFEST, &|bytes| {
            let text = String::from_utf8(bytes).unwrap();
            assert!(text.contains(from), "{from} is not in {text}");
            text.replacen(from, to, 1).into_bytes()
        });
    };
    let refused = |words: &[&str]| {
        let folder = tempdir().unwrap();
        let index = opened(folder.path());
        let error = import(&index, files.path(), false, |_| panic!("something was taken")).unwrap_err().to_string();
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
        assert!(index.status().unwrap().chains.is_empty());
    };
    change(&names[1], &|mut bytes| {
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        bytes
    });
    refused(&[&names[1], "SHA-256", "copy the export again"]);
    change(&names[1], &|mut bytes| {
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        bytes
    });
    imported(files.path());

    edit("\"format\": 1", "\"format\": 2");
    refused(&[MANIFEST, "format 2", "up to 1"]);
    edit("\"format\": 2", "\"format\": 1");
    edit(&format!("\"name\": \"{}\"", names[2]), "\"name\": \"../elsewhere\"");
    refused(&[MANIFEST, "a path for a name"]);
    edit("../elsewhere", &names[2]);
    let rows = format!("\"rows\": {}", manifest.chains[0].files[0].rows);
    edit(&rows, "\"rows\": 7");
    refused(&[MANIFEST, "a file is missing"]);
    edit("\"rows\": 7", &rows);
    fs::rename(files.path().join(&names[2]), files.path().join("elsewhere")).unwrap();
    refused(&[&names[2]]);
    fs::rename(files.path().join("elsewhere"), files.path().join(&names[2])).unwrap();
    imported(files.path());
}

#[test]
fn a_table_that_its_manifest_confirms_and_that_is_wrong_is_refused() {
    let (_folder, _, files, manifest) = exported();
    let (chain, other) = (&manifest.chains[0], &manifest.chains[1]);
    // Replaces one chain's only file with the other chain's, with its digest.
    let file = ExportedFile { rows: other.files[0].rows, ..other.files[0].clone() };
    let mut wrong = manifest.clone();
    wrong.chains[1].chain = 10;
    wrong.chains[1].files = vec![file];
    wrong.chains.remove(0);
    fs::write(files.path().join(MANIFEST), serde_json::to_vec(&wrong).unwrap()).unwrap();
    let folder = tempdir().unwrap();
    let index = opened(folder.path());
    let error = import(&index, files.path(), false, |_| {}).unwrap_err().to_string();
    assert!(error.contains(&other.files[0].name) && error.contains("none of chain 10"), "{error}");
    assert_eq!(index.progress(10).unwrap(), None);

    let mut wrong = manifest.clone();
    wrong.chains[0].files[0].last = chain.files[0].first;
    fs::write(files.path().join(MANIFEST), serde_json::to_vec(&wrong).unwrap()).unwrap();
    let error = import(&index, files.path(), false, |_| {}).unwrap_err().to_string();
    assert!(error.contains(&chain.files[0].name) && error.contains("not among the wallets"), "{error}");
    assert_eq!(index.progress(CHAIN).unwrap(), None);
}
