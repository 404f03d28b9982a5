//! Concurrent reads share requests: contract calls at one block, the calls of one batch, and logs of several wallets
//! over one span. Each read gets the same answers as without sharing. A shared request that fails because of its
//! contents is sent again in parts, so one read cannot fail another.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use alloy::primitives::Bytes;
use futures::future::{join_all, try_join_all};
use serde_json::Value;

use super::{
    Client, WitnessedLogs,
    gather::{Participant, RequestGather},
};
use crate::{
    call::Call,
    fault::Fault,
    limits,
    logs::{LogQuery, answers},
    request::Ask,
    span::Span,
};
use assay_domain::B256;

type CallsAnswer = Result<Vec<Option<Bytes>>, Fault>;
type BatchAnswer = Result<Vec<Result<Value, Fault>>, Fault>;
type LogsAnswer = Result<WitnessedLogs, Fault>;

/// The state that the reads of one client share while batches run.
#[derive(Default)]
pub(super) struct SharedBatch {
    batches: AtomicUsize,
    calls: Arc<RequestGather<(B256, Vec<Call>), CallsAnswer>>,
    asks: Arc<RequestGather<Vec<Ask>, BatchAnswer>>,
    logs: Arc<RequestGather<(LogQuery, Span), LogsAnswer>>,
}

/// While it lives, the reads of a client share requests, and wait briefly for each other.
pub struct Sharing(Arc<SharedBatch>);

impl Clone for Sharing {
    fn clone(&self) -> Self {
        self.0.batches.fetch_add(1, Ordering::Relaxed);
        Self(self.0.clone())
    }
}

