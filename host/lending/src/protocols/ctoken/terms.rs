//! The terms of a cToken: its Comptroller, its underlying token, its oracle, and the dialect of its rewards.

use std::collections::BTreeSet;

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
    function decimals() external view returns (uint8 decimals);
    /// Forks return more.
    function markets(address cToken) external view returns (bool isListed, uint256 collateralFactor);
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
    /// Of the underlying token; `None` if it does not return them.
    pub decimals: Option<u8>,
    /// The share of a deposit that debts may reach, times 10^18; `None` if the Comptroller does not return it.
    pub factor: Option<U256>,
    /// Whether this market asks the Comptroller about all of its markets.
    pub asks_for_all: bool,
}

/// The decimals of every native currency.
const NATIVE_DECIMALS: u8 = 18;
/// The Comptroller's answers before those about the dialects.
const OWN_ANSWERS: usize = 3;

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
        let all = |terms: &Option<Self>| {
            let (market, comptroller, token) = terms
                .as_ref()
                .map(|terms| (terms.ctoken, terms.comptroller, terms.underlying.unwrap_or_default()))
                .unwrap_or_default();
            let index = |dialect: Dialect| dialect.ask_index(comptroller, market, market);
            let own = [
                Call::new(comptroller, &oracleCall {}),
                Call::new(comptroller, &marketsCall { cToken: market }),
                Call::new(token, &decimalsCall {}),
            ];
            own.into_iter().chain(Dialect::ALL.map(index))
        };
        let answers = client.calls(&found.iter().flat_map(all).collect::<Vec<_>>(), at).await?;
        let each = answers.chunks(OWN_ANSWERS + Dialect::ALL.len()).zip(ctokens);
        let whole = found.into_iter().zip(each).map(|(terms, (answers, (_, said)))| terms?.whole(answers, *said));
        let mut comptrollers = BTreeSet::new();
        let mut first = |terms: Self| Self { asks_for_all: comptrollers.insert(terms.comptroller), ..terms };
        Ok(whole.map(|terms| terms.map(&mut first)).collect())
    }

    /// Adds the Comptroller's answers: its oracle, the market's factor, and an index in each dialect.
    pub(super) fn whole(self, answers: &[Option<Bytes>], said: Option<Dialect>) -> Option<Self> {
        let (own, indexes) = answers.split_at_checked(OWN_ANSWERS)?;
        let oracle = returned::<oracleCall>(own.first()).filter(|oracle| !oracle.is_zero())?;
        let factor = returned::<marketsCall>(own.get(1)).filter(|market| market.isListed);
        let factor = factor.map(|market| market.collateralFactor);
        let decimals = match self.underlying {
            Some(_) => returned::<decimalsCall>(own.get(2)),
            None => Some(NATIVE_DECIMALS),
        };
        let dialect = said.or_else(|| Dialect::answering(indexes));
        let rewards = dialect.and_then(|dialect| dialect.rewards(self.comptroller, indexes));
        Some(Self { oracle, dialect, rewards, decimals, factor, ..self })
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
        known.then_some(Self {
            ctoken,
            comptroller,
            underlying,
            oracle: Address::ZERO,
            dialect: None,
            rewards: None,
            debts_at,
            decimals: None,
            factor: None,
            asks_for_all: false,
        })
    }
}
