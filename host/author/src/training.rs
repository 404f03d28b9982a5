//! The table that a model was trained on, as `assay features table` writes it.

use std::path::{Path, PathBuf};

use crate::{FileFault, declaration::DeclarationFile, files, table};

/// The column of the outcomes: 1 for a bad one, 0 for a good one, empty if it is not known.
const OUTCOME: &str = "outcome";

/// Why nothing can be learned from so many good and bad outcomes; `None` if there are both, or none.
#[must_use]
pub fn one_class(good: u64, bad: u64) -> Option<String> {
    let (count, class, other) = match (good, bad) {
        (0, 0) => return None,
        (0, bad) => (bad, "1 (bad)", "0 (good)"),
        (good, 0) => (good, "0 (good)", "1 (bad)"),
        _ => return None,
    };
    Some(format!(
        "all {count} outcomes are {class}, and none is {other}: a model learns from both. Add wallets with the other \
         outcome, and train again"
    ))
}

/// The figures of each wallet, in the order of the features.
pub(crate) struct Training {
    pub path: PathBuf,
    pub rows: Vec<Vec<f64>>,
}

impl Training {
    /// The table that the declaration names.
    ///
    /// # Errors
    /// There is no such file, or it has no rows, nothing of a feature, or outcomes of one class.
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
        let (text, names) = (files::text(&path, files::TRAINED)?, file.names());
        let rows = table::rows(&path, &text, &names, true)?;
        if rows.is_empty() {
            let message = "it has no rows: put wallets into history.jsonl, and write it again";
            return Err(FileFault::of(&path, message));
        }
        let is_empty = |(at, _): &(usize, &&str)| rows.iter().all(|row| row.get(*at).is_none_or(|cell| cell.is_nan()));
        if let Some((_, name)) = names.iter().enumerate().find(is_empty) {
            let message = format!(
                "the column `{name}` is empty in each of its {} rows, so nothing was learned from it: correct the \
                 expression of the feature, or remove it",
                rows.len()
            );
            return Err(FileFault::of(&path, message));
        }
        let outcomes = if table::head(&path, &text)?.contains(&OUTCOME) {
            table::rows(&path, &text, &[OUTCOME], true)?.concat()
        } else {
            Vec::new()
        };
        if let Some(other) = outcomes.iter().find(|outcome| !outcome.is_nan() && ![0.0, 1.0].contains(*outcome)) {
            let message = format!("the column `{OUTCOME}` has {other}: write 1 (bad), 0 (good) or nothing");
            return Err(FileFault::of(&path, message));
        }
        let known = |outcome: f64| outcomes.iter().filter(|other| **other == outcome).count() as u64;
        match one_class(known(0.0), known(1.0)) {
            Some(why) => Err(FileFault::of(&path, why)),
            None => Ok(Some(Self { path, rows })),
        }
    }
}
