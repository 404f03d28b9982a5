//! `bench`: measures each figure and its reference in the same run. It asserts nothing: the table marks a missed
//! target, and only a measurement that fails is an error.

mod against;
mod answers;
mod authors;
mod backtests;
mod calls;
mod clock;
mod cores;
mod drops;
mod export;
mod fleet;
mod index;
mod load;
mod reading;
mod record;
mod reports;
mod search;
mod server;
mod shadow;
mod start;
mod subjects;
mod table;

use std::{path::PathBuf, process::ExitCode, time::Instant};

use assay_tests::stub::Market;
use clap::{Parser, Subcommand, ValueEnum};

use against::Comparison;
use record::Record;
use table::{Row, Runs, Table};

/// The server's allocator: allocating texts is half the time of a native score.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The error of a group of measurements.
type Failure = Box<dyn std::error::Error>;

/// Measure Assay against references in the same run, and print a table
///
/// Needs the `assay` binary in the same folder. Takes about six minutes on an idle machine, up to half an hour more
/// for the group `reading`, and some minutes for the group `index`.
#[derive(Parser)]
#[command(name = "bench", version, subcommand_negates_reqs = true)]
struct Cli {
    #[command(subcommand)]
    part: Option<Part>,
    /// Measure only this group; may be repeated
    #[arg(long, value_name = "NAME")]
    only: Vec<Group>,
    /// Measure fewer and shorter rounds, with less exact ratios
    #[arg(long)]
    quick: bool,
    /// Measure everything this often, and keep the median of each row with its noise
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..))]
    runs: u8,
    /// Number of events in the market that the group `index` reads, in millions [default: 10]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000))]
    events: Option<u64>,
    /// Also write the table to this file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Print what moved by more than its noise since this table, which `--json` wrote
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Part {
    /// Run the server under load, with routes for references; `bench` starts this itself
    #[command(hide = true)]
    Serve { config: PathBuf },
    /// Run a stub of a node with made-up lending markets; `bench` starts this itself
    #[command(hide = true)]
    Stub {
        events: u64,
        wallets: u64,
        pools: u8,
        /// Refuse more than 25 requests a second
        #[arg(long)]
        limited: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Group {
    /// A confined call, compared with a reused instance, native code, no deadline and no pool
    Calls,
    /// Calls on two threads, compared with one
    Threads,
    /// A model of each template, compared with the first-party model, with native code and with Extism
    Authors,
    /// A backtest of two models on every core
    Backtest,
    /// Requests per second over HTTP
    Answers,
    /// The time from a file on the shelf to a ready model
    Drops,
    /// Cold and warm reports, compared with the RPC calls alone
    Reports,
    /// Reading through distant and faulty endpoints, compared with a script of the client library viem
    Reading,
    /// The index of lending markets, compared with the bare download of its logs, and new wallets with and without it
    Index,
    /// Wallets exported as of a past block, compared with the calls alone that this needs
    Export,
    /// Searches of 60,000 agents
    Search,
    /// Scores with a challenger, and with a split, compared with scores of the champion alone
    Shadow,
    /// One, two and three hosts on one Redis
    Fleet,
    /// Opening the shelf, and computing features
    Start,
}

impl Group {
    fn rows(self, effort: Effort) -> Result<Vec<Row>, Failure> {
        match self {
            Self::Calls => calls::one(effort),
            Self::Threads => calls::two(effort),
            Self::Authors => authors::measure(effort),
            Self::Backtest => backtests::measure(effort),
            Self::Answers => answers::measure(effort),
            Self::Drops => drops::measure(effort),
            Self::Reports => reports::measure(effort),
            Self::Reading => reading::measure(effort),
            Self::Index => index::measure(effort),
            Self::Export => export::measure(effort),
            Self::Search => search::measure(effort),
            Self::Shadow => shadow::measure(effort),
            Self::Fleet => fleet::measure(effort),
            Self::Start => start::measure(effort),
        }
    }
}

/// The number and length of rounds.
#[derive(Debug, Clone, Copy)]
struct Effort {
    quick: bool,
    /// Number of events in the market of the group `index`, in millions; `None` for the default.
    events: Option<u64>,
}

impl Effort {
    /// `full`, or a third of it.
    fn of(self, full: usize) -> usize {
        if self.quick { full.div_ceil(3).max(3) } else { full }
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = match cli.part {
        Some(Part::Serve { config }) => server::serve(&config).map(|()| ExitCode::SUCCESS),
        Some(Part::Stub { events, wallets, pools, limited }) => {
            index::serve(Market { events, wallets, pools }, limited).map(|()| ExitCode::SUCCESS)
        }
        None => measure(&cli),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::FAILURE
    })
}

fn measure(cli: &Cli) -> Result<ExitCode, Failure> {
    let before = cli.against.as_deref().map(Record::read).transpose()?;
    let (mut tables, mut whole) = (Vec::new(), true);
    let started = Instant::now();
    for run in 1..=cli.runs {
        let mut table = Table::default();
        for group in Group::value_variants().iter().filter(|group| cli.only.is_empty() || cli.only.contains(group)) {
            let name = group.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
            let which = if cli.runs > 1 { format!(" {run} of {}", cli.runs) } else { String::new() };
            eprintln!("[{:>3} s] {name}{which}", started.elapsed().as_secs());
            match group.rows(Effort { quick: cli.quick, events: cli.events }) {
                Ok(rows) => table.add(&name, rows),
                Err(error) => {
                    whole = false;
                    eprintln!("{name} could not be measured: {error}");
                }
            }
        }
        tables.push(table);
    }
    eprintln!("[{:>3} s] done", started.elapsed().as_secs());
    let runs = Runs::of(tables);
    print!("{runs}");
    let record = runs.record();
    if let Some(before) = &before {
        print!("{}", Comparison::of(&record, before));
    }
    if let Some(file) = &cli.json {
        record.write(file)?;
    }
    Ok(if whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
