//! `bench`: each figure beside a reference measured in the same run. Says what it found and asserts nothing: a missed
//! target is a word in a table, and only a measurement that could not be made is an error.

mod answers;
mod backtests;
mod calls;
mod clock;
mod cores;
mod drops;
mod fleet;
mod load;
mod reports;
mod search;
mod server;
mod shadow;
mod start;
mod subjects;
mod table;

use std::{path::PathBuf, process::ExitCode, time::Instant};

use clap::{Parser, Subcommand, ValueEnum};

use table::{Row, Table};

/// As the server: half of a native score is allocating its texts.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What a group of measurements may end with.
type Failure = Box<dyn std::error::Error>;

/// Measure Assay against references in the same run, and print a table
///
/// Needs the `assay` binary beside this one. Takes about six minutes, best on an idle machine.
#[derive(Parser)]
#[command(name = "bench", version, subcommand_negates_reqs = true)]
struct Cli {
    #[command(subcommand)]
    part: Option<Part>,
    /// Only this group; may be given several times
    #[arg(long, value_name = "NAME")]
    only: Vec<Group>,
    /// Fewer and shorter rounds: ratios are rougher
    #[arg(long)]
    quick: bool,
    /// Also write the table to this file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Part {
    /// The server under load, with a route beside its own; started by `bench` itself
    #[command(hide = true)]
    Serve { config: PathBuf },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Group {
    /// A confined call against the same instance reused, native code, no deadline, no pool
    Calls,
    /// Two threads against one
    Threads,
    /// A file of features through two models on every core
    Backtest,
    /// Requests per second over HTTP
    Answers,
    /// From a file on the shelf to a model that serves
    Drops,
    /// Cold and warm reports against the bare RPC calls
    Reports,
    /// Searching 60,000 agents
    Search,
    /// Scores with a challenger beside them against scores without
    Shadow,
    /// One, two and three hosts on one Redis
    Fleet,
    /// Opening the shelf, deriving features
    Start,
}

/// How long to measure.
#[derive(Debug, Clone, Copy)]
struct Effort {
    quick: bool,
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
        None => measure(&cli),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::FAILURE
    })
}

fn measure(cli: &Cli) -> Result<ExitCode, Failure> {
    let effort = Effort { quick: cli.quick };
    let mut table = Table::default();
    let mut whole = true;
    let started = Instant::now();
    for group in Group::value_variants() {
        if !cli.only.is_empty() && !cli.only.contains(group) {
            continue;
        }
        let name = group.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
        eprintln!("[{:>3} s] {name}", started.elapsed().as_secs());
        let rows: Result<Vec<Row>, Failure> = match group {
            Group::Calls => calls::one(effort),
            Group::Threads => calls::two(effort),
            Group::Backtest => backtests::measure(effort),
            Group::Answers => answers::measure(effort),
            Group::Drops => drops::measure(effort),
            Group::Reports => reports::measure(effort),
            Group::Search => search::measure(effort),
            Group::Shadow => shadow::measure(effort),
            Group::Fleet => fleet::measure(effort),
            Group::Start => start::measure(effort),
        };
        match rows {
            Ok(rows) => table.add(&name, rows),
            Err(error) => {
                whole = false;
                eprintln!("{name} could not be measured: {error}");
            }
        }
    }
    eprintln!("[{:>3} s] done", started.elapsed().as_secs());
    print!("{table}");
    if let Some(file) = &cli.json {
        std::fs::write(file, table.json()).map_err(|error| format!("{} cannot be written: {error}", file.display()))?;
    }
    Ok(if whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
