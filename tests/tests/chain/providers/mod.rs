//! The provider bench: each row of the table of providers' answers, in four settings, against the real reader. All rows
//! with the recovery after each are printed as a table where `ASSAY_SOAK` is set.

mod bench;
mod brothers;
mod outcome;
mod report;
mod scene;
#[path = "../../../../host/evm/src/wording/providers.rs"]
mod table;

use bench::Bench;
use table::{Row, rows};

use super::with;

/// Where a row is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Setting {
    /// The only endpoint.
    One,
    /// The first of two endpoints; the second is healthy.
    Two,
    /// Several wallets share batches, and no Multicall3 makes one call of many.
    Batch,
    /// An index of the markets is built meanwhile.
    Index,
}

const SETTINGS: [Setting; 4] = [Setting::One, Setting::Two, Setting::Batch, Setting::Index];

/// Whether a reader of chains meets the row; the others answer transactions.
fn is_read(row: &Row) -> bool {
    row.method != "eth_sendRawTransaction"
}

#[test]
fn every_answer_of_a_provider_leads_to_its_reaction() {
    with(async |devnet| {
        let is_soak = std::env::var_os("ASSAY_SOAK").is_some();
        let rows: Vec<Row> = rows().into_iter().filter(is_read).collect();
        let settings = if is_soak { &SETTINGS[..] } else { &SETTINGS[..2] };
        let outcomes = Bench::of(devnet).await.run(&rows, settings, is_soak).await;
        println!("{}", report::markdown(&outcomes));
        let failed: Vec<String> = outcomes.iter().filter(|outcome| !outcome.passes()).map(report::line).collect();
        assert!(failed.is_empty(), "{} of {}:\n{}", failed.len(), outcomes.len(), failed.join("\n"));
    });
}
