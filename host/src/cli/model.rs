//! `assay model`: model files, without a server.

use std::path::PathBuf;

use clap::Subcommand;

use super::{ConfigFile, Failure, print};
use crate::registry;

#[derive(Subcommand)]
pub enum Command {
    /// Turn a core module that cargo built for wasm32-unknown-unknown into a component
    Pack {
        core: PathBuf,
        #[arg(short, long)]
        output: PathBuf,
    },
}

pub fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Pack { core, output } => pack(&core, &output),
    }
}

fn pack(core: &PathBuf, output: &PathBuf) -> Result<(), Failure> {
    let bytes = std::fs::read(core).map_err(|error| Failure::cannot(format!("{} cannot be read: {error}", core.display())))?;
    let component = registry::to_component(&bytes).map_err(|error| Failure::no(format!("{} {error}", core.display())))?;
    std::fs::write(output, component).map_err(|error| Failure::cannot(format!("{} cannot be written: {error}", output.display())))
}
