//! The rounds of questions of one read. State, activity, lending history and discovered tokens are read concurrently.
//! Only the search for first and last transaction waits for an explorer, whose list may make it unnecessary.

use std::sync::Arc;

use futures::{FutureExt, future::join_all};
use tokio::{
    sync::oneshot,
    time::{Instant, error::Elapsed, timeout_at},
};

use super::{
    Chain, StoredRead,
    discover::{self, Discovered},
    plan::ReadPlan,
};
use crate::{
    activity::{ActivityQuestion, NodeActivity},
    holdings::WalletAccount,
    prices::Quotes,
};
use assay_domain::Address;
use assay_evm::{client::Block, fault::Fault};
use assay_lending::{History, LendingRead, Rest, SharedTerms};

/// An answer, unless the time was up first.
type Timed<T> = Result<Result<T, Fault>, Elapsed>;

/// The answers of concurrent requests.
pub(super) struct Answered {
    pub state: Timed<(WalletAccount, Quotes)>,
    pub lending: LendingRead,
    pub activity: NodeActivity,
    pub discovered: Option<Discovered>,
}

impl Chain {
    /// Requests everything about `wallet` in the state after `head`. The rest is what continues after `deadline`.
    /// `permit` is dropped once state and activity are read: the histories have separate limits, and can take long.
    pub(super) async fn ask<P>(
        &self,
        wallet: Address,
        stored: StoredRead,
        head: Block,
        deadline: Instant,
        permit: P,
    ) -> (Answered, Option<Rest>) {
        let plan = ReadPlan::new(&self.activity, &self.lending, &stored, wallet, head);
        let terms = self.lending.terms(head);
        let mut lending = self.lending.begin(wallet, &stored.lending);
        let listing = discover::DiscoveryQuestion { wallet, plan: &plan, terms: terms.clone(), head, deadline };
        let (sender, receiver) = oneshot::channel();
        let listed = self.has_list().then_some(receiver);
        let permit = Arc::new(permit);
        // An explorer may be slow, and a read that waits for it sends the node no request.
        let searching = listed.is_none().then(|| permit.clone());
        let activity = async {
            let question =
                ActivityQuestion { wallet, head, answers: plan.answers.clone(), listed, goal: self.goal, deadline };
            let activity = self.activity.read(stored.sent, question).await;
            drop(searching);
            activity
        };
        let state = async {
            let state = timeout_at(deadline, self.state(wallet, terms.clone(), &mut lending, head)).await;
            drop(permit);
            state
        };
        let (state, (activity, search_rest), history, (discovered, listing_rest)) = tokio::join!(
            state,
            activity,
            self.lending.history(wallet, stored.lending, terms.clone(), plan.lending_blocks(), head, deadline),
            self.discover(stored.listed, listing, sender)
        );
        let History { markets, rest } = history;
        lending.add_histories(markets);
        let state = match state {
            Ok(Ok((account, mut quotes))) => {
                self.read_parts(&mut lending, &mut quotes, head, deadline).await;
                Ok(Ok((account, quotes)))
            }
            state => state,
        };
        (Answered { state, lending, activity, discovered }, join([search_rest, rest, listing_rest]))
    }

    /// Balances, positions and prices. Prices need the markets' oracles; both requests go out together.
    async fn state(
        &self,
        wallet: Address,
        terms: SharedTerms,
        lending: &mut LendingRead,
        head: Block,
    ) -> Result<(WalletAccount, Quotes), Fault> {
        let terms = terms.await?;
        let (oracles, quotes) = (terms.oracles(), terms.quote_assets());
        let (account, prices) = tokio::join!(
            WalletAccount::read(&self.client, &self.config, &terms, lending, wallet, head),
            self.prices.current(&self.client, &oracles, &quotes, self.pricing(head))
        );
        let mut account = account?;
        // At a moment in the past, a token may not exist yet.
        if self.past.get().is_some() {
            let absent = self.client.without_code(&account.silent, head.hash).await?;
            account.silent.retain(|token| !absent.contains(token));
        }
        Ok((account, prices))
    }
}

/// Completes when all have; `None` if there is none.
fn join<const N: usize>(rests: [Option<Rest>; N]) -> Option<Rest> {
    let rests: Vec<Rest> = rests.into_iter().flatten().collect();
    (!rests.is_empty()).then(|| join_all(rests).map(drop).boxed())
}
