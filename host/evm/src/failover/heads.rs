//! Compares the newest blocks of the endpoints, to find an endpoint that is behind. A head that is much older than the
//! newest one seen, or ahead of the machine's clock, is requested again, and its endpoint is used last.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use alloy::rpc::json_rpc::{Id, Request, RequestPacket, Response, ResponsePayload};
use futures::future::join_all;
use tokio::time::Instant;

use super::{EndpointAttempt, Failover, Witness};
use crate::{
    endpoint::Readiness,
    fault::Fault,
    pauses,
    request::{Block, BlockHeader},
    single_flight::Outcome,
};

/// The heads that the endpoints of one chain returned.
pub(super) struct SeenHeads {
    max_age: Option<Duration>,
    state: Mutex<HeadState>,
}

struct HeadState {
    /// The last head of each endpoint.
    of: Vec<Option<Block>>,
    /// The newest head seen, by this process or an earlier one.
    newest: Option<Block>,
    /// An early block of the chain.
    early: Option<Block>,
    compared: Option<Instant>,
}

/// How a head compares with the newest one and with the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trust {
    Believed,
    Behind(Block),
    /// Ahead of the machine's clock.
    Ahead,
}

impl SeenHeads {
    pub(super) fn new(endpoints: usize, max_age: Option<Duration>) -> Self {
        Self {
            max_age,
            state: Mutex::new(HeadState { of: vec![None; endpoints], newest: None, early: None, compared: None }),
        }
    }

    /// Whether the last head of the endpoint at `index` is not trusted.
    pub(super) fn is_off(&self, index: usize) -> bool {
        let state = self.state();
        let head = state.of.get(index).copied().flatten();
        head.is_some_and(|head| self.trust(&state, head, now()) != Trust::Believed)
    }

    /// The newest head seen, if `head` is far behind it.
    pub(super) fn newer_than(&self, head: Block) -> Option<Block> {
        match self.trust(&self.state(), head, now()) {
            Trust::Behind(newest) => Some(newest),
            Trust::Believed | Trust::Ahead => None,
        }
    }

    /// Adds the blocks that an earlier process saw.
    fn remember(&self, newest: Block, early: Option<Block>, now: u64) {
        let mut state = self.state();
        self.see(&mut state, newest, now);
        state.early = state.early.or(early);
    }

    fn is_believed(&self, head: Block) -> bool {
        self.trust(&self.state(), head, now()) == Trust::Believed
    }

    /// Records the head of the endpoint at `index`. A block ahead of the clock by more than the bound is never the
    /// newest one, or all others would count as behind.
    fn saw(&self, index: usize, head: Block, now: u64) {
        let mut state = self.state();
        self.see(&mut state, head, now);
        if let Some(own) = state.of.get_mut(index) {
            *own = Some(head);
        }
    }

    fn see(&self, state: &mut HeadState, head: Block, now: u64) {
        if self.trust(state, head, now) == Trust::Believed && state.newest.is_none_or(|newest| newest.time <= head.time)
        {
            state.newest = Some(head);
        }
    }

    fn trust(&self, state: &HeadState, head: Block, now: u64) -> Trust {
        let Some(max_age) = self.max_age.map(|age| age.as_secs()) else { return Trust::Believed };
        match state.newest {
            _ if head.time > now.saturating_add(max_age) => Trust::Ahead,
            // A newest block slightly ahead of the clock is treated as one of this moment.
            Some(newest) if head.time.saturating_add(max_age / 3) < newest.time.min(now) => Trust::Behind(newest),
            _ => Trust::Believed,
        }
    }

    /// The last head of the endpoint at `index`.
    pub(super) fn of(&self, index: usize) -> Option<Block> {
        self.state().of.get(index).copied().flatten()
    }

    fn reaches(&self, index: usize, block: u64) -> bool {
        self.of(index).is_some_and(|head| head.number >= block)
    }

    /// Whether no comparison has completed yet; `None` if none is due.
    fn is_first_comparison(&self) -> Option<bool> {
        match self.state().compared {
            _ if self.max_age.is_none() => None,
            Some(at) if at.elapsed() < pauses::HEAD_COMPARISON => None,
            compared => Some(compared.is_none()),
        }
    }

