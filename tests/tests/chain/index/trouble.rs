//! An index that cannot be used: answers go on without it.

use std::fs;
use std::path::Path;

use assay_tests::devnet::{Devnet, ETHEREUM};

use super::super::{Reader, with};
use super::indexed;
use super::interrupted::undisturbed;

/// Asserts that wallets are what they are without an index.
async fn answers(reader: &Reader, devnet: &Devnet) {
    let plain = Reader::of(devnet).ethereum().started().await;
    for name in ["saver", "whale", "busy"] {
        let wallet = devnet.wallet(name).address;
        assert_eq!(reader.read(wallet).await.chains, plain.read(wallet).await.chains, "{name}");
    }
}

#[test]
fn a_newer_version_is_left_as_it_is() {
    with(async |devnet| {
        let reader = Reader::of(devnet).ethereum().with(indexed);
        let folder = reader.config.reading.index_path.clone();
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("format"), "1000\n").unwrap();
        let reader = reader.started().await;
        answers(&reader, devnet).await;
        assert_eq!(reader.chains().index(ETHEREUM).unwrap().borrow().through, None);
        assert_eq!(fs::read_to_string(folder.join("format")).unwrap(), "1000\n");
    });
}

#[test]
fn a_folder_that_cannot_be_written_is_done_without() {
    with(async |devnet| {
        let reader = Reader::of(devnet).ethereum().with(indexed);
        // A file where the folder is to be.
        fs::write(&reader.config.reading.index_path, "").unwrap();
        answers(&reader.started().await, devnet).await;
    });
}

/// Overwrites the middle of every file below `folder`.
fn damage(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            damage(&path);
        } else {
            let mut bytes = fs::read(&path).unwrap();
            let (third, len) = (bytes.len() / 3, bytes.len());
            bytes[third..len - third].fill(0xa5);
            fs::write(&path, bytes).unwrap();
        }
    }
}

#[test]
fn a_damaged_one_is_built_again() {
    with(async |devnet| {
        let whole = undisturbed(devnet).await;
        let mut reader = Reader::of(devnet).ethereum().with(indexed).started().await;
        reader.in_step(ETHEREUM, &devnet.ethereum.rpc).await;
        let database = reader.config.reading.index_path.join("db");
        let folder = reader.folder.path().to_owned();
        reader
            .restart_after(async |_| {
                // Until nobody has it open.
                super::contents(&folder, ETHEREUM).await;
                damage(&database);
            })
            .await;
        answers(&reader, devnet).await;
        reader.in_step(ETHEREUM, &devnet.ethereum.rpc).await;
        assert_eq!(reader.contents(ETHEREUM).await, whole);
    });
}
