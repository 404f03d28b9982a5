//! A block as a witness: all logs of a market in it, and the transfers that its transactions ask the market for. Old
//! state points to the blocks that are worth this: a change there is not in the logs, or a debt was used without one.

use std::collections::BTreeSet;

use alloy::{
    primitives::I256,
    rpc::types::Log,
    sol,
    sol_types::{SolCall, SolEvent},
};

use super::{
    events::{SIGNATURES, TRANSFER_COLLATERAL, read},
    shown::Shown,
    transfers::debts,
};
use crate::{
    figures::{
        record::{Side, Unexplained},
        sums::signed,
    },
    protocols::{EventKind, Obstacle, Quest},
    tolerances,
};
use assay_domain::{Address, B256, U256};
use assay_evm::{
    Fault, Span,
    client::{ProvenTransaction, WitnessedLogs},
    logs::{LogQuery, in_order},
};

sol! {
    function accrueAccount(address account);
    function transfer(address dst, uint256 amount);
    function transferFrom(address src, address dst, uint256 amount);
    function transferAsset(address dst, address asset, uint256 amount);
    function transferAssetFrom(address src, address dst, address asset, uint256 amount);
    event RewardClaimed(address indexed src, address indexed recipient, address indexed token, uint256 amount);
}

/// What a block shows of a wallet in a market.
#[derive(Debug, Default)]
pub(super) struct Witness {
    pub shown: Shown,
    /// The kinds of which transfers between two wallets show only a part.
    pub told: BTreeSet<EventKind>,
    /// For each transfer that a transaction asked the market for: what its logs do not show, and the kinds that they
    /// show.
    pub transfers: Vec<(I256, BTreeSet<EventKind>)>,
    /// Whether the wallet's rewards were counted or claimed, which uses its position without a change.
    pub is_accrued: bool,
}

impl Witness {
    fn of(logs: &[Log], wallet: B256) -> Self {
        let names = |topics: &[_]| {
            SIGNATURES.iter().any(|s| topics.first() == Some(&s.topic0) && topics.get(s.wallet_at) == Some(&wallet))
        };
        let own: Vec<_> = logs.iter().filter(|log| names(log.topics())).collect();
        let debts = debts(&logs.iter().collect::<Vec<_>>(), wallet);
        let mut shown = Shown::default();
        for read in read(&own, wallet) {
            shown.kinds.extend(read.kinds.into_iter().flatten());
            shown.moves.extend(read.moved.filter(|moved| moved.side == Side::Base));
        }
        shown.kinds.extend(debts.iter().map(|(kind, ..)| *kind));
        shown.moves.extend(debts.iter().map(|(_, moved, _)| *moved));
        Self { shown, told: debts.into_iter().map(|(kind, ..)| kind).collect(), ..Self::default() }
    }
}

