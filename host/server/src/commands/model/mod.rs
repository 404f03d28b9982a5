//! `assay model`: checks and packs model files without a server, and changes the roles of models on a running server.

use std::{
    fmt::Write as _,
    io::Read as _,
    path::{Path, PathBuf},
};

use assay_domain::{ModelKind, ModelVersion};
use assay_registry::{CheckReport, Limits};
use clap::Subcommand;
use reqwest::Method;
use serde_json::{Value, json};

use super::{ConfigFile, Failure, print, remote::Server};
use crate::app;

#[derive(Subcommand)]
pub enum Command {
    /// Print every problem of a component, or its model and the cost of a call
    Check {
        /// The component
        file: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        config: ConfigFile,
    },
    /// List the files on the shelf, checked as a server checks them; only a server knows the roles of models
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        config: ConfigFile,
    },
    /// Turn a core module that cargo built for wasm32-unknown-unknown into a component
    Pack {
        /// The core module
        core: PathBuf,
        /// The component to write
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
    },
    /// Make a version the champion, which answers requests, on a running server
    Promote {
        #[arg(value_parser = kind)]
        kind: ModelKind,
        version: ModelVersion,
        /// The reason, for the audit log
        #[arg(long)]
        why: Option<String>,
        /// Skip the limits of [promotion]; needs --why
        #[arg(long, requires = "why")]
        force: bool,
        #[command(flatten)]
        server: Server,
    },
    /// Set the challengers, which the shadow engine runs beside the champion, on a running server
    Challenge {
        #[arg(value_parser = kind)]
        kind: ModelKind,
        /// The challengers; without versions, no model of this kind is a challenger
        versions: Vec<ModelVersion>,
        /// The reason, for the audit log
        #[arg(long)]
        why: Option<String>,
        #[command(flatten)]
        server: Server,
    },
    /// Make the previous champion the champion again, on a running server
    Rollback {
        #[arg(value_parser = kind)]
        kind: ModelKind,
        /// The reason, for the audit log
        #[arg(long)]
        why: Option<String>,
        #[command(flatten)]
        server: Server,
    },
}

pub fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Check { file, json, config } => check(&file, json, &config),
        Command::List { json, config } => list(json, &config),
        Command::Pack { core, output } => pack(&core, &output, &Limits::default()),
        Command::Promote { kind, version, why, force, server } => {
            let body = json!({ "version": version, "why": why, "force": force });
            change_roles(&server, Method::PUT, kind, "champion", &body)
        }
        Command::Challenge { kind, versions, why, server } => {
            let body = json!({ "versions": versions, "why": why });
            change_roles(&server, Method::PUT, kind, "challengers", &body)
        }
        Command::Rollback { kind, why, server } => {
            change_roles(&server, Method::POST, kind, "rollback", &json!({ "why": why }))
        }
    }
}

fn kind(text: &str) -> Result<ModelKind, String> {
    text.parse().map_err(|()| "there are credit, boost, sybil and sandbox".to_owned())
}

/// Changes roles on the server, and prints the new roles.
fn change_roles(server: &Server, method: Method, kind: ModelKind, what: &str, body: &Value) -> Result<(), Failure> {
    let remote = server.reach(&server.file.load()?)?;
    let roles = remote.ask(method, &format!("/api/v2/admin/models/{kind}/{what}"), Some(body))?;
    let names = |value: &Value| match value {
        Value::String(one) => one.clone(),
        Value::Array(several) if !several.is_empty() => {
            several.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
        }
        _ => "none".to_owned(),
    };
    let of = |role: &str| roles.get(role).map_or_else(|| "none".to_owned(), names);
    print(format!("{kind}: champion {}, challengers {}", of("champion"), of("challengers")))
}

fn check(file: &Path, json: bool, config: &ConfigFile) -> Result<(), Failure> {
    let limits = app::limits(&config.load()?.models);
    let report = examine(file, &limits)?;
    if json {
        print(serde_json::to_string_pretty(&report).map_err(Failure::cannot)?)?;
    } else {
        print(report.to_string().trim_end())?;
    }
    // The report has the problems.
    if report.ok { Ok(()) } else { Err(Failure::no("")) }
}

fn list(json: bool, config: &ConfigFile) -> Result<(), Failure> {
    let config = config.load()?;
    let shelf = &config.models.shelf;
    let unreadable = |error| Failure::cannot(format!("the shelf {} cannot be read: {error}", shelf.display()));
    let mut files: Vec<PathBuf> = std::fs::read_dir(shelf)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect())
        .map_err(unreadable)?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "wasm"));
    files.sort();
    let limits = app::limits(&config.models);
    let reports: Vec<_> =
        files.iter().map(|file| (file, examine(file, &limits).map_err(|failure| failure.message))).collect();
    if json {
        let row = |(file, report): &(&PathBuf, Result<CheckReport, String>)| match report {
            Ok(report) => serde_json::json!({ "file": file, "report": report }),
            Err(error) => serde_json::json!({ "file": file, "error": error }),
        };
        let rows: Vec<_> = reports.iter().map(row).collect();
        return print(serde_json::to_string_pretty(&rows).map_err(Failure::cannot)?);
    }
    if reports.is_empty() {
        return print(format!("the shelf {} holds no .wasm file", shelf.display()));
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

/// The contents of a regular file. A file above the limit is refused by its size, and a device is refused unread.
fn read(file: &Path, limits: &Limits) -> Result<Vec<u8>, Failure> {
    let cannot = |why: &dyn std::fmt::Display| Failure::cannot(format!("{} cannot be read: {why}", file.display()));
    let found = std::fs::metadata(file).map_err(|error| cannot(&error))?;
    if found.is_dir() {
        return Err(cannot(&"it is a folder; name the .wasm file in it"));
    }
    if !found.is_file() {
        return Err(cannot(&"it is no regular file; name a .wasm file"));
    }
    if found.len() > limits.file as u64 {
        let error = assay_registry::LoadError::TooLarge { size: found.len(), most: limits.file };
        return Err(Failure::no(format!("{}: {error}", file.display())));
    }
    let mut bytes = Vec::new();
    let opened = std::fs::File::open(file).map_err(|error| cannot(&error))?;
    opened.take(limits.file as u64 + 1).read_to_end(&mut bytes).map_err(|error| cannot(&error))?;
    Ok(bytes)
}

fn pack(core: &Path, output: &Path, limits: &Limits) -> Result<(), Failure> {
    let bytes = read(core, limits)?;
    let component =
        assay_registry::to_component(&bytes).map_err(|error| Failure::no(format!("{} {error}", core.display())))?;
    std::fs::write(output, component)
        .map_err(|error| Failure::cannot(format!("{} cannot be written: {error}", output.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_cannot_be_components_are_refused_unread() {
        let limits = Limits { file: 10, ..Limits::default() };
        let folder = tempfile::tempdir().unwrap();
        let large = folder.path().join("large.wasm");
        std::fs::write(&large, [0; 11]).unwrap();
        for (path, code, words) in [
            (folder.path(), 2, "it is a folder"),
            (Path::new("/dev/zero"), 2, "no regular file"),
            (large.as_path(), 1, "11"),
            (Path::new("nowhere.wasm"), 2, "cannot be read"),
        ] {
            let failure = read(path, &limits).unwrap_err();
            assert!(failure.code == code && failure.message.contains(words), "{failure:?}");
        }
    }
}
