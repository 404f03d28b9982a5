//! Reads addresses and appends a line of each to the file.

use std::{
    fs,
    io::{self, Write as _},
    ops::AddAssign,
    path::Path,
    time::Duration,
};

use assay_backtest::Record;
use assay_chain::{Chains, PastBlock};
use assay_domain::{ChainId, Coverage, features};
use assay_store::Store;
use futures::{Stream, StreamExt as _, future::join_all, stream};
use serde_json::json;

use super::{
    file::{Known, with_end},
    label::Indexed,
    past::{Label, Past, blocks},
};
use crate::Failure;
use assay::config::Config;
use assay_score::reading::{ChainReader, is_pending, of_the_past};

/// One export: of now, or of one moment in the past.
pub(super) struct Export<'a> {
    pub config: &'a Config,
    /// The file of lines.
    pub lines: &'a Path,
    /// Longest wait for one address.
    pub wait: Duration,
    /// Addresses that are read at the same time.
    pub at_once: usize,
    pub past: Option<Past>,
}

/// How many addresses were written, left out and not read.
#[derive(Default)]
pub(super) struct Counts {
    pub written: u64,
    /// There before, or given twice.
    pub left_out: u64,
    pub failed: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.written += other.written;
        self.left_out += other.left_out;
        self.failed += other.failed;
    }
}

/// The source of the rows.
struct Rows {
    reading: ChainReader,
    /// Of a moment in the past.
    then: Option<Then>,
}

/// The content of every row of a moment in the past, and the outcomes.
struct Then {
    moment: u64,
    blocks: Vec<PastBlock>,
    indexed: Option<Indexed>,
    label: Option<Label>,
}

impl Export<'_> {
    /// Exports `addresses`, and the population of the moment if there is one.
    pub async fn run(&self, mut addresses: Vec<String>, known: &mut Known) -> Result<Counts, Failure> {
        let scratch = with_end(self.lines, ".reading");
        let rows = match &self.past {
            None => {
                let store = Store::open(&self.config.store).await.map_err(Failure::cannot)?;
                Rows { reading: ChainReader::start(&self.config.reads(), &store, None), then: None }
            }
            Some(past) => self.go_back(past, &scratch, &mut addresses).await?,
        };
        let moment = self.past.as_ref().map(|past| past.moment);
        let given = addresses.len();
        let mut seen = std::collections::BTreeSet::new();
        addresses.retain(|address| !known.has(address, moment) && seen.insert(address.to_lowercase()));
        let cannot = |error: io::Error| Failure::cannot(format!("{} cannot be written: {error}", self.lines.display()));
        let mut file = fs::OpenOptions::new().create(true).append(true).open(self.lines).map_err(cannot)?;
        let all = addresses.len();
        // Two groups, so that the slowest address of one does not keep the next from beginning.
        let groups = stream::iter(addresses).chunks(self.at_once.div_ceil(2));
        let lines = groups.map(|group| rows.together(group, self.wait)).buffered(2).flat_map(stream::iter);
        let (written, failed) = append(lines, all, &mut file).await.map_err(cannot)?;
        rows.reading.end().await;
        file.sync_all().map_err(Failure::cannot)?;
        if self.past.is_some() {
            // It may be there from an interrupted export.
            let _ = fs::remove_file(&scratch);
        }
        Ok(Counts { written, failed, left_out: (given - all) as u64 })
    }

    /// The chains as they were at the moment of `past`, read with a separate store at `scratch`. Adds the population to
    /// `addresses`.
    async fn go_back(&self, past: &Past, scratch: &Path, addresses: &mut Vec<String>) -> Result<Rows, Failure> {
        let _ = fs::remove_file(scratch);
        let store =
            Store::open(&assay_store::config::Store::embedded(scratch.to_path_buf())).await.map_err(Failure::cannot)?;
        let mut younger = Vec::<ChainId>::new();
        loop {
            let config = of_the_past(&self.config.reads(), &younger);
            if config.chains.is_empty() {
                return Err(Failure::cannot("no configured chain existed at that moment"));
            }
            let reading = ChainReader::start(&config, &store, Some(past.moment));
            let chains = reading.chains();
            let blocks = match blocks(chains).await? {
                Ok(blocks) => blocks,
                Err(chain) => {
                    younger.push(chain);
                    reading.stop();
                    continue;
                }
            };
            let needs_index = past.market.is_some() || past.label.is_some();
            let indexed = if needs_index { Some(Indexed::open(chains, &config).await?) } else { None };
            if let (Some(indexed), Some(label)) = (&indexed, past.label) {
                indexed.reaches(chains, past, label).await?;
            }
            if let (Some(indexed), Some((market, chain))) = (&indexed, past.market) {
                addresses.extend(indexed.borrowers(&config, market, chain, &blocks)?);
            }
            let then = Then { moment: past.moment, blocks, indexed, label: past.label };
            return Ok(Rows { reading, then: Some(then) });
        }
    }
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

impl Rows {
    /// The line of each address, or the reason why there is none.
    async fn together(&self, group: Vec<String>, wait: Duration) -> Vec<(Result<String, String>, String)> {
        let together = self.reading.chains().together();
        let reads = group.into_iter().map(|given| {
            let together = &together;
            async move { (self.read(together, &given, wait).await, given) }
        });
        join_all(reads).await
    }

    async fn read(&self, together: &Chains, given: &str, wait: Duration) -> Result<String, String> {
        let wallet = self.reading.wallet(given).await?;
        let snapshot = self.reading.settled(together, wallet, wait).await?;
        if is_pending(&snapshot) {
            let seconds = wait.as_secs();
            return Err(format!(
                "its lending history is still being read after {seconds} s; the next export continues"
            ));
        }
        // Features without one of the chains would be those of another wallet.
        if let Some(chain) = snapshot.chains.iter().find(|chain| chain.coverage == Coverage::Failed) {
            let unread: Vec<String> = chain.unread.iter().map(|unread| unread.on(chain.chain_id)).collect();
            return Err(unread.join("; "));
        }
        // The id is the argument, so that the next export finds it.
        let record = Record::new(Some(given.to_owned()), None, features::features(&snapshot));
        self.line(record, &snapshot)
    }

    /// The line of `record`. One of the past names its blocks, what was not read, and its outcome.
    fn line(&self, mut record: Record, snapshot: &assay_domain::Snapshot) -> Result<String, String> {
        if let Some(Then { moment, blocks, indexed, label }) = &self.then {
            record.cluster = Some(snapshot.address.to_checksum(None));
            let block = |past: &PastBlock| {
                let (number, hash) = (past.block.number, past.block.hash);
                json!({ "chain_id": past.chain, "number": number, "hash": hash })
            };
            record.other.insert("blocks".to_owned(), blocks.iter().map(block).collect());
            let of_chain = |chain: &assay_domain::ChainSnapshot| {
                chain.unread.iter().map(|unread| unread.on(chain.chain_id)).collect::<Vec<_>>()
            };
            let unread: Vec<String> = snapshot.chains.iter().flat_map(of_chain).collect();
            record.other.insert("unread".to_owned(), json!(unread));
            if let (Some(indexed), Some(label)) = (indexed, label) {
                record.outcome = indexed.outcome(snapshot.address, &record.features, *moment, *label)?;
            }
        }
        record.write()
    }
}