    fn state(&self) -> MutexGuard<'_, HeadState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Failover {
    /// The newest block. If the endpoint's head is not trusted, other endpoints are asked, and it is asked again; the
    /// result is then the best of their answers.
    pub async fn head(&self) -> Result<Block, Fault> {
        let comparison = self.compare_if_due();
        let mut head = self.ask_head().await?;
        if let Some(comparison) = comparison {
            comparison.await;
        }
        for _ in 0..pauses::HEAD_RETRIES {
            if self.inner.heads.is_believed(head) {
                break;
            }
            if let Ok(other) = self.ask_head().await
                && (self.inner.heads.is_believed(other) || (other.time > head.time && other.time <= now()))
            {
                head = other;
            }
        }
        Ok(head)
    }

    /// The newest head seen, if `head` is far behind it.
    pub fn newer_than(&self, head: Block) -> Option<Block> {
        self.inner.heads.newer_than(head)
    }

    /// Adds the blocks that an earlier process saw: the newest head, and an early block.
    pub fn remember(&self, newest: Block, early: Option<Block>) {
        self.inner.heads.remember(newest, early, now());
    }

    /// The newest head seen.
    pub fn newest(&self) -> Option<Block> {
        self.inner.heads.state().newest
    }

    /// The early block of the chain, if known.
    pub fn early(&self) -> Option<Block> {
        self.inner.heads.state().early
    }

    /// Whether heads are compared with the clock and with each other.
    pub fn compares_heads(&self) -> bool {
        self.inner.heads.max_age.is_some()
    }

    /// Forgets the newest and the early block of a replaced chain.
    pub fn forget_blocks(&self) {
        let mut state = self.inner.heads.state();
        (state.newest, state.early) = (None, None);
    }

    async fn ask_head(&self) -> Result<Block, Fault> {
        let (Witness(index), answer) = self.send_with_witness(latest()?, None).await?;
        self.saw(index, answer)
    }

    /// Checks that the endpoint of `attempt` has `block`. If it is the only endpoint, no other head is known.
    pub(super) async fn check_reach(&self, attempt: &EndpointAttempt<'_>, block: u64) -> Result<(), Fault> {
        let heads = &self.inner.heads;
        if self.inner.endpoints.len() == 1 || heads.reaches(attempt.index, block) {
            return Ok(());
        }
        self.ask_head_of(attempt).await?;
        if heads.reaches(attempt.index, block) { Ok(()) } else { Err(Fault::UnknownBlock) }
    }

    /// Requests the heads of all endpoints, if it is time. Callers must wait for the first comparison.
    fn compare_if_due(&self) -> Option<Outcome<()>> {
        if self.left_out.is_some() || self.inner.endpoints.len() == 1 {
            return None;
        }
        let is_first = self.inner.heads.is_first_comparison()?;
        let this = self.clone();
        let work = self.inner.comparison.join((), || (async move { this.compare().await }, ()));
        if !work.joined {
            assay_tasks::spawn("heads", work.outcome.clone());
        }
        is_first.then_some(work.outcome)
    }

    /// Asks the ready endpoints, except the first one, which the reader asks.
    async fn compare(&self) {
        let (attempts, _) = self.attempts();
        let ready = attempts.into_iter().skip(1).filter(|attempt| attempt.endpoint.readiness() == Readiness::Ready);
        let asked = ready.map(|attempt| async move {
            let once = EndpointAttempt { retries: 0, patience: pauses::HEAD_COMPARISON, ..attempt };
            _ = self.ask_head_of(&once).await;
        });
        join_all(asked).await;
        self.inner.heads.state().compared = Some(Instant::now());
    }

    async fn ask_head_of(&self, attempt: &EndpointAttempt<'_>) -> Result<Block, Fault> {
        let answer = self.ask_recorded(attempt, &Arc::new(latest()?)).await?;
        self.saw(attempt.index, answer)
    }

