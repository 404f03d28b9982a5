//! `assay features`: exports the features of addresses to a file that `assay backtest` reads.

mod table;

use std::{
    collections::BTreeSet,
    fs,
    io::{self, BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use assay_backtest::{BadLine, MAX_LINE, Record, Source, TableWriter, grouped, is_table};
use assay_chain::Chains;
use assay_domain::{Coverage, Subject, features};
use assay_store::Store;
use clap::Subcommand;
use futures::{Stream, StreamExt as _, future::join_all, stream};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{ConfigFile, Failure};
use crate::config::Config;

/// Time between two checks of a history that is being read.
const POLL: Duration = Duration::from_millis(250);

#[derive(Subcommand)]
pub enum Command {
    /// Read addresses on the configured chains and add their features to a file
    ///
    /// Addresses that are already in the file are left out, so that an interrupted export continues. With an embedded
    /// store, stop the server first.
    Export {
        /// Addresses or names
        addresses: Vec<String>,
        /// File with an address or a name on each line; `-` for standard input. `#` starts a comment
        #[arg(long, value_name = "FILE")]
        from: Option<PathBuf>,
        /// The features file: a Parquet table where its name ends in .parquet, JSON lines otherwise. A table is written
        /// after all addresses are read; until then FILE.jsonl has the records
        #[arg(long, short, value_name = "FILE")]
        output: PathBuf,
        /// Longest wait for the lending history of one address, in seconds; after it, the address is not written
        #[arg(long, default_value_t = 120)]
        wait: u64,
        /// Number of addresses that are read at the same time; they share requests
        #[arg(long, default_value_t = 32)]
        at_once: usize,
        #[command(flatten)]
        config: ConfigFile,
    },
    /// Print the features that a model.toml declares for each wallet of a file, as comma-separated values to train on
    Table {
        /// The declaration of the model
        declaration: PathBuf,
        /// File of features: JSON lines or Parquet. Where wallets have an `outcome`, it is the last column
        features: PathBuf,
    },
}

pub fn run(command: Command) -> Result<(), Failure> {
    let (mut addresses, from, output, wait, at_once, config) = match command {
        Command::Export { addresses, from, output, wait, at_once, config } => {
            (addresses, from, output, wait, at_once, config)
        }
        Command::Table { declaration, features } => return table::print(&declaration, &features),
    };
    addresses.extend(from.as_deref().map(listed).transpose()?.unwrap_or_default());
    if addresses.is_empty() {
        return Err(Failure::cannot("no addresses: give some, or a file of them with --from"));
    }
    let config = config.load()?;
    if config.chains.is_empty() {
        return Err(Failure::cannot("no chains are configured, so there is nothing to read"));
    }
    let table =
        output.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("parquet")) || is_table(&output);
    // Records cannot be appended to a table: they go to a file of lines beside it, and at the end into a new table.
    let lines = if table { with_end(&output, ".jsonl") } else { output.clone() };
    let mut known = known(&lines)?;
    if table && output.exists() {
        records(&output, |record| {
            known.extend(record.id.map(|id| id.to_lowercase()));
            Ok(())
        })?;
    }
    let given = addresses.len();
    addresses.retain(|address| known.insert(address.to_lowercase()));
    let left_out = given - addresses.len();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Failure::cannot)?;
    let wait = Duration::from_secs(wait);
    let (written, failed) = runtime.block_on(export(&config, addresses, &lines, wait, at_once.max(1)))?;
    if table {
        tabulate(&lines, &output)?;
    }
    let (written, left_out) = (grouped(written), grouped(left_out as u64));
    eprintln!("{written} written, {left_out} there before or twice, {} not read", grouped(failed));
    if failed > 0 { Err(Failure::no("")) } else { Ok(()) }
}

/// The lines of a file without empty ones and without comments, which begin with `#`.
fn listed(file: &Path) -> Result<Vec<String>, Failure> {
    let text = if file == Path::new("-") { io::read_to_string(io::stdin()) } else { fs::read_to_string(file) };
    let text = text.map_err(|error| Failure::cannot(format!("{} cannot be read: {error}", file.display())))?;
    let lines = text.lines().filter_map(|line| line.split('#').next()).map(str::trim);
    Ok(lines.filter(|line| !line.is_empty()).map(str::to_owned).collect())
}

/// The ids of the records in the file, in lower case. A last line without a line end comes from an interruption, and is
/// cut off.
fn known(file: &Path) -> Result<BTreeSet<String>, Failure> {
    let cannot = |error: io::Error| Failure::cannot(format!("{}: {error}", file.display()));
    let opened = match fs::OpenOptions::new().read(true).write(true).open(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
        opened => opened.map_err(cannot)?,
    };
    let (mut reader, mut known, mut whole, mut number) = (BufReader::new(&opened), BTreeSet::new(), 0, 0);
    loop {
        let mut line = Vec::new();
        let read = io::Read::take(&mut reader, MAX_LINE as u64 + 2).read_until(b'\n', &mut line).map_err(cannot)?;
        number += 1;
        if read == 0 {
            return Ok(known);
        }
        if line.last() != Some(&b'\n') && line.len() <= MAX_LINE {
            opened.set_len(whole).map_err(cannot)?;
            return Ok(known);
        }
        whole += read as u64;
        match Record::read(number, &line) {
            Ok(record) => known.extend(record.and_then(|record| record.id).map(|id| id.to_lowercase())),
            // The file was not written by an export: leave it unchanged.
            Err(bad) => {
                return Err(Failure::cannot(format!(
                    "{} is no features file: line {number}: {}",
                    file.display(),
                    bad.reason
                )));
            }
        }
    }
}

