//! Batches within the limits of the endpoint.

use std::sync::Arc;

use futures::{
    FutureExt,
    future::{BoxFuture, Shared},
};
use serde_json::Value;

use super::Client;
use crate::{endpoint::Endpoint, fault::Fault, request::Ask, wording::BATCH};

/// Answers to a batch that several readers share. The first reader that awaits them sends it.
pub type Answers = Shared<BoxFuture<'static, Result<Arc<[Result<Value, Fault>]>, Fault>>>;

impl Client {
    /// Sends `asks` in as few round trips as the endpoint allows. The answers are in the order of `asks`.
    pub async fn batch(&self, asks: Vec<Ask>) -> Result<Vec<Result<Value, Fault>>, Fault> {
        let mut answers = Vec::with_capacity(asks.len());
        let mut rest = asks.as_slice();
        // The size of the next batch, and the endpoint that just refused a larger one for its size.
        let (mut most, mut refused_by) = (usize::MAX, None);
        while !rest.is_empty() {
            let ceiling = self.transport.current().map_or(1, Endpoint::batch_ceiling).min(most);
            let (part, after) = rest.split_at(ceiling.min(rest.len()));
            match self.batch_once(part).await {
                Ok(found) => {
                    self.learn(part.len(), refused_by.take());
                    answers.extend(found);
                }
                // Some endpoints accept fewer calls per batch, some only one, and not every refusal names the reason.
                Err(Fault::TooManyCalls { most: fewer }) if part.len() > 1 => {
                    most = fewer.filter(|fewer| *fewer < part.len()).unwrap_or(part.len() / 2).max(1);
                    refused_by = self.endpoint();
                    continue;
                }
                Err(Fault::Refused { .. } | Fault::TooDense { .. }) if part.len() > 1 => {
                    most = part.len() / 2;
                    continue;
                }
                Err(fault) => return Err(fault),
            }
            rest = after;
        }
        Ok(answers)
    }

    /// Records that the current endpoint answered a batch of `calls` after `refused_by` refused a larger one. Endpoints
    /// that give a second opinion have their own limits.
    fn learn(&self, calls: usize, refused_by: Option<String>) {
        let Some(endpoint) = self.transport.current().filter(|_| !self.transport.is_of_others()) else { return };
        match refused_by {
            None => endpoint.answered_batch(calls),
            Some(host) if host == endpoint.host() => endpoint.lower_batch_ceiling(calls),
            Some(_) => {}
        }
    }

    /// Like [`shared_batch`](Self::shared_batch), for several readers.
    pub fn together(&self, asks: Vec<Ask>) -> Answers {
        let client = self.clone();
        async move { client.shared_batch(asks).await.map(Arc::from) }.boxed().shared()
    }

    pub(super) async fn batch_once(&self, asks: &[Ask]) -> Result<Vec<Result<Value, Fault>>, Fault> {
        if let [(method, params)] = asks {
            let answer = self.rpc.request::<_, Value>(*method, params.clone()).await;
            return match answer.map_err(|error| Fault::of_transport(method, error)) {
                Err(fault) if fault.is_no_answer() => Err(fault),
                answer => Ok(vec![answer]),
            };
        }
        let mut batch = self.rpc.new_batch();
        let waiters = asks
            .iter()
            .map(|(method, params)| batch.add_call::<_, Value>(*method, params))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| Fault::of_transport(BATCH, error))?;
        batch.send().await.map_err(|error| Fault::of_transport(BATCH, error))?;
        let answers = futures::future::join_all(waiters).await.into_iter().zip(asks);
        Ok(answers.map(|(answer, (method, _))| answer.map_err(|error| Fault::of_transport(method, error))).collect())
    }
}
