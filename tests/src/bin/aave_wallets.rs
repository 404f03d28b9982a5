//! `aave_wallets FILE`: features of real wallets from a table of their events on Aave v2 on Polygon, for `assay
//! backtest`.
//!
//! The table is comma-separated with a header and one wallet on each line. It is not part of this repository, and
//! nothing else needs it. The columns that are read are `wallet`, `first_ts`, `last_ts` (Unix seconds), `n_supply`,
//! `n_withdraw`, `n_borrow`, `n_repay`, `n_liquidation`, `usd_supply`, `usd_withdraw`, `usd_borrow`, `usd_repay`,
//! `n_assets` and `active_days`.
//!
//! The meaning and the limits of a record:
//! - `as_of` is the time of the last event of the whole table, so it is equal for all wallets.
//! - The chain's transactions are the lending events, because the table has no others: a lower bound with the coverage
//!   `partial`.
//! - The supplied and the borrowed amount are the difference of the flows in and out, in dollars on the day of each
//!   event, and at least 0. The supplied amount is held as collateral; other holdings are unknown.
//! - `outcome` is whether the wallet was ever liquidated. Features have no count of liquidations (`none`, not
//!   collected), because it would reveal the outcome. The other counts include events after a liquidation, so the
//!   outcome shows whether the score correlates with liquidation, and not whether it predicts it.

use std::{
    collections::HashMap,
    error::Error,
    fs,
    io::{BufWriter, Write as _},
    path::PathBuf,
};

use assay_backtest::Record;
use assay_domain::{
    AssetClass, Coverage, Protocol,
    features::{ChainFeatures, Dollars, Features, Holding, MarketFeatures},
};
use clap::Parser;

const POLYGON: u64 = 137;

/// Turn a table of wallets on Aave v2 on Polygon into a features file
#[derive(Parser)]
#[command(name = "aave_wallets", version)]
struct Cli {
    table: PathBuf,
    /// The features file
    #[arg(long, short)]
    output: PathBuf,
    /// Write the wallets again and again until there are so many records
    #[arg(long)]
    records: Option<usize>,
}

/// One line of the table, by column.
struct Row<'a> {
    columns: &'a HashMap<&'a str, usize>,
    cells: Vec<&'a str>,
}

impl Row<'_> {
    fn text(&self, column: &str) -> Result<&str, Box<dyn Error>> {
        let cell = self.columns.get(column).and_then(|index| self.cells.get(*index));
        cell.copied().ok_or_else(|| format!("no column {column}").into())
    }

    fn count(&self, column: &str) -> Result<u64, Box<dyn Error>> {
        self.text(column)?.parse().map_err(|error| format!("{column}: {error}").into())
    }

    fn usd(&self, column: &str) -> Result<f64, Box<dyn Error>> {
        self.text(column)?.parse().map_err(|error| format!("{column}: {error}").into())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let cli = Cli::parse();
    let table = fs::read_to_string(&cli.table).map_err(|error| format!("{}: {error}", cli.table.display()))?;
    let (head, body) = table.split_once('\n').ok_or("the table has no head")?;
    let columns: HashMap<_, _> = head.trim().split(',').zip(0..).collect();
    let rows: Vec<_> =
        body.lines().map(|line| Row { columns: &columns, cells: line.trim().split(',').collect() }).collect();
    let as_of = rows
        .iter()
        .map(|row| row.count("last_ts"))
        .collect::<Result<Vec<_>, _>>()?
        .into_iter()
        .max()
        .ok_or("the table is empty")?;
    let mut lines = Vec::new();
    for (row, number) in rows.iter().zip(2..) {
        lines.push(record(row, as_of).map_err(|error| format!("line {number}: {error}"))?.write()?);
    }
    let mut output = BufWriter::new(fs::File::create(&cli.output)?);
    for line in lines.iter().cycle().take(cli.records.unwrap_or(lines.len())) {
        output.write_all(line.as_bytes())?;
    }
    Ok(output.flush()?)
}

fn record(row: &Row<'_>, as_of: u64) -> Result<Record, Box<dyn Error>> {
    let (first, last) = (row.count("first_ts")?, row.count("last_ts")?);
    let [supply, withdraw, borrow, repay, liquidation] =
        ["n_supply", "n_withdraw", "n_borrow", "n_repay", "n_liquidation"].map(|column| row.count(column));
    let (supply, withdraw, borrow, repay, liquidation) = (supply?, withdraw?, borrow?, repay?, liquidation?);
    let supplied_usd = (row.usd("usd_supply")? - row.usd("usd_withdraw")?).max(0.0);
    let borrowed_usd = (row.usd("usd_borrow")? - row.usd("usd_repay")?).max(0.0);
    let assets = u32::try_from(row.count("n_assets")?)?;
    let chain = ChainFeatures {
        chain_id: POLYGON,
        coverage: Coverage::Partial,
        first_transaction: Some(first),
        last_transaction: Some(last),
        transactions: supply + withdraw + borrow + repay,
        transfers: None,
        counterparties: None,
        active_days: Some(u32::try_from(row.count("active_days")?)?),
        active_hours: None,
        median_gap: None,
        assets_usd: 0.0,
        supplied_usd,
        borrowed_usd,
    };
    let market = MarketFeatures {
        chain_id: POLYGON,
        protocol: Protocol::LenderAV2.as_str().to_owned(),
        market: None,
        coverage: Coverage::Complete,
        feeds_score: true,
        supply: Some(supply),
        withdraw: Some(withdraw),
        borrow: Some(borrow),
        repay: Some(repay),
        liquidation: None,
        first_event: Some(first),
        last_event: Some(last),
        last_liquidation: None,
        supplied_usd,
        borrowed_usd,
        events_coverage: Coverage::Failed,
        events: Vec::new(),
        dollars: Dollars::default(),
        liquidation_days: None,
        position: None,
    };
    let holdings = if supplied_usd > 0.0 {
        vec![Holding { class: AssetClass::Collateral, usd: supplied_usd, assets }]
    } else {
        Vec::new()
    };
    let features = Features { as_of, chains: vec![chain], markets: vec![market], holdings, identity: Vec::new() };
    Ok(Record::new(Some(row.text("wallet")?.to_owned()), Some(liquidation > 0), features))
}
