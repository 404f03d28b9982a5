//! Backups: their contents, and that they never delay other calls.

use std::{fs, time::Duration};

use super::*;
use crate::BackupError;

#[tokio::test]
async fn a_backup_opens_as_the_store_that_it_was() {
    let Fixture { store, time, folder } = Fixture::new().await;
    let (kept, ending, later) = (number("kept"), number("ending"), number("later"));
    store.put(&kept, &1).await.unwrap();
    store.put_expiring(&ending, &2, Duration::from_secs(60)).await.unwrap();
    let to = folder.path().join("deep/er/backup.redb");
    let copied = store.back_up(&to).await.unwrap();
    assert_eq!((copied.records, copied.bytes), (2, fs::metadata(&to).unwrap().len()));
    store.put(&later, &3).await.unwrap();

    let opened = unlocked(async || Embedded::open(to.clone(), StoreClock::manual(time.0.clone())).await).await;
    let backup = Store { backend: Backend::Embedded(opened.unwrap()) };
    assert_eq!(backup.get_many(&[kept.clone(), ending.clone(), later]).await.unwrap(), [Some(1), Some(2), None]);
    time.forward(60_000);
    assert_eq!(backup.get(&ending).await.unwrap(), None);
    // Expired records are removed from the copy too.
    backup.put(&kept, &4).await.unwrap();
    let Backend::Embedded(file) = &backup.backend else { panic!() };
    assert_eq!(file.stored().await.unwrap(), 1);
}

#[tokio::test]
async fn a_backup_writes_over_nothing_and_leaves_nothing_half_made() {
    let Fixture { store, folder, .. } = Fixture::new().await;
    store.put(&number("a"), &1).await.unwrap();
    let to = folder.path().join("taken");
    fs::write(&to, "something else").unwrap();
    let error = store.back_up(&to).await.unwrap_err();
    assert!(matches!(&error, BackupError::Failed { path, .. } if *path == to), "{error}");
    assert_eq!(fs::read(&to).unwrap(), b"something else");
    let below = to.join("backup");
    assert!(store.back_up(&below).await.is_err());
    let mut names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["assay.redb", "assay.redb.last", "taken"]);
}
