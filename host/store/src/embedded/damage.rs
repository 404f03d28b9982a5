//! Test access to the file: counts of records, and damaged files.

use std::{path::Path, thread, time::Duration};

use redb::{Database, DatabaseError, ReadableDatabase, ReadableTableMetadata};

use super::{EXPIRY, Embedded, FORMAT, META, RECORDS};
use crate::StoreError;

impl Embedded {
    /// The number of records in the file, including expired ones.
    pub(crate) async fn stored(&self) -> Result<u64, StoreError> {
        self.reading(|database, _| {
            let reading = database.begin_read()?;
            let (records, ending) = (reading.open_table(RECORDS)?.len()?, reading.open_table(EXPIRY)?.len()?);
            assert!(ending <= records);
            Ok(records)
        })
        .await
    }

    pub(crate) fn set_format(path: &Path, format: u64) {
        let database = loop {
            match Database::open(path) {
                // A process that another test starts inherits the lock until it executes its program.
                Err(DatabaseError::DatabaseAlreadyOpen) => thread::sleep(Duration::from_millis(5)),
                opened => break opened.unwrap(),
            }
        };
        let writing = database.begin_write().unwrap();
        writing.open_table(META).unwrap().insert(FORMAT.0, format).unwrap();
        writing.commit().unwrap();
    }

    pub(crate) fn make_strange(path: &Path) {
        let database = Database::create(path).unwrap();
        let writing = database.begin_write().unwrap();
        writing.open_table(RECORDS).unwrap();
        writing.commit().unwrap();
    }
}
