//! Reads files of an author, up to a largest size.

use std::{
    fs::File,
    io::{self, Read as _},
    path::Path,
};

use crate::FileFault;

/// The most bytes of a declaration, and of a file of trees.
pub(crate) const DECLARATION: u64 = 1 << 20;
pub(crate) const TRAINED: u64 = 64 << 20;

/// The text of a regular file of at most `most` bytes.
pub(crate) fn text(path: &Path, most: u64) -> Result<String, FileFault> {
    String::from_utf8(bytes(path, most)?).map_err(|_| FileFault::of(path, "it is not text in UTF-8: save it as that"))
}

/// The bytes of a regular file of at most `most` bytes. A larger file is refused by its size, before it is read.
pub(crate) fn bytes(path: &Path, most: u64) -> Result<Vec<u8>, FileFault> {
    let fault = |message: String| FileFault::of(path, message);
    let cannot = |error: &io::Error| fault(format!("it cannot be read: {error}"));
    let found = std::fs::metadata(path).map_err(|error| cannot(&error))?;
    if !found.is_file() {
        return Err(fault("not a regular file".into()));
    }
    let too_large =
        |size: u64| fault(format!("it has {size} bytes and may have {most}. Train with fewer trees or leaves"));
    if found.len() > most {
        return Err(too_large(found.len()));
    }
    let mut bytes = Vec::new();
    let opened = File::open(path).map_err(|error| cannot(&error))?;
    opened.take(most + 1).read_to_end(&mut bytes).map_err(|error| cannot(&error))?;
    if bytes.len() as u64 > most {
        return Err(too_large(bytes.len() as u64));
    }
    Ok(bytes)
}
