//! Clients of a server whose endpoints misbehave: some poll until the score is right, many ask at once.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use alloy::primitives::Address;
use assay_tests::service::Caller;
use futures::{StreamExt, future::join_all, stream};
use tokio::time::{Instant, sleep};

use super::{
    answer::{Truth, final_word},
    world::path,
};

/// Time between two polls of a client.
const PAUSE: Duration = Duration::from_secs(1);
/// A client gives up after this time.
const PATIENCE: Duration = Duration::from_secs(60);

/// All clients of one server.
pub struct Crowd<'a> {
    pub api: Caller,
    pub truth: &'a Truth,
    counts: Mutex<Counts>,
}

/// What the answers were.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counts {
    pub answers: usize,
    /// Final, and not true.
    pub wrong: usize,
    /// They say that they may change.
    pub open: usize,
    /// Errors.
    pub failed: usize,
}

/// What it took until the answers about some wallets were right and final.
#[derive(Debug, Clone, Copy)]
pub struct Wait {
    pub polls: usize,
    pub milliseconds: f64,
    pub ended: bool,
}

impl Wait {
    /// `figure`, endless where the client gave up.
    pub fn until_end(&self, figure: f64) -> f64 {
        if self.ended { figure } else { f64::INFINITY }
    }
}

impl<'a> Crowd<'a> {
    pub fn new(api: Caller, truth: &'a Truth) -> Self {
        Self { api, truth, counts: Mutex::default() }
    }

    pub fn counts(&self) -> Counts {
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Polls the scores of all `wallets` side by side. The result is that of the wallet that takes longest.
    pub async fn until_right(&self, wallets: &[Address]) -> Wait {
        let waits = join_all(wallets.iter().map(|wallet| self.poll(*wallet))).await;
        let longest = |one: Wait, other: Wait| Wait {
            polls: one.polls.max(other.polls),
            milliseconds: one.milliseconds.max(other.milliseconds),
            ended: one.ended && other.ended,
        };
        waits.into_iter().reduce(longest).unwrap_or(Wait { polls: 0, milliseconds: 0.0, ended: true })
    }

    async fn poll(&self, wallet: Address) -> Wait {
        let (started, mut polls) = (Instant::now(), 0);
        loop {
            polls += 1;
            let ended = self.ask(wallet).await;
            if ended || started.elapsed() > PATIENCE {
                return Wait { polls, milliseconds: started.elapsed().as_secs_f64() * 1e3, ended };
            }
            sleep(PAUSE).await;
        }
    }

    /// Asks for the scores of `wallets` in turns until there are so many answers, or the time is over.
    pub async fn ask_all(&self, wallets: &[Address], answers: usize, at_once: usize, longest: Duration) {
        let until = Instant::now() + longest;
        let asked = wallets.iter().cycle().take(answers).take_while(|_| Instant::now() < until);
        stream::iter(asked).map(|wallet| self.ask(*wallet)).buffer_unordered(at_once).for_each(async |_| ()).await;
    }

    /// Whether the answer is final and right.
    async fn ask(&self, wallet: Address) -> bool {
        let answer = self.api.get(&path(wallet)).await;
        let (word, status) = (final_word(&answer), answer.status.as_u16());
        let right = match word {
            Some(word) => self.truth.has(wallet, word).await,
            None => false,
        };
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.answers += 1;
        match word {
            Some(_) => counts.wrong += usize::from(!right),
            None if status == 200 => counts.open += 1,
            None => counts.failed += 1,
        }
        right
    }
}
