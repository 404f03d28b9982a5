//! Compound v2, one market per cToken. None of its events about debt names a wallet in a topic, so no query finds a
//! wallet's borrowings. Queries find other logs of the same transactions, whose receipts then have the events:
//!
//! - the cToken's own transfers: a mint, a redemption, and the seizure at the end of a liquidation of the wallet;
//! - transfers of the underlying token between the wallet and the cToken: its borrowings and its own repayments;
//! - the Comptroller's distributions to borrowers, one with every borrowing and repayment by any payer: they find debt
//!   in ETH, which has no token to transfer, and repayments by others. Its distributions to suppliers are ignored: each
//!   comes with a transfer of the cToken. Forks name the distributions differently ([`dialect`]); a market whose names
//!   are unknown is partial.
//!
//! Each transfer of the underlying token needs a log of the cToken in the same transaction ([`pairs`]).
//!
//! The logs show a wallet's deposits as well, but the API has no count for them in this protocol.
//!
//! Not found, as the `remarks` of reports say: before the first distribution (block 10,228,864, June 2020), debt in ETH
//! and repayments by others, unless another log of the transaction is a hint; and until the Comptroller was replaced in
//! the autumn of 2021, a wallet's first borrowing of ETH, for which it emitted no log. If such a debt still exists, or
//! a repayment or liquidation is found without a borrowing, the market's coverage is partial. A repaid debt leaves a
//! trace in the cToken's storage, which makes a history without any event partial ([`position`]). That slot is not
//! read for a wallet that left the market before the distributions began.

mod dialect;
mod events;
mod pairs;
mod position;
mod terms;

use alloy::rpc::types::Log;
use futures::FutureExt;

use crate::{
    config::MarketConfig,
    figures::sums::Move,
    protocols::{EventKind, Evidence, FoundTerms, LendingProtocol, Profile, boxed},
};
use assay_domain::{B256, EventCounts};
use assay_evm::{Block, Client};
use events::{BORROW, LIQUIDATE_BORROW, REPAY_BORROW};
use terms::CTokenTerms;

/// The reading that finds missing logs by their pairs; older histories are read once more.
const WITH_PAIRS: u32 = 2;

/// The logs do not show all moves, and debts without any hint leave a trace without a log.
#[derive(Debug)]
pub(crate) struct CompoundV2;

impl LendingProtocol for CompoundV2 {
    fn profile(&self) -> Profile {
        Profile {
            reading: WITH_PAIRS,
            in_receipts: &[BORROW, REPAY_BORROW, LIQUIDATE_BORROW],
            no_events: EventCounts { supply: None, withdraw: None, ..EventCounts::ZERO },
            reads_without_terms: false,
            can_lack_borrowings: true,
            ..Profile::new("ctoken", &[])
        }
    }

    fn look_up<'a>(&self, client: &'a Client, ctokens: Vec<&'a MarketConfig>, at: Block) -> FoundTerms<'a> {
        let ctokens: Vec<_> = ctokens.iter().map(|market| (market.address, market.dialect)).collect();
        async move { Ok(boxed(CTokenTerms::look_up(client, &ctokens, at.hash).await?)) }.boxed()
    }

    fn events<'a>(&self, evidence: &Evidence<'a>, wallet: B256) -> Vec<(EventKind, &'a Log)> {
        events::events(&evidence.receipts, wallet)
    }

    fn moves<'a>(&self, evidence: &Evidence<'a>, wallet: B256) -> Vec<(Move, &'a Log)> {
        evidence.receipts.iter().filter_map(|log| Some((events::moved(log, wallet)?, *log))).collect()
    }

    fn unpaired<'a>(&self, evidence: &Evidence<'a>, wallet: B256) -> Vec<&'a Log> {
        pairs::unpaired(evidence, wallet)
    }
}
