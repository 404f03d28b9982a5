//! The cross-check: compares each history with the position. It finds endpoints that leave logs out, and changes
//! without logs.
//!
//! A wallet that left a market has no position there, so a history without any event is compared with the traces in the
//! contracts' state: the index of each token of Aave v3 at the wallet's last change (also for a token without events
//! next to others with some), the same in the rewards controller of Aave v2, accrued rewards in a Comet market, the
//! index of a debt in the storage of a cToken. If a chain has several endpoints, a second one is asked once. A wallet
//! wrongly gets a complete history without events only if all of these endpoints leave out its logs, and the wallet
//! - left Aave v2 before the pool paid rewards, or used a pool that never did (on Ethereum none did before April 2021,
//!   AMM never);
//! - used a Comet market without rewards, or only its collateral;
//! - left a cToken, where only debts leave a trace, and its list of borrowers before June 2020;
//! - left Morpho Blue or Maker.
//!
//! In a history that lacks only some of its events, the check finds the missing ones whose amounts the position does
//! not allow. In Aave that is every one except those that cancel each other exactly; of these, it finds a loan that was
//! the only one in its asset. In Morpho Blue and Maker, where only logs name the parts of a position, it also finds the
//! only log of a part: the position is read in every part that the contracts list. If they cannot be listed, and
//! nothing but one endpoint tells of logs, no such history is complete.

use crate::{
    asset::Asset,
    figures::{
        balance::Balance,
        record::{Side, Unexplained},
        sums::Sums,
    },
};
use assay_domain::{ChainId, Coverage, PoolHistory, Position};

/// The remark on a history whose difference has no known cause.
const DIFFERS: &str = "the events do not explain the position";

/// The remark on a history with a token that the terms of its market do not list, such as one that was just added: its
/// balance was not read.
const UNLISTED: &str = "the history has an asset that the market did not list when it was looked up last; it is looked \
                        up again every hour";

/// What the state of a market at one block shows of a wallet.
pub(crate) struct Observation<'a> {
    /// In dollars; `None` for an empty or unread position.
    pub position: Option<&'a Position>,
    /// By asset; `None` if unreadable.
    pub balances: Option<&'a [Balance]>,
    /// Whether a trace proves that the wallet had a position.
    pub ever_held: bool,
    /// Balances for which a trace proves a change that a log must show.
    pub touched: &'a [(Side, Asset)],
    /// Why no history in the market can be complete; `None` if one can.
    pub lacks: Option<&'static str>,
    /// Time of the block, in seconds since 1970.
    pub at: u64,
}

/// Lowers the coverage of a complete history that cannot have led to the wallet's position. Returns whether the history
/// is doubted: whether another read may find what is missing.
pub(crate) fn cross_check(pool: &mut PoolHistory, sums: Option<&Sums>, seen: &Observation<'_>) -> bool {
    if pool.coverage != Coverage::Complete {
        return false;
    }
    if let Some(lack) = seen.lacks {
        (pool.coverage, pool.remark) = (Coverage::Partial, Some(lack.to_owned()));
        return false;
    }
    let summed = sums.zip(seen.balances);
    if let Some(asset) = summed.and_then(|(sums, balances)| unlisted(sums, balances)) {
        let (chain, protocol) = count_difference(pool, "unlisted");
        tracing::warn!(chain, protocol, market = %pool.market_address, %asset, "an asset is not among those of the \
            market; the history counts as partial");
        (pool.coverage, pool.remark) = (Coverage::Partial, Some(UNLISTED.to_owned()));
        return false;
    }
    let fits = match summed {
        Some((sums, balances)) => {
            adds_up(pool, sums, balances, seen.at)
                && !(seen.ever_held && is_missing(pool, sums))
                && !lacks_touched(pool, sums, seen.touched)
        }
        None => is_explained(pool, seen.position) && !(seen.ever_held && is_missing(pool, &Sums::default())),
    };
    // What old state could not explain stays in doubt, even if interest covers the difference now.
    let is_doubted = !fits || pool.remark.as_deref().is_some_and(Unexplained::is_lack);
    if is_doubted {
        pool.coverage = Coverage::Partial;
        pool.remark = pool.remark.take().filter(|remark| Unexplained::is_lack(remark)).or_else(|| Some(DIFFERS.into()));
    }
    is_doubted
}

/// Counts a difference, and returns the chain and the protocol for its log line.
fn count_difference(pool: &PoolHistory, difference: &'static str) -> (ChainId, &'static str) {
    let (chain, protocol) = (pool.chain_id, pool.protocol.as_str());
    let labels = [("chain", chain.to_string()), ("protocol", protocol.into()), ("difference", difference.into())];
    metrics::counter!("assay_positions_unexplained_total", &labels).increment(1);
    (chain, protocol)
}

