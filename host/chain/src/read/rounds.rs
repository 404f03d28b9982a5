//! The rounds of questions of one read. State, activity, lending history and discovered tokens are read side by side;
//! only then the node's activity is compared with what a source lists.

use futures::{
    FutureExt,
    future::{BoxFuture, Shared},
};
use tokio::time::{Instant, error::Elapsed, timeout_at};

use super::{Chain, Stored, discover::Discovered, plan::Plan};
use crate::{activity, holdings::Account, prices::Quotes};
use assay_domain::{Activity, Address, Part, PoolHistory, Unread};
use assay_evm::{client::Block, fault::Fault};
use assay_lending::{AllSums, AllTerms, Rest, hints};

/// An answer, unless the time was up first.
type Timed<T> = Result<Result<T, Fault>, Elapsed>;
type Terms = Shared<BoxFuture<'static, Result<AllTerms, Fault>>>;

/// The answers that come side by side.
pub(super) struct Answered {
    pub state: Timed<(Account, Quotes)>,
    pub activity: Timed<Activity>,
    pub pools: Vec<PoolHistory>,
    pub sums: AllSums,
    pub discovered: Option<Discovered>,
}

impl Chain {
    /// Asks everything about `wallet` in the state after `head`; `blank` are the markets whose stored history is empty.
    /// The rest is what goes on after `deadline`. `permit` is dropped once state and activity are read: the histories
    /// have limits of their own, and can take long.
    pub(super) async fn ask<P>(
        &self,
        wallet: Address,
        stored: Stored,
        blank: &[bool],
        head: Block,
        deadline: Instant,
        permit: P,
    ) -> (Answered, Option<Rest>) {
        let plan = Plan::new(&self.client, &self.lending, &stored, wallet, head);
        let terms = self.market_terms(head);
        let (known, markets) = (terms.clone(), self.lending.reader().markets.clone());
        let hints = async move { hints(&markets, known.await.ok().as_ref()) }.boxed();
        let own = async {
            let answers = plan.answers.clone();
            let activity = self.activity.read(wallet, stored.activity, &plan.activity_anchors, head, answers);
            let state = self.state(wallet, terms, blank, head);
            let own = tokio::join!(timeout_at(deadline, state), timeout_at(deadline, activity));
            drop(permit);
            own
        };
        let ((state, activity), (pools, sums, history_rest), (discovered, listing_rest)) = tokio::join!(
            own,
            self.lending.history(wallet, stored.lending, hints, plan.lending_blocks(), head, deadline),
            self.discover(wallet, stored.listed, &plan, head, deadline)
        );
        (Answered { state, activity, pools, sums, discovered }, join(history_rest, listing_rest))
    }

    /// The terms of all markets, read once for the readers that need them.
    fn market_terms(&self, head: Block) -> Terms {
        let (book, client, markets) = (self.terms.clone(), self.client.clone(), self.lending.reader().markets.clone());
        async move { book.current(&client, &markets, head.hash).await }.boxed().shared()
    }

    /// Balances, positions and prices. Prices need the markets' oracles; both requests go out together.
    async fn state(
        &self,
        wallet: Address,
        terms: Terms,
        blank: &[bool],
        head: Block,
    ) -> Result<(Account, Quotes), Fault> {
        let terms = terms.await?;
        let oracles = oracles(&terms);
        let quotes: Vec<Address> = terms.iter().flatten().filter_map(|terms| terms.quoted_in()).collect();
        let (account, prices) = tokio::join!(
            Account::read(&self.client, &self.config, &terms, blank, wallet, head),
            self.prices.current(&self.client, &oracles, &quotes, head)
        );
        account.map(|account| (account, prices))
    }

    /// The activity that the node counts with what the source lists, and what is unread of it.
    pub(super) async fn combined_activity(
        &self,
        wallet: Address,
        activity: Timed<Activity>,
        discovered: Option<&Discovered>,
        head: Block,
        deadline: Instant,
    ) -> (Activity, Vec<Unread>) {
        let unread = || vec![Unread::new(Part::Transactions, "not read in time; ask again shortly")];
        let activity = match activity {
            Ok(Ok(activity)) => activity,
            Ok(Err(fault)) => {
                tracing::warn!(chain = self.config.id, %fault, "activity cannot be read");
                return (Activity::default(), unread());
            }
            Err(_) => return (Activity::default(), unread()),
        };
        let Some(discovered) = discovered else { return (activity, Vec::new()) };
        let combined = activity::combined(&self.client, wallet, head, activity.clone(), &discovered.listed);
        match timeout_at(deadline, combined).await {
            Ok((activity, true)) => (activity, Vec::new()),
            Ok((activity, false)) => (activity, unread()),
            Err(_) => (activity, unread()),
        }
    }
}

/// Completes when both have.
fn join(one: Option<Rest>, other: Option<Rest>) -> Option<Rest> {
    match (one, other) {
        (Some(one), Some(other)) => Some(async { _ = tokio::join!(one, other) }.boxed()),
        (one, other) => one.or(other),
    }
}

/// Each oracle once, in the order of the markets.
fn oracles(terms: &AllTerms) -> Vec<(Address, assay_domain::U256)> {
    let mut oracles = Vec::new();
    for oracle in terms.iter().flatten().filter_map(|terms| terms.oracle()) {
        if !oracles.contains(&oracle) {
            oracles.push(oracle);
        }
    }
    oracles
}
