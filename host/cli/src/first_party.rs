//! The first-party models, which the binary contains: a sandbox needs no other file.

use std::{fs, io, path::Path};

use super::Failure;

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_bytes!(concat!("../../../plugins/", $name)))),*]
    };
}

/// The released components and their cards, by their paths on the shelf.
const FILES: &[(&str, &[u8])] = files![
    "credit-1.0.wasm",
    "credit-1.1.wasm",
    "credit-1.2.wasm",
    "credit-1.3.wasm",
    "credit-1.4.wasm",
    "enhanced-boost.wasm",
    "enhanced-boost-1.1.wasm",
    "sandbox.wasm",
    "sandbox-1.1.wasm",
    "sandbox-1.2.wasm",
    "sybil-1.0.wasm",
    "cards/credit-1.0.toml",
    "cards/credit-1.1.toml",
    "cards/credit-1.2.toml",
    "cards/credit-1.3.toml",
    "cards/credit-1.4.toml",
];

/// Writes the models to the folder `shelf`. Files that are already there stay.
pub fn write(shelf: &Path) -> Result<(), Failure> {
    written(shelf).map_err(|error| {
        Failure::cannot(format!(
            "cannot write the models to {}: {error}. Run it in a folder that this user may write to",
            shelf.display()
        ))
    })
}

fn written(shelf: &Path) -> io::Result<()> {
    for (name, bytes) in FILES {
        let path = shelf.join(name);
        if path.exists() {
            continue;
        }
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        // Renamed when it is complete: a server never loads half a file.
        let part = path.with_extension("part");
        fs::write(&part, bytes)?;
        fs::rename(part, path)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_file_of_the_released_shelf_is_in_the_binary() {
        let shelf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins");
        let names = |folder: &str| {
            let files = fs::read_dir(shelf.join(folder)).unwrap().map(|entry| entry.unwrap());
            let files = files.filter(|file| file.path().is_file() && file.file_name() != "SHA256SUMS");
            files.map(|file| format!("{folder}{}", file.file_name().to_string_lossy())).collect::<Vec<_>>()
        };
        let released: BTreeSet<String> = [names(""), names("cards/")].concat().into_iter().collect();
        assert_eq!(FILES.iter().map(|(name, _)| (*name).to_owned()).collect::<BTreeSet<_>>(), released);
        let written = tempfile::tempdir().unwrap();
        fs::write(written.path().join("sandbox.wasm"), "mine").unwrap();
        write(written.path()).unwrap();
        for name in &released {
            let [ours, theirs] = [written.path(), &shelf].map(|folder| fs::read(folder.join(name)).unwrap());
            assert_eq!(ours == theirs, name != "sandbox.wasm", "{name}");
        }
    }
}
