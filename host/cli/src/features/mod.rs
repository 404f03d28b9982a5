//! `assay features`: exports the features of addresses to a file that `assay backtest` reads, as they are now or as
//! they were at moments in the past.

mod export;
mod file;
mod label;
mod past;
mod reading;
mod score;
mod table;

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use assay_backtest::{grouped, is_table};
use assay_domain::{Address, ChainId};
use clap::{Args, Subcommand};

use self::{
    export::{Counts, Export},
    past::days,
};
pub(super) use self::{past::moment, reading::one};
use super::{ConfigFile, Failure};

/// Threads that read the store and the index. Wallets are read together: without a bound each of them would start a
/// thread, whose memory costs more than the read.
const BLOCKING: usize = 8;

#[derive(Subcommand)]
pub enum Command {
    /// Read addresses on the configured chains and add their features to a file
    ///
    /// Rows already in the file are skipped, so an interrupted export can be continued. With an embedded store or an
    /// index, stop the server first.
    ///
    /// With --as-of, each chain is read at its last block before that moment, which needs endpoints that keep old state
    /// (archive endpoints). Explorers and price APIs are not used, because they know only the present; names are
    /// today's. Each row records its blocks, so anyone can reproduce it.
    Export(Box<Arguments>),
    /// Print the features that a model.toml declares for each wallet of a file, as CSV for training
    Table {
        /// The declaration of the model
        declaration: PathBuf,
        /// File of features: JSON lines or Parquet. If wallets have an `outcome`, it is the last column
        features: PathBuf,
    },
    /// Print rows of features at which a reader of a trained model goes wrong, as CSV: each threshold of the trained
    /// file and its neighbours, absent figures, zeros of both signs and the largest numbers
    ///
    /// A training script predicts these rows and writes odd-predictions.csv, which `assay model build` compares.
    Odd {
        /// The declaration of the model, next to its trained file
        declaration: PathBuf,
    },
    /// Score the wallets of a file by a model, also after changes, and find what would move each score
    ///
    /// Prints one JSON object for each wallet: `now` has the score with its factors and reasons, `then` the same after
    /// --what-if, and `changes` what --include-changes found. Nothing is contacted.
    Score(Box<score::ScoreArguments>),
}

#[derive(Args)]
pub struct Arguments {
    /// Addresses or names
    addresses: Vec<String>,
    /// File with one address or name per line; `-` for standard input. `#` starts a comment
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// The features file: a Parquet table if its name ends in .parquet, JSON lines otherwise. A table is written
    /// after all addresses are read; until then FILE.jsonl holds the records
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// Maximum wait for the lending history of one address, in seconds; an address that takes longer is not written
    #[arg(long, default_value_t = 120)]
    wait: u64,
    /// Number of addresses to read at the same time; they share requests
    #[arg(long, default_value_t = 32)]
    at_once: usize,
    /// Read the chains as they were before this moment: a date such as 2025-03-01, a time such as 2025-03-01T12:00:00Z,
    /// or Unix seconds. UTC
    #[arg(long, value_name = "TIME", value_parser = moment)]
    as_of: Option<u64>,
    /// Repeat for later moments at this interval in days, such as 30d
    #[arg(long, value_name = "DAYS", value_parser = days, requires_all = ["as_of", "until"])]
    every: Option<u64>,
    /// The last moment
    #[arg(long, value_name = "TIME", value_parser = moment, requires = "every")]
    until: Option<u64>,
    /// Add all wallets that owed in the market of --market at each moment, according to the index
    #[arg(long, requires_all = ["as_of", "market"])]
    population: Option<Population>,
    /// Address of the market of --population
    #[arg(long, value_name = "ADDRESS", requires = "population")]
    market: Option<Address>,
    /// Chain of the market, if several chains have one at that address
    #[arg(long, value_name = "ID", requires = "market")]
    chain: Option<ChainId>,
    /// Write whether this outcome happened after the moment, according to the index
    #[arg(long, requires_all = ["as_of", "within"])]
    outcome: Option<Outcome>,
    /// Days after the moment within which the outcome counts, such as 90d
    #[arg(long, value_name = "DAYS", value_parser = days, requires = "outcome")]
    within: Option<u64>,
    /// Write no outcome for wallets that owed less than this, in dollars
    #[arg(long, value_name = "DOLLARS", default_value_t = 0.0, requires = "outcome")]
    min_debt: f64,
    #[command(flatten)]
    config: ConfigFile,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub enum Population {
    /// Wallets that owed in a market
    Borrowers,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub enum Outcome {
    /// At least one liquidation in any indexed market
    Liquidation,
}

pub fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Export(arguments) => export(*arguments),
        Command::Table { declaration, features } => table::print(&declaration, &features),
        Command::Odd { declaration } => table::print_odd(&declaration),
        Command::Score(arguments) => score::print(&arguments),
    }
}

/// A closed pipe (`| head`) ends the command without an error.
fn ended(error: io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Failure { message: String::new(), code: 0 },
        _ => Failure::cannot(error),
    }
}

fn export(mut arguments: Arguments) -> Result<(), Failure> {
    let mut addresses = std::mem::take(&mut arguments.addresses);
    addresses.extend(arguments.from.as_deref().map(file::listed).transpose()?.unwrap_or_default());
    if addresses.is_empty() && arguments.population.is_none() {
        return Err(Failure::cannot("no addresses: give some, a file of them with --from, or a --population"));
    }
    let config = arguments.config.load()?;
    if config.chains.is_empty() {
        return Err(Failure::cannot("no chains are configured, so there is nothing to read"));
    }
    let output = &arguments.output;
    let table =
        output.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("parquet")) || is_table(output);
    // Records cannot be appended to a table: they go to a file of lines next to it, and at the end into a new table.
    let lines = if table { file::with_end(output, ".jsonl") } else { output.clone() };
    let mut known = file::known(&lines)?;
    if table && output.exists() {
        file::records(output, |record| {
            known.add(&record);
            Ok(())
        })?;
    }
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.max_blocking_threads(BLOCKING).enable_all().build().map_err(Failure::cannot)?;
    let Counts { written, left_out, failed } =
        runtime.block_on(all(&arguments, &config, addresses, &lines, &mut known))?;
    if table {
        file::tabulate(&lines, output)?;
    }
    let [written, left_out, unread] = [written, left_out, failed].map(grouped);
    eprintln!("{written} written, {left_out} already in the file or repeated, {unread} not read");
    if failed > 0 { Err(Failure::no("")) } else { Ok(()) }
}

/// One export for each moment, or one of now.
async fn all(
    arguments: &Arguments,
    config: &assay::config::Config,
    addresses: Vec<String>,
    lines: &Path,
    known: &mut file::Known,
) -> Result<Counts, Failure> {
    let (wait, at_once) = (Duration::from_secs(arguments.wait), arguments.at_once.max(1));
    let Some(first) = arguments.as_of else {
        return Export { config, lines, wait, at_once, past: None }.run(addresses, known).await;
    };
    let mut counts = Counts::default();
    for moment in past::moments(first, arguments.every, arguments.until)? {
        let past = Some(past::Past::of(arguments, moment));
        counts += Export { config, lines, wait, at_once, past }.run(addresses.clone(), known).await?;
    }
    Ok(counts)
}
