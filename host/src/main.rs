//! The `assay` binary.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "assay", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Work on model files
    #[command(subcommand)]
    Model(Model),
}

#[derive(Subcommand)]
enum Model {
    /// Turn a core module that cargo built for wasm32-unknown-unknown into a component
    Pack {
        core: PathBuf,
        #[arg(short, long)]
        output: PathBuf,
    },
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Command::Model(Model::Pack { core, output }) = Cli::parse().command;
    let bytes = std::fs::read(core)?;
    std::fs::write(output, assay::registry::to_component(&bytes)?)?;
    Ok(())
}
