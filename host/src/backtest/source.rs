//! A features file as a stream of chunks of lines, with the digest of what was read.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read as _},
    path::Path,
};

use sha2::{Digest as _, Sha256};

use super::record::MAX_LINE;
use crate::domain::Digest;

/// Lines in a chunk: enough that handing one over costs nothing beside scoring it, few enough that all cores end together.
const LINES: usize = 128;

/// An open file.
pub struct Source {
    reader: BufReader<File>,
    /// Size of the file in bytes when it was opened.
    pub size: u64,
    digest: Sha256,
    chunks: u64,
    lines: u64,
    bytes: u64,
}

/// Some lines as they stand in the file. A line that is too long is cut behind [`MAX_LINE`] bytes.
pub struct Chunk {
    /// Counted from 0.
    pub index: u64,
    /// Number of the first line, counted from 1.
    pub first: u64,
    pub lines: Vec<Vec<u8>>,
    /// Bytes of the file read so far, this chunk included.
    pub through: u64,
}

impl Source {
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(io::Error::other("it is a folder"));
        }
        let reader = BufReader::with_capacity(256 << 10, file);
        Ok(Self { reader, size: metadata.len(), digest: Sha256::new(), chunks: 0, lines: 0, bytes: 0 })
    }

    /// The next lines; `None` at the end.
    pub fn chunk(&mut self) -> io::Result<Option<Chunk>> {
        let (index, first) = (self.chunks, self.lines + 1);
        let mut lines = Vec::with_capacity(LINES);
        while lines.len() < LINES {
            match self.line()? {
                Some(line) => lines.push(line),
                None => break,
            }
        }
        self.chunks += 1;
        self.lines += lines.len() as u64;
        Ok((!lines.is_empty()).then_some(Chunk { index, first, lines, through: self.bytes }))
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

    /// Reads to the end of a line and keeps nothing of it.
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
        let mut source = Source::open(file.path()).unwrap();
        let (mut lines, mut through) = (Vec::new(), 0);
        while let Some(chunk) = source.chunk().unwrap() {
            assert_eq!(chunk.first, lines.len() as u64 + 1);
            lines.extend(chunk.lines);
            through = chunk.through;
        }
        assert_eq!((lines.len(), through), (203, text.len() as u64));
        assert!(lines[200].len() > MAX_LINE && lines[200].len() < MAX_LINE + 10);
        assert_eq!((lines[201].as_slice(), lines[202].as_slice()), (b"\n".as_slice(), b"last".as_slice()));
        assert_eq!(source.digest(), Digest(Sha256::digest(text.as_bytes()).into()));
    }
}
