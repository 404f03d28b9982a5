//! Reads JSON lines as a stream, and computes the digest of the file.

use std::{
    fs::File,
    io::{self, BufRead as _, BufReader, Read as _},
};

use sha2::{Digest as _, Sha256};

use crate::record::MAX_LINE;
use assay_domain::Digest;

/// A stream of lines.
pub struct Lines {
    reader: BufReader<File>,
    digest: Sha256,
    bytes: u64,
}

impl Lines {
    pub fn new(reader: BufReader<File>) -> Self {
        Self { reader, digest: Sha256::new(), bytes: 0 }
    }

    /// Bytes read so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// At most `most` lines; none at the end of the file. A line that is too long is cut after [`MAX_LINE`] bytes.
    pub fn next(&mut self, most: usize) -> io::Result<Vec<Vec<u8>>> {
        let mut lines = Vec::with_capacity(most);
        while lines.len() < most {
            match self.line()? {
                Some(line) => lines.push(line),
                None => break,
            }
        }
        Ok(lines)
    }

    fn line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        self.reader.by_ref().take(MAX_LINE as u64 + 2).read_until(b'\n', &mut line)?;
        self.took(&line);
        if line.is_empty() {
            return Ok(None);
        }
        if line.len() > MAX_LINE + 1 && line.last() != Some(&b'\n') {
            self.skip()?;
        }
        Ok(Some(line))
    }

    /// Skips the rest of a line.
    fn skip(&mut self) -> io::Result<()> {
        loop {
            let buffer = self.reader.fill_buf()?;
            let end = buffer.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
            let read = end.unwrap_or(buffer.len());
            self.digest.update(buffer.get(..read).unwrap_or_default());
            self.bytes += read as u64;
            self.reader.consume(read);
            if end.is_some() || read == 0 {
                return Ok(());
            }
        }
    }

    fn took(&mut self, bytes: &[u8]) {
        self.digest.update(bytes);
        self.bytes += bytes.len() as u64;
    }

    /// SHA-256 of everything read.
    pub fn digest(self) -> Digest {
        Digest(self.digest.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn every_line_is_read_once_and_a_long_one_is_cut() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let mut text = "a\n".repeat(200);
        text += &"x".repeat(3 * MAX_LINE);
        text += "\n\nlast";
        file.write_all(text.as_bytes()).unwrap();
        let mut source = Lines::new(BufReader::new(file.reopen().unwrap()));
        let mut lines = Vec::new();
        loop {
            let more = source.next(100).unwrap();
            if more.is_empty() {
                break;
            }
            lines.extend(more);
        }
        assert_eq!((lines.len(), source.bytes()), (203, text.len() as u64));
        assert!(lines[200].len() > MAX_LINE && lines[200].len() < MAX_LINE + 10);
        assert_eq!((lines[201].as_slice(), lines[202].as_slice()), (b"\n".as_slice(), b"last".as_slice()));
        assert_eq!(source.digest(), Digest(Sha256::digest(text.as_bytes()).into()));
    }
}
