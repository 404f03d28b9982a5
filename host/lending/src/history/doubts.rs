//! Histories that contradict the position, and when each is read again.

use std::time::Duration;

use moka::future::Cache;
use tokio::time::Instant;

use crate::{limits, pauses};
use assay_domain::Address;

/// By wallet and market index.
pub(crate) struct Doubts(Cache<(Address, usize), Doubt>);

/// A history that contradicts the position.
#[derive(Clone, Copy)]
struct Doubt {
    /// How often it was read again.
    times: u32,
    /// Not read again before this time.
    until: Instant,
}

impl Default for Doubts {
    fn default() -> Self {
        Self(Cache::builder().max_capacity(limits::CACHED_DOUBTS).time_to_live(pauses::LONGEST_DOUBT * 2).build())
    }
}

impl Doubts {
    /// Records that the history of `wallet` in the market at `index` is contradicted, and returns whether to read it
    /// again now; `always` skips the pause.
    pub(crate) async fn is_due(&self, wallet: Address, index: usize, always: bool) -> bool {
        let (now, known) = (Instant::now(), self.0.get(&(wallet, index)).await);
        if !always && known.is_some_and(|doubt| now < doubt.until) {
            return false;
        }
        let times = known.map_or(0, |doubt| doubt.times);
        let until = now + if always { Duration::ZERO } else { pause(times) };
        self.0.insert((wallet, index), Doubt { times: times.saturating_add(1), until }).await;
        true
    }

    /// The indexes among the first `markets` in which the history of `wallet` was contradicted recently.
    pub(crate) fn of(&self, wallet: Address, markets: usize) -> Vec<usize> {
        (0..markets).filter(|index| self.0.contains_key(&(wallet, *index))).collect()
    }
}

/// The pause after a history was read again this many times.
fn pause(times: u32) -> Duration {
    pauses::DOUBT.saturating_mul(2_u32.saturating_pow(times)).min(pauses::LONGEST_DOUBT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pause_is_twice_the_one_before_and_at_most_a_day() {
        assert_eq!([0, 1, 2, 7].map(pause), [pauses::DOUBT, pauses::DOUBT * 2, pauses::DOUBT * 4, pauses::DOUBT * 128]);
        assert_eq!([8, 31, 32, u32::MAX].map(pause), [pauses::LONGEST_DOUBT; 4]);
    }

    #[test]
    fn a_history_is_read_again_once_unless_it_always_is() {
        futures::executor::block_on(async {
            let (doubts, wallet) = (Doubts::default(), Address::repeat_byte(1));
            assert!(doubts.of(wallet, 3).is_empty());
            assert!(doubts.is_due(wallet, 2, false).await);
            assert!(!doubts.is_due(wallet, 2, false).await);
            assert!(doubts.is_due(wallet, 2, true).await, "it costs no more than a first read");
            assert!(doubts.is_due(wallet, 1, false).await, "each market has its own doubt");
            assert_eq!((doubts.of(wallet, 3), doubts.of(Address::ZERO, 3)), (vec![1, 2], vec![]));
        });
    }
}
