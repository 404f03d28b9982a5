//! Sequencer uptime feeds of rollups: whether prices on the chain are believed. While the sequencer is down no feed can
//! be updated, and right after it comes back feeds lag behind the market.

use super::feed::latestRoundDataReturn;
use crate::tolerances;
use assay_domain::U256;

/// The state of a sequencer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sequencer {
    Up,
    /// Up, but for no longer than one hour.
    JustUp,
    Down,
    /// The feed was never written, or answers something else.
    Unknown,
}

/// The state by a round of an uptime feed at `now`: the answer is 0 for up and 1 for down, and the round started when
/// that state began.
pub fn sequencer_state(round: &latestRoundDataReturn, now: u64) -> Sequencer {
    let Some(since) = u64::try_from(round.startedAt).ok().filter(|since| *since > 0) else { return Sequencer::Unknown };
    match round.answer.into_raw() {
        U256::ZERO if now.saturating_sub(since) > tolerances::SEQUENCER_GRACE => Sequencer::Up,
        U256::ZERO => Sequencer::JustUp,
        U256::ONE => Sequencer::Down,
        _ => Sequencer::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use alloy::primitives::I256;

    use super::*;

    #[test]
    fn up_means_up_for_more_than_the_grace() {
        let now = 1_000_000;
        let round = |answer: i64, since: u64| latestRoundDataReturn {
            roundId: Default::default(),
            answer: I256::try_from(answer).unwrap(),
            startedAt: U256::from(since),
            updatedAt: U256::from(now),
            answeredInRound: Default::default(),
        };
        for (answer, since, expected) in [
            (0, now - tolerances::SEQUENCER_GRACE - 1, Sequencer::Up),
            (0, now - tolerances::SEQUENCER_GRACE, Sequencer::JustUp),
            (0, now + 10, Sequencer::JustUp),
            (1, now - 10 * tolerances::SEQUENCER_GRACE, Sequencer::Down),
            (0, 0, Sequencer::Unknown),
            (2, 1, Sequencer::Unknown),
            (-1, 1, Sequencer::Unknown),
        ] {
            assert_eq!(sequencer_state(&round(answer, since), now), expected, "{answer} since {since}");
        }
    }
}
