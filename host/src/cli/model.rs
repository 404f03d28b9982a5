//! `assay model`: model files, without a server.

use std::{fmt::Write, path::Path, path::PathBuf};

use clap::Subcommand;

use super::{ConfigFile, Failure, print};
use crate::{
    app,
    registry::{self, CheckReport, Limits},
};

#[derive(Subcommand)]
pub enum Command {
    /// Say everything that is wrong with a component, or what it is and what a call of it costs
    Check {
        file: PathBuf,
        /// For machines
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        config: ConfigFile,
    },
    /// List what is on the shelf, each file checked as a server would check it; roles are known to a server alone
    List {
        /// For machines
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        config: ConfigFile,
    },
    /// Turn a core module that cargo built for wasm32-unknown-unknown into a component
    Pack {
        core: PathBuf,
        #[arg(short, long)]
        output: PathBuf,
    },
}

pub fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Check { file, json, config } => check(&file, json, &config),
        Command::List { json, config } => list(json, &config),
        Command::Pack { core, output } => pack(&core, &output),
    }
}

fn check(file: &Path, json: bool, config: &ConfigFile) -> Result<(), Failure> {
    let limits = app::limits(&config.load()?.models);
    let report = examine(file, &limits)?;
    if json {
        print(serde_json::to_string_pretty(&report).map_err(Failure::cannot)?)?;
    } else {
        print(report.to_string().trim_end())?;
    }
    // What is wrong has been said.
    if report.ok { Ok(()) } else { Err(Failure::no("")) }
}

fn list(json: bool, config: &ConfigFile) -> Result<(), Failure> {
    let config = config.load()?;
    let shelf = &config.models.shelf;
    let unreadable = |error| Failure::cannot(format!("the shelf {} cannot be read: {error}", shelf.display()));
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(shelf).and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect()).map_err(unreadable)?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "wasm"));
    files.sort();
    let limits = app::limits(&config.models);
    let reports = files.iter().map(|file| Ok((file, examine(file, &limits)?))).collect::<Result<Vec<_>, Failure>>()?;
    if json {
        let rows: Vec<_> = reports.iter().map(|(file, report)| serde_json::json!({ "file": file, "report": report })).collect();
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

fn row(file: &Path, report: &CheckReport) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let who = report.model.as_ref().map_or("no model".to_owned(), |info| format!("{} {}", info.kind, info.version));
    match report.problems.first() {
        None => format!("{who:<14} ready   {name}  {}", report.model.as_ref().map(|info| info.title.as_str()).unwrap_or_default()),
        Some(problem) => format!("{who:<14} failed  {name}  [{}] {}", problem.code, problem.message),
    }
}

fn examine(file: &Path, limits: &Limits) -> Result<CheckReport, Failure> {
    let bytes = std::fs::read(file).map_err(|error| Failure::cannot(format!("{} cannot be read: {error}", file.display())))?;
    registry::check(&bytes, limits).map_err(Failure::cannot)
}

fn pack(core: &Path, output: &Path) -> Result<(), Failure> {
    let bytes = std::fs::read(core).map_err(|error| Failure::cannot(format!("{} cannot be read: {error}", core.display())))?;
    let component = registry::to_component(&bytes).map_err(|error| Failure::no(format!("{} {error}", core.display())))?;
    std::fs::write(output, component).map_err(|error| Failure::cannot(format!("{} cannot be written: {error}", output.display())))
}
