//! The questions of a search as requests, and their answers.

use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::state::{Round, SPARING, Search};
use assay_domain::Address;
use assay_evm::{
    client::{Ask, Client, Series, ask_block, block_from, hex, quantity},
    fault::Fault,
};

/// Blocks probed in one round for each transaction: five rounds divide 33 million blocks (32 to the power of 5).
const PROBES: u64 = 31;
/// The same on an endpoint that limits its rate: more rounds, fewer calls.
const FEW_PROBES: u64 = 7;
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

/// Most nonces that one round asks `client` for, for each transaction. A `sparing` search asks for one.
pub(super) fn probes(client: &Client, sparing: bool) -> u64 {
    match client.call_rate() {
        _ if sparing => SPARING,
        Some(rate) if rate < SCARCE => SPARING,
        _ if client.is_paced() => FEW_PROBES,
        _ => PROBES,
    }
}

/// Asks for the newest nonce of `wallet`, and for that after blocks up to `top`.
pub(super) async fn scout(client: &Client, wallet: Address, top: u64) -> Result<Scouted, Fault> {
    let round = Round::first(top, probes(client, false));
    let latest = std::iter::once(ask_nonce(wallet, json!("latest")));
    let mut answers = client.shared_batch(latest.chain(asks(wallet, &round)).collect()).await?.into_iter();
    let latest = quantity(answers.next().unwrap_or(Ok(Value::Null))?)?;
    let mut search = Search::default();
    // The rounds that follow ask again for what lies beside a fault.
    let _ = learn(&mut search, &round, answers);
    Ok(Scouted { latest, search })
}

/// Asks `round` for `wallet` and adds the answers to `search`.
pub(super) async fn ask(series: &mut Series, wallet: Address, round: &Round, search: &mut Search) -> Result<(), Fault> {
    let answers = series.batch(asks(wallet, round).collect()).await?;
    learn(search, round, answers.into_iter())
}

pub(crate) fn ask_nonce(wallet: Address, after: Value) -> Ask {
    ("eth_getTransactionCount", json!([wallet, after]))
}

fn asks(wallet: Address, round: &Round) -> impl Iterator<Item = Ask> {
    let nonces = round.nonces.iter().map(move |block| ask_nonce(wallet, json!(hex(*block))));
    nonces.chain(round.blocks.iter().copied().map(ask_block))
}

/// Adds the answers to `round`, also those beside one that is a fault.
fn learn(
    search: &mut Search,
    round: &Round,
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
    for (number, answer) in round.blocks.iter().zip(answers) {
        match answer.and_then(block_from) {
            Ok(block) => block.filter(|block| block.number == *number).into_iter().for_each(|b| search.learn_block(b)),
            Err(fault) => failed = Some(fault),
        }
    }
    failed.map_or(Ok(()), Err)
}
