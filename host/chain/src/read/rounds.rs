//! The rounds of questions of one read. State, activity, lending history and discovered tokens are read side by side;
//! only the search for first and last transaction waits for an explorer, whose list may make it needless.

use std::{collections::BTreeSet, sync::Arc};

use futures::{
    FutureExt,
    future::{Shared, join_all},
};
use tokio::{
    sync::oneshot,
    time::{Instant, error::Elapsed, timeout_at},
};

use super::{
    Chain, Stored,
    discover::{self, Discovered},
    parts,
    plan::{Plan, Terms},
};
use crate::{
    activity::{NodeActivity, Question},
    holdings::Account,
    prices::Quotes,
};
use assay_domain::{Address, B256, PoolHistory};
use assay_evm::{client::Block, fault::Fault};
use assay_lending::{AllPasts, AllSums, AllTerms, Hinted, History, Rest, wallet_hints};

/// An answer, unless the time was up first.
type Timed<T> = Result<Result<T, Fault>, Elapsed>;

/// The answers that come side by side.
pub(super) struct Answered {
    pub state: Timed<(Account, Quotes)>,
    pub activity: NodeActivity,
    pub pools: Vec<PoolHistory>,
    pub sums: AllSums,
    pub pasts: AllPasts,
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
        let hints = self.wallet_hints(wallet, terms.clone(), self.lending.parts(wallet, &stored.lending).await, head);
        let listing = discover::Question { wallet, plan: &plan, terms: terms.clone(), head, deadline };
        let (sender, receiver) = oneshot::channel();
        let listed = self.has_list().then_some(receiver);
        let permit = Arc::new(permit);
        // An explorer may be slow, and the read that waits for it asks the node for nothing.
        let searching = listed.is_none().then(|| permit.clone());
        let activity = async {
            let question = Question { wallet, head, answers: plan.answers.clone(), listed, goal: self.goal, deadline };
            let activity = self.activity.read(stored.sent, question).await;
            drop(searching);
            activity
        };
        let state = async {
            let state = timeout_at(deadline, self.state(wallet, terms, blank, head)).await;
            drop(permit);
            state
        };
        let (state, (activity, search_rest), history, (discovered, listing_rest)) = tokio::join!(
            state,
            activity,
            self.lending.history(wallet, stored.lending, hints.clone().boxed(), plan.lending_blocks(), head, deadline),
            self.discover(stored.listed, listing, sender)
        );
        let History { pools, sums, pasts, rest } = history;
        let state = match state {
            Ok(Ok((mut account, mut quotes))) => {
                // They were known before the histories were read.
                let hints = hints.now_or_never().unwrap_or_default();
                let histories = parts::Histories { pools: &pools, sums: &sums, hints: &hints };
                self.read_parts(wallet, &mut account, &mut quotes, &histories, head, deadline).await;
                Ok(Ok((account, quotes)))
            }
            state => state,
        };
        (Answered { state, activity, pools, sums, pasts, discovered }, join([search_rest, rest, listing_rest]))
    }

    fn market_terms(&self, head: Block) -> Terms {
        let (book, client, markets) = (self.terms.clone(), self.client.clone(), self.lending.reader().markets.clone());
        async move { book.current(&client, &markets, head).await }.boxed().shared()
    }

    /// The hints of all markets for `wallet`, which once had these parts of positions.
    fn wallet_hints(&self, wallet: Address, terms: Terms, parts: Vec<BTreeSet<B256>>, head: Block) -> Shared<Hinted> {
        let (client, markets) = (self.client.clone(), self.lending.reader().markets.clone());
        let found = async move {
            let terms = terms.await.ok();
            wallet_hints(&client, &markets, terms.as_ref(), wallet, &parts, head).await
        };
        found.boxed().shared()
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
            self.prices.current(&self.client, &oracles, &quotes, self.pricing(head))
        );
        account.map(|account| (account, prices))
    }
}

/// Completes when all have; `None` if there is none.
fn join<const N: usize>(rests: [Option<Rest>; N]) -> Option<Rest> {
    let rests: Vec<Rest> = rests.into_iter().flatten().collect();
    (!rests.is_empty()).then(|| join_all(rests).map(drop).boxed())
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
