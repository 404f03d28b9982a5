//! What token contracts state about themselves. Each contract is asked once; the answer is stored.

use std::collections::BTreeMap;

use alloy::{primitives::Bytes, sol};

use super::{call_by_call, label};
use assay_domain::{Address, B256, ChainId, U256};
use assay_evm::{
    call::{Call, returned},
    client::Client,
    fault::Fault,
};
use assay_store::{Batch, Family, Key, Store};
use serde::{Deserialize, Serialize};

sol! {
    function symbol() external view returns (bytes text);
    function name() external view returns (bytes text);
    function decimals() external view returns (uint256 places);
    function token0() external view returns (address token);
    function token1() external view returns (address token);
}

/// Tokens with more decimals are not believed.
const MAX_DECIMALS: u8 = 36;
const QUESTIONS: usize = 5;

/// What a token contract states about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TokenRecord {
    pub symbol: Option<String>,
    pub name: Option<String>,
    pub decimals: Option<u8>,
    /// The two tokens of the pool, for a share of a pool.
    pub pair: Option<[Address; 2]>,
}

/// Key of the record of a token contract.
fn key(chain: ChainId, contract: Address) -> Key<TokenRecord> {
    Family::spread("token/").key(format_args!("{chain}/{contract:#x}"))
}

/// The records of `contracts`, and whether all could be read.
pub(super) async fn records(
    client: &Client,
    store: &Store,
    chain: ChainId,
    contracts: &[Address],
    at: B256,
) -> Result<(BTreeMap<Address, TokenRecord>, bool), Fault> {
    let keys: Vec<_> = contracts.iter().map(|contract| key(chain, *contract)).collect();
    // If the store cannot be read, the contracts are asked again.
    let stored = store.get_many(&keys).await.unwrap_or_default();
    let mut records: BTreeMap<_, _> =
        contracts.iter().zip(stored).filter_map(|(contract, record)| Some((*contract, record?))).collect();
    let unknown: Vec<_> = contracts.iter().filter(|contract| !records.contains_key(*contract)).copied().collect();
    if unknown.is_empty() {
        return Ok((records, true));
    }
    let calls: Vec<_> = unknown.iter().flat_map(|contract| questions(*contract)).collect();
    let answers = call_by_call::alone(client, &calls, at).await?;
    let (mut batch, mut complete) = (Ok(Batch::new()), true);
    for (contract, answers) in unknown.iter().zip(answers.chunks(QUESTIONS)) {
        let answered: Option<Vec<_>> = answers.iter().map(|answer| answer.as_ref().ok().cloned()).collect();
        let Some(answered) = answered else {
            complete = false;
            continue;
        };
        let record = record(&answered);
        batch = batch.and_then(|batch| batch.put(&key(chain, *contract), &record));
        records.insert(*contract, record);
    }
    let saved = match batch {
        Ok(batch) => store.commit(batch).await.map(drop),
        Err(error) => Err(error),
    };
    if let Err(error) = saved {
        tracing::error!(chain, %error, "records of token contracts cannot be stored");
    }
    Ok((records, complete))
}

fn questions(contract: Address) -> [Call; QUESTIONS] {
    [
        Call::new(contract, &symbolCall {}),
        Call::new(contract, &nameCall {}),
        Call::new(contract, &decimalsCall {}),
        Call::new(contract, &token0Call {}),
        Call::new(contract, &token1Call {}),
    ]
}

/// Reads the answers to [`questions`].
fn record(answers: &[Option<Bytes>]) -> TokenRecord {
    let text = |at: usize| label::text(answers.get(at)?.as_ref()?);
    let pair = returned::<token0Call>(answers.get(3)).zip(returned::<token1Call>(answers.get(4)));
    let pair = pair.map(|(token0, token1)| [token0, token1]);
    let places = returned::<decimalsCall>(answers.get(2)).filter(|places| *places <= U256::from(MAX_DECIMALS));
    TokenRecord {
        symbol: text(0),
        name: text(1),
        decimals: places.and_then(|places| u8::try_from(places).ok()),
        pair: pair.filter(|[a, b]| a != b && !a.is_zero() && !b.is_zero()),
    }
}
