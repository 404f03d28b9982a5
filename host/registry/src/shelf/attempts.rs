//! Notes about files that are being loaded. A leftover note tells the next start that the server ended during the load.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::LoadError;
use assay_domain::Digest;

/// The server may end for another reason while it loads a file, so the first time does not count against the file.
const DEATHS: usize = 2;

/// An attempt to load a file. Dropping it removes the note.
pub(crate) struct LoadAttempt {
    note: PathBuf,
}

impl LoadAttempt {
    /// Notes in `folder` that the file with this digest is being loaded. The note has one byte for each attempt.
    ///
    /// # Errors
    /// [`LoadError::SetAside`] if the server ended during each of the last two attempts.
    pub(crate) fn begin(folder: &Path, digest: &Digest) -> Result<Self, LoadError> {
        let note = folder.join(format!("{digest}.loading"));
        let mut attempts = fs::read(&note).unwrap_or_default();
        if attempts.len() >= DEATHS {
            return Err(LoadError::SetAside { deaths: attempts.len(), note: format!("{digest}.loading") });
        }
        attempts.push(b'.');
        let written = fs::create_dir_all(folder).and_then(|()| fs::write(&note, &attempts));
        if let Err(error) = written {
            tracing::warn!(%error, "no note can be kept of a file that is being loaded");
        }
        Ok(Self { note })
    }
}

impl Drop for LoadAttempt {
    fn drop(&mut self) {
        // If the note stays, the file gets one attempt fewer.
        let _ = fs::remove_file(&self.note);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_set_aside_after_two_attempts_that_did_not_end() {
        let folder = tempfile::tempdir().unwrap();
        let begin = || LoadAttempt::begin(folder.path(), &Digest([7; 32]));
        drop(begin().unwrap());
        std::mem::forget(begin().unwrap());
        drop(begin().unwrap());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "an attempt that ends forgets those before");
        std::mem::forget(begin().unwrap());
        std::mem::forget(begin().unwrap());
        let Err(LoadError::SetAside { deaths: 2, note }) = begin() else { panic!("it is tried a third time") };
        fs::remove_file(folder.path().join(note)).unwrap();
        assert!(begin().is_ok());
    }
}
