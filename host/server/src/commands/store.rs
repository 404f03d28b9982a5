//! `assay store`: backups of the embedded store, and their way back.

use std::path::{Path, PathBuf};

use chrono::Utc;
use clap::Subcommand;
use reqwest::Method;

use super::{ConfigFile, Failure, print, remote::Server};
use assay_store::Store;

#[derive(Subcommand)]
pub(super) enum Command {
    /// Make a backup of a running server's store, in the folder `backups` beside it. A server that does not run needs
    /// none of this: its file can be copied as it is
    Backup(Server),
    /// Put a backup in the place of the store, and move what stood there aside. The server must not be running
    Restore {
        /// A file that `backup` made, or a copy of a store
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
    let told = |name: &str| {
        made.get(name).map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned)).unwrap_or_default()
    };
    print(format!("{} ({} records, {} bytes)", told("file"), told("records"), told("bytes")))
}

fn restore(backup: &Path, file: &ConfigFile) -> Result<(), Failure> {
    let config = file.load()?.store;
    let mut aside = config.path.clone().into_os_string();
    aside.push(format!(".before-{}", Utc::now().format("%Y%m%dT%H%M%S%.3fZ")));
    let stood = Store::restore(&config, backup, aside.into()).map_err(Failure::cannot)?;
    let stood = stood.map(|aside| format!("; what stood there is now {}", aside.display())).unwrap_or_default();
    print(format!("{} is as in {}{stood}", config.path.display(), backup.display()))
}
