//! Waits until replicas have a write, which preserves it if the master changes.
//!
//! `WAIT` blocks its connection, and counts the replicas that have what this connection wrote. So a second connection
//! writes a mark, after the write, and waits for that. Then it checks whether its server has the write, because another
//! server may have become the master in the meantime.

use std::time::{Duration, Instant};

use redis::{Value, cmd, pipe};
use tokio::sync::Mutex;

use super::{
    address::Address,
    link::{CallError, Link, Waits},
};
use crate::{clock::millis, config};

pub(super) struct Replicas {
    link: Link,
    wanted: u32,
    longest: Duration,
    /// The start of the last mark that replicas have. The writes before it share the mark.
    marked: Mutex<Option<Instant>>,
}

impl Replicas {
    /// `None` if no write waits.
    ///
    /// # Errors
    /// Why the second connection cannot be used.
    pub(crate) async fn open(config: &config::Store, address: &Address, waits: Waits) -> Result<Option<Self>, String> {
        let (wanted, longest) = (config.wait_replicas, config.replica_timeout);
        if wanted == 0 {
            return Ok(None);
        }
        if matches!(address, Address::Cluster(_)) {
            return Err("store.wait_replicas is not for a cluster: set it to 0".to_owned());
        }
        let link = Link::open(address.clone(), waits).await?;
        Ok(Some(Self { link, wanted, longest, marked: Mutex::new(None) }))
    }

    /// Whether the master has the write with this outcome, once the replicas have the mark that follows it.
    pub(crate) async fn have(&self, mark: &str, outcome: &str) -> Result<bool, CallError> {
        self.wait(mark).await?;
        let mut exists = cmd("EXISTS");
        exists.arg(outcome);
        Ok(self.link.call(&exists, self.link.waits().patience).await? == Value::Int(1))
    }

    async fn wait(&self, mark: &str) -> Result<(), CallError> {
        let asked = Instant::now();
        let mut marked = self.marked.lock().await;
        if marked.is_some_and(|began| began >= asked) {
            return Ok(());
        }
        let began = Instant::now();
        let mut commands = pipe();
        commands.cmd("SET").arg(mark).arg(1).cmd("WAIT").arg(self.wanted).arg(millis(self.longest));
        let answers = self.link.together(&commands, 2, self.longest).await?;
        match answers.last() {
            Some(Value::Int(have)) if *have >= i64::from(self.wanted) => {
                *marked = Some(began);
                Ok(())
            }
            _ => Err(CallError::Unanswered(format!("fewer than {} replicas have the write", self.wanted))),
        }
    }
}
