//! The version of a new model: the one after those of the shelf and of the models in the folders beside it, so models
//! that are made one after the other can be shipped side by side.

use std::{fs, path::Path};

use assay_domain::{ModelKind, ModelVersion};
use assay_registry::{Limits, standalone};

/// The files of a template that state the version.
const SOURCES: [&str; 4] = ["model.toml", "model.js", "model.py", "src/lib.rs"];
/// Larger files of the shelf are not looked at: to compile them takes long.
const LARGEST: u64 = 256 << 10;

/// The first version `0.N` after every other one of the kind. `folder` is that of the new model.
pub(super) fn free(folder: &Path, kind: ModelKind, shelf: &Path, limits: &Limits) -> String {
    let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let beside = entries(parent).flat_map(|folder| SOURCES.map(|source| folder.join(source)));
    let beside = beside.filter_map(|source| stated(&fs::read_to_string(source).ok()?));
    let is_small = |file: &Path| fs::metadata(file).is_ok_and(|file| file.len() <= LARGEST);
    let on_shelf = entries(shelf).filter(|file| file.extension().is_some_and(|end| end == "wasm") && is_small(file));
    let on_shelf = on_shelf.filter_map(|file| {
        let model = standalone(&fs::read(file).ok()?, limits).ok()?;
        (model.kind() == kind).then(|| model.version().clone())
    });
    let newest = beside.chain(on_shelf).filter_map(|version| minor(&version)).max();
    format!("0.{}", newest.map_or(1, |newest| newest.saturating_add(1)))
}

fn entries(folder: &Path) -> impl Iterator<Item = std::path::PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// The version that a source states.
fn stated(source: &str) -> Option<ModelVersion> {
    source.match_indices("version").find_map(|(at, word)| {
        let rest = source.get(at + word.len()..)?.trim_start_matches(['"', '\'', '=', ':', ' ']);
        let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(rest.len());
        rest.get(..end)?.parse().ok()
    })
}

/// The second number of a version `0.N`.
fn minor(version: &ModelVersion) -> Option<u32> {
    version.as_str().strip_prefix("0.")?.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use assay_author::Language;

    use super::*;

    #[test]
    fn a_new_model_has_a_version_that_none_beside_it_and_none_on_the_shelf_has() {
        let folder = tempfile::tempdir().unwrap();
        let shelf = folder.path().join("shelf");
        let free = |kind| free(&folder.path().join("new"), kind, &shelf, &Limits::default());
        assert_eq!(free(ModelKind::Credit), "0.1");
        // Each language states it, and the next one is free.
        for (n, language) in Language::ALL.into_iter().enumerate() {
            let (next, place) = (free(ModelKind::Credit), folder.path().join(format!("model{n}")));
            assert_eq!(next, format!("0.{}", n + 1), "{language:?}");
            let files = assay_author::template(language, ModelKind::Credit, "model", &next, "kit").unwrap();
            for (path, text) in files {
                super::super::workshop::write(&place.join(path), text).unwrap();
            }
        }
        fs::create_dir(&shelf).unwrap();
        let released = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins/credit-1.4.wasm");
        fs::copy(released, shelf.join("credit-1.4.wasm")).unwrap();
        assert_eq!(free(ModelKind::Credit), "0.6", "1.4 is no 0.N");
    }
}
