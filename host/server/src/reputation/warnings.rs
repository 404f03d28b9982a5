//! Warnings about what stops submissions, each text once a minute however many submissions it stops.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

const AGAIN: Duration = Duration::from_secs(60);
/// Texts that are remembered.
const MOST: usize = 100;

#[derive(Default)]
pub(super) struct Warnings {
    said: Mutex<HashMap<String, Instant>>,
}

impl Warnings {
    /// Whether `what` is to be logged now.
    pub(super) fn is_due(&self, what: &str) -> bool {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.retain(|_, at| at.elapsed() < AGAIN);
        let is_due = said.len() < MOST && !said.contains_key(what);
        if is_due {
            said.insert(what.to_owned(), Instant::now());
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_said_once_and_others_beside_it() {
        let warnings = Warnings::default();
        assert!(warnings.is_due("no gas") && !warnings.is_due("no gas") && warnings.is_due("no IPFS"));
        let said = (0..2 * MOST).filter(|n| warnings.is_due(&n.to_string())).count();
        assert_eq!(said, MOST - 2);
    }
}
