//! Watches a server that is reachable: whether it accepts the calls of a store, and whether it evicts records.

use std::{
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use redis::cmd;

use super::{
    RedisState, inspect,
    link::{CallError, Link},
};

use crate::pauses;

/// Checks until the store is closed.
pub(super) async fn watch(store: Weak<RedisState>) {
    let mut evicts = false;
    loop {
        let Some(state) = store.upgrade() else { return };
        check(&state, &mut evicts).await;
        drop(state);
        tokio::time::sleep(pauses::WATCH_RETRY).await;
    }
}

/// `evicts` is what the server last said of its settings.
async fn check(state: &Arc<RedisState>, evicts: &mut bool) {
    let (link, started) = (&state.link, Instant::now());
    match inspect::evicts(link).await {
        // Writes would succeed, and other records be lost.
        Ok(Some(policy)) => {
            *evicts = true;
            return link.refusals().begin(&policy);
        }
        Ok(None) => *evicts = false,
        // A server that hides its settings is not watched for them, unless it evicted records when it last showed them.
        Err(CallError::Refused(_) | CallError::Fault(_) | CallError::NoScript) if *evicts => return,
        Err(CallError::Refused(_) | CallError::Fault(_) | CallError::NoScript) => {}
        Err(CallError::Away(_) | CallError::Unanswered(_)) => return,
    }
    if accepts(state).await.is_ok() {
        link.refusals().end(started);
    }
}

/// Writes nothing, with the commands of a write. The link notes a refusal.
async fn accepts(state: &RedisState) -> Result<(), CallError> {
    let (link, once) = (&state.link, Duration::ZERO);
    let name = state.naming.together("probe");
    state.scripts.probe.run(link, once, std::slice::from_ref(&name), |_| {}).await?;
    link.call(cmd("MGET").arg(&name), once).await?;
    match link.refusals().apart() {
        Some(apart) => unchanged(link, &apart).await,
        None => Ok(()),
    }
}

/// A write that leaves a record as it is.
async fn unchanged(link: &Link, record: &str) -> Result<(), CallError> {
    match link.call(cmd("SETRANGE").arg(record).arg(0).arg(""), Duration::ZERO).await {
        Ok(_) | Err(CallError::Fault(_)) => Ok(()),
        Err(error) => Err(error),
    }
}
