//! Batches within the limits of the endpoint.

use std::sync::Arc;

use futures::{
    FutureExt,
    future::{BoxFuture, Shared},
};
use serde_json::Value;

use super::Client;
use crate::{endpoint::Endpoint, fault::Fault, request::Ask};

/// Answers to a batch that several readers share. The first reader that awaits them sends it.
pub type Answers = Shared<BoxFuture<'static, Result<Arc<[Result<Value, Fault>]>, Fault>>>;

impl Client {
    /// Sends `asks` in as few round trips as the endpoint allows. The answers are in the order of `asks`.
    pub async fn batch(&self, asks: Vec<Ask>) -> Result<Vec<Result<Value, Fault>>, Fault> {
        let mut answers = Vec::with_capacity(asks.len());
        let mut rest = asks.as_slice();
        let mut most = usize::MAX;
        while !rest.is_empty() {
            let ceiling = self.transport.current().map_or(1, Endpoint::batch_ceiling).min(most);
            let (part, after) = rest.split_at(ceiling.min(rest.len()));
            match self.batch_once(part).await {
                Ok(part) => answers.extend(part),
                Err(Fault::TooManyCalls { most: fewer }) if fewer < part.len() => {
                    most = fewer.max(1);
                    continue;
                }
                // Some endpoints accept fewer calls per batch, some only one, and not every refusal names the reason.
                Err(Fault::Refused { .. } | Fault::TooDense { .. } | Fault::TooWide { .. }) if part.len() > 1 => {
                    most = part.len() / 2;
                    // The others have limits of their own.
                    if let Some(endpoint) = self.transport.current().filter(|_| !self.transport.is_of_others()) {
                        endpoint.lower_batch_ceiling(most);
                    }
                    continue;
                }
                Err(fault) => return Err(fault),
            }
            rest = after;
        }
        Ok(answers)
    }

    /// Like [`shared_batch`](Self::shared_batch), for several readers.
    pub fn together(&self, asks: Vec<Ask>) -> Answers {
        let client = self.clone();
        async move { client.shared_batch(asks).await.map(Arc::from) }.boxed().shared()
    }

    pub(super) async fn batch_once(&self, asks: &[Ask]) -> Result<Vec<Result<Value, Fault>>, Fault> {
        if let [(method, params)] = asks {
            return match self.rpc.request::<_, Value>(*method, params.clone()).await.map_err(Fault::from) {
                Err(fault) if fault.is_for_next_endpoint() => Err(fault),
                answer => Ok(vec![answer]),
            };
        }
        let mut batch = self.rpc.new_batch();
        let waiters = asks
            .iter()
            .map(|(method, params)| batch.add_call::<_, Value>(*method, params))
            .collect::<Result<Vec<_>, _>>()?;
        batch.send().await?;
        Ok(futures::future::join_all(waiters).await.into_iter().map(|answer| answer.map_err(Fault::from)).collect())
    }
}