/// Whether a history has no event. Called only if a trace proves a position.
fn is_missing(pool: &PoolHistory, sums: &Sums) -> bool {
    if !sums.is_empty() || pool.first_event_at.is_some() {
        return false;
    }
    let (chain, protocol) = count_difference(pool, "blank");
    tracing::warn!(chain, protocol, market = %pool.market_address, "a wallet had a position here without any log; the \
                                                                    history counts as partial");
    true
}

/// Whether no log shows a change of one of the `touched` balances.
fn lacks_touched(pool: &PoolHistory, sums: &Sums, touched: &[(Side, Asset)]) -> bool {
    let Some((side, asset)) = touched.iter().find(|(side, asset)| sums.of(*side, *asset).moves == 0) else {
        return false;
    };
    let (chain, protocol) = count_difference(pool, "blank");
    tracing::warn!(chain, protocol, market = %pool.market_address, %asset, ?side, "a balance changed without any log; \
                                                                                   the history counts as partial");
    true
}

/// A token that is left in the position by its moves and has no balance to compare with.
fn unlisted(sums: &Sums, balances: &[Balance]) -> Option<Asset> {
    let is_listed = |key| balances.iter().any(|balance| (balance.side, balance.asset) == key);
    sums.left().find(|key| !is_listed(*key)).map(|(_, asset)| asset)
}

/// Whether the moves of every asset can have led to its balance.
fn adds_up(pool: &PoolHistory, sums: &Sums, balances: &[Balance], now: u64) -> bool {
    let since = pool.first_event_at.and_then(|time| u64::try_from(time.timestamp()).ok());
    let mut differing = balances.iter().filter_map(|balance| {
        let flow = sums.of(balance.side, balance.asset);
        let difference = match sums.principal().filter(|_| balance.principal.is_some()) {
            Some(expected) => balance.differs_from(expected),
            None => balance.differs(flow, since, now),
        };
        difference.map(|difference| (balance, flow, difference))
    });
    let Some((balance, flow, difference)) = differing.next() else { return true };
    let difference = difference.as_str();
    let (chain, protocol) = count_difference(pool, difference);
    // One line per pool, even if several assets differ: a missing log changes at most two.
    tracing::warn!(
        chain, protocol, market = %pool.market_address, asset = %balance.asset, side = ?balance.side, difference,
        moved = %flow.net, held = %balance.amount, others = differing.count(),
        "events do not add up to the position; the history counts as partial"
    );
    false
}

/// Whether a position without known amounts has a borrowing for its debt.
fn is_explained(pool: &PoolHistory, position: Option<&Position>) -> bool {
    let Some(position) = position else { return true };
    let debt = position.borrowed_usd > 0.0 && pool.counts.borrow == Some(0);
    if debt {
        let (chain, protocol) = count_difference(pool, "unexplained");
        tracing::warn!(chain, protocol, market = %pool.market_address, "a debt has no borrowing in the history; the \
                                                                        history counts as partial");
    }
    !debt
}

#[cfg(test)]
mod tests {
    use alloy::primitives::U256;

    use super::*;
    use crate::{failed_pool, figures::sums::Move, market::Market};
    use assay_domain::{Address, EventCounts, Protocol};

    fn checked(sums: Option<Sums>, held: Option<u64>, borrowed_usd: f64, borrow: u64) -> Coverage {
        checked_of(sums, held, (false, Vec::new()), borrowed_usd, borrow)
    }

    fn checked_of(
        sums: Option<Sums>,
        held: Option<u64>,
        (ever_held, touched): (bool, Vec<(Side, Asset)>),
        borrowed_usd: f64,
        borrow: u64,
    ) -> Coverage {
        let (protocol, address) = (Protocol::LenderAV3, Address::repeat_byte(1));
        let config = Market::sample(protocol, 1).config;
        let counts = EventCounts { borrow: Some(borrow), ..EventCounts::ZERO };
        let mut pool = PoolHistory { coverage: Coverage::Complete, counts, ..failed_pool(1, &config) };
        let position = Position {
            chain_id: 1,
            protocol,
            market_address: address,
            market: None,
            supplied_usd: 1.0,
            borrowed_usd,
            supplied_assets: 1,
            assets: Vec::new(),
            health_factor: None,
            mode: None,
            delegations: Some(Vec::new()),
        };
        let balance = |held| Balance::still(Side::Supply, Address::ZERO, U256::from(held));
        let balances = held.map(|held| vec![balance(held)]);
        let seen = Observation {
            position: Some(&position),
            balances: balances.as_deref(),
            ever_held,
            touched: &touched,
            lacks: None,
            at: 0,
        };
        let is_doubted = cross_check(&mut pool, sums.as_ref(), &seen);
        assert_eq!(!is_doubted, pool.coverage == Coverage::Complete);
        pool.coverage
    }