/// Reads `block` as a witness. Its logs must be proven by its header, or be those that another endpoint has.
pub(super) async fn witness(quest: &Quest<'_>, block: u64) -> Result<Witness, Obstacle> {
    let wallet = quest.wallet.into_word();
    let Some(transactions) = quest.client.proven_by_any(block).await? else {
        return Ok(Witness::of(&confirmed(quest, block).await?, wallet));
    };
    let of_market = |transaction: &ProvenTransaction| {
        let own = transaction.logs.iter().filter(|log| log.address() == quest.market);
        own.cloned().collect::<Vec<_>>()
    };
    let mut witness = Witness::of(&transactions.iter().flat_map(of_market).collect::<Vec<_>>(), wallet);
    let is_claim =
        |log: &Log| (log.topic0(), log.topics().get(1)) == (Some(&RewardClaimed::SIGNATURE_HASH), Some(&wallet));
    witness.is_accrued = transactions.iter().flat_map(|transaction| &transaction.logs).any(is_claim);
    let direct = |transaction: &&ProvenTransaction| transaction.succeeded && transaction.to == Some(quest.market);
    let direct: Vec<_> = transactions.iter().filter(direct).collect();
    let hashes: Vec<_> = direct.iter().map(|transaction| transaction.hash).collect();
    for (transaction, input) in direct.into_iter().zip(quest.client.inputs(&hashes).await?) {
        let logs = of_market(transaction);
        let accrued = input.as_ref().and_then(|input| accrueAccountCall::abi_decode(input).ok());
        witness.is_accrued |= accrued.is_some_and(|call| call.account == quest.wallet);
        // A transfer of collateral has its own log.
        let is_collateral = logs.iter().any(|log| log.topic0() == Some(&TRANSFER_COLLATERAL));
        let asked = input.and_then(|input| transferred(transaction.from, &input));
        let Some((from, to, amount)) = asked.filter(|_| !is_collateral) else { continue };
        let change = match () {
            () if from == quest.wallet => -signed(amount),
            () if to == quest.wallet => signed(amount),
            () => continue,
        };
        let Witness { shown, told, .. } = Witness::of(&logs, wallet);
        let hidden = change.saturating_sub(shown.amounts().net());
        if hidden.unsigned_abs() >= tolerances::COMET_SPLIT_ROUNDING {
            witness.transfers.push((hidden, told));
        }
    }
    Ok(witness)
}

/// The logs of the market in `block`, which two endpoints have alike.
async fn confirmed(quest: &Quest<'_>, block: u64) -> Result<Vec<Log>, Obstacle> {
    let (query, span) =
        (LogQuery { addresses: vec![quest.market], ..LogQuery::default() }, Span { from: block, to: block });
    let WitnessedLogs { mut logs, witness } = quest.client.witnessed_logs(&query, span).await?;
    let other = quest.client.besides(witness).ok_or(Obstacle::Lasting(Unexplained::Unproven))?;
    let mut others = match other.believed_logs(&query, span).await {
        Ok(others) => others,
        Err(_) => return Err(Obstacle::Lasting(Unexplained::Unproven)),
    };
    in_order(&mut logs);
    in_order(&mut others);
    let places = |logs: &[Log]| logs.iter().map(|log| (log.block_hash, log.log_index)).collect::<Vec<_>>();
    if places(&logs) == places(&others) { Ok(logs) } else { Err(Obstacle::Lasting(Unexplained::LogsMissing)) }
}

/// The sender, the receiver and the amount that a transaction with this `input` transfers; `None` for the whole
/// balance, which the input does not show.
fn transferred(from: Address, input: &[u8]) -> Option<(Address, Address, U256)> {
    let found = match <[u8; 4]>::try_from(input.get(..4)?).ok()? {
        transferCall::SELECTOR => transferCall::abi_decode(input).map(|call| (from, call.dst, call.amount)),
        transferFromCall::SELECTOR => transferFromCall::abi_decode(input).map(|call| (call.src, call.dst, call.amount)),
        transferAssetCall::SELECTOR => transferAssetCall::abi_decode(input).map(|call| (from, call.dst, call.amount)),
        transferAssetFromCall::SELECTOR => {
            transferAssetFromCall::abi_decode(input).map(|call| (call.src, call.dst, call.amount))
        }
        _ => return None,
    };
    found.ok().filter(|(.., amount)| *amount < U256::MAX)
}

/// Whether rewards of the wallet were claimed in `block`, as logs tell; a claim uses a position without a change.
pub(super) async fn is_claimed(quest: &Quest<'_>, block: u64) -> Result<bool, Fault> {
    let topics = [vec![RewardClaimed::SIGNATURE_HASH], vec![quest.wallet.into_word()], Vec::new(), Vec::new()];
    let query = LogQuery { topics, ..LogQuery::default() };
    match quest.client.believed_logs(&query, Span { from: block, to: block }).await {
        Ok(logs) => Ok(!logs.is_empty()),
        Err(fault) if fault.is_no_answer() => Err(fault),
        // The endpoint answers no query over all contracts.
        Err(_) => Ok(false),
    }
}
