//! A tar archive (ustar) of a few files: what `tar -x` extracts, without its links, folders and owners.

use std::collections::BTreeMap;

/// The size of a header, and the multiple of which the size of an archive is.
const RECORD: usize = 512;
/// The longest name of a file, in bytes, with one after it that ends it.
pub const LONGEST_NAME: usize = 100;
/// The places of the fields of a header.
const NAME: usize = LONGEST_NAME;
const CHECKSUM: usize = 148;
const MAGIC: usize = 257;
const USTAR: &[u8] = b"ustar\x0000";

/// Writes `files` with one time of change.
pub fn write(files: &BTreeMap<String, Vec<u8>>, at: u64) -> Vec<u8> {
    let mut archive = Vec::new();
    for (name, bytes) in files {
        let mut header = vec![0; RECORD];
        let mut put = |start: usize, text: &[u8]| {
            header.iter_mut().skip(start).zip(text).for_each(|(place, byte)| *place = *byte);
        };
        put(0, name.as_bytes());
        put(NAME, b"0000644\0");
        put(108, b"0000000\0");
        put(116, b"0000000\0");
        put(124, format!("{:011o}\0", bytes.len()).as_bytes());
        put(136, format!("{at:011o}\0").as_bytes());
        put(CHECKSUM, b"        ");
        put(156, b"0");
        put(MAGIC, USTAR);
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header
            .iter_mut()
            .skip(CHECKSUM)
            .zip(format!("{sum:06o}\0 ").as_bytes())
            .for_each(|(place, byte)| *place = *byte);
        archive.extend(header);
        archive.extend(bytes);
        archive.resize(archive.len().next_multiple_of(RECORD), 0);
    }
    archive.resize(archive.len() + 2 * RECORD, 0);
    archive
}

/// Whether these are the bytes of an archive.
pub fn is_archive(bytes: &[u8]) -> bool {
    bytes.get(MAGIC..MAGIC + 5) == Some(b"ustar")
}

/// The files of an archive that [`write()`] made. Another program may extract other files from an archive that has more
/// than these, or kinds, prefixes, rights or an order that they do not have, so that is refused.
///
/// # Errors
/// The first header that is none, a file that is cut off, or that an archive of these files has other bytes.
pub fn read(bytes: &[u8]) -> Result<BTreeMap<String, Vec<u8>>, String> {
    let (mut files, mut rest, mut at, mut changed_at) = (BTreeMap::new(), bytes, 0, 0);
    while let Some((header, after)) = rest.split_at_checked(RECORD) {
        if header.iter().all(|byte| *byte == 0) {
            if write(&files, changed_at) != bytes {
                return Err("it has other headers, another order or more than an archive of its files".to_owned());
            }
            return Ok(files);
        }
        let text = |from: usize, to: usize| {
            let field = header.get(from..to).unwrap_or_default();
            let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
            str::from_utf8(field.get(..end).unwrap_or_default()).ok()
        };
        let sum: u32 = header
            .iter()
            .enumerate()
            .map(|(place, byte)| if (CHECKSUM..CHECKSUM + 8).contains(&place) { 32 } else { u32::from(*byte) })
            .sum();
        let octal = |text: &str| u64::from_str_radix(text.trim(), 8).ok();
        let named = text(CHECKSUM, CHECKSUM + 7).and_then(octal);
        changed_at = text(136, CHECKSUM).and_then(octal).unwrap_or_default();
        let (name, size) = (text(0, NAME), text(124, 136).and_then(octal).and_then(|size| usize::try_from(size).ok()));
        let (Some(name), Some(size), true) = (name, size, named == Some(sum.into()) && is_archive(header)) else {
            return Err(format!("the header at byte {at} was changed"));
        };
        let Some((file, _)) = after.split_at_checked(size) else {
            return Err(format!("{name} is cut off"));
        };
        if files.insert(name.to_owned(), file.to_vec()).is_some() {
            return Err(format!("it has {name} twice"));
        }
        let padded = size.next_multiple_of(RECORD);
        at += RECORD + padded;
        rest = after.get(padded..).ok_or_else(|| format!("{name} is cut off"))?;
    }
    Err("it is cut off".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_come_back_and_damage_is_named() {
        let files: BTreeMap<String, Vec<u8>> = [("a.json", 0), ("b.md", 512), ("c.wasm", 1300)]
            .map(|(name, size)| (name.to_owned(), vec![7; size]))
            .into();
        let archive = write(&files, 1_748_736_000);
        assert!(is_archive(&archive) && archive.len().is_multiple_of(RECORD));
        assert_eq!(read(&archive).unwrap(), files);
        let changed = |at: usize| {
            let mut archive = archive.clone();
            archive[at] ^= 1;
            read(&archive)
        };
        assert_eq!(changed(0).unwrap_err(), "the header at byte 0 was changed");
        assert_ne!(changed(1100).unwrap(), files);
        assert_eq!(read(&archive[..archive.len() - 1025]).unwrap_err(), "c.wasm is cut off");
        assert_eq!(read(&archive[..700]).unwrap_err(), "it is cut off");
    }

    /// Each of these is extracted as something else than what [`read`] would return.
    #[test]
    fn an_archive_is_that_of_its_files_alone() {
        let files: BTreeMap<String, Vec<u8>> =
            ["a.json", "b.wasm"].map(|name| (name.to_owned(), name.as_bytes().to_vec())).into();
        let archive = write(&files, 9);
        let with = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut changed = archive.clone();
            change(&mut changed);
            let header = &mut changed[..RECORD];
            header[CHECKSUM..CHECKSUM + 8].fill(b' ');
            let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
            header[CHECKSUM..CHECKSUM + 7].copy_from_slice(format!("{sum:06o}\0").as_bytes());
            read(&changed)
        };
        assert_eq!(with(&|_| ()).unwrap(), files);
        let swapped = [&archive[1024..2048], &archive[..1024], &archive[2048..]].concat();
        let put = |at: usize, text: &'static [u8]| {
            with(&move |archive: &mut Vec<u8>| archive[at..at + text.len()].copy_from_slice(text))
        };
        for (what, found) in [
            ("a symlink", put(156, b"2")),
            ("its target", put(157, b"/etc/hostname")),
            ("a folder before the name", put(345, b"../..")),
            ("rights", put(NAME, b"0004755\0")),
            ("an owner", put(265, b"root")),
            ("bytes after a file", put(RECORD + 100, b"x")),
            ("another archive after it", with(&|bytes| bytes.extend(archive.clone()))),
            ("a third block of zeros", with(&|bytes| bytes.resize(bytes.len() + RECORD, 0))),
            ("one block of zeros", with(&|bytes| bytes.truncate(bytes.len() - RECORD))),
            ("another order", read(&swapped)),
        ] {
            assert!(found.is_err(), "{what}");
        }
    }

    /// The reader of other programs takes it, too.
    #[test]
    fn tar_extracts_it() {
        let folder = tempfile::tempdir().unwrap();
        let files = BTreeMap::from([("README.md".to_owned(), b"text\n".to_vec())]);
        let path = folder.path().join("pack.tar");
        std::fs::write(&path, write(&files, 1_748_736_000)).unwrap();
        let done = std::process::Command::new("tar").arg("-xf").arg(&path).current_dir(folder.path()).status().unwrap();
        assert!(done.success());
        assert_eq!(std::fs::read(folder.path().join("README.md")).unwrap(), b"text\n");
    }
}
