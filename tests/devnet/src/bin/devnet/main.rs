//! `devnet`: local chains with a history, everything else that a server uses, and with `run` that server.

mod progress;
mod run;
mod table;
mod welcome;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use assay_devnet::devnet::{self, Devnet};
use assay_devnet::tour;
use assay_devnet::upstreams::Upstreams;
use clap::{Args, Parser, Subcommand};
use tokio::signal::unix::{SignalKind, signal};

/// Local chains with real lending contracts and wallets with years of history, and a server that reads them
///
/// Ctrl-C stops it. Then every process and file that it created is removed.
#[derive(Parser)]
#[command(name = "devnet", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Start everything and a server on it, and print example requests
    Run(Run),
    /// Walk through a running devnet: each step with its command and its answer
    Tour(Tour),
    /// Start only two chains, and print their RPC URLs and the wallets
    Chains,
}

#[derive(Args)]
struct Tour {
    /// The server that `devnet run` started
    #[arg(long, default_value = "http://127.0.0.1:8080")]
    url: String,
    /// An API key with every scope
    #[arg(long, default_value = DEVELOPER_KEY)]
    key: String,
    /// The directory of models that the server watches
    #[arg(long, value_name = "DIR", default_value = "plugins")]
    shelf: PathBuf,
}

/// The default key of the devnet.
const DEVELOPER_KEY: &str = "assay-devnet-key";

#[derive(Args)]
struct Run {
    /// Address of the server; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: String,
    /// Port of the server on 127.0.0.1, in place of --listen
    #[arg(long, conflicts_with = "listen")]
    port: Option<u16>,
    /// Two chains with one lender alone: no names, agents, submissions or payments
    #[arg(long)]
    less: bool,
    /// Compile the contracts again, in place of using what the last start compiled
    #[arg(long)]
    fresh: bool,
    /// The server's binary
    #[arg(long, value_name = "FILE", default_value = "target/debug/assay")]
    assay: PathBuf,
    /// The directory of released models
    #[arg(long, value_name = "DIR", default_value = "plugins")]
    shelf: PathBuf,
    /// The API key, with every scope
    #[arg(long, default_value = DEVELOPER_KEY)]
    key: String,
    /// Show the server's log
    #[arg(long)]
    log: bool,
}

#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Devnet(#[from] devnet::Error),
    #[error(
        "{0} is taken by another program. Stop that one, or pass another address: --listen 127.0.0.1:0 takes any free \
         port"
    )]
    Taken(String),
    #[error(
        "cannot listen on {listen}: {cause}. Pass an address of this machine with --listen, for example 127.0.0.1:8080"
    )]
    Listen { listen: String, cause: std::io::Error },
    #[error("there is no server at {0}. Build it with `cargo build`, or say where it is with --assay FILE")]
    NoServer(PathBuf),
    #[error("there are no models at {0}. Say where the released models are with --shelf DIR")]
    NoShelf(PathBuf),
    #[error("the server did not start: {0}")]
    Server(std::io::Error),
    #[error("the server ended by itself; its last lines:\n{0}")]
    ServerEnded(String),
    #[error("the model that runs in the shadow could not be chosen: {0}")]
    Challenger(String),
    #[error("the tour ends here. {0}")]
    Tour(#[from] tour::Error),
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&error),
    };
    let result = runtime.block_on(async {
        tokio::select! {
            result = carry_out(cli.command) => result,
            result = told_to_end() => result.map(|()| eprintln!("\nStopping.")).map_err(Error::Io),
        }
    });
    // A cancelled start may still wait for a process. That process ends with this one.
    runtime.shutdown_background();
    result.map_or_else(|error| fail(&error), |()| ExitCode::SUCCESS)
}

fn fail(error: &dyn std::error::Error) -> ExitCode {
    eprintln!("error: {error}");
    ExitCode::FAILURE
}

async fn carry_out(command: Command) -> Result<(), Error> {
    match command {
        Command::Run(options) => run::run(options).await,
        Command::Tour(Tour { url, key, shelf }) => {
            Ok(tour::walk(tour::Place { url, key, shelf }, std::io::stdout()).await?)
        }
        Command::Chains => {
            let devnet = start().await?;
            for chain in devnet.chains() {
                println!("chain {:<5} {}", chain.id, chain.url());
            }
            println!("\n{}\nCtrl-C stops the chains.", table::wallets(&devnet));
            keep_current(async || devnet.mine().await).await
        }
    }
}

async fn start() -> Result<Devnet, Error> {
    let progress = progress::Display::new();
    let started = Devnet::start(progress.listener()).await;
    progress.finish();
    Ok(started?)
}

async fn start_all() -> Result<Upstreams, Error> {
    let progress = progress::Display::new();
    let started = Upstreams::start(progress.listener()).await;
    progress.finish();
    Ok(started?)
}

/// Mines every minute, because a server reads prices and positions from the newest block.
async fn keep_current(mine: impl AsyncFn() -> Result<(), devnet::Error>) -> Result<(), Error> {
    let mut minute = tokio::time::interval(Duration::from_secs(60));
    minute.tick().await;
    loop {
        minute.tick().await;
        mine().await?;
    }
}

async fn told_to_end() -> std::io::Result<()> {
    let (mut interrupt, mut terminate, mut hangup) =
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?, signal(SignalKind::hangup())?);
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
    }
    Ok(())
}
