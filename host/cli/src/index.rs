//! `assay index`: what the index of markets has, its files for another host or an analyst, and who owed in a market.

use std::{
    io::{self, BufWriter, ErrorKind, Write as _},
    path::PathBuf,
};

use assay_backtest::grouped;
use assay_domain::{Address, ChainId, parse_address};
use assay_index::{
    ChainStatus, Index, IndexError, Owing, Status,
    segments::{self, ExportedFile},
};
use assay_lending::Asset;
use clap::Subcommand;
use serde_json::{Value, json};

use super::{ConfigFile, Failure, print};

#[derive(Subcommand)]
pub(super) enum Command {
    /// Show how far each chain is indexed. Stop the server first: only one process can open the index
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        config: ConfigFile,
    },
    /// Write the index as Parquet tables with a manifest of their digests. Stop the server first
    Export {
        /// Folder to write to; it is created
        #[arg(value_name = "FOLDER")]
        to: PathBuf,
        /// Chain to export; all if absent. May be repeated
        #[arg(long = "chain", value_name = "ID")]
        chains: Vec<ChainId>,
        #[command(flatten)]
        config: ConfigFile,
    },
    /// Import the chains of an export into the index. Every file is checked against its digest first, and an
    /// interrupted import continues with the next file. Stop the server first
    Import {
        /// Folder of an export
        #[arg(value_name = "FOLDER")]
        from: PathBuf,
        /// Replace chains that are in the index
        #[arg(long)]
        replace: bool,
        #[command(flatten)]
        config: ConfigFile,
    },
    /// List the wallets of a market as JSON lines, ordered by address. Stop the server first
    ///
    /// With --owing, lists only the wallets that owed at the block, with the amounts in the asset's smallest unit,
    /// without interest. For Aave, an amount is a lower bound; a wallet that owed only interest is omitted. For
    /// Compound v3, the zero address is the market's base asset, and interest withdrawn from an earlier supply counts
    /// as owed. For Morpho Blue, amounts are in shares of the market, and exact. Logs of Compound v2 show no amounts:
    /// `owed` is null for every wallet that has borrowed. `incomplete` is present if changes without a log are
    /// possible.
    Wallets {
        /// Chain of the market
        #[arg(long, value_name = "ID")]
        chain: ChainId,
        /// Address of the market
        #[arg(long, value_parser = parse_address)]
        market: Address,
        /// Block after which the wallets are listed; the last block of the index if absent
        #[arg(long, value_name = "BLOCK")]
        at: Option<u64>,
        /// Only wallets that owed
        #[arg(long)]
        owing: bool,
        #[command(flatten)]
        config: ConfigFile,
    },
}

pub(super) fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Status { json, config } => {
            let status = existing(&config)?.status().map_err(Failure::cannot)?;
            if json { print(format!("{:#}", in_json(&status))) } else { print(in_words(&status).trim_end()) }
        }
        Command::Export { to, chains, config } => {
            let index = existing(&config)?;
            let chains = if chains.is_empty() { indexed(&index)? } else { chains };
            let manifest = segments::export(&index, &chains, &to, show).map_err(Failure::cannot)?;
            print(format!("{} chain(s) in {}", manifest.chains.len(), to.display()))
        }
        Command::Import { from, replace, config } => {
            let index = Index::open(&config.load()?.reading.index_path).map_err(Failure::cannot)?;
            let taken = segments::import(&index, &from, replace, show).map_err(Failure::cannot)?;
            print(format!("{} chain(s); the manifest has SHA-256 {}", taken.manifest.chains.len(), taken.digest))
        }
        Command::Wallets { chain, market, at, owing, config } => {
            let index = existing(&config)?;
            let progress = index.progress(chain).and_then(|found| found.ok_or(IndexError::Unknown(chain)));
            let through = progress.map_err(Failure::cannot)?.through().map_or(0, |through| through.number);
            wallets(&index, chain, market, at.unwrap_or(through), owing)
        }
    }
}

/// The index, which is not created here.
fn existing(file: &ConfigFile) -> Result<Index, Failure> {
    let folder = file.load()?.reading.index_path;
    if !folder.exists() {
        let folder = folder.display();
        return Err(Failure::no(format!(
            "there is no index at {folder}; a server with reading.index = \"on\" builds it, or `assay index import` \
             takes one"
        )));
    }
    Index::open(&folder).map_err(Failure::cannot)
}

/// The chains with something to export.
fn indexed(index: &Index) -> Result<Vec<ChainId>, Failure> {
    let status = index.status().map_err(Failure::cannot)?;
    let chains = status.chains.iter().filter(|status| status.progress.through().is_some());
    Ok(chains.map(|status| status.chain).collect())
}

fn show(file: &ExportedFile) {
    eprintln!("{}  {} rows, {} bytes", file.name, grouped(file.rows), grouped(file.bytes));
}

fn wallets(index: &Index, chain: ChainId, market: Address, at: u64, owing: bool) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    let lines: Box<dyn Iterator<Item = Result<Value, IndexError>>> = if owing {
        Box::new(index.owing(chain, market, at).map_err(Failure::cannot)?.map(|owing| owing.map(|owing| line(&owing))))
    } else {
        Box::new(
            index.active(chain, market, at).map_err(Failure::cannot)?.map(|wallet| Ok(json!({ "wallet": wallet? }))),
        )
    };
    for line in lines {
        match writeln!(out, "{}", line.map_err(Failure::cannot)?) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(()),
            written => written.map_err(Failure::cannot)?,
        }
    }
    match out.flush() {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::cannot(error)),
        _ => Ok(()),
    }
}

