//! The shelf: the folder of released components. Lists, reads, writes, removes and watches its files.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};

use crate::{LoadError, REMOVED};
use assay_domain::Digest;

/// Identifies the content of a file without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub size: u64,
    modified: Option<SystemTime>,
    /// A moved file keeps its time but has a new inode.
    inode: u64,
}

impl Stamp {
    /// The stamp of a file that was not read yet.
    pub(crate) const UNREAD: Self = Self { size: 0, modified: None, inode: 0 };
}

pub(crate) struct ShelfFolder {
    pub folder: PathBuf,
}

impl ShelfFolder {
    /// The model files by name. A folder that does not exist is an empty shelf.
    pub(crate) fn files(&self) -> io::Result<BTreeMap<String, Stamp>> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
            entries => entries?,
        };
        let mut files = BTreeMap::new();
        for entry in entries {
            let entry = entry?;
            // A name that is not UTF-8 cannot be listed; a hidden file is temporary.
            let Some(name) = entry
                .file_name()
                .to_str()
                .filter(|name| name.ends_with(".wasm") && !name.starts_with('.'))
                .map(str::to_owned)
            else {
                continue;
            };
            // The file was removed in the meantime; an event follows.
            let Ok(metadata) = fs::metadata(entry.path()) else { continue };
            if metadata.is_file() {
                files.insert(name, stamp(&metadata));
            }
        }
        Ok(files)
    }

    /// Reads at most one byte more than `most`, so a huge file uses no memory.
    pub(crate) fn read(&self, name: &str, most: usize) -> Result<Vec<u8>, LoadError> {
        let unreadable = |error: io::Error| LoadError::Read(error.to_string());
        let path = self.folder.join(name);
        // A link may point to any file that the server can read, and errors about a component show its bytes.
        if !path.canonicalize().map_err(unreadable)?.starts_with(self.folder.canonicalize().map_err(unreadable)?) {
            let why = "it is a link to a file outside of the shelf; put the file itself there";
            return Err(LoadError::Read(why.to_owned()));
        }
        let file = fs::File::open(path).map_err(unreadable)?;
        let size = file.metadata().map_err(unreadable)?.len();
        if size > most as u64 {
            return Err(LoadError::TooLarge { size, most });
        }
        let mut bytes = Vec::new();
        file.take(most as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
        Ok(bytes)
    }

    /// Writes a file atomically: its name appears once every byte is on disk.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> io::Result<Stamp> {
        fs::create_dir_all(&self.folder)?;
        let temporary = self.folder.join(format!(".{name}.part"));
        let target = self.folder.join(name);
        let synced =
            fs::File::create(&temporary).and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()));
        let renamed = synced
            .and_then(|()| fs::rename(&temporary, &target))
            .and_then(|()| fs::File::open(&self.folder)?.sync_all());
        if renamed.is_err() {
            // A leftover file is hidden, so it is not read.
            let _ = fs::remove_file(&temporary);
        }
        renamed?;
        Ok(stamp(&fs::metadata(&target)?))
    }

    /// Takes a file off the shelf. For `kept`, it stays in the folder of removed versions.
    pub(crate) fn remove(&self, name: &str, digest: Option<Digest>, kept: Duration) -> io::Result<()> {
        let file = self.folder.join(name);
        let done = match digest.filter(|_| !kept.is_zero()) {
            None => fs::remove_file(&file),
            Some(digest) => {
                let removed = self.folder.join(REMOVED);
                fs::create_dir_all(&removed)?;
                let target = removed.join(format!("{digest}.wasm"));
                // The age of a removed file counts from now.
                fs::rename(&file, &target).and_then(|()| fs::File::open(target)?.set_modified(SystemTime::now()))
            }
        };
        match done {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }

    /// Deletes the files of versions that were removed longer ago than `kept`.
    pub(crate) fn forget_removed(&self, kept: Duration) -> io::Result<()> {
        let entries = match fs::read_dir(self.folder.join(REMOVED)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        for entry in entries {
            let path = entry?.path();
            let age = fs::metadata(&path).and_then(|file| file.modified()).map(|at| at.elapsed().unwrap_or_default());
            if age.is_ok_and(|age| age > kept) {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }

    /// Calls `changed` after every change of the folder, until the watcher is dropped.
    pub(crate) fn watch(&self, changed: impl Fn() + Send + 'static) -> notify::Result<RecommendedWatcher> {
        let on_event = move |event: notify::Result<notify::Event>| {
            // Reading a file is an event too; it must not cause another scan.
            if !event.is_ok_and(|event| event.kind.is_access()) {
                changed();
            }
        };
        let mut watcher = notify::recommended_watcher(on_event)?;
        watcher.watch(Path::new(&self.folder), RecursiveMode::NonRecursive)?;
        Ok(watcher)
    }
}

fn stamp(metadata: &fs::Metadata) -> Stamp {
    #[cfg(unix)]
    let inode = std::os::unix::fs::MetadataExt::ino(metadata);
    #[cfg(not(unix))]
    let inode = 0;
    Stamp { size: metadata.len(), modified: metadata.modified().ok(), inode }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn the_file_of_a_removed_version_is_kept_for_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let shelf = ShelfFolder { folder: folder.path().to_owned() };
        let (digest, hour) = (Digest([7; 32]), Duration::from_secs(3_600));
        let removed = folder.path().join(REMOVED).join(format!("{digest}.wasm"));
        shelf.write("a.wasm", b"a model").unwrap();
        shelf.remove("a.wasm", Some(digest), hour).unwrap();
        assert!(shelf.files().unwrap().is_empty(), "it is no model of the shelf");
        assert_eq!(fs::read(&removed).unwrap(), b"a model");
        shelf.remove("a.wasm", Some(digest), hour).unwrap();
        shelf.forget_removed(hour).unwrap();
        assert!(removed.exists());
        fs::File::open(&removed).unwrap().set_modified(SystemTime::now() - 2 * hour).unwrap();
        shelf.forget_removed(hour).unwrap();
        assert!(!removed.exists());
        shelf.write("a.wasm", b"a model").unwrap();
        shelf.remove("a.wasm", Some(digest), Duration::ZERO).unwrap();
        assert!(!folder.path().join("a.wasm").exists() && !removed.exists());
    }

    #[test]
    fn a_link_is_read_within_the_shelf_only() {
        let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let shelf = ShelfFolder { folder: folder.path().to_owned() };
        fs::write(outside.path().join("secret"), "secret").unwrap();
        fs::write(folder.path().join("real"), "a model").unwrap();
        symlink(outside.path().join("secret"), folder.path().join("out.wasm")).unwrap();
        symlink("real", folder.path().join("in.wasm")).unwrap();
        assert_eq!(shelf.read("in.wasm", 100).unwrap(), b"a model");
        let refused = shelf.read("out.wasm", 100).unwrap_err().to_string();
        assert!(refused.contains("outside of the shelf"), "{refused}");
    }
}
