//! The table that a model was trained on, as `assay features table` writes it.

use std::path::{Path, PathBuf};

use crate::{FileFault, declaration::DeclarationFile, files, table};

/// The figures of each wallet, in the order of the features.
pub(crate) struct Training {
    pub path: PathBuf,
    pub rows: Vec<Vec<f64>>,
}

impl Training {
    /// The table that the declaration names.
    ///
    /// # Errors
    /// There is no such file, or it lacks a feature or rows.
    pub(crate) fn read(file: &DeclarationFile) -> Result<Option<Self>, FileFault> {
        let Some(named) = &file.declared.table else { return Ok(None) };
        let path = file.path.parent().unwrap_or(Path::new("")).join(named.get_ref());
        if !path.exists() {
            let message = format!(
                "there is no file {}: write it with `assay features table model.toml history.jsonl > {0}`",
                named.get_ref()
            );
            return Err(file.fault(named, message));
        }
        let rows = table::rows(&path, &files::text(&path, files::TRAINED)?, &file.names())?;
        if rows.is_empty() { Err(FileFault::of(&path, "it has no rows")) } else { Ok(Some(Self { path, rows })) }
    }
}
