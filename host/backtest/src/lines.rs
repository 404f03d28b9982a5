//! Reads JSON lines as a stream, also through gzip, and computes the digest of the file.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read},
};

use flate2::bufread::MultiGzDecoder;
use sha2::{Digest as _, Sha256};

use crate::record::MAX_LINE;
use assay_domain::Digest;

/// The first bytes of a gzip file.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// A stream of lines.
pub(crate) struct LineStream(TextStream);

enum TextStream {
    Plain(Hashed),
    Gzip(Box<BufReader<MultiGzDecoder<Hashed>>>),
}

/// A file whose bytes are hashed as they are used.
struct Hashed {
    reader: BufReader<File>,
    digest: Sha256,
    bytes: u64,
}

impl Read for Hashed {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(into)?;
        self.digest.update(into.get(..read).unwrap_or_default());
        self.bytes += read as u64;
        Ok(read)
    }
}

impl BufRead for Hashed {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.reader.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.digest.update(self.reader.buffer().get(..amount).unwrap_or_default());
        self.bytes += amount as u64;
        self.reader.consume(amount);
    }
}

impl LineStream {
    pub(crate) fn new(mut reader: BufReader<File>) -> io::Result<Self> {
        let gzip = reader.fill_buf()?.starts_with(&GZIP);
        let file = Hashed { reader, digest: Sha256::new(), bytes: 0 };
        Ok(Self(match gzip {
            true => TextStream::Gzip(Box::new(BufReader::with_capacity(256 << 10, MultiGzDecoder::new(file)))),
            false => TextStream::Plain(file),
        }))
    }

    fn file(&self) -> &Hashed {
        match &self.0 {
            TextStream::Plain(file) => file,
            TextStream::Gzip(text) => text.get_ref().get_ref(),
        }
    }

    fn text(&mut self) -> &mut dyn BufRead {
        match &mut self.0 {
            TextStream::Plain(file) => file,
            TextStream::Gzip(text) => text.as_mut(),
        }
    }

    /// Bytes of the file read so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.file().bytes
    }

    /// At most `most` lines; none at the end of the file. A line that is too long is cut after [`MAX_LINE`] bytes.
    pub(crate) fn next(&mut self, most: usize) -> io::Result<Vec<Vec<u8>>> {
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
        let mut text = self.text();
        (&mut text).take(MAX_LINE as u64 + 2).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Ok(None);
        }
        if line.len() > MAX_LINE + 1 && line.last() != Some(&b'\n') {
            skip(text)?;
        }
        Ok(Some(line))
    }

    /// SHA-256 of everything read.
    pub(crate) fn digest(self) -> Digest {
        let file = match self.0 {
            TextStream::Plain(file) => file,
            TextStream::Gzip(text) => text.into_inner().into_inner(),
        };
        Digest(file.digest.finalize().into())
    }
}

/// Skips the rest of a line.
fn skip(text: &mut dyn BufRead) -> io::Result<()> {
    loop {
        let buffer = text.fill_buf()?;
        let end = buffer.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
        let read = end.unwrap_or(buffer.len());
        text.consume(read);
        if end.is_some() || read == 0 {
            return Ok(());
        }
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
        let mut source = LineStream::new(BufReader::new(file.reopen().unwrap())).unwrap();
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

    #[test]
    fn a_compressed_file_has_the_same_lines_and_the_digest_of_its_own_bytes() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let packed = |text: &str| {
            let mut to = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            to.write_all(text.as_bytes()).unwrap();
            to.finish().unwrap()
        };
        // Two members, as `cat a.gz b.gz` makes them.
        let bytes = [packed("a\nb\n"), packed("c")].concat();
        file.write_all(&bytes).unwrap();
        let mut source = LineStream::new(BufReader::new(file.reopen().unwrap())).unwrap();
        assert_eq!(source.next(100).unwrap(), [b"a\n".as_slice(), b"b\n", b"c"]);
        assert!(source.next(100).unwrap().is_empty());
        assert_eq!(source.bytes(), bytes.len() as u64);
        assert_eq!(source.digest(), Digest(Sha256::digest(&bytes).into()));
    }
}
