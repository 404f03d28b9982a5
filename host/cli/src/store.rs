//! `assay store`: backs up and restores the embedded store.

use std::path::{Path, PathBuf};

use assay_store::Store;
use chrono::Utc;
use clap::Subcommand;
use reqwest::Method;

use super::{ConfigFile, Failure, print, remote::Server};

#[derive(Subcommand)]
pub(super) enum Command {
    /// Back up the store of a running server to the folder `backups` next to it
    ///
    /// While the server is stopped, copying the file is enough.
    Backup(Server),
    /// Replace the store with a backup, and rename the old store. Stop the server first
    Restore {
        /// A backup, or a copy of a store
        #[arg(value_name = "FILE")]
        backup: PathBuf,
        #[command(flatten)]
        file: ConfigFile,
    },
}

pub(super) fn run(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Backup(server) => back_up(server),
        Command::Restore { backup, file } => restore(backup, file),
    }
}

fn back_up(server: &Server) -> Result<(), Failure> {
    let made = server.reach(&server.file.load()?)?.ask(Method::POST, "/api/v2/admin/backup", None)?;
    let field = |name: &str| {
        made.get(name).map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned)).unwrap_or_default()
    };
    print(format!("{} ({} records, {} bytes)", field("file"), field("records"), field("bytes")))
}

fn restore(backup: &Path, file: &ConfigFile) -> Result<(), Failure> {
    let config = file.load()?.store;
    let mut aside = config.path.clone().into_os_string();
    aside.push(format!(".before-{}", Utc::now().format("%Y%m%dT%H%M%S%.3fZ")));
    let old = Store::restore(&config, backup, aside.into()).map_err(Failure::cannot)?;
    let old = old.map(|aside| format!("; the old store is now {}", aside.display())).unwrap_or_default();
    print(format!("{} is restored from {}{old}", config.path.display(), backup.display()))
}
