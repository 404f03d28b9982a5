//! Loads the models of a backtest, named by a version on the shelf or by the path of a component.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::models::ModelIdentity;
use assay_domain::{Decile, ModelInfo, ModelKind, ModelVersion, Score};
use assay_registry::{CreditModel, Limits, MeteredModel, OfKind, StandaloneError, metered, standalone};

/// A model for scores, and its metered copy for costs.
pub struct Loaded {
    pub identity: ModelIdentity,
    pub model: CreditModel,
    pub counting: MeteredModel,
    /// What it says of itself.
    pub info: ModelInfo,
}

/// Why there is no such model.
#[derive(Debug, thiserror::Error)]
pub enum LoadFailure {
    #[error("{} cannot be read: {error}", path.display())]
    Unreadable { path: PathBuf, error: io::Error },
    #[error("{}: {error}", path.display())]
    Unfit { path: PathBuf, error: StandaloneError },
    #[error("{} is a {kind} model, and only credit models are compared", path.display())]
    Kind { path: PathBuf, kind: ModelKind },
    #[error("the shelf {} has no credit model {version}; it has {found}", shelf.display())]
    Absent { shelf: PathBuf, version: ModelVersion, found: String },
    #[error("the shelf {} has two different credit models {version}: {} and {}", shelf.display(), one.display(),
        other.display())]
    Ambiguous { shelf: PathBuf, version: ModelVersion, one: PathBuf, other: PathBuf },
}

/// Loads each of `names` in their order.
///
/// # Errors
/// The first model that is missing or cannot be served.
pub fn load(names: &[String], shelf: &Path, limits: &Limits) -> Result<Vec<Loaded>, LoadFailure> {
    let mut on_shelf = None;
    let mut loaded = Vec::new();
    for name in names {
        let path = match name.parse::<ModelVersion>() {
            Ok(version) => {
                if on_shelf.is_none() {
                    on_shelf = Some(search(shelf, limits)?);
                }
                find(shelf, on_shelf.as_deref().unwrap_or_default(), version)?
            }
            Err(_) => PathBuf::from(name),
        };
        loaded.push(one(&path, limits)?);
    }
    tell_apart(&mut loaded);
    Ok(loaded)
}

/// Adds the digest to the names of different models that have the same version.
fn tell_apart(loaded: &mut [Loaded]) {
    let names: Vec<_> = loaded.iter().map(|of| (of.identity.name.clone(), of.identity.digest)).collect();
    for Loaded { identity: ModelIdentity { name, digest, .. }, .. } in loaded {
        if names.iter().any(|(other, of)| other == name && of != digest) {
            let digest = digest.to_string();
            *name = format!("{name} ({})", digest.get(..8).unwrap_or(&digest));
        }
    }
}

fn read(path: &Path) -> Result<Vec<u8>, LoadFailure> {
    fs::read(path).map_err(|error| LoadFailure::Unreadable { path: path.to_owned(), error })
}

/// The credit models of the shelf. Files that do not load are skipped; naming such a file by its path gives the error.
fn search(shelf: &Path, limits: &Limits) -> Result<Vec<(PathBuf, CreditModel)>, LoadFailure> {
    let unreadable = |error| LoadFailure::Unreadable { path: shelf.to_owned(), error };
    let entries: io::Result<Vec<PathBuf>> =
        fs::read_dir(shelf).and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect());
    let mut files = entries.map_err(unreadable)?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "wasm"));
    files.sort();
    let mut models = Vec::new();
    for file in files {
        if let Ok(bytes) = fs::read(&file)
            && let Ok(model) = standalone(&bytes, limits)
            && let Some(model) = CreditModel::of(&model)
        {
            models.push((file, model));
        }
    }
    Ok(models)
}

fn find(shelf: &Path, models: &[(PathBuf, CreditModel)], version: ModelVersion) -> Result<PathBuf, LoadFailure> {
    let mut matching = models.iter().filter(|(_, model)| *model.version() == version);
    let Some((one, model)) = matching.next() else {
        let mut found: Vec<_> = models.iter().map(|(_, model)| model.version().clone()).collect();
        found.sort();
        let found = if found.is_empty() {
            "none".into()
        } else {
            found.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        };
        return Err(LoadFailure::Absent { shelf: shelf.to_owned(), version, found });
    };
    match matching.find(|(_, other)| other.digest() != model.digest()) {
        Some((other, _)) => {
            Err(LoadFailure::Ambiguous { shelf: shelf.to_owned(), version, one: one.clone(), other: other.clone() })
        }
        None => Ok(one.clone()),
    }
}

fn one(path: &Path, limits: &Limits) -> Result<Loaded, LoadFailure> {
    let bytes = read(path)?;
    let unfit = |error| LoadFailure::Unfit { path: path.to_owned(), error };
    let model = standalone(&bytes, limits).map_err(unfit)?;
    let Some(model) = CreditModel::of(&model) else {
        return Err(LoadFailure::Kind { path: path.to_owned(), kind: model.kind() });
    };
    let counting = metered(&bytes, limits).map_err(unfit)?;
    let deciles: Vec<Decile> =
        (Score::MIN.get()..=Score::MAX.get()).filter_map(Score::new).map(|score| model.decile(score)).collect();
    let name = format!("{} {}", model.kind(), model.version());
    let identity = ModelIdentity { name, title: model.info().title.clone(), digest: model.digest(), deciles };
    let info = model.info().clone();
    Ok(Loaded { identity, model, counting, info })
}
