//! Symbol, name and decimals of token contracts. Each contract is read once, and the answer is stored. An empty answer
//! may come from a node that lacks the contract, so the contract is read again before the answer counts.

use std::{collections::BTreeMap, time::Duration};

use alloy::{primitives::Bytes, sol};

use super::label;
use assay_domain::{Address, B256, ChainId, U256};
use assay_evm::{
    call::{Call, returned},
    client::{Bounds, Client},
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
    function factory() external view returns (address factory);
}

/// Maximum decimals; a higher number is ignored.
const MAX_DECIMALS: u8 = 36;
const QUESTIONS: usize = 6;
/// Reads of a contract with an empty answer before the answer counts: a contract with a fallback function answers the
/// same.
const ASKS: u8 = 3;
/// Lifetime of the record of a contract without decimals.
const LACKING: Duration = Duration::from_secs(24 * 3_600);

/// What a token contract states about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TokenRecord {
    pub symbol: Option<String>,
    pub name: Option<String>,
    pub decimals: Option<u8>,
    /// The two tokens of the pool, for a share of a pool.
    pub pair: Option<[Address; 2]>,
    /// The factory of the pool, which may not know it.
    pub factory: Option<Address>,
    /// How often it was asked, at least [`ASKS`] if every answer was one; 0 in records of 0.1.0, which lack the
    /// factory.
    #[serde(default)]
    asked: u8,
}

impl TokenRecord {
    fn is_settled(&self) -> bool {
        self.asked >= ASKS
    }

    /// This newer record, with the values of `earlier` that it lacks.
    fn after(self, earlier: Option<&Self>) -> Self {
        let Some(earlier) = earlier else { return self };
        let asked = if self.is_settled() { self.asked } else { earlier.asked.saturating_add(1) };
        Self {
            symbol: self.symbol.or_else(|| earlier.symbol.clone()),
            name: self.name.or_else(|| earlier.name.clone()),
            decimals: self.decimals.or(earlier.decimals),
            pair: self.pair.or(earlier.pair),
            factory: self.factory.or(earlier.factory),
            asked,
        }
    }
}

/// Key of the record of a token contract.
fn key(chain: ChainId, contract: Address) -> Key<TokenRecord> {
    Family::spread("token/").key(format_args!("{chain}/{contract:#x}"))
}

/// The records of `contracts`.
///
/// # Errors
/// [`Fault`] if the endpoint did not answer.
pub(super) async fn records(
    client: &Client,
    store: &Store,
    chain: ChainId,
    contracts: &[Address],
    at: B256,
) -> Result<BTreeMap<Address, TokenRecord>, Fault> {
    let keys: Vec<_> = contracts.iter().map(|contract| key(chain, *contract)).collect();
    // If the store cannot be read, the contracts are asked again.
    let stored = store.get_many(&keys).await.unwrap_or_default();
    let mut records: BTreeMap<_, _> =
        contracts.iter().zip(stored).filter_map(|(contract, record)| Some((*contract, record?))).collect();
    let is_settled = |contract: &Address| records.get(contract).is_some_and(TokenRecord::is_settled);
    let open: Vec<_> = contracts.iter().filter(|contract| !is_settled(contract)).copied().collect();
    if open.is_empty() {
        return Ok(records);
    }
    let calls = open.iter().flat_map(|contract| questions(*contract));
    let calls: Vec<_> = calls.map(|call| (call, Bounds::CONSTANT)).collect();
    let answers = client.stranger_calls(&calls, at).await?;
    let mut batch = Ok(Batch::new());
    for (contract, answers) in open.iter().zip(answers.chunks(QUESTIONS)) {
        let record = record(answers).after(records.get(contract));
        let key = key(chain, *contract);
        batch = batch.and_then(|batch| match record.decimals {
            Some(_) => batch.put(&key, &record),
            None => batch.put_expiring(&key, &record, LACKING),
        });
        records.insert(*contract, record);
    }
    let saved = match batch {
        Ok(batch) => store.commit(batch).await.map(drop),
        Err(error) => Err(error),
    };
    if let Err(error) = saved {
        tracing::error!(chain, %error, "records of token contracts cannot be stored");
    }
    Ok(records)
}

fn questions(contract: Address) -> [Call; QUESTIONS] {
    [
        Call::new(contract, &symbolCall {}),
        Call::new(contract, &nameCall {}),
        Call::new(contract, &decimalsCall {}),
        Call::new(contract, &token0Call {}),
        Call::new(contract, &token1Call {}),
        Call::new(contract, &factoryCall {}),
    ]
}

/// Reads the answers to [`questions`].
fn record(answers: &[Option<Bytes>]) -> TokenRecord {
    let text = |at: usize| label::text(answers.get(at)?.as_ref()?);
    let pair = returned::<token0Call>(answers.get(3)).zip(returned::<token1Call>(answers.get(4)));
    let pair = pair.map(|(token0, token1)| [token0, token1]);
    let places = returned::<decimalsCall>(answers.get(2)).filter(|places| *places <= U256::from(MAX_DECIMALS));
    let is_doubtful = answers.iter().flatten().any(|answer| answer.is_empty());
    TokenRecord {
        symbol: text(0),
        name: text(1),
        decimals: places.and_then(|places| u8::try_from(places).ok()),
        pair: pair.filter(|[a, b]| a != b && !a.is_zero() && !b.is_zero()),
        factory: returned::<factoryCall>(answers.get(5)),
        asked: if is_doubtful { 1 } else { ASKS },
    }
}

#[cfg(test)]
mod tests {
    use alloy::sol_types::{SolCall, SolValue};

    use super::*;

    fn number(number: u8) -> Option<Bytes> {
        Some(decimalsCall::abi_encode_returns(&U256::from(number)).into())
    }

    fn text(text: &str) -> Option<Bytes> {
        Some(text.to_owned().abi_encode().into())
    }

    fn said(symbol: Option<Bytes>, decimals: Option<Bytes>, others: Option<Bytes>) -> TokenRecord {
        record(&[symbol, text("Dollar"), decimals, others.clone(), others.clone(), others])
    }

    #[test]
    fn an_empty_answer_is_believed_when_it_was_given_three_times() {
        let empty = || Some(Bytes::new());
        let whole = said(text("USD"), number(6), None);
        assert!(whole.is_settled() && said(text("USD"), None, None).is_settled(), "a revert is an answer");
        for doubtful in
            [said(text("USD"), empty(), None), said(empty(), number(6), None), said(text("USD"), number(6), empty())]
        {
            assert!(!doubtful.is_settled());
            let second = doubtful.clone().after(Some(&doubtful));
            assert!(!second.is_settled());
            assert!(doubtful.clone().after(Some(&second)).is_settled());
            let later = whole.clone().after(Some(&second));
            assert_eq!((later.symbol.as_deref(), later.decimals), (Some("USD"), Some(6)));
            assert!(later.is_settled());
        }
    }

    #[test]
    fn what_was_said_once_stays() {
        let (first, then) = (said(text("USD"), Some(Bytes::new()), None), said(Some(Bytes::new()), number(6), None));
        let record = then.after(Some(&first));
        assert_eq!((record.symbol.as_deref(), record.decimals), (Some("USD"), Some(6)));
    }

    #[test]
    fn records_of_older_versions_are_read_and_asked_again() {
        let old = r#"{"symbol":"UNI-V2","name":null,"decimals":18,"pair":null,"pool":null}"#;
        let old: TokenRecord = serde_json::from_str(old).unwrap();
        assert!(old.decimals == Some(18) && !old.is_settled());
    }
}
