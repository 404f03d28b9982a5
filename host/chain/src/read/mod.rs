//! One chain's part of a snapshot. A read loads what earlier reads stored while it requests the head, and begins the
//! search for the first transaction of a new wallet; [`plan`] lists the requests that the histories share; [`rounds`]
//! requests everything in the state after the head; [`assemble`] makes the snapshot from the answers; [`clock`] checks
//! whether the head is old.

mod ahead;
mod assemble;
mod batch;
mod clock;
mod discover;
mod exact;
mod health;
mod moment;
mod parts;
mod plan;
mod rounds;
mod seen;
mod setup;
mod unread;

use std::sync::{Arc, OnceLock};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch},
    time::{Instant, timeout_at},
};

use crate::{
    activity::{self, ActivityReader, Goal, StoredSearch, records::ActivityProgress},
    config::ChainConfig,
    limits,
    prices::{PriceReader, Pricing},
};
use ahead::Ahead;
use assay_domain::{Address, ChainId, ChainSnapshot, Coverage, ReadBlock};
use assay_evm::{
    client::{Block, Client, Sharing},
    fault::Fault,
};
use assay_index::follow::{self, IndexState};
use assay_lending::{Jobs, Reader, Rest};
use assemble::SnapshotParts;
use batch::BatchChain;
pub(crate) use batch::WalletBatch;
pub use clock::CLOCK_SUSPECTED;
pub(crate) use clock::ChainClock;
use clock::HeadDoubt;
use discover::Discovery;
use health::ChainHealth;
pub use health::{ChainOverview, ChainStatus, NO_OLD_STATE, old_state};
pub use moment::MomentError;
use seen::NewestHead;
pub(super) use setup::ChainSetup;

/// One configured chain.
pub(super) struct Chain {
    config: ChainConfig,
    client: Client,
    prices: PriceReader,
    activity: ActivityReader,
    /// How exactly a read dates transactions.
    goal: Goal,
    discovery: Option<Discovery>,
    lending: Jobs,
    index: Arc<follow::FollowState>,
    health: ChainHealth,
    clock: Arc<ChainClock>,
    seen: NewestHead,
    ahead: Ahead,
    /// The block in the past at which the chain is read instead of its head, and that of the prices.
    past: OnceLock<(Block, Block)>,
    permits: Arc<Semaphore>,
}

/// The permit to read state, which the reads of a batch share; `None` if the server stops.
type ReadPermit = Option<Arc<OwnedSemaphorePermit>>;

/// The permit of a read, and what makes it share requests; a batch has the latter for its reads.
type Turn = (ReadPermit, Option<Sharing>);

type ReadStart = (Turn, Result<Block, Fault>, StoredRead);

/// What earlier reads of a wallet stored.
struct StoredRead {
    lending: assay_lending::StoredHistory,
    /// The search for the first and the last transaction.
    sent: StoredSearch,
    /// What the source has listed and settled.
    listed: ActivityProgress,
}

impl Chain {
    pub(super) fn new(config: &ChainConfig, setup: &ChainSetup<'_>) -> Self {
        let client = Client::new(setup.http, &config.endpoints(), &setup.reading.rpc);
        let index = follow::FollowState::new(config.id);
        Self {
            discovery: setup.discovery(config, &client),
            lending: setup.lending(config, &client, &index),
            prices: PriceReader::new(config, setup.external),
            activity: setup.activity(config, &client),
            goal: setup.goal(),
            index,
            health: ChainHealth::default(),
            clock: setup.clock.clone(),
            seen: NewestHead::new(config.id, setup.store.clone(), setup.tasks.clone()),
            ahead: Ahead::default(),
            past: OnceLock::new(),
            permits: Arc::new(Semaphore::new(limits::READS as usize)),
            config: config.clone(),
            client,
        }
    }

    pub(super) fn id(&self) -> ChainId {
        self.config.id
    }

    /// How far the index of the chain is.
    pub(super) fn index(&self) -> watch::Receiver<IndexState> {
        self.index.watch()
    }

    /// The client of the chain.
    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// The reader of lending histories.
    pub(super) fn lending(&self) -> &Reader {
        self.lending.reader()
    }

    /// The dollar price of the native currency, by its feed.
    pub(super) async fn native_price(&self) -> Option<f64> {
        self.prices.native(&self.client).await
    }

