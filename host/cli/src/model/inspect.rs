//! `assay model check` and `assay model list`: every problem of a file, and how it differs from the shelf.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
};

use assay_domain::ModelInfo;
use assay_registry::{CheckReport, Limits, LoadError, Problem};

use super::read;
use crate::{ConfigFile, Failure, print};

pub fn check(file: &Path, json: bool, config: &ConfigFile) -> Result<(), Failure> {
    let limits = config.load()?.models.limits();
    let mut report = examine(file, &limits)?;
    let known = shelved(config);
    add_taken(&mut report, known.iter());
    report.hints.extend(differences(&report, &known));
    if json {
        print(serde_json::to_string_pretty(&report).map_err(Failure::cannot)?)?;
    } else {
        print(report.to_string().trim_end())?;
    }
    // The report has the problems.
    if report.ok { Ok(()) } else { Err(Failure::no("")) }
}

/// The models on the shelf; none if it cannot be read, which `check` does not need.
fn shelved(config: &ConfigFile) -> Vec<CheckReport> {
    let Ok(config) = config.load() else { return Vec::new() };
    let limits = config.models.limits();
    files(&config.models.shelf).unwrap_or_default().iter().filter_map(|file| examine(file, &limits).ok()).collect()
}

/// Adds a problem to `report` if one of `others` has the same version with different bytes.
fn add_taken<'a>(report: &mut CheckReport, mut others: impl Iterator<Item = &'a CheckReport>) {
    let Some(ModelInfo { kind, version, .. }) = report.model.clone() else { return };
    let same = |other: &ModelInfo| other.kind == kind && other.version == version;
    let other = others.find(|other| other.digest != report.digest && other.model.as_ref().is_some_and(same));
    if let Some(CheckReport { digest: released, .. }) = other {
        let taken = LoadError::VersionTaken { kind, version, digest: report.digest, released: *released };
        report.problems.push(Problem::from(&taken));
        report.ok = false;
    }
}

/// How the scores of the sample wallets differ from those of the highest version on the shelf.
fn differences(report: &CheckReport, shelf: &[CheckReport]) -> Option<String> {
    let version = |other: &&CheckReport| other.model.as_ref().map(|info| info.version.clone());
    let champion = shelf.iter().filter(|other| other.ok && !other.scores.is_empty()).max_by_key(version)?;
    if report.scores.is_empty() || champion.digest == report.digest {
        return None;
    }
    let both =
        report.scores.iter().zip(&champion.scores).filter_map(|(new, old)| Some((new.wallet, new.score?, old.score?)));
    let parts: Vec<_> =
        both.map(|(wallet, new, old)| format!("{:+} {wallet}", i64::from(new) - i64::from(old))).collect();
    let version = champion.model.as_ref().map(|info| info.version.to_string()).unwrap_or_default();
    Some(format!("against credit {version} of the shelf: {}", parts.join(", ")))
}

/// The descriptions of the files on the shelf.
pub fn on_shelf(config: &ConfigFile) -> Result<Vec<ModelInfo>, Failure> {
    let config = config.load()?;
    let limits = config.models.limits();
    let reports = files(&config.models.shelf)?.into_iter().filter_map(move |file| examine(&file, &limits).ok());
    Ok(reports.filter_map(|report| report.model).collect())
}

/// The files of a shelf, in the order of their names.
fn files(shelf: &Path) -> Result<Vec<PathBuf>, Failure> {
    let advice = "Set models.shelf in the configuration, or ASSAY__MODELS__SHELF, to the folder of released models";
    let unreadable =
        |error| Failure::cannot(format!("the shelf {} cannot be read: {error}. {advice}", shelf.display()));
    let mut files: Vec<PathBuf> = std::fs::read_dir(shelf)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect())
        .map_err(unreadable)?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "wasm"));
    files.sort();
    Ok(files)
}

pub fn list(json: bool, config: &ConfigFile) -> Result<(), Failure> {
    let config = config.load()?;
    let shelf = &config.models.shelf;
    let files = files(shelf)?;
    let limits = config.models.limits();
    let mut reports: Vec<_> =
        files.iter().map(|file| (file, examine(file, &limits).map_err(|failure| failure.message))).collect();
    mark_duplicates(reports.iter_mut().filter_map(|(_, report)| report.as_mut().ok()).collect());
    if json {
        let row = |(file, report): &(&PathBuf, Result<CheckReport, String>)| match report {
            Ok(report) => serde_json::json!({ "file": file, "report": report }),
            Err(error) => serde_json::json!({ "file": file, "error": error }),
        };
        let rows: Vec<_> = reports.iter().map(row).collect();
        return print(serde_json::to_string_pretty(&rows).map_err(Failure::cannot)?);
    }
    if reports.is_empty() {
        return print(format!("the shelf {} has no .wasm file", shelf.display()));
    }
    print(
        reports
            .iter()
            .fold(String::new(), |mut text, (file, report)| {
                let _ = writeln!(text, "{}", row(file, report));
                text
            })
            .trim_end(),
    )
}

/// Adds a problem to every file whose version an earlier one has. A server without roles loads the smallest file first.
fn mark_duplicates(mut reports: Vec<&mut CheckReport>) {
    reports.sort_by_key(|report| report.bytes);
    let mut served = Vec::<CheckReport>::new();
    for report in reports {
        add_taken(report, served.iter());
        if report.ok {
            served.push(report.clone());
        }
    }
}

fn row(file: &Path, report: &Result<CheckReport, String>) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let report = match report {
        Ok(report) => report,
        Err(error) => return format!("{:<14} failed  {name}  {error}", "no model"),
    };
    let who = report.model.as_ref().map_or("no model".to_owned(), |info| format!("{} {}", info.kind, info.version));
    match report.problems.first() {
        None => format!(
            "{who:<14} ready   {name}  {}",
            report.model.as_ref().map(|info| info.title.as_str()).unwrap_or_default()
        ),
        Some(problem) => format!("{who:<14} failed  {name}  [{}] {}", problem.code, problem.message),
    }
}

fn examine(file: &Path, limits: &Limits) -> Result<CheckReport, Failure> {
    let bytes = read(file, limits)?;
    assay_registry::check(&bytes, limits).map_err(Failure::cannot)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_belongs_to_one_file() {
        let one = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../plugins/sybil-1.0.wasm")).unwrap();
        // The same model with a custom section that nobody reads.
        let larger = [&one[..], &[0, 5, 4], b"note"].concat();
        let (cut, limits) = (&larger[..larger.len() - 1], Limits::default());
        let mut reports =
            [cut, &larger[..], &one[..], &one[..]].map(|bytes| assay_registry::check(bytes, &limits).unwrap()).to_vec();
        assert!(!reports[0].ok && reports[1].ok);
        mark_duplicates(reports.iter_mut().collect());
        // The smallest file that is a model has it, and a copy is no second version.
        assert_eq!(reports.iter().map(|report| report.ok).collect::<Vec<_>>(), [false, false, true, true]);
        assert_eq!(reports[1].problems.last().map(|problem| problem.code), Some("version_taken"));
    }
}
