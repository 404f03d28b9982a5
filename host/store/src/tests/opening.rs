//! Stores that cannot be opened; a refused store is not changed.

use std::fs;

use super::*;
use crate::OpenError;

async fn refusal(path: &Path) -> OpenError {
    match reopened(path).await {
        Ok(_) => panic!("{} was opened", path.display()),
        Err(error) => error,
    }
}

#[tokio::test]
async fn folders_and_file_are_created() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/er/assay.redb");
    let store = Store::open(&at(&path)).await.unwrap();
    store.put(&number("a"), &1).await.unwrap();
    let entries = fs::read_dir(path.parent().unwrap()).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["assay.redb", "assay.redb.last"]);
}

#[tokio::test]
async fn a_second_opener_is_told_so() {
    let Fixture { store, folder, .. } = Fixture::new().await;
    let path = folder.path().join("assay.redb");
    let error = Store::open(&at(&path)).await.map(drop).unwrap_err();
    assert!(matches!(error, OpenError::Locked { .. }), "{error}");
    drop(store);
    reopened(&path).await.unwrap();
}

#[tokio::test]
async fn of_two_that_create_at_once_one_holds_the_file() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..20 {
        let config = at(&folder.path().join(format!("{round}.redb")));
        let (a, b) = tokio::join!(Store::open(&config), Store::open(&config));
        assert_eq!(usize::from(a.is_ok()) + usize::from(b.is_ok()), 1);
        assert!([a.err(), b.err()].into_iter().flatten().all(|error| matches!(error, OpenError::Locked { .. })));
    }
}

#[tokio::test]
async fn what_a_crash_left_while_creating_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("assay.redb.new"), [0; 5000]).unwrap();
    let store = Store::open(&at(&folder.path().join("assay.redb"))).await.unwrap();
    store.put(&number("a"), &1).await.unwrap();
}

#[tokio::test]
async fn a_damaged_file_is_refused_and_left_as_it_is() {
    let Fixture { store, folder, .. } = Fixture::new().await;
    for i in 0..200_u64 {
        store.put(&number(&i.to_string()), &i).await.unwrap();
    }
    drop(store);
    let whole = fs::read(folder.path().join("assay.redb")).unwrap();
    let path = folder.path().join("damaged.redb");
    let flipped: Vec<u8> = whole.iter().enumerate().map(|(i, byte)| if i < 320 { !byte } else { *byte }).collect();
    for bytes in [&b"not a store"[..], b"", &flipped, &whole[..whole.len() / 2], &whole[..4000]] {
        fs::write(&path, bytes).unwrap();
        let error = refusal(&path).await;
        assert!(matches!(error, OpenError::Damaged { .. }), "{} bytes: {error}", bytes.len());
        assert!(fs::read(&path).unwrap() == bytes, "{} bytes were changed", bytes.len());
    }
}

#[tokio::test]
async fn damage_inside_is_an_error_of_the_calls_it_touches() {
    let Fixture { store, folder, .. } = Fixture::new().await;
    for i in 0..200_u64 {
        store.put(&number(&i.to_string()), &i).await.unwrap();
    }
    drop(store);
    let path = folder.path().join("assay.redb");
    let mut bytes = fs::read(&path).unwrap();
    for byte in &mut bytes[4096..] {
        *byte = 0xa5;
    }
    fs::write(&path, &bytes).unwrap();
    match reopened(&path).await {
        Err(error) => assert!(matches!(error, OpenError::Damaged { .. }), "{error}"),
        Ok(store) => {
            store.get(&number("7")).await.unwrap_err();
            store.put(&number("7"), &7).await.unwrap_err();
        }
    }
}

#[tokio::test]
async fn a_newer_format_and_a_strange_database_are_refused() {
    let Fixture { store, folder, .. } = Fixture::new().await;
    drop(store);
    let path = folder.path().join("assay.redb");
    Embedded::set_format(&path, 2);
    let error = refusal(&path).await;
    assert!(matches!(error, OpenError::Newer { found: 2, known: 1, .. }), "{error}");

    let strange = folder.path().join("strange.redb");
    Embedded::make_strange(&strange);
    assert!(matches!(refusal(&strange).await, OpenError::Damaged { .. }));
}

#[tokio::test]
async fn a_folder_in_the_place_of_the_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(refusal(folder.path()).await, OpenError::Unusable { .. }));
}