fn line(Owing { wallet, owed, incomplete }: &Owing) -> Value {
    let amount = |(asset, amount): &(Asset, _)| json!({ "asset": asset, "amount": format!("{amount}") });
    let owed = owed.as_ref().map(|owed| owed.iter().map(amount).collect::<Vec<_>>());
    let mut line = json!({ "wallet": wallet, "owed": owed });
    if let Some(line) = line.as_object_mut().filter(|_| *incomplete) {
        line.insert("incomplete".into(), true.into());
    }
    line
}

fn in_json(Status { folder, bytes, chains }: &Status) -> Value {
    let chain = |ChainStatus { chain, progress, bytes }: &ChainStatus| {
        json!({
            "chain": chain, "from": progress.start(), "through": progress.through(), "events": progress.events,
            "entries": progress.entries, "bytes": bytes, "checked_blocks": progress.checked,
            "markets": progress.markets,
        })
    };
    json!({ "folder": folder, "bytes": bytes, "chains": chains.iter().map(chain).collect::<Vec<_>>() })
}

fn in_words(Status { folder, bytes, chains }: &Status) -> String {
    let mut text = format!("index  {}, {} bytes\n", folder.display(), grouped(*bytes));
    for ChainStatus { chain, progress, bytes } in chains {
        let through =
            progress.through().map_or("nothing read".into(), |block| format!("through block {}", block.number));
        let (events, bytes) = (grouped(progress.events), grouped(*bytes));
        text += &format!("chain  {chain}: from block {} {through}; {events} events, {bytes} bytes\n", progress.start());
        let checked = progress.checked;
        text += &format!(
            "       blocks whose logs were checked by a second endpoint: {}, by blooms: {}; not checked: {}\n",
            grouped(checked.by_endpoint),
            grouped(checked.by_bloom),
            grouped(checked.unchecked)
        );
        for market in &progress.markets {
            text += &format!("       {} {} from block {}\n", market.protocol.as_str(), market.address, market.from);
        }
    }
    if chains.is_empty() { text + "       no chain is indexed yet\n" } else { text }
}

#[cfg(test)]
mod tests {
    use alloy::primitives::{Bytes, I256};
    use assay_domain::{B256, Protocol};
    use assay_index::{Check, Checkpoint, IndexedMarket, Segment, WalletEntries};
    use assay_lending::{Entry, Move, Side, What};

    use super::*;

    const MARKET: Address = Address::repeat_byte(7);

    fn filled(folder: &std::path::Path) -> Index {
        let index = Index::open(folder).unwrap();
        let market = IndexedMarket { protocol: Protocol::LenderAV3, address: MARKET, from: 100 };
        index.begin(1, &[market], &Bytes::new()).unwrap();
        let (asset, amount) = (Address::repeat_byte(9).into(), I256::try_from(50).unwrap());
        let moved = What::Moved(Move { side: Side::Debt, asset, amount, fixed_rate: false });
        let entries = vec![Entry { block: 105, what: moved }];
        let wallets = vec![WalletEntries { wallet: Address::repeat_byte(1), market: 0, entries }];
        let through = Checkpoint { number: 109, hash: B256::repeat_byte(3) };
        index.append(1, Segment { from: 100, through, wallets, check: Check::Bloom }).unwrap();
        index
    }

    #[test]
    fn the_status_says_how_far_each_chain_is() {
        let folder = tempfile::tempdir().unwrap();
        let status = filled(folder.path()).status().unwrap();
        let json = in_json(&status);
        assert_eq!(json["chains"][0]["through"]["number"], 109);
        assert_eq!(json["chains"][0]["checked_blocks"]["by_bloom"], 10);
        assert_eq!(json["chains"][0]["markets"][0]["from"], 100);
        let words = in_words(&status);
        assert!(words.contains("from block 100 through block 109; 0 events"), "{words}");
        assert!(words.contains("by blooms: 10; not checked: 0"), "{words}");
    }

    #[test]
    fn a_wallet_that_owed_is_one_line() {
        let folder = tempfile::tempdir().unwrap();
        let index = filled(folder.path());
        let lines = |at| index.owing(1, MARKET, at).unwrap().map(|owing| line(&owing.unwrap()).to_string());
        let (wallet, asset) = ("01".repeat(20), "09".repeat(20));
        let expected = format!(r#"{{"owed":[{{"amount":"50","asset":"0x{asset}"}}],"wallet":"0x{wallet}"}}"#);
        assert_eq!(lines(109).collect::<Vec<_>>(), [expected]);
        assert_eq!(lines(104).count(), 0);
        let above = index.owing(1, MARKET, 110).err().unwrap().to_string();
        assert!(above.contains("through block 109"), "{above}");
        let other = index.owing(1, Address::ZERO, 109).err().unwrap().to_string();
        assert!(other.contains("no market 0x0000"), "{other}");
    }
}
