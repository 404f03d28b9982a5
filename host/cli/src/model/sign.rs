//! `assay model key` and `assay model sign`.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use assay_registry::SigningKey;

use crate::{Failure, print};

/// Writes a new secret key that only its owner may read, and prints its public key.
pub fn key(file: &Path) -> Result<(), Failure> {
    let (key, secret) = SigningKey::generate().map_err(Failure::cannot)?;
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(file).and_then(|mut file| file.write_all(format!("{secret}\n").as_bytes()));
    written.map_err(|error| Failure::cannot(format!("{} cannot be written: {error}", file.display())))?;
    print(key.public())
}

/// Signs a component, in its place or as another file.
pub fn sign(bytes: &[u8], file: &Path, key: &Path, output: Option<PathBuf>) -> Result<(), Failure> {
    let unreadable = |error| Failure::cannot(format!("{} cannot be read: {error}", key.display()));
    let secret = fs::read_to_string(key).map_err(unreadable)?;
    let key = SigningKey::read(&secret).map_err(|why| Failure::no(format!("{}: {why}", key.display())))?;
    let output = output.unwrap_or_else(|| file.to_owned());
    let part = output.with_extension("part");
    fs::write(&part, key.sign(bytes))
        .and_then(|()| fs::rename(&part, &output))
        .map_err(|error| Failure::cannot(format!("{} cannot be written: {error}", output.display())))?;
    print(format!("{} is signed by {}", output.display(), key.public()))
}
