//! The hidden command of the child process that compiles a model for another command.

use std::path::PathBuf;

use assay_registry::CompileJob;
use clap::Args;

use super::Failure;

#[derive(Args)]
pub struct Compile {
    #[arg(long)]
    epoch: bool,
    #[arg(long)]
    fuel: bool,
    #[arg(long)]
    background: bool,
    #[arg(long)]
    seconds: u64,
    #[arg(long)]
    memory: u64,
}

impl Compile {
    pub fn run(&self) -> Result<(), Failure> {
        let Self { epoch, fuel, background, seconds, memory } = *self;
        CompileJob { epoch, fuel, background, seconds, memory }.run().map_err(Failure::cannot)
    }
}

/// The program of this process, even if its file was replaced by another version meanwhile.
pub fn program() -> PathBuf {
    if cfg!(target_os = "linux") {
        return PathBuf::from("/proc/self/exe");
    }
    std::env::current_exe().unwrap_or_else(|_| PathBuf::from("assay"))
}