    #[test]
    fn what_does_not_add_up_is_partial() {
        let mut sums = Sums::default();
        sums.add(&Move::gain(Side::Supply, Address::ZERO, U256::from(1_000)));
        assert_eq!(checked(Some(sums.clone()), Some(1_000), 0.0, 0), Coverage::Complete);
        assert_eq!(checked(Some(sums.clone()), Some(2_000), 0.0, 0), Coverage::Partial);
        assert_eq!(checked(Some(sums), Some(500), 0.0, 0), Coverage::Partial);
        assert_eq!(checked(Some(Sums::default()), Some(500), 0.0, 0), Coverage::Partial);
    }

    #[test]
    fn a_token_that_the_terms_do_not_list_is_compared_with_nothing() {
        let other = Address::repeat_byte(7);
        let of = |side, moves: &[Move]| {
            let mut sums = Sums::default();
            sums.add(&Move::gain(Side::Supply, Address::ZERO, U256::from(1_000)));
            sums.add(&Move::gain(side, other, U256::from(500)));
            moves.iter().for_each(|moved| sums.add(moved));
            checked_unlisted(sums)
        };
        for side in [Side::Supply, Side::Debt, Side::Collateral] {
            assert_eq!(of(side, &[]), Coverage::Partial, "{side:?}");
            assert_eq!(of(side, &[Move::loss(side, other, U256::from(503))]), Coverage::Complete, "{side:?}: closed");
        }
    }

    /// The coverage beside a balance of 1,000; that it is partial does not make the next read begin anew.
    fn checked_unlisted(sums: Sums) -> Coverage {
        let config = Market::sample(Protocol::LenderAV3, 1).config;
        let mut pool = PoolHistory { coverage: Coverage::Complete, ..failed_pool(1, &config) };
        let balances = [Balance::still(Side::Supply, Address::ZERO, U256::from(1_000))];
        let balances = Some(balances.as_slice());
        let seen = Observation { position: None, balances, ever_held: false, touched: &[], lacks: None, at: 0 };
        assert!(!cross_check(&mut pool, Some(&sums), &seen));
        pool.coverage
    }

    #[test]
    fn a_trace_contradicts_a_blank_history_and_no_other() {
        assert_eq!(checked_of(Some(Sums::default()), Some(0), (true, vec![]), 0.0, 0), Coverage::Partial);
        assert_eq!(checked_of(Some(Sums::default()), Some(0), (false, vec![]), 0.0, 0), Coverage::Complete);
        assert_eq!(
            checked_of(None, Some(0), (true, vec![]), 0.0, 0),
            Coverage::Partial,
            "also where amounts are not followed"
        );
        assert_eq!(checked_of(None, Some(0), (false, vec![]), 0.0, 0), Coverage::Complete);
        let mut sums = Sums::default();
        sums.add(&Move::gain(Side::Supply, Address::ZERO, U256::ZERO));
        assert_eq!(
            checked_of(Some(sums), Some(0), (true, vec![]), 0.0, 0),
            Coverage::Complete,
            "a transfer of nothing leaves a trace"
        );
    }

    #[test]
    fn a_balance_that_changed_has_a_log() {
        let mut sums = Sums::default();
        sums.add(&Move::gain(Side::Supply, Address::ZERO, U256::from(1_000)));
        let of = |side| checked_of(Some(sums.clone()), Some(1_000), (true, vec![(side, Address::ZERO.into())]), 0.0, 0);
        assert_eq!(of(Side::Supply), Coverage::Complete);
        assert_eq!(of(Side::Debt), Coverage::Partial, "a loan from its beginning to its end is missing");
    }

    #[test]
    fn without_sums_a_debt_without_a_borrowing_is_partial() {
        assert_eq!(checked(None, Some(5), 5.0, 0), Coverage::Partial);
        assert_eq!(checked(Some(Sums::default()), None, 5.0, 0), Coverage::Partial);
        assert_eq!(checked(None, None, 5.0, 1), Coverage::Complete);
        assert_eq!(checked(None, None, 0.0, 0), Coverage::Complete);
    }
}
