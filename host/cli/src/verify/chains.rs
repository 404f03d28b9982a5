//! The chains, read again at the blocks of the evidence.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write as _,
    time::Duration,
};

use assay::config::{self, Config};
use assay_chain::{MomentError, config::IndexMode};
use assay_domain::{ChainId, Coverage, Origin, Origins, Snapshot, features};
use assay_score::reading::{ChainReader, of_the_past};
use assay_statement::Evidence;
use assay_store::Store;

use super::{
    differences::differences,
    report::{Report, Step},
};
use crate::{Failure, endpoint::Endpoint};

/// Longest wait for the histories of a wallet.
const WAIT: Duration = Duration::from_secs(300);

/// The shipped configuration of the chains at `endpoints`.
pub(super) fn shipped(endpoints: &[Endpoint]) -> Result<Config, Failure> {
    let mut file = tempfile::NamedTempFile::with_suffix(".toml").map_err(Failure::cannot)?;
    let ids: BTreeSet<ChainId> = endpoints.iter().map(|endpoint| endpoint.chain).collect();
    for id in ids {
        // The endpoints themselves may hold keys, and stay out of the file.
        writeln!(file, "[[chains]]\nid = {id}\nrpc = [\"http://127.0.0.1:9\"]").map_err(Failure::cannot)?;
    }
    config::load(Some(file.path())).map_err(Failure::cannot)
}

/// Reads the wallet again and compares its features.
pub(super) fn reread(report: &mut Report, config: &Config, evidence: &Evidence) -> Result<(), Failure> {
    let read: Vec<ChainId> = config.chains.iter().map(|chain| chain.id).collect();
    if read.is_empty() {
        report.add(Step::ChainReader, Err("none of the chains of the evidence has an endpoint; give --rpc".to_owned()));
        return Ok(());
    }
    let snapshot = match snapshot(config, evidence)? {
        Ok(snapshot) => snapshot,
        Err((step, why)) => {
            report.add(step, Err(why));
            return Ok(());
        }
    };
    let again = features::features(&snapshot);
    let found = differences(&evidence.features, &again, &read, &evidence.sources).map_err(Failure::cannot)?;
    let unread = unread(&snapshot, evidence);
    let (excused, different): (Vec<_>, Vec<_>) = found.into_iter().partition(|found| found.excuse.is_some());
    if !unread.is_empty() {
        report.differs(Step::ChainReader, "could not be read at those blocks", unread);
    } else if different.is_empty() {
        let left: BTreeSet<ChainId> = evidence.blocks.iter().map(|block| block.chain_id).collect();
        let left: Vec<String> = left.iter().filter(|id| !read.contains(id)).map(ToString::to_string).collect();
        let rest = if left.is_empty() { String::new() } else { format!("; not read: chains {}", left.join(", ")) };
        report.add(Step::Chains, Ok(format!("{} chains give the same features again{rest}", read.len())));
    } else {
        report.differs(Step::Chains, "", different.into_iter().map(|found| found.words).collect());
    }
    let mut by_origin = BTreeMap::<&str, Vec<String>>::new();
    for found in excused {
        by_origin.entry(found.excuse.map_or("", Origin::as_str)).or_default().push(found.words);
    }
    for (from, words) in by_origin {
        report.skip_all(Step::Chains, &format!("not recomputable, from {from}"), words);
    }
    Ok(())
}

/// The wallet at the blocks of the evidence.
fn snapshot(config: &Config, evidence: &Evidence) -> Result<Result<Snapshot, (Step, String)>, Failure> {
    // Only the named endpoints are used.
    let mut config = of_the_past(&config.reads(), &[]);
    config.reading.index = IndexMode::Off;
    let folder = tempfile::tempdir().map_err(Failure::cannot)?;
    let store = assay_store::config::Store::embedded(folder.path().join("verify.redb"));
    let origins = Origins { blocks: evidence.blocks.clone(), sources: evidence.sources.clone() };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Failure::cannot)?;
    runtime.block_on(async {
        let store = Store::open(&store).await.map_err(Failure::cannot)?;
        let reading = ChainReader::start(&config, &store, Some(evidence.features.as_of));
        let read = match reading.chains().go_to(&origins).await {
            Err(gone @ MomentError::Gone { .. }) => Err((Step::Chains, gone.to_string())),
            Err(error) => Err((Step::ChainReader, error.to_string())),
            Ok(()) => {
                let read = reading.settled(reading.chains(), evidence.address, WAIT).await;
                read.map_err(|why| (Step::ChainReader, format!("{why} at the blocks of the evidence")))
            }
        };
        reading.end().await;
        Ok(read)
    })
}

/// The parts of the snapshot that were not read, but were for the evidence.
fn unread(snapshot: &Snapshot, evidence: &Evidence) -> Vec<String> {
    let was_complete = |chain: ChainId| {
        evidence.features.chains.iter().any(|known| known.chain_id == chain && known.coverage == Coverage::Complete)
    };
    let all = snapshot.unread().filter(|(chain, unread)| was_complete(*chain) && unread.part.is_scored());
    all.map(|(chain, unread)| unread.on(chain)).collect()
}
