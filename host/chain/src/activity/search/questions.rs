//! The questions of a search as requests, and their answers.

use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::{
    round::{SearchRound, Width},
    state::Search,
};
use crate::config::Spare;
use assay_domain::{Address, U256};
use assay_evm::{
    client::{Ask, Client, Series, ask_block, block_from, hex, quantity},
    fault::Fault,
};

/// Calls a second below which each call counts for more than a round trip.
const SCARCE: f64 = 30.0;

/// The first round, sent before the nonce is known.
pub(crate) type Scout = JoinHandle<Option<Scouted>>;

/// What the first round found.
#[derive(Debug, Clone)]
pub(crate) struct Scouted {
    /// The newest nonce.
    pub latest: u64,
    pub search: Search,
}

/// Nonces per round that `client` is asked for under `spare`.
pub(super) fn width(client: &Client, spare: Spare) -> Width {
    match (spare, client.call_rate()) {
        (Spare::Calls, _) => Width::HALVING,
        (_, Some(rate)) if rate < SCARCE => Width::HALVING,
        (Spare::Both, _) => Width::BALANCED,
        (Spare::Rounds, _) if client.is_paced() => Width::PACED,
        (Spare::Rounds, _) => Width::WIDE,
    }
}

/// Asks for the newest nonce of `wallet`, and, to spare round trips, for that after blocks up to `top`, which is for
/// nothing if the wallet has sent nothing.
pub(super) async fn scout(client: &Client, wallet: Address, top: u64, spare: Spare) -> Result<Scouted, Fault> {
    let round = match spare {
        Spare::Rounds => SearchRound::first(top, width(client, spare)),
        Spare::Both | Spare::Calls => SearchRound::default(),
    };
    let latest = std::iter::once(ask_nonce(wallet, json!("latest")));
    let mut answers = client.shared_batch(latest.chain(asks(wallet, &round)).collect()).await?.into_iter();
    let latest = quantity(answers.next().unwrap_or(Ok(Value::Null))?)?;
    let mut search = Search::default();
    // The rounds that follow ask again for what lies beside a fault.
    let _ = learn(&mut search, &round, answers);
    Ok(Scouted { latest, search })
}

/// Asks `round` for `wallet` and adds the answers to `search`.
pub(super) async fn ask(
    series: &mut Series,
    wallet: Address,
    round: &SearchRound,
    search: &mut Search,
) -> Result<(), Fault> {
    let answers = series.batch(asks(wallet, round).collect()).await?;
    learn(search, round, answers.into_iter())
}

pub(crate) fn ask_nonce(wallet: Address, after: Value) -> Ask {
    ("eth_getTransactionCount", json!([wallet, after]))
}

fn asks(wallet: Address, round: &SearchRound) -> impl Iterator<Item = Ask> {
    let nonces = round.nonces.iter().map(move |block| ask_nonce(wallet, json!(hex(*block))));
    let balance = round.first_balance.then(|| ("eth_getBalance", json!([wallet, hex(0)])));
    nonces.chain(round.blocks.iter().copied().map(ask_block)).chain(balance)
}

/// Adds the answers to `round`, also those beside one that is a fault.
fn learn(
    search: &mut Search,
    round: &SearchRound,
    mut answers: impl Iterator<Item = Result<Value, Fault>>,
) -> Result<(), Fault> {
    let mut failed = None;
    for (block, answer) in round.nonces.iter().zip(answers.by_ref()) {
        match answer.and_then(quantity) {
            Ok(nonce) => search.learn(*block, Some(nonce)),
            Err(Fault::NoState) => search.learn(*block, None),
            Err(fault) => failed = Some(fault),
        }
    }
    for (number, answer) in round.blocks.iter().zip(answers.by_ref()) {
        match answer.and_then(block_from) {
            Ok(block) => block.filter(|block| block.number == *number).into_iter().for_each(|b| search.learn_block(b)),
            Err(fault) => failed = Some(fault),
        }
    }
    if round.first_balance {
        match answers.next().unwrap_or(Ok(Value::Null)).and_then(balance) {
            Ok(is_any) => search.learn_first_balance(is_any),
            Err(fault) => failed = Some(fault),
        }
    }
    failed.map_or(Ok(()), Err)
}

/// Whether an account has a balance.
fn balance(answer: Value) -> Result<bool, Fault> {
    let balance: U256 = serde_json::from_value(answer).map_err(|error| Fault::unreadable(&error))?;
    Ok(!balance.is_zero())
}