    fn saw(&self, index: usize, answer: Response<Option<BlockHeader>>) -> Result<Block, Fault> {
        let header = match answer.payload {
            ResponsePayload::Success(Some(header)) => header,
            ResponsePayload::Success(None) => return Err(Fault::Malformed("no latest block".into())),
            ResponsePayload::Failure(error) => return Err(Fault::of("eth_getBlockByNumber", &error)),
        };
        let parent = header.parent();
        let head = Block::from(header);
        if let Some(parent) = parent {
            self.inner.canon.link(head, parent);
        }
        let was_off = self.inner.heads.is_off(index);
        self.inner.heads.saw(index, head, now());
        if !was_off
            && self.inner.heads.is_off(index)
            && let Some(endpoint) = self.inner.endpoints.get(index)
        {
            let (chain, endpoint, newest) = (&self.inner.chain, endpoint.host(), self.newer_than(head));
            tracing::warn!(
                chain,
                endpoint,
                head = head.number,
                newest = newest.map(|newest| newest.number),
                "endpoint's newest block is far behind the newest one seen, or ahead of the clock; it is asked last"
            );
        }
        Ok(head)
    }
}

fn latest() -> Result<RequestPacket, Fault> {
    let request = Request::new("eth_getBlockByNumber", Id::Number(0), ("latest", false)).serialize();
    request.map(RequestPacket::from).map_err(|error| Fault::Malformed(error.to_string()))
}

/// Unix seconds by the machine's clock.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map(|since| since.as_secs()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_domain::B256;

    const NOW: u64 = 1_700_000_000;

    fn block(number: u64, time: u64) -> Block {
        Block { number, hash: B256::ZERO, time }
    }

    fn heads(max_age: u64) -> SeenHeads {
        SeenHeads::new(2, Some(max_age).filter(|age| *age > 0).map(Duration::from_secs))
    }

    fn trust(heads: &SeenHeads, head: Block) -> Trust {
        heads.trust(&heads.state(), head, NOW)
    }

    #[test]
    fn a_head_more_than_a_third_of_the_bound_behind_the_newest_is_behind() {
        let heads = heads(180);
        heads.saw(1, block(100, NOW - 10), NOW);
        assert_eq!(trust(&heads, block(95, NOW - 70)), Trust::Believed);
        assert_eq!(trust(&heads, block(94, NOW - 71)), Trust::Behind(block(100, NOW - 10)));
        heads.saw(0, block(50, NOW - 600), NOW);
        assert_eq!(trust(&heads, block(50, NOW - 600)), Trust::Behind(block(100, NOW - 10)), "it stays the newest");
        heads.saw(0, block(101, NOW), NOW);
        assert_eq!(heads.state().newest, Some(block(101, NOW)));
    }

    #[test]
    fn a_block_of_the_future_is_not_believed_and_puts_no_other_behind() {
        let heads = heads(180);
        heads.saw(0, block(9_999, NOW + 181), NOW);
        assert_eq!(trust(&heads, block(9_999, NOW + 181)), Trust::Ahead);
        assert_eq!(trust(&heads, block(100, NOW - 10)), Trust::Believed);
        assert_eq!(heads.state().newest, None);
        // One that is ahead by less is believed.
        heads.saw(0, block(9_999, NOW + 150), NOW);
        assert_eq!(trust(&heads, block(100, NOW - 10)), Trust::Believed);
        assert_eq!(trust(&heads, block(90, NOW - 90)), Trust::Behind(block(9_999, NOW + 150)));
    }

    #[test]
    fn without_a_bound_every_head_is_believed() {
        let heads = heads(0);
        heads.saw(0, block(100, NOW), NOW);
        for head in [block(1, 1), block(200, NOW + 1_000_000)] {
            assert_eq!(trust(&heads, head), Trust::Believed);
        }
        assert_eq!(heads.is_first_comparison(), None);
    }

    #[test]
    fn an_endpoint_reaches_the_blocks_up_to_its_head() {
        let heads = heads(0);
        assert!(!heads.reaches(0, 1), "nothing is known");
        heads.saw(0, block(100, NOW), NOW);
        assert!(heads.reaches(0, 100) && !heads.reaches(0, 101) && !heads.reaches(1, 1));
    }
}
