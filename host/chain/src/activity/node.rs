//! The activity of an address from the node alone: its nonce at the head, and the times of the first and the last
//! transaction, found by a search in old state. Dates that are not found by the deadline are reported as unread, and
//! the search continues.

use futures::FutureExt;
use tokio::{
    sync::oneshot,
    time::{Instant, timeout_at},
};
use tokio_util::sync::CancellationToken;

use super::{
    account::{Account, Accounts, Answers},
    search::{
        Dated, Goal, Hopeless, KnownNonces, Point, Scout, Search, SearchEnd, SearchJob, SearchMethod, SearchStart,
        Searches,
    },
};
use assay_domain::{Activity, Address, ChainId, Part, Seen, Unread};
use assay_evm::{
    client::{Anchors, Block, Client},
    fault::Fault,
};
use assay_lending::Rest;
use assay_store::Store;
use assay_tasks::Tracker;

/// Seconds between two blocks within which a transaction gets an estimated date.
const DAY: u64 = 86_400;

/// Reads activity on one chain.
pub(crate) struct ActivityReader {
    accounts: Accounts,
    searches: Searches,
}

/// What earlier reads learned of a wallet, or else the first round of its search.
pub(crate) struct StoredSearch {
    pub known: Option<KnownNonces>,
    scout: Option<Scout>,
}

/// The input of a read of one wallet.
pub(crate) struct ActivityQuestion {
    pub wallet: Address,
    pub head: Block,
    /// From [`ask`](ActivityReader::ask), with the blocks by which what is known is checked.
    pub answers: Answers,
    /// The number of transactions sent that an explorer lists, if it lists all of them. A complete list needs no
    /// search.
    pub listed: Option<oneshot::Receiver<Option<u64>>>,
    pub goal: Goal,
    pub deadline: Instant,
}

/// A wallet's activity, as the node reports it.
#[derive(Debug, Clone, Default)]
pub(crate) struct NodeActivity {
    pub activity: Activity,
    pub unread: Vec<Unread>,
    /// The nonce of an account with code also counts contracts that it created and authorizations (EIP-7702).
    pub has_code: bool,
}

/// Why a transaction is not found.
#[derive(Debug, Clone, Copy)]
enum OpenSearch {
    Searched,
    Broken,
    Refused,
    Missing,
    Contradicted,
}

impl StoredSearch {
    /// Without a first round.
    pub(crate) fn of(known: Option<KnownNonces>) -> Self {
        Self { known, scout: None }
    }
}

impl NodeActivity {
    /// Of an endpoint that failed.
    pub(crate) fn failed(fault: &Fault) -> Self {
        unread(&fault.reason())
    }

    /// Of an endpoint that takes too long.
    pub(crate) fn late() -> Self {
        unread("the endpoint did not answer in time; ask again shortly")
    }
}

impl ActivityReader {
    pub(crate) fn new(
        chain: ChainId,
        client: Client,
        store: Store,
        method: SearchMethod,
        tasks: Tracker,
        stop: CancellationToken,
    ) -> Self {
        let accounts = Accounts::new(client.clone());
        Self { accounts, searches: Searches::new(chain, client, store, method, tasks, stop) }
    }

    /// Asks for the account of `wallet` after `head`, and for the blocks at the numbers of `anchors`.
    pub(crate) fn ask(&self, wallet: Address, head: Block, anchors: Anchors) -> Answers {
        self.accounts.ask(wallet, head, anchors)
    }

    /// What earlier reads know of `wallet`. If that is nothing, its search begins over the blocks up to `top`.
    pub(crate) async fn stored(&self, wallet: Address, top: Option<u64>) -> StoredSearch {
        let known = self.searches.known(wallet).await;
        let scout = top.filter(|_| known.is_none()).and_then(|top| self.searches.scout(wallet, top));
        StoredSearch { known, scout }
    }

    /// Transactions sent by a wallet up to the head, with the times of the first and the last as far as they are found
    /// by the deadline; and the rest of the search if it goes on.
    pub(crate) async fn read(&self, sent: StoredSearch, question: ActivityQuestion) -> (NodeActivity, Option<Rest>) {
        let ActivityQuestion { wallet, head, answers, listed, goal, deadline } = question;
        let StoredSearch { known, scout } = sent;
        let start = |search, scout| SearchStart { wallet, head, answers: answers.clone(), search, goal, scout };
        let job = match scout {
            Some(scout) => self.searches.join(start(Search::default(), Some(scout))),
            None => None,
        };
        let asked = answers.clone().map(|answered| answered.and_then(|answered| answered.whole()));
        let (account, blocks) = match timeout_at(deadline, asked).await {
            Ok(Ok(whole)) => whole,
            Ok(Err(fault)) => {
                tracing::warn!(chain = self.searches.chain(), %fault, "activity cannot be read");
                return (NodeActivity::failed(&fault), None);
            }
            Err(_) => {
                let rest = job.map(|job| job.outcome.map(drop).boxed());
                return (NodeActivity::late(), rest);
            }
        };
        let Some(nonce) = account.sent() else { return (without_transactions(&account), None) };
        let top = Point { block: head.number, nonce };
        let search = known.unwrap_or_default().verified(&blocks);
        if search.is_over(top, goal) {
            return (found(&account, &search, top, goal, OpenSearch::Searched), None);
        }
        if let Some(why) = self.searches.hopeless(wallet, nonce).await {
            return (found(&account, &search, top, goal, why.into()), None);
        }
        // Waits for an explorer at most a quarter of the time.
        let patience = deadline - deadline.saturating_duration_since(Instant::now()) * 3 / 4;
        if timeout_at(patience, is_listed(listed, &account)).await == Ok(true) {
            return (counted(&account, nonce), None);
        }
        let (search, open, rest) = self.search(job, search, |search| start(search, None), (top, goal), deadline).await;
        (found(&account, &search, top, goal, open), rest)
    }

