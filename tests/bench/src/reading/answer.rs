//! What an answer says about a wallet, and whether that is true.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use alloy::primitives::Address;
use assay_tests::{
    proxy::distant::{Distant, Meter},
    service::{Answer, Caller, Service},
};

use super::world::{SHORT_LIVES, World, path};
use crate::Failure;

/// A final word: the score, or that there is none.
pub type Word = Option<u64>;

/// The final word in `answer`; `None` where it says that it may change, or is an error.
pub fn final_word(answer: &Answer) -> Option<Word> {
    match answer.status.as_u16() {
        200 => {
            let body = answer.json();
            (body["provisional"] == false).then(|| body["score"].as_u64())
        }
        404 => Some(None),
        _ => None,
    }
}

/// A server that reads the same chain undisturbed.
pub struct Truth {
    _endpoint: Distant,
    _service: Service,
    api: Caller,
    /// The final words of the wallets that were asked for.
    known: Mutex<HashMap<Address, Option<Word>>>,
}

impl Truth {
    pub async fn of(world: &World) -> Result<Self, Failure> {
        let endpoint = world.endpoint(world.node(), &Meter::default(), |_| {}).await;
        let service = world.serve(&[(1, vec![endpoint.url.clone()])], SHORT_LIVES)?;
        let api = service.keyed();
        Ok(Self { _endpoint: endpoint, _service: service, api, known: Mutex::default() })
    }

    /// Whether `word` is what an undisturbed read says. Scores change with time: where a known one differs, it is read
    /// again.
    pub async fn has(&self, wallet: Address, word: Word) -> bool {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&wallet).copied().flatten();
        if known == Some(word) {
            return true;
        }
        let read = final_word(&self.api.get(&path(wallet)).await);
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(wallet, read);
        read == Some(word)
    }
}