impl Drop for Sharing {
    fn drop(&mut self) {
        self.0.batches.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The batches of one reader. Series whose batches were answered together wait for each other before the next one. Drop
/// a series after its last batch.
pub struct Series {
    client: Client,
    participant: Option<Participant<Vec<Ask>, BatchAnswer>>,
}

impl Series {
    /// Like [`Client::shared_batch`].
    pub async fn batch(&mut self, asks: Vec<Ask>) -> BatchAnswer {
        self.client.gathered(asks, self.participant.as_ref()).await
    }
}

impl Client {
    /// Makes reads share requests while the returned value lives.
    pub fn share(&self) -> Sharing {
        self.shared.batches.fetch_add(1, Ordering::Relaxed);
        Sharing(self.shared.clone())
    }

    fn shares(&self) -> bool {
        self.shared.batches.load(Ordering::Relaxed) > 0
    }

    /// Like [`calls`](Self::calls). A call that several readers have is made once. Only for contracts that the
    /// configuration names: a contract that uses up all gas leaves none for other calls.
    pub async fn shared_calls(&self, calls: Vec<Call>, at: B256) -> CallsAnswer {
        if !self.shares() {
            return self.calls(&calls, at).await;
        }
        let (client, gather) = (self.clone(), self.shared.calls.clone());
        let answer = gather.ask((at, calls), None, move |asked| async move { client.all_calls(asked).await }).await;
        answer.unwrap_or_else(unanswered)
    }

    /// Like [`batch`](Self::batch). An ask that several readers have is sent once.
    pub async fn shared_batch(&self, asks: Vec<Ask>) -> BatchAnswer {
        self.gathered(asks, None).await
    }

    /// For a reader of several batches, each sent once the previous one is answered.
    pub fn series(&self) -> Series {
        Series { client: self.clone(), participant: self.shares().then(|| self.shared.asks.clone().participant()) }
    }

    async fn gathered(&self, asks: Vec<Ask>, participant: Option<&Participant<Vec<Ask>, BatchAnswer>>) -> BatchAnswer {
        if !self.shares() {
            return self.batches(&asks).await;
        }
        let (client, gather) = (self.clone(), self.shared.asks.clone());
        let answer = gather.ask(asks, participant, move |asked| async move { client.all_asks(asked).await }).await;
        answer.unwrap_or_else(unanswered)
    }

    /// Like [`own_logs`](Self::own_logs).
    pub(super) async fn shared_logs(&self, query: &LogQuery, span: Span) -> LogsAnswer {
        if !self.shares() {
            return self.own_logs(query, span).await;
        }
        let (client, gather) = (self.clone(), self.shared.logs.clone());
        let send = move |asked| async move { client.all_logs(asked).await };
        gather.ask((query.clone(), span), None, send).await.unwrap_or_else(unanswered)
    }

    async fn all_calls(&self, asked: Vec<(B256, Vec<Call>)>) -> Vec<CallsAnswer> {
        let (by_block, asked) = (in_groups(asked.iter().map(|(at, _)| *at)), &asked);
        let groups = by_block.into_iter().map(|(at, places)| async move {
            let own: Vec<&[Call]> = places.iter().filter_map(|place| asked.get(*place)).map(|(_, c)| &**c).collect();
            (places, self.calls_at(at, &own).await)
        });
        in_order(join_all(groups).await)
    }

    async fn calls_at(&self, at: B256, asked: &[&[Call]]) -> Vec<CallsAnswer> {
        let (distinct, wanted) = distinct(asked, Call::clone);
        match self.calls(&distinct, at).await {
            Ok(answers) => {
                let answer = |place: usize| answers.get(place).cloned();
                let own = |places: Vec<usize>| places.into_iter().map(answer).collect::<Option<_>>();
                wanted.into_iter().map(|places| own(places).map_or_else(unanswered, Ok)).collect()
            }
            Err(fault) if is_of_the_parts(&fault, asked.len()) => {
                join_all(asked.iter().map(|calls| self.calls(calls, at))).await
            }
            Err(fault) => vec![Err(fault); asked.len()],
        }
    }

    async fn all_asks(&self, asked: Vec<Vec<Ask>>) -> Vec<BatchAnswer> {
        let (distinct, wanted) = distinct(&asked, |(method, params)| (*method, params.to_string()));
        match self.batches(&distinct).await {
            Ok(answers) => {
                let answer = |place: usize| answers.get(place).cloned().unwrap_or_else(unanswered);
                wanted.into_iter().map(|places| Ok(places.into_iter().map(answer).collect())).collect()
            }
            Err(fault) if is_of_the_parts(&fault, asked.len()) => {
                join_all(asked.iter().map(|asks| self.batches(asks))).await
            }
            Err(fault) => vec![Err(fault); asked.len()],
        }
    }

    /// Like [`batch`](Self::batch), in requests of at most [`limits::ASKS_PER_REQUEST`] asks.
    async fn batches(&self, asks: &[Ask]) -> BatchAnswer {
        let parts = asks.chunks(limits::ASKS_PER_REQUEST).map(|part| self.batch(part.to_vec()));
        Ok(try_join_all(parts).await?.into_iter().flatten().collect())
    }

    async fn all_logs(&self, asked: Vec<(LogQuery, Span)>) -> Vec<LogsAnswer> {
        let (alike, asked) =
            (in_groups(asked.iter().map(|(query, span)| (query.form(), (span.from, span.to)))), &asked);
        let groups = alike.into_values().map(|places| async move {
            let own: Vec<_> = places.iter().filter_map(|place| asked.get(*place)).collect();
            (places, self.logs_alike(&own).await)
        });
        in_order(join_all(groups).await)
    }

    /// The logs of queries over one span that differ only in their topics. If they are too many together, splits the
    /// queries in halves.
    async fn logs_alike(&self, asked: &[&(LogQuery, Span)]) -> Vec<LogsAnswer> {
        let Some((span, all)) = union(asked) else { return Vec::new() };
        match self.own_logs(&all, span).await {
            Ok(WitnessedLogs { logs, witness }) => {
                let own = |query, span| logs.iter().filter(|log| answers(log, query, span)).cloned().collect();
                asked.iter().map(|(query, span)| Ok(WitnessedLogs { logs: own(query, *span), witness })).collect()
            }
            Err(fault) if is_of_the_parts(&fault, asked.len()) => {
                let (one, other) = asked.split_at(asked.len() / 2);
                let (one, other) = tokio::join!(Box::pin(self.logs_alike(one)), Box::pin(self.logs_alike(other)));
                one.into_iter().chain(other).collect()
            }
            Err(fault) => vec![Err(fault); asked.len()],
        }
    }
}

/// One query whose answer contains the answers to all.
fn union(asked: &[&(LogQuery, Span)]) -> Option<(Span, LogQuery)> {
    let ((first, span), rest) = asked.split_first()?;
    Some((*span, rest.iter().fold(first.clone(), |all, (query, _)| all.with(query))))
}

/// Whether parts of a request of `count` reads may be answered although the whole has this fault.
fn is_of_the_parts(fault: &Fault, count: usize) -> bool {
    let of_the_whole = matches!(
        fault,
        Fault::Refused { .. }
            | Fault::Reverted { .. }
            | Fault::TooDense { .. }
            | Fault::Malformed(_)
            | Fault::TimedOut(_)
    );
    of_the_whole && count > 1
}

fn unanswered<T>() -> Result<T, Fault> {
    Err(Fault::Malformed("no answer to a part of a shared request".into()))
}

/// Each ask once, and for each reader the positions of its answers.
fn distinct<Q: Clone, K: Eq + Hash>(asked: &[impl AsRef<[Q]>], key: impl Fn(&Q) -> K) -> (Vec<Q>, Vec<Vec<usize>>) {
    let (mut distinct, mut places) = (Vec::new(), HashMap::new());
    let mut place = |question: &Q| {
        *places.entry(key(question)).or_insert_with(|| {
            distinct.push(question.clone());
            distinct.len() - 1
        })
    };
    let wanted = asked.iter().map(|questions| questions.as_ref().iter().map(&mut place).collect()).collect();
    (distinct, wanted)
}

/// The positions of equal keys.
fn in_groups<K: Eq + Hash>(keys: impl Iterator<Item = K>) -> HashMap<K, Vec<usize>> {
    let mut groups = HashMap::<K, Vec<usize>>::new();
    for (place, key) in keys.enumerate() {
        groups.entry(key).or_default().push(place);
    }
    groups
}

/// The answers of all groups, ordered by position.
fn in_order<A>(groups: Vec<(Vec<usize>, Vec<A>)>) -> Vec<A> {
    let mut placed: Vec<_> = groups.into_iter().flat_map(|(places, answers)| places.into_iter().zip(answers)).collect();
    placed.sort_unstable_by_key(|(place, _)| *place);
    placed.into_iter().map(|(_, answer)| answer).collect()
}