    pub(super) async fn permit(&self) -> ReadPermit {
        self.permits.clone().acquire_many_owned(permits_of_one(self.client.rate())).await.ok().map(Arc::new)
    }

    /// Whether so many wallets are read at once that their reads share requests.
    fn is_crowded(&self) -> bool {
        let reading = (limits::READS as usize).saturating_sub(self.permits.available_permits());
        reading / permits_of_one(self.client.rate()) as usize >= limits::CROWD
    }

    /// Whether the endpoint's known rate limit can explain why a read of `snapshot` ended late.
    pub(super) fn is_late(&self, snapshot: &ChainSnapshot) -> bool {
        snapshot.chain_id == self.config.id && snapshot.coverage == Coverage::Pending && self.client.is_paced()
    }

    /// Reads `wallet`, alone or with the others of `batch`. Parts that are not read by `deadline` are marked in the
    /// coverage; the rest is the read that continues after it. `head_sender` gets the block that the snapshot is of.
    pub(super) async fn read(
        &self,
        wallet: Address,
        deadline: Instant,
        head_sender: oneshot::Sender<Block>,
        batch: Option<&BatchChain>,
    ) -> (ChainSnapshot, Option<Rest>) {
        self.index.asked_for(wallet);
        let ((permit, _sharing), head, stored) = match timeout_at(deadline, self.start(wallet, batch)).await {
            Ok((turn, Ok(head), stored)) => (turn, head, stored),
            Ok((_, Err(fault), _)) => {
                let unread = vec![unread::failed(&fault)];
                return (ChainSnapshot { unread, ..self.failed() }, None);
            }
            Err(_) if self.health.is_up() => return (assemble::pending(&self.config), None),
            Err(_) => return (self.failed(), None),
        };
        // The receiver may be gone.
        let _ = head_sender.send(head);
        let (answered, rest) = self.ask(wallet, stored, head, deadline, permit).await;
        let (account, quotes) = match answered.state {
            Ok(Ok(state)) => state,
            Ok(Err(fault)) => {
                tracing::warn!(chain = self.config.id, %fault, "balances and positions cannot be read");
                return (assemble::without_state(&self.config, answered.lending.into_histories(), Some(&fault)), rest);
            }
            Err(_) => return (assemble::without_state(&self.config, answered.lending.into_histories(), None), rest),
        };
        let (lending, discovered) = (answered.lending, answered.discovered);
        let listed = discovered.as_ref().map(|discovered| &discovered.listed);
        let (activity, activity_unread) = activity::combined(answered.activity, listed);
        let parts = SnapshotParts { account, lending, quotes, activity, activity_unread, discovered };
        let (mut snapshot, markets) = assemble::snapshot(&self.config, head, parts);
        if let Some(doubt) = self.doubt(head) {
            assemble::doubt(&mut snapshot, doubt.unread(head, self.clock.is_suspected()));
        }
        self.lending.doubt(wallet, &markets).await;
        (snapshot, rest)
    }

    /// The turn of a single read, the block to read at, and the stored progress.
    async fn start(&self, wallet: Address, batch: Option<&BatchChain>) -> ReadStart {
        let Some(batch) = batch else {
            let permit = self.permit().await;
            let sharing = self.is_crowded().then(|| self.client.share());
            let head = async {
                match self.ahead.take() {
                    Some(head) => Ok(head),
                    None => self.head().await,
                }
            };
            let (head, stored) = tokio::join!(head, self.stored(wallet));
            return ((permit, sharing), head, stored);
        };
        let ((permit, head), stored) = tokio::join!(batch.start(self), self.stored(wallet));
        ((permit, None), head, stored)
    }

    async fn stored(&self, wallet: Address) -> StoredRead {
        let listed = async {
            match &self.discovery {
                Some(discovery) => discovery.histories.stored(wallet).await,
                None => ActivityProgress::default(),
            }
        };
        // An explorer's list may make the search needless.
        let top = self.health.head().filter(|_| !self.has_list());
        let (lending, sent, listed) =
            tokio::join!(self.lending.stored(wallet), self.activity.stored(wallet, top), listed);
        StoredRead { lending, sent, listed }
    }

    /// Requests the head, and looks up the markets' terms if that is due, to spare reads.
    pub(super) async fn refresh(&self) {
        if let Ok(head) = self.watch().await
            && let Err(fault) = self.lending.refresh_terms(head).await
        {
            tracing::warn!(chain = self.config.id, %fault, "lending markets cannot be looked up");
        }
    }

