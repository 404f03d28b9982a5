//! Test access to the file: counts of records, and damaged files.

use std::path::Path;

use redb::{Database, ReadableDatabase, ReadableTableMetadata};

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
        let database = Database::open(path).unwrap();
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
