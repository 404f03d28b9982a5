//! A limit of one request that an endpoint revealed, such as the blocks of a log query. It is tried again: an endpoint
//! that refuses once, or whose words were misread, must not be asked for little ever after.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Answers at the limit before twice as much is tried; doubled after every refused attempt. A limit that the endpoint
/// names starts at the maximum.
const ANSWERS: u32 = 8;
const MAX_ANSWERS: u32 = 1_024;

/// The limit: `unlimited`, until the endpoint reveals a lower one.
pub struct Learned {
    /// Without a limit of the endpoint.
    unlimited: u64,
    state: Mutex<LearnedState>,
}

struct LearnedState {
    most: u64,
    /// Answers at `most`.
    answers: u32,
    /// Answers that a wider attempt needs.
    needed: u32,
}

impl LearnedState {
    fn of(most: u64) -> Self {
        Self { most, answers: 0, needed: ANSWERS / 2 }
    }
}

impl Learned {
    /// No limit but `unlimited`.
    pub fn up_to(unlimited: u64) -> Self {
        Self { unlimited, state: Mutex::new(LearnedState::of(unlimited)) }
    }

    pub fn get(&self) -> u64 {
        self.state().most
    }

    /// Records that the endpoint refuses more than `most`, which it names if `is_named`. Returns whether that is new.
    pub fn lower(&self, most: u64, is_named: bool) -> bool {
        let (most, mut state) = (most.max(1), self.state());
        let is_lower = most < state.most;
        if is_lower {
            let needed = if is_named { MAX_ANSWERS } else { state.needed.saturating_mul(2).min(MAX_ANSWERS) };
            *state = LearnedState { most, answers: 0, needed };
        }
        is_lower
    }

    /// Forgets the limit, for example because another endpoint is asked now.
    pub fn forget(&self) {
        *self.state() = LearnedState::of(self.unlimited);
    }

    /// Records an answer to a request of `amount`. Returns the limit if it is raised.
    pub fn answered(&self, amount: u64) -> Option<u64> {
        let mut state = self.state();
        if amount < state.most || state.most == self.unlimited {
            return None;
        }
        state.answers += 1;
        if state.answers < state.needed {
            return None;
        }
        state.answers = 0;
        state.most = state.most.saturating_mul(2).min(self.unlimited);
        Some(state.most)
    }

    fn state(&self) -> MutexGuard<'_, LearnedState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests and refusals until `limit` is reached again from above, by an endpoint that refuses more than `real`.
    fn play(limit: &Learned, real: u64, requests: u32) -> u32 {
        let mut refused = 0;
        for _ in 0..requests {
            let amount = limit.get();
            if amount > real {
                refused += 1;
                limit.lower(real, false);
            } else {
                limit.answered(amount);
            }
        }
        refused
    }

    #[test]
    fn a_limit_that_was_misread_is_gone_after_a_while() {
        let limit = Learned::up_to(1_000_000);
        assert!(limit.lower(1, false) && !limit.lower(1, false));
        assert_eq!(play(&limit, u64::MAX, 20 * ANSWERS), 0);
        assert_eq!(limit.get(), 1_000_000);
    }

    #[test]
    fn a_real_limit_costs_few_refusals() {
        let limit = Learned::up_to(u64::MAX);
        assert!(limit.lower(2_000, false));
        assert!(play(&limit, 2_000, 10_000) <= 17, "one in 1,024 answers at the end");
    }

    #[test]
    fn a_limit_that_is_named_is_tried_less() {
        let limit = Learned::up_to(u64::MAX);
        assert!(limit.lower(2_000, true));
        assert_eq!(play(&limit, 2_000, MAX_ANSWERS), 0);
        assert_eq!(play(&limit, 2_000, MAX_ANSWERS), 1);
    }

    #[test]
    fn smaller_requests_raise_nothing() {
        let limit = Learned::up_to(u64::MAX);
        limit.lower(2_000, false);
        assert!((0..10_000).all(|_| limit.answered(1_999).is_none()));
        assert_eq!(limit.get(), 2_000);
    }

    #[test]
    fn without_a_limit_nothing_is_learned_from_answers() {
        let limit = Learned::up_to(100);
        assert!((0..100).all(|_| limit.answered(100).is_none()));
        assert_eq!(limit.get(), 100);
    }
}
