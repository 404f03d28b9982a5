//! The features file: which rows it has, and the table that is made of its lines.

use std::{
    collections::BTreeSet,
    fs,
    io::{self, BufRead as _, BufReader, Seek as _, Write as _},
    path::{Path, PathBuf},
};

use assay_backtest::{BadLine, MAX_LINE, Record, RecordSource, TableWriter};

use crate::Failure;

/// The rows of a file: the id of each in lower case, and the moment that it describes.
#[derive(Default)]
pub(super) struct Known(BTreeSet<(String, u64)>);

impl Known {
    pub fn add(&mut self, record: &Record) {
        if let Some(id) = &record.id {
            self.0.insert((id.to_lowercase(), record.features.as_of));
        }
    }

    /// Whether there is a row of `id`: of the moment `at`, or of any if there is none.
    pub fn has(&self, id: &str, at: Option<u64>) -> bool {
        let id = id.to_lowercase();
        match at {
            Some(at) => self.0.contains(&(id, at)),
            None => self.0.range((id.clone(), 0)..).next().is_some_and(|(found, _)| *found == id),
        }
    }
}

/// The lines of a file without empty ones and without comments, which begin with `#`.
pub(super) fn listed(file: &Path) -> Result<Vec<String>, Failure> {
    let text = if file == Path::new("-") { io::read_to_string(io::stdin()) } else { fs::read_to_string(file) };
    let text = text.map_err(|error| Failure::cannot(format!("{} cannot be read: {error}", file.display())))?;
    let lines = text.lines().filter_map(|line| line.split('#').next()).map(str::trim);
    Ok(lines.filter(|line| !line.is_empty()).map(str::to_owned).collect())
}

/// The rows of a file of lines. A partial last line, left by an interrupted export, is cut off.
pub(super) fn known(file: &Path) -> Result<Known, Failure> {
    let cannot = |error: io::Error| Failure::cannot(format!("{}: {error}", file.display()));
    let opened = match fs::OpenOptions::new().read(true).write(true).open(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Known::default()),
        opened => opened.map_err(cannot)?,
    };
    let (mut reader, mut known, mut whole, mut number) = (BufReader::new(&opened), Known::default(), 0, 0);
    loop {
        let mut line = Vec::new();
        let read = io::Read::take(&mut reader, MAX_LINE as u64 + 2).read_until(b'\n', &mut line).map_err(cannot)?;
        number += 1;
        if read == 0 {
            return Ok(known);
        }
        let has_end = line.last() == Some(&b'\n') || line.len() > MAX_LINE;
        match Record::read(number, &line) {
            Ok(record) => {
                record.iter().for_each(|record| known.add(record));
                if !has_end {
                    let mut end = &opened;
                    end.seek(io::SeekFrom::End(0)).and_then(|_| end.write_all(b"\n")).map_err(cannot)?;
                    return Ok(known);
                }
            }
            // A partial line is no valid JSON.
            Err(_) if !has_end && is_part(&line, whole > 0) => {
                opened.set_len(whole).map_err(cannot)?;
                return Ok(known);
            }
            // The file was not written by an export: leave it unchanged.
            Err(bad) => {
                return Err(Failure::cannot(format!(
                    "{} is not a features file: line {number}: {}",
                    file.display(),
                    bad.reason
                )));
            }
        }
        whole += read as u64;
    }
}

/// Whether `text` is a partial line of an export. A partial first line must begin as those lines do.
fn is_part(text: &[u8], after_records: bool) -> bool {
    const BEGIN: &[u8] = b"{\"id\":";
    let begins = text.starts_with(BEGIN) || BEGIN.starts_with(text);
    (after_records || begins) && serde_json::from_slice::<serde::de::IgnoredAny>(text).is_err()
}

/// Calls `each` with every record of a features file.
pub(super) fn records(file: &Path, mut each: impl FnMut(Record) -> io::Result<()>) -> Result<(), Failure> {
    let cannot = |error: io::Error| Failure::cannot(format!("{}: {error}", file.display()));
    let mut source = RecordSource::open(file).map_err(cannot)?;
    while let Some(chunk) = source.chunk().map_err(cannot)? {
        for (number, record) in chunk.records() {
            let bad = |bad: BadLine| {
                Failure::cannot(format!("{} is not a features file: record {number}: {}", file.display(), bad.reason))
            };
            record.map_err(bad)?.map_or(Ok(()), &mut each).map_err(cannot)?;
        }
    }
    Ok(())
}

/// Writes a new table with the records of `table` and of `lines`, and removes `lines`. A file named `table` is always
/// complete.
pub(super) fn tabulate(lines: &Path, table: &Path) -> Result<(), Failure> {
    let part = with_end(table, ".part");
    let written = join(lines, table, &part);
    // A remaining file has only the temporary name.
    let _ = fs::remove_file(if written.is_ok() { lines } else { &part });
    written
}

fn join(lines: &Path, table: &Path, part: &Path) -> Result<(), Failure> {
    let cannot = |error: io::Error| Failure::cannot(format!("{} cannot be written: {error}", table.display()));
    let mut writer = TableWriter::new(fs::File::create(part).map_err(cannot)?).map_err(cannot)?;
    let mut seen = BTreeSet::new();
    for file in [table, lines].into_iter().filter(|file| file.exists()) {
        // After a crash, lines may already be in the table.
        records(file, |record| {
            let new = record.id.as_ref().is_none_or(|id| seen.insert((id.to_lowercase(), record.features.as_of)));
            if new { writer.write(record) } else { Ok(()) }
        })?;
    }
    writer.finish().and_then(|file| file.sync_all()).and_then(|()| fs::rename(part, table)).map_err(cannot)
}

pub(super) fn with_end(file: &Path, end: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(end);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: &str = r#"{"id":"0xA1","as_of":7}"#;

    #[test]
    fn what_an_export_did_not_write_is_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("rows.jsonl");
        let (two, torn) = (format!("{ROW}\n{ROW}\n"), format!("{ROW}\n{{\"id\":\"0xA2\",\"as_"));
        for (text, left) in [
            (two.as_str(), two.as_str()),
            // An incomplete last record is cut off.
            (&torn, &format!("{ROW}\n")),
            (&torn[ROW.len() + 1..], ""),
            ("{\"i", ""),
            // A whole record gets its line end.
            (ROW, &format!("{ROW}\n")),
        ] {
            fs::write(&file, text).unwrap();
            let known = known(&file).unwrap_or_else(|failure| panic!("{text}: {}", failure.message));
            assert_eq!(
                (fs::read_to_string(&file).unwrap().as_str(), known.has("0xa1", Some(7))),
                (left, !left.is_empty())
            );
        }
        for text in [r#"{"name":"somebody"}"#, r#"{"id":"0xA2"}"#, "a note of one line", "7"] {
            fs::write(&file, text).unwrap();
            assert!(known(&file).is_err_and(|failure| failure.message.contains("is not a features file")), "{text}");
            assert_eq!(fs::read_to_string(&file).unwrap(), text);
        }
    }
}