    /// Requests the head and, until it is known, whether the endpoint keeps old state.
    pub(super) async fn watch(&self) -> Result<Block, Fault> {
        let head = self.head().await?;
        self.seen.look_up_early(&self.client, head).await;
        if !self.has_list() {
            self.health.look_for_old_state(&self.config, &self.client).await;
        }
        Ok(head)
    }

    /// Requests the head for a read that begins shortly.
    pub(super) async fn ask_ahead(&self) {
        if let Ok(head) = self.head().await {
            self.ahead.put(head);
        }
    }

    /// Reads the chain as it was before `moment`, in Unix seconds, from now on.
    ///
    /// # Errors
    /// [`MomentError`] if the chain has no block before it, or none after it yet.
    pub(super) async fn go_back(&self, moment: u64) -> Result<Block, MomentError> {
        let block = moment::last_before(&self.client, self.config.id, moment).await?;
        self.index.end_at(block);
        Ok(self.past.get_or_init(|| (block, block)).0)
    }

    /// Reads the chain as it was after the block `read`, with the prices of the block `priced`, from now on.
    ///
    /// # Errors
    /// [`MomentError`] if the chain does not have these blocks.
    pub(super) async fn go_to(&self, read: ReadBlock, priced: ReadBlock) -> Result<(), MomentError> {
        let (read, priced) =
            tokio::try_join!(moment::exactly(&self.client, read), moment::exactly(&self.client, priced))?;
        self.index.end_at(read);
        self.past.get_or_init(|| (read, priced));
        Ok(())
    }

    /// The block to read at: the newest one, or that in the past. The answer is recorded in the status.
    pub(super) async fn head(&self) -> Result<Block, Fault> {
        if let Some((past, _)) = self.past.get() {
            return Ok(*past);
        }
        self.seen.load(&self.client).await;
        let head = self.client.head().await;
        self.seen.keep(&self.client);
        let doubt = head.as_ref().ok().and_then(|head| self.doubt(*head));
        if head.is_ok() && self.config.max_head_age.is_some() {
            self.clock.observe(self.config.id, doubt);
        }
        self.health.record(&self.config, &self.client, &head, doubt);
        head
    }

    /// Why `head` is not believed to be the newest block.
    fn doubt(&self, head: Block) -> Option<HeadDoubt> {
        let bound = self.config.max_head_age.filter(|_| self.past.get().is_none())?;
        HeadDoubt::of(head, now(), bound, self.client.newer_than(head))
    }

    /// How prices in the state after `head` are read.
    fn pricing(&self, head: Block) -> Pricing {
        if let Some((_, priced)) = self.past.get() {
            return Pricing { at: *priced, now: priced.time, is_doubted: false };
        }
        let by_clock = self.config.max_head_age.is_some() && !self.clock.is_suspected();
        let now = if by_clock { head.time.max(now()) } else { head.time };
        Pricing { at: head, now, is_doubted: self.doubt(head).is_some() }
    }

    pub(super) fn status(&self) -> ChainStatus {
        let status = self.health.status(&self.config, self.client.endpoint());
        // One warning of a wrong clock is enough.
        let told = status.doubt.filter(|doubt| !(doubt.is_of_clock() && self.clock.is_suspected()));
        ChainStatus { doubt: told, ..status }
    }

    /// The snapshot of a chain that could not be read.
    pub(super) fn failed(&self) -> ChainSnapshot {
        assemble::failed(&self.config)
    }
}

/// The permits that one read takes of [`limits::READS`] at an endpoint with this rate.
fn permits_of_one(rate: Option<f64>) -> u32 {
    let at_once = rate.map_or(f64::INFINITY, |rate| rate / limits::RATE_PER_READ).clamp(1.0, f64::from(limits::READS));
    (f64::from(limits::READS) / at_once).ceil() as u32
}

/// Unix seconds by the machine's clock.
pub(super) fn now() -> u64 {
    u64::try_from(chrono::Utc::now().timestamp()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slower_an_endpoint_the_fewer_reads_at_once() {
        let at_once = |rate| limits::READS / permits_of_one(rate);
        assert_eq!(
            [None, Some(1_000.0), Some(100.0), Some(20.0), Some(10.0), Some(0.5)].map(at_once),
            [32, 32, 8, 2, 1, 1]
        );
    }
}
