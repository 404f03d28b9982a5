//! Reads CSV: commas, semicolons or tabs, with a line of column names or only wallets.

use csv::{ByteRecord, ReaderBuilder};
use serde_json::Value;

use super::{ONLY, ROW, Row, TableError};
use assay_domain::Subject;

/// The byte order marks of UTF-8 and UTF-16.
const UTF8: &[u8] = &[0xef, 0xbb, 0xbf];
const UTF16: [&[u8]; 2] = [&[0xff, 0xfe], &[0xfe, 0xff]];

/// `bytes` without the mark that some programs write before UTF-8.
pub(super) fn without_mark(bytes: &[u8]) -> Result<&[u8], TableError> {
    if UTF16.iter().any(|mark| bytes.starts_with(mark)) {
        return Err(TableError::Utf16);
    }
    Ok(bytes.strip_prefix(UTF8).unwrap_or(bytes))
}

pub(super) fn read(bytes: &[u8], most: usize) -> Result<(Vec<String>, Vec<Row>), TableError> {
    let bytes = without_mark(bytes)?;
    let mut reader =
        ReaderBuilder::new().has_headers(false).flexible(true).delimiter(separator(bytes)).from_reader(bytes);
    let (mut record, mut columns, mut rows) = (ByteRecord::new(), None::<Vec<String>>, Vec::new());
    let mut last = (0, false);
    while reader.read_byte_record(&mut record).map_err(|error| TableError::Csv(error.to_string()))? {
        let line = record.position().map_or(0, csv::Position::line);
        if record.iter().map(<[u8]>::len).sum::<usize>() > ROW {
            return Err(TableError::LongRow { row: rows.len() + 1 });
        }
        let text = |cell: &[u8]| str::from_utf8(cell).map(str::to_owned).map_err(|_| TableError::Encoding { line });
        let mut cells = record.iter().map(text).collect::<Result<Vec<_>, _>>()?;
        last = (line, cells.last().is_some_and(|cell| cell.contains('\n')));
        let Some(names) = &columns else {
            // Without names, a list of wallets begins at once.
            let is_list = matches!(&*cells, [only] if Subject::parse(only.trim()).is_ok());
            if is_list {
                rows.push(Row { cells: cells.into_iter().map(Value::String).collect() });
                columns = Some(vec![ONLY.to_owned()]);
            } else {
                columns = Some(named(cells)?);
            }
            continue;
        };
        // Programs write an empty last cell or leave it out.
        while cells.len() > names.len() && cells.last().is_some_and(String::is_empty) {
            cells.pop();
        }
        if cells.len() > names.len() {
            return Err(TableError::Cells { line, cells: cells.len(), columns: names.len() });
        }
        if rows.len() >= most {
            return Err(TableError::Rows { most });
        }
        cells.resize(names.len(), String::new());
        rows.push(Row { cells: cells.into_iter().map(Value::String).collect() });
    }
    // A quote that is not closed makes one cell of the rest of the file, whose rows would be lost.
    match last {
        (line, true) if !bytes.trim_ascii_end().ends_with(b"\"") => Err(TableError::Quote { line }),
        _ => Ok((columns.unwrap_or_default(), rows)),
    }
}

/// The names of the first line. A column without a name gets one by its place.
fn named(cells: Vec<String>) -> Result<Vec<String>, TableError> {
    let mut names: Vec<String> = Vec::with_capacity(cells.len());
    for (at, cell) in cells.into_iter().enumerate() {
        let name = match cell.trim() {
            "" => format!("column {}", at + 1),
            name => name.to_owned(),
        };
        if names.contains(&name) {
            return Err(TableError::SameName(name));
        }
        names.push(name);
    }
    Ok(names)
}

/// The separator that the first line has most of; a comma if it has as many.
fn separator(bytes: &[u8]) -> u8 {
    let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let count = |separator: &u8| first.iter().filter(|byte| *byte == separator).count();
    // The last of equal ones wins.
    [b'\t', b';', b','].into_iter().max_by_key(count).unwrap_or(b',')
}
