//! Features files from other programs, as tables or lines. Each record is either read, or refused with its number.

use std::{cell::RefCell, fs, io::Write as _};

use assay_backtest::RecordSource;
use tempfile::NamedTempFile;

thread_local! {
    static FILE: RefCell<NamedTempFile> = RefCell::new(NamedTempFile::new().expect("a temporary file"));
}

pub fn run(input: &[u8]) {
    FILE.with_borrow_mut(|file| {
        file.as_file().set_len(0).expect("an empty file");
        fs::File::create(file.path()).and_then(|mut file| file.write_all(input)).expect("a file");
        let Ok(mut source) = RecordSource::open(file.path()) else { return };
        let mut next = 1;
        // A few bytes can declare any number of rows, but only existing rows are read.
        while let Ok(Some(chunk)) = source.chunk() {
            for (number, record) in chunk.records() {
                assert_eq!(number, next);
                next += 1;
                if let Err(bad) = record {
                    assert!(bad.line == number && !bad.reason.is_empty() && bad.reason.len() < 3_000, "{}", bad.reason);
                }
            }
            if next > 100_000 {
                return;
            }
        }
    });
}
