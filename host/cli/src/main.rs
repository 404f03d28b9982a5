//! The `assay` binary: a module for each command. Results go to standard output, an error goes to standard error as one
//! message. The exit code is 0 for success, 1 if the answer is no, and 2 if the command could not run.

mod backtest;
mod check_config;
mod compile;
mod endpoint;
mod features;
mod first_party;
mod health;
mod index;
mod init;
mod key;
mod meter;
mod model;
mod remote;
mod replay;
mod serve;
mod store;
mod verify;
mod watch;

use std::{path::PathBuf, process::ExitCode};

use clap::{Args, Parser, Subcommand};

use assay::config::{self, Config};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Credit scores for Ethereum addresses, computed by versioned WebAssembly models.
#[derive(Parser)]
#[command(name = "assay", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Write a configuration for the chains at some endpoints, and make an admin key
    Init(init::Init),
    /// Serve the API
    Serve(serve::Serve),
    /// Check whether the server on this machine is ready, for a container's health check
    Health(health::Health),
    /// Print the configuration, or every problem with it
    CheckConfig {
        #[command(flatten)]
        file: ConfigFile,
        /// Also check every configured contract on its chain, and the IPFS node
        #[arg(long)]
        live: bool,
    },
    /// Show what can be configured
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Check, list and pack model files; promote, challenge and roll back models of a running server
    #[command(subcommand)]
    Model(model::Command),
    /// Compare models on a file of features: differences in score, the wallets that they affect, and the cost of calls
    Backtest(Box<backtest::Arguments>),
    /// Export features of addresses
    #[command(subcommand)]
    Features(features::Command),
    /// Show, export and import the market index, and list the wallets that owed in a market
    #[command(subcommand)]
    Index(index::Command),
    /// Mint, list and revoke API keys
    #[command(subcommand)]
    Key(key::Command),
    /// Recompute served scores from their records, and print the differences
    Replay(replay::Replay),
    Verify(verify::Verify),
    /// Print the events of a watch as they come
    Watch(watch::Watch),
    /// Back up and restore the embedded store
    #[command(subcommand)]
    Store(store::Command),
    /// Compile a model from standard input to standard output, as the child process of another command
    #[command(hide = true, name = assay_registry::Compiler::COMMAND)]
    Compile(compile::Compile),
    /// Print the OpenAPI document of the API
    Openapi,
}

#[derive(Subcommand)]
enum ConfigCommand {
    /// Print every key with its default, unit and range, as the file that a configuration overrides
    Defaults,
}

#[derive(Args)]
struct ConfigFile {
    /// Configuration file; if absent, `assay.toml` in the working directory if it exists
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl ConfigFile {
    fn load(&self) -> Result<Config, Failure> {
        let mut config = config::load(self.config.as_deref()).map_err(Failure::cannot)?;
        config.models.compiler = Some(compile::program());
        Ok(config)
    }
}

/// The reason why a command failed, and its exit code.
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

    /// The command could not run.
    fn cannot(message: impl std::fmt::Display) -> Self {
        Self { message: message.to_string(), code: 2 }
    }
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Init(init) => init::run(init),
        Command::Serve(serve) => serve::run(serve),
        Command::Health(health) => health::run(&health),
        Command::CheckConfig { file, live } => check_config::run(&file, live),
        Command::Config(ConfigCommand::Defaults) => print(config::DEFAULTS.trim_end()),
        Command::Model(command) => model::run(command),
        Command::Backtest(arguments) => backtest::run(&arguments),
        Command::Features(command) => features::run(command),
        Command::Index(command) => index::run(command),
        Command::Key(command) => key::run(command),
        Command::Replay(replay) => replay::run(&replay),
        Command::Verify(verify) => verify::run(&verify),
        Command::Watch(watch) => watch::run(&watch),
        Command::Store(command) => store::run(&command),
        Command::Compile(compile) => compile.run(),
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
    print(assay::routes::document().to_pretty_json().map_err(Failure::cannot)?)
}

/// Prints to standard output. A closed pipe (`| head`) is not an error.
fn print(text: impl std::fmt::Display) -> Result<(), Failure> {
    print_on(text).map(drop)
}

/// Prints to standard output, and returns whether somebody reads it.
fn print_on(text: impl std::fmt::Display) -> Result<bool, Failure> {
    use std::io::{ErrorKind, Write};
    match writeln!(std::io::stdout(), "{text}") {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        written => written.map(|()| true).map_err(Failure::cannot),
    }
}