    /// What `job`, or else one that starts with `search`, finds by `deadline`.
    async fn search(
        &self,
        mut job: Option<SearchJob>,
        mut search: Search,
        start: impl Fn(Search) -> SearchStart,
        (top, goal): (Point, Goal),
        deadline: Instant,
    ) -> (Search, OpenSearch, Option<Rest>) {
        loop {
            let Some(job) = job.take().or_else(|| self.searches.join(start(search.clone()))) else {
                return (search, OpenSearch::Refused, None);
            };
            let joined = job.joined;
            let (learned, open, rest) = ended(job, deadline).await;
            // The job of an earlier read may search for an earlier transaction, or only to the day.
            if !joined || rest.is_some() || learned.is_over(top, goal) || !matches!(open, OpenSearch::Searched) {
                return (learned, open, rest);
            }
            search = learned;
        }
    }
}

/// What `job` has learned by `deadline`.
async fn ended(job: SearchJob, deadline: Instant) -> (Search, OpenSearch, Option<Rest>) {
    let end = timeout_at(deadline, job.outcome.clone()).await;
    let (open, rest) = match end {
        Ok(SearchEnd::Over) => (OpenSearch::Searched, None),
        Ok(SearchEnd::Broken) => (OpenSearch::Broken, None),
        Ok(SearchEnd::Contradicted) => (OpenSearch::Contradicted, None),
        Err(_) => (OpenSearch::Searched, Some(job.outcome.map(drop).boxed())),
    };
    let search = job.state.borrow().clone();
    (search, open, rest)
}

/// Whether an explorer lists all transactions.
async fn is_listed(listed: Option<oneshot::Receiver<Option<u64>>>, account: &Account) -> bool {
    let Some(listed) = listed else { return false };
    listed.await.ok().flatten().is_some_and(|sent| account.has_code || sent == account.nonce)
}

/// The activity if the number of transactions is unread.
fn unread(reason: &str) -> NodeActivity {
    NodeActivity { unread: vec![Unread::new(Part::Transactions, reason)], ..NodeActivity::default() }
}

fn without_transactions(account: &Account) -> NodeActivity {
    NodeActivity { has_code: account.has_code, ..NodeActivity::default() }
}

/// The activity without dates.
fn counted(account: &Account, transactions: u64) -> NodeActivity {
    NodeActivity { activity: Activity { transactions, ..Activity::default() }, ..without_transactions(account) }
}

/// The activity with the dates that `search` knows; `open` says why it does not know the others.
fn found(account: &Account, search: &Search, top: Point, goal: Goal, open: OpenSearch) -> NodeActivity {
    let dated = [search.dated(1, top), search.dated(top.nonce, top)];
    let by_day = dated.iter().any(|dated| matches!(dated, Dated::On(_)));
    let [first, last] = dated;
    let (first, first_unread) = date(first, Part::FirstTransaction, goal, open);
    let (last, last_unread) = date(last, Part::LastTransaction, goal, open);
    let mut read = counted(account, top.nonce);
    read.activity = Activity { first_transaction: first, last_transaction: last, by_day, ..read.activity };
    read.unread.extend(first_unread.into_iter().chain(last_unread));
    read
}

/// The time of a transaction as far as it is known, and what is unread of it.
fn date(dated: Dated, part: Part, goal: Goal, open: OpenSearch) -> (Option<Seen>, Option<Unread>) {
    let seen = |block: Block| Seen { block: block.number, time: block.moment() };
    let (after, through) = match dated {
        Dated::In(block) => return (Some(seen(block)), None),
        Dated::On(block) => {
            let on = format!(", on {}", day(block));
            let unread = (goal == Goal::Block).then(|| Unread::new(part, open.reason(&on)));
            return (Some(seen(block)), unread);
        }
        Dated::Missing => return (None, Some(Unread::new(part, OpenSearch::Missing.reason("")))),
        Dated::Between(after, through) => (after, through),
    };
    let (mut date, mut between) = (None, String::new());
    if let Some((after, through)) = after.zip(through) {
        date = (through.time.saturating_sub(after.time) < DAY).then(|| seen(through));
        between = format!(", between {} and {}", day(after), day(through));
    }
    (date, Some(Unread::new(part, open.reason(&between))))
}

fn day(block: Block) -> String {
    block.moment().format("%Y-%m-%d").to_string()
}

impl From<Hopeless> for OpenSearch {
    fn from(why: Hopeless) -> Self {
        match why {
            Hopeless::Missing => Self::Missing,
            Hopeless::Contradicted => Self::Contradicted,
        }
    }
}

impl OpenSearch {
    fn reason(self, between: &str) -> String {
        match self {
            Self::Searched => format!("being searched{between}; ask again shortly"),
            Self::Broken => format!("the endpoint failed during the search{between}; ask again shortly"),
            Self::Refused => "too many searches are running; ask again shortly".into(),
            Self::Missing => {
                "the endpoint keeps no state of that age; configure an archive endpoint or an explorer".into()
            }
            Self::Contradicted => "the endpoint answers for another block than the one asked for; configure another \
                                   endpoint or an explorer"
                .into(),
        }
    }
}
