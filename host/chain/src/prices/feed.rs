//! Chainlink feeds: which rounds are a price, and for how long. The configuration assigns feeds to assets.

use alloy::{primitives::Bytes, sol};

use crate::tolerances;
use assay_domain::Address;
use assay_evm::call::{Call, returned};

sol! {
    #[derive(Debug)]
    function latestRoundData() external view returns (uint80 roundId, int256 answer, uint256 startedAt,
        uint256 updatedAt, uint80 answeredInRound);
    function decimals() external view returns (uint8 places);
}

/// Feeds against the dollar have 8 decimals, others 18; a contract with more is no feed.
const MAX_DECIMALS: u8 = 18;

/// A feed against the dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Feed {
    pub address: Address,
    /// Longest time between two rounds, in seconds.
    pub heartbeat: u64,
}

impl Feed {
    pub(super) fn ask(&self) -> [Call; 2] {
        [Call::new(self.address, &latestRoundDataCall {}), Call::new(self.address, &decimalsCall {})]
    }

    /// The price in the next `answers`, those to [`ask`](Self::ask), and the time of its round in Unix seconds.
    pub(super) fn price<'a>(
        &self,
        answers: &mut impl Iterator<Item = &'a Option<Bytes>>,
        now: u64,
    ) -> Option<(f64, u64)> {
        let (round, places) =
            (returned::<latestRoundDataCall>(answers.next()), returned::<decimalsCall>(answers.next()));
        let round = round?;
        Some((price(&round, places?, self.heartbeat, now)?, u64::try_from(round.updatedAt).ok()?))
    }
}

/// Age in seconds above which a feed with this heartbeat is stale. The added fifth is for rounds that are mined late.
pub fn stale_after(heartbeat: u64) -> u64 {
    heartbeat.saturating_add(heartbeat / 5)
}

/// Dollars for one whole token, if the round has a price and is fresh at `now`: the later of the chain's head and the
/// machine's clock, for a chain that is compared with the clock.
fn price(round: &latestRoundDataReturn, places: u8, heartbeat: u64, now: u64) -> Option<f64> {
    let answer = Some(round.answer).filter(|answer| answer.is_positive())?;
    let updated = u64::try_from(round.updatedAt)
        .ok()
        .filter(|updated| *updated > 0 && *updated <= now.saturating_add(tolerances::FEED_AHEAD))?;
    let fresh = now.saturating_sub(updated) <= stale_after(heartbeat);
    (fresh && places <= MAX_DECIMALS).then(|| f64::from(answer.into_raw()) / 10f64.powi(i32::from(places)))
}

#[cfg(test)]
mod tests {
    use alloy::primitives::I256;

    use super::*;
    use assay_domain::U256;

    const NOW: u64 = 1_000_000;
    const HOUR: u64 = 3_600;

    fn at(answer: i64, updated: u64) -> Option<f64> {
        priced(answer, updated, 8, HOUR)
    }

    fn priced(answer: i64, updated: u64, places: u8, heartbeat: u64) -> Option<f64> {
        let round = latestRoundDataReturn {
            roundId: Default::default(),
            answer: I256::try_from(answer).unwrap(),
            startedAt: U256::ZERO,
            updatedAt: U256::from(updated),
            answeredInRound: Default::default(),
        };
        price(&round, places, heartbeat, NOW)
    }

    #[test]
    fn only_a_fresh_positive_answer_is_a_price() {
        assert_eq!(at(250_000_000_000, NOW - 60), Some(2_500.0));
        for bad in [at(0, NOW), at(-1, NOW), at(5, 0)] {
            assert_eq!(bad, None);
        }
    }

    #[test]
    fn a_round_is_fresh_for_its_heartbeat_and_a_fifth() {
        assert!(at(5, NOW - 4_320).is_some() && at(5, NOW - 4_321).is_none());
        let daily = |age| priced(5, NOW - age, 8, 86_400);
        assert!(daily(4_321).is_some() && daily(103_680).is_some() && daily(103_681).is_none());
        assert_eq!(stale_after(u64::MAX), u64::MAX);
    }

    #[test]
    fn a_round_of_the_future_and_unheard_of_decimals_are_refused() {
        assert!(at(5, NOW + tolerances::FEED_AHEAD).is_some() && at(5, NOW + tolerances::FEED_AHEAD + 1).is_none());
        assert!(priced(5, NOW, 18, HOUR).is_some() && priced(5, NOW, 19, HOUR).is_none());
    }
}
