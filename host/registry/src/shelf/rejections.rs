//! Notes about refused files, which the next start does not compile again. The lines of a note are a hash of the build,
//! engine and limits that refused the file, the code of the refusal, and its message.

use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use crate::{LoadError, confine::engines::Engines};
use assay_domain::Digest;

/// Codes of refusals that depend only on the file. A failed self-test is not one of them, for a busy machine can cause
/// it; nor is a compiler that failed, for a small one can.
const LASTING: [&str; 9] = [
    "not_encodable",
    "invalid_wasm",
    "too_complex",
    "compiler_limits",
    "imports",
    "wrong_world",
    "other_generation",
    "several_kinds",
    "type_mismatch",
];
/// Extension of a note's file name.
const NOTE: &str = "rejected";
/// Age at which a note is deleted.
const OLD: Duration = Duration::from_secs(30 * 24 * 3_600);

impl LoadError {
    /// Whether every check of the same file ends with this error.
    pub fn is_lasting(&self) -> bool {
        LASTING.contains(&self.code())
    }
}

pub(crate) struct Rejections {
    folder: PathBuf,
    /// Hash of build, engine and limits; with others, the file may be accepted.
    by: String,
}

impl Rejections {
    pub(crate) fn open(folder: &Path, engines: &Engines) -> Self {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        for note in entries.filter(|entry| entry.path().extension().is_some_and(|end| end == NOTE)) {
            let written = note.metadata().and_then(|note| note.modified()).ok();
            if written.and_then(|written| written.elapsed().ok()).is_some_and(|age| age > OLD) {
                // A note that cannot be deleted only uses disk space.
                let _ = fs::remove_file(note.path());
            }
        }
        let mut hasher = DefaultHasher::new();
        build().hash(&mut hasher);
        engines.names.precompile_compatibility_hash().hash(&mut hasher);
        format!("{:?}", engines.limits).hash(&mut hasher);
        Self { folder: folder.to_owned(), by: format!("{:016x}", hasher.finish()) }
    }

    /// Why this file was refused.
    pub(crate) fn of(&self, digest: &Digest) -> Option<LoadError> {
        let note = fs::read_to_string(self.path(digest)).ok()?;
        let (by, rest) = note.split_once('\n')?;
        let (code, message) = rest.split_once('\n')?;
        let code = LASTING.into_iter().find(|lasting| *lasting == code)?;
        (by == self.by && !message.is_empty()).then(|| LoadError::Remembered { code, message: message.to_owned() })
    }

    /// Stores the problem of a file if another check would find it again.
    pub(crate) fn keep(&self, digest: &Digest, problem: &LoadError) {
        if !problem.is_lasting() {
            return;
        }
        let note = format!("{}\n{}\n{problem}", self.by, problem.code());
        let path = self.path(digest);
        let draft = path.with_extension("new");
        let written = fs::create_dir_all(&self.folder)
            .and_then(|()| fs::write(&draft, note))
            .and_then(|()| fs::rename(&draft, &path));
        if let Err(error) = written {
            tracing::warn!(%error, "a refused file cannot be noted; the next start compiles it again");
        }
    }

    fn path(&self, digest: &Digest) -> PathBuf {
        self.folder.join(format!("{digest}.{NOTE}"))
    }
}

/// Identifies this program: two builds of one version may differ.
fn build() -> (&'static str, Option<(u64, SystemTime)>) {
    let file = std::env::current_exe().and_then(fs::metadata).ok();
    (env!("CARGO_PKG_VERSION"), file.and_then(|file| Some((file.len(), file.modified().ok()?))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, confine::engine::Purpose};

    #[test]
    fn a_note_is_for_one_file_and_the_limits_that_refused_it() {
        let folder = tempfile::tempdir().unwrap();
        let open = |limits: &Limits| Rejections::open(folder.path(), &Engines::new(limits, Purpose::SERVE).unwrap());
        let limits = Limits::default();
        let (one, two) = (Digest([1; 32]), Digest([2; 32]));
        let problem = LoadError::WrongWorld(Vec::new());
        open(&limits).keep(&one, &problem);
        for passing in [
            LoadError::SelfTest { input: "a".into(), problem: "b".into() },
            LoadError::CompilerFailed { memory: 1, status: "signal: 6 (SIGABRT)".into() },
            LoadError::CompilerStart("it may use 1 MiB".into()),
            LoadError::CompilerStopped("no memory".into()),
        ] {
            open(&limits).keep(&two, &passing);
        }
        let again = open(&limits).of(&one).unwrap();
        assert_eq!((again.code(), again.to_string()), (problem.code(), problem.to_string()));
        assert_eq!(open(&limits).of(&two), None, "each of these may pass at another time");
        assert_eq!(open(&Limits { memory: 4 << 20, ..limits }).of(&one), None);
    }
}