/// Calls `each` with every record of a features file.
fn records(file: &Path, mut each: impl FnMut(Record) -> io::Result<()>) -> Result<(), Failure> {
    let cannot = |error: io::Error| Failure::cannot(format!("{}: {error}", file.display()));
    let mut source = Source::open(file).map_err(cannot)?;
    while let Some(chunk) = source.chunk().map_err(cannot)? {
        for (number, record) in chunk.records() {
            let bad = |bad: BadLine| {
                Failure::cannot(format!("{} is no features file: record {number}: {}", file.display(), bad.reason))
            };
            record.map_err(bad)?.map_or(Ok(()), &mut each).map_err(cannot)?;
        }
    }
    Ok(())
}

/// Writes a new table with the records of `table` and of `lines`, and removes `lines`. A file named `table` is always
/// complete.
fn tabulate(lines: &Path, table: &Path) -> Result<(), Failure> {
    let part = with_end(table, ".part");
    let written = join(lines, table, &part);
    // What remains has only the temporary name.
    let _ = fs::remove_file(if written.is_ok() { lines } else { &part });
    written
}

fn join(lines: &Path, table: &Path, part: &Path) -> Result<(), Failure> {
    let cannot = |error: io::Error| Failure::cannot(format!("{} cannot be written: {error}", table.display()));
    let mut writer = TableWriter::new(fs::File::create(part).map_err(cannot)?).map_err(cannot)?;
    let mut seen = BTreeSet::new();
    for file in [table, lines].into_iter().filter(|file| file.exists()) {
        // After a crash, lines may already be in the table.
        records(file, |record| {
            let new = record.id.as_ref().is_none_or(|id| seen.insert(id.to_lowercase()));
            if new { writer.write(record) } else { Ok(()) }
        })?;
    }
    writer.finish().and_then(|file| file.sync_all()).and_then(|()| fs::rename(part, table)).map_err(cannot)
}

fn with_end(file: &Path, end: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// Reads the addresses and appends their features to `output`. Returns how many were written, and how many failed.
async fn export(
    config: &Config,
    addresses: Vec<String>,
    output: &Path,
    wait: Duration,
    at_once: usize,
) -> Result<(u64, u64), Failure> {
    let store = Store::open(&config.store).await.map_err(Failure::cannot)?;
    let (readers, stop) = (TaskTracker::new(), CancellationToken::new());
    let (reading, prices, snapshots) = (&config.reading, &config.prices, config.scoring.snapshots());
    let chains = Chains::connect(&config.chains, reading, prices, &snapshots, &store, &readers, &stop);
    let cannot = |error: io::Error| Failure::cannot(format!("{} cannot be written: {error}", output.display()));
    let mut file = fs::OpenOptions::new().create(true).append(true).open(output).map_err(cannot)?;
    let all = addresses.len();
    // Two groups, so that the slowest address of one does not keep the next from beginning.
    let groups = stream::iter(addresses).chunks(at_once.div_ceil(2));
    let lines = groups.map(|group| read_together(&chains, group, wait)).buffered(2).flat_map(stream::iter);
    let counts = append(lines, all, &mut file).await.map_err(cannot)?;
    stop.cancel();
    readers.close();
    readers.wait().await;
    file.sync_all().map_err(Failure::cannot)?;
    Ok(counts)
}

/// Appends each line to the file and prints the progress. Returns how many were written, and how many failed.
async fn append(
    mut lines: impl Stream<Item = (Result<String, String>, String)> + Unpin,
    all: usize,
    file: &mut fs::File,
) -> io::Result<(u64, u64)> {
    let (mut written, mut failed) = (0_u64, 0_u64);
    while let Some((line, address)) = lines.next().await {
        let outcome = match line {
            Ok(line) => {
                // One write for a whole line: an interruption can cut only the last line.
                file.write_all(line.as_bytes())?;
                written += 1;
                "read".to_owned()
            }
            Err(reason) => {
                failed += 1;
                reason
            }
        };
        eprintln!("{}/{all}  {address}: {outcome}", written + failed);
    }
    Ok((written, failed))
}

/// The line of each address, or the reason why there is none.
async fn read_together(chains: &Chains, group: Vec<String>, wait: Duration) -> Vec<(Result<String, String>, String)> {
    let together = chains.together();
    let reads = group.into_iter().map(|given| {
        let together = &together;
        async move { (read(chains, together, &given, wait).await, given) }
    });
    join_all(reads).await
}

/// `together` is for the first read: a later one is of a newer block.
async fn read(chains: &Chains, together: &Chains, given: &str, wait: Duration) -> Result<String, String> {
    let wallet = match Subject::parse(given).map_err(|error| error.to_string())? {
        Subject::Address(address) => address,
        Subject::Name(name) => chains.resolve(&name).await.map_err(|error| error.to_string())?,
    };
    let started = Instant::now();
    let mut snapshot = together.snapshot(wallet).await.snapshot;
    loop {
        if snapshot.all_failed() {
            return Err("no chain could be read".into());
        }
        let pools = snapshot.pools().map(|pool| pool.coverage);
        let is_pending =
            pools.chain(snapshot.chains.iter().map(|chain| chain.coverage)).any(|c| c == Coverage::Pending);
        if !is_pending {
            // Features without one of the chains would be those of another wallet.
            if let Some(chain) = snapshot.chains.iter().find(|chain| chain.coverage == Coverage::Failed) {
                return Err(format!("chain {} could not be read", chain.chain_id));
            }
            // The id is the argument, so that the next export finds it.
            return Record::new(Some(given.to_owned()), None, features::features(&snapshot)).write();
        }
        if started.elapsed() >= wait {
            return Err(format!(
                "its lending history is still being read after {} s; the next export goes on",
                wait.as_secs()
            ));
        }
        tokio::time::sleep(POLL).await;
        snapshot = chains.snapshot(wallet).await.snapshot;
    }
}
