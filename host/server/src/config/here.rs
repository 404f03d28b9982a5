//! What a configuration needs of the machine on which it is used.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{Config, Problem};
use assay_store::config::Backend;

/// What is missing on this machine: the folder of the models, and places in which the server can write.
pub fn missing(config: &Config) -> Vec<Problem> {
    let mut found = Vec::new();
    let mut add = |key: &str, what: String| found.push(Problem { key: key.to_owned(), what });
    let shelf = &config.models.shelf;
    if let Err(error) = fs::read_dir(shelf) {
        let advice = "name the folder of the models, or write one with `assay init`";
        add("models.shelf", format!("{} cannot be read: {error}; {advice}", shelf.display()));
    }
    let written = [("store.path", &config.store.path), ("reading.index_path", &config.reading.index_path)];
    for (key, path) in written {
        if config.store.backend == Backend::Redis && key == "store.path" {
            continue;
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        if let Err((folder, error)) = is_writable(folder) {
            let advice = "name another place, or let the user of the server write there";
            add(key, format!("{} cannot be written: {error}; {advice}", folder.display()));
        }
    }
    found
}

/// Whether a file can be made in `folder`, or in the nearest folder above it that exists.
fn is_writable(folder: &Path) -> Result<(), (PathBuf, io::Error)> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let there = folder.ancestors().find(|above| above.exists()).unwrap_or(Path::new("."));
    let there = if there.as_os_str().is_empty() { Path::new(".") } else { there };
    let probe = there.join(format!(".assay-{}", std::process::id()));
    let made = fs::OpenOptions::new().write(true).create_new(true).open(&probe).and_then(|_| fs::remove_file(&probe));
    made.map_err(|error| (there.to_owned(), error))
}
