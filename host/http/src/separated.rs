//! Reads CSV (RFC 4180) as spreadsheets save it: with commas, semicolons or tabs, line by line.

use std::io::{Chain, Read as _};

use csv::{ByteRecord, Reader, ReaderBuilder};

/// Most bytes of a line.
pub const LONGEST: usize = 64 << 10;
/// The byte order marks of UTF-8 and UTF-16.
const UTF8: &[u8] = &[0xef, 0xbb, 0xbf];
const UTF16: [&[u8]; 2] = [&[0xff, 0xfe], &[0xfe, 0xff]];
/// Appended to the file. If it is read as part of a cell, a quote was not closed, and the lines after it are lost.
const END: &[u8] = b"\n\x04";

/// The cells of one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Counts from 1, with blank lines and with lines inside of cells.
    pub number: u64,
    pub cells: Vec<String>,
}

/// Why a file cannot be read; says where, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SeparatedError {
    #[error("the file is UTF-16; save it as UTF-8")]
    Utf16,
    #[error("line {0} is not UTF-8; save the file with this encoding")]
    Encoding(u64),
    #[error("line {0} has more than {LONGEST} bytes; shorten its cells, or close its quotes")]
    Long(u64),
    #[error("line {0} begins a quoted cell that never ends; close the quote")]
    Quote(u64),
    #[error("the CSV cannot be read: {0}")]
    Other(String),
}

/// The lines of a file that are not blank. Ends after an error.
pub struct Lines<'a> {
    reader: Reader<Chain<&'a [u8], &'static [u8]>>,
    record: ByteRecord,
    bytes: &'a [u8],
    /// The number of the line that was read last, and the byte where it begins.
    last: (u64, usize),
    is_over: bool,
}

/// The lines of `bytes`.
///
/// # Errors
/// [`SeparatedError::Utf16`].
pub fn lines(bytes: &[u8]) -> Result<Lines<'_>, SeparatedError> {
    let bytes = without_mark(bytes)?;
    let mut builder = ReaderBuilder::new();
    let reader = builder.has_headers(false).flexible(true).delimiter(separator(bytes)).from_reader(bytes.chain(END));
    Ok(Lines { reader, record: ByteRecord::new(), bytes, last: (1, 0), is_over: false })
}

/// `bytes` without the mark that some programs write before UTF-8.
///
/// # Errors
/// [`SeparatedError::Utf16`].
pub fn without_mark(bytes: &[u8]) -> Result<&[u8], SeparatedError> {
    if UTF16.iter().any(|mark| bytes.starts_with(mark)) {
        return Err(SeparatedError::Utf16);
    }
    Ok(bytes.strip_prefix(UTF8).unwrap_or(bytes))
}

impl Lines<'_> {
    /// The number of the line of the record. The reader's own is that of the line before if lines end with `\r\n`.
    fn number(&mut self) -> u64 {
        let (number, before) = self.last;
        let end_of_before = self.record.position().map_or(0, |position| position.byte() as usize);
        let blank = self.bytes.iter().skip(end_of_before).take_while(|byte| b"\r\n".contains(byte)).count();
        let start = end_of_before + blank;
        let skipped = self.bytes.get(before..start).unwrap_or_default();
        let is_end = |(at, byte): (usize, &u8)| match byte {
            b'\n' => true,
            b'\r' => skipped.get(at + 1) != Some(&b'\n'),
            _ => false,
        };
        let ends = skipped.iter().enumerate().filter(|each| is_end(*each)).count();
        self.last = (number + ends as u64, start);
        self.last.0
    }

    fn read(&mut self) -> Result<Option<Line>, SeparatedError> {
        let is_read = self.reader.read_byte_record(&mut self.record);
        if !is_read.map_err(|error| SeparatedError::Other(error.to_string()))? {
            return Err(SeparatedError::Quote(self.last.0));
        }
        let number = self.number();
        if self.last.1 >= self.bytes.len() {
            return Ok(None);
        }
        if self.record.as_slice().len() > LONGEST {
            return Err(SeparatedError::Long(number));
        }
        let text = |cell: &[u8]| str::from_utf8(cell).map(str::to_owned).map_err(|_| SeparatedError::Encoding(number));
        let cells = self.record.iter().map(text).collect::<Result<_, _>>()?;
        Ok(Some(Line { number, cells }))
    }
}

impl Iterator for Lines<'_> {
    type Item = Result<Line, SeparatedError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let line = self.read().transpose();
        self.is_over = !matches!(line, Some(Ok(_)));
        line
    }
}

/// The separator that the first line has most of; a comma if it has as many.
fn separator(bytes: &[u8]) -> u8 {
    let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let count = |separator: &u8| first.iter().filter(|byte| *byte == separator).count();
    // The last of equal ones wins.
    [b'\t', b';', b','].into_iter().max_by_key(count).unwrap_or(b',')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(bytes: &[u8]) -> Result<Vec<(u64, Vec<String>)>, SeparatedError> {
        lines(bytes)?.map(|line| line.map(|line| (line.number, line.cells))).collect()
    }

    #[test]
    fn files_of_spreadsheets_are_read_line_by_line() {
        let text = "\u{feff}Label;ADDRESS\r\n\"Ada \"\"A\"\"; first\n line\";0x01\r\n\r\n;\r\nBen;\"\"";
        let cells = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
        let expected = [
            (1, cells(["Label", "ADDRESS"])),
            (2, cells(["Ada \"A\"; first\n line", "0x01"])),
            (5, cells(["", ""])),
            (6, cells(["Ben", ""])),
        ];
        assert_eq!(read(text.as_bytes()).unwrap(), expected);
        assert_eq!(read(b"").unwrap(), []);
        assert_eq!(read(b"a\n\x04\nb").unwrap().len(), 3);
        let numbers = |text: &str| read(text.as_bytes()).unwrap().into_iter().map(|(line, _)| line).collect::<Vec<_>>();
        for end in ["\n", "\r\n", "\r"] {
            let text = ["", "a", "\"b", "b\"", "", "c", ""].join(end);
            assert_eq!(numbers(&text), [2, 3, 6], "{end:?}");
        }
    }

    #[test]
    fn what_cannot_be_read_says_where() {
        let long = format!("a\n{}\n", "x".repeat(LONGEST + 1));
        for (bytes, expected) in [
            (&b"a\n\"b\nc\n"[..], SeparatedError::Quote(2)),
            (b"a\nb,\"c\"\"\nd\"\"", SeparatedError::Quote(2)),
            (b"\"", SeparatedError::Quote(1)),
            (b"a\nb\xe4r\n", SeparatedError::Encoding(2)),
            (b"\xff\xfea\0", SeparatedError::Utf16),
            (long.as_bytes(), SeparatedError::Long(2)),
        ] {
            assert_eq!(read(bytes).map(|_| ()), Err(expected), "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn cells_come_back_as_they_were(
            rows in prop::collection::vec(prop::collection::vec("[^\u{0}\u{feff}]{1,12}", 2..5), 1..20),
        ) {
            let mut writer = csv::WriterBuilder::new().flexible(true).from_writer(Vec::new());
            writer.write_record(["a", "b"]).unwrap();
            for row in &rows {
                writer.write_record(row).unwrap();
            }
            let read = read(&writer.into_inner().unwrap()).unwrap();
            prop_assert_eq!(read.into_iter().skip(1).map(|(_, cells)| cells).collect::<Vec<_>>(), rows);
        }
    }
}
