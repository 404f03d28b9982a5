//! The commands of the binary. What a command prints goes to standard output, what went wrong to standard error in one
//! message; the exit code is 0, 1 where the answer is no, and 2 where the command could not be carried out.

mod backtest;
mod check_config;
mod features;
mod health;
mod key;
mod meter;
mod model;
mod remote;
mod replay;
mod serve;
mod store;

use std::{path::PathBuf, process::ExitCode};

use clap::{Args, Parser, Subcommand};

use crate::config::{self, Config};

/// Credit scores for Ethereum addresses, computed by versioned WebAssembly models.
#[derive(Parser)]
#[command(name = "assay", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve the API
    Serve {
        #[command(flatten)]
        file: ConfigFile,
        /// Answer the production paths from the sandbox generator, agents and submissions too: no chain is read,
        /// nothing costs units
        #[arg(long)]
        sandbox: bool,
    },
    /// Ask the server on this machine whether it is ready, as a container's health check does
    Health(health::Health),
    /// Say what the configuration means, and everything that is wrong with it
    CheckConfig {
        #[command(flatten)]
        file: ConfigFile,
        /// Ask the endpoints whether every configured contract is there and is what it should be
        #[arg(long)]
        live: bool,
    },
    /// Work on model files
    #[command(subcommand)]
    Model(model::Command),
    /// Put models side by side on a file of features: how they differ, for whom, by how much and at what cost
    Backtest(backtest::Arguments),
    /// Work on features files
    #[command(subcommand)]
    Features(features::Command),
    /// Work on API keys
    #[command(subcommand)]
    Key(key::Command),
    /// Compute served scores again from the same bytes, and say what differs
    Replay(replay::Replay),
    /// Back the embedded store up, and put a backup in its place
    #[command(subcommand)]
    Store(store::Command),
    /// Print the OpenAPI document of the API
    Openapi,
}

#[derive(Args)]
struct ConfigFile {
    /// Configuration file; `assay.toml` in this folder where it exists and none is named
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl ConfigFile {
    fn load(&self) -> Result<Config, Failure> {
        config::load(self.config.as_deref()).map_err(Failure::cannot)
    }
}

/// Why a command did not succeed.
#[derive(Debug)]
struct Failure {
    message: String,
    code: u8,
}

impl Failure {
    /// The answer is no.
    fn no(message: impl std::fmt::Display) -> Self {
        Self { message: message.to_string(), code: 1 }
    }

    /// The command could not be carried out.
    fn cannot(message: impl std::fmt::Display) -> Self {
        Self { message: message.to_string(), code: 2 }
    }
}

/// Parses the arguments and does what they say.
pub fn run() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Serve { file, sandbox } => serve::run(&file, sandbox),
        Command::Health(health) => health::run(&health),
        Command::CheckConfig { file, live } => check_config::run(&file, live),
        Command::Model(command) => model::run(command),
        Command::Backtest(arguments) => backtest::run(&arguments),
        Command::Features(command) => features::run(command),
        Command::Key(command) => key::run(command),
        Command::Replay(replay) => replay::run(&replay),
        Command::Store(command) => store::run(&command),
        Command::Openapi => openapi(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if !failure.message.is_empty() {
                eprintln!("assay: {}", failure.message);
            }
            ExitCode::from(failure.code)
        }
    }
}

fn openapi() -> Result<(), Failure> {
    print(crate::http::document().to_pretty_json().map_err(Failure::cannot)?)
}

/// To standard output. A reader that has gone (`| head`) is no failure.
fn print(text: impl std::fmt::Display) -> Result<(), Failure> {
    use std::io::{ErrorKind, Write};
    match writeln!(std::io::stdout(), "{text}") {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::cannot(error)),
        _ => Ok(()),
    }
}
