//! The terms of a cToken: its Comptroller, its underlying token, its oracle, and the dialect of its rewards.

use alloy::{primitives::Bytes, sol};

use super::dialect::Rewards;
use crate::config::Dialect;
use assay_domain::{Address, B256, U256};
use assay_evm::{Call, Client, Fault, returned};

sol! {
    function comptroller() external view returns (address comptroller);
    function underlying() external view returns (address token);
    function symbol() external view returns (string symbol);
    function oracle() external view returns (address oracle);
    function borrowIndex() external view returns (uint256 index);
}

/// The storage slot of a cToken's borrow index. cTokens of May 2019, whose decimals take a slot, use the next one.
const INDEX_AT: u64 = 10;
/// The distance from that slot to the slot of its debts.
const DEBTS_AFTER: u64 = 6;

/// The terms of a market.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CTokenTerms {
    pub ctoken: Address,
    pub comptroller: Address,
    /// `None` for the native currency.
    pub underlying: Option<Address>,
    pub oracle: Address,
    pub dialect: Option<Dialect>,
    pub rewards: Option<Rewards>,
    /// The storage slot of its debts; `None` if unknown.
    pub debts_at: Option<u64>,
}

impl CTokenTerms {
    /// Looks up the terms of `ctokens` together, in two round trips. `None` for a contract that does not answer like a
    /// cToken.
    pub(super) async fn look_up(
        client: &Client,
        ctokens: &[(Address, Option<Dialect>)],
        at: B256,
    ) -> Result<Vec<Option<Self>>, Fault> {
        let four = |(ctoken, _): &(Address, Option<Dialect>)| {
            [
                Call::new(*ctoken, &comptrollerCall {}),
                Call::new(*ctoken, &underlyingCall {}),
                Call::new(*ctoken, &symbolCall {}),
                Call::new(*ctoken, &borrowIndexCall {}),
            ]
        };
        let calls: Vec<_> = ctokens.iter().flat_map(four).collect();
        let slots = ctokens
            .iter()
            .flat_map(|(ctoken, _)| [(*ctoken, U256::from(INDEX_AT)), (*ctoken, U256::from(INDEX_AT + 1))]);
        let slots: Vec<_> = slots.collect();
        let (answers, stored) = tokio::join!(client.calls(&calls, at), client.storage(&slots, at));
        let answers = answers?;
        let each = ctokens.iter().zip(answers.chunks(4)).zip(stored.chunks(2));
        let found: Vec<_> = each.map(|(((ctoken, _), answers), stored)| Self::bare(*ctoken, answers, stored)).collect();
        let three = |terms: &Option<Self>| {
            let (market, comptroller) =
                terms.as_ref().map(|terms| (terms.ctoken, terms.comptroller)).unwrap_or_default();
            let index = |dialect: Dialect| dialect.ask_index(comptroller, market, market);
            std::iter::once(Call::new(comptroller, &oracleCall {})).chain(Dialect::ALL.map(index))
        };
        let answers = client.calls(&found.iter().flat_map(three).collect::<Vec<_>>(), at).await?;
        let each = answers.chunks(1 + Dialect::ALL.len()).zip(ctokens);
        Ok(found.into_iter().zip(each).map(|(terms, (answers, (_, said)))| terms?.whole(answers, *said)).collect())
    }

    /// Adds the Comptroller's answers: its oracle, and an index in each dialect.
    pub(super) fn whole(self, answers: &[Option<Bytes>], said: Option<Dialect>) -> Option<Self> {
        let (oracle, indexes) = answers.split_first()?;
        let oracle = returned::<oracleCall>(Some(oracle)).filter(|oracle| !oracle.is_zero())?;
        let dialect = said.or_else(|| Dialect::answering(indexes));
        let rewards = dialect.and_then(|dialect| dialect.rewards(self.comptroller, indexes));
        Some(Self { oracle, dialect, rewards, ..self })
    }

    /// `stored` are the values of the slots that may hold the index.
    pub(super) fn bare(ctoken: Address, answers: &[Option<Bytes>], stored: &[Option<U256>]) -> Option<Self> {
        let comptroller = returned::<comptrollerCall>(answers.first()).filter(|comptroller| !comptroller.is_zero())?;
        let underlying = returned::<underlyingCall>(answers.get(1)).filter(|token| !token.is_zero());
        // Without the address of its token, transfers of it would be missed.
        let known = underlying.is_some()
            || returned::<symbolCall>(answers.get(2)).is_some_and(|symbol| Dialect::is_native(&symbol));
        let index = returned::<borrowIndexCall>(answers.get(3));
        let debts_at = stored
            .iter()
            .zip(INDEX_AT + DEBTS_AFTER..)
            .find(|(stored, _)| index.is_some() && **stored == index)
            .map(|(_, at)| at);
        let (oracle, dialect, rewards) = (Address::ZERO, None, None);
        known.then_some(Self { ctoken, comptroller, underlying, oracle, dialect, rewards, debts_at })
    }
}
