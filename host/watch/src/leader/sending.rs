//! The deliveries of the leader, one at a time for each owner and receiver: a slow answer to one owner does not delay
//! another one with the same receiver.

use std::{
    collections::{HashMap, HashSet},
    ops::Bound,
};

use chrono::Utc;
use uuid::Uuid;

use super::{Leader, running::Running};
use crate::deliver::Delivered;
use assay_store::StoreError;

/// Deliveries in progress.
const MOST: usize = 16;
/// Deliveries in progress for one owner: slow receivers of one owner leave room for those of others.
const MOST_OF_OWNER: usize = 4;

pub(super) struct Sending {
    running: Running<Sent>,
    /// Owners and receivers between which a delivery is in progress.
    busy: HashSet<(String, String)>,
    /// Deliveries in progress by owner.
    of_owner: HashMap<String, usize>,
    /// The watch whose delivery was started last; those after it have their turn first.
    turn: Uuid,
}

/// A delivery at its end.
pub(super) struct Sent {
    id: Uuid,
    /// Its owner and receiver.
    way: (String, String),
    epoch: u64,
    delivered: Delivered,
}

impl Sending {
    pub(super) fn new() -> Self {
        let (busy, of_owner) = Default::default();
        Self { running: Running::new("watch delivery"), busy, of_owner, turn: Uuid::nil() }
    }

    /// The next delivery that ended; `None` if none is in progress.
    pub(super) async fn next(&mut self) -> Option<Result<Sent, StoreError>> {
        self.running.next().await
    }

    fn end(&mut self, way: (String, String)) {
        self.busy.remove(&way);
        if let Some(count) = self.of_owner.get_mut(&way.0) {
            *count = count.saturating_sub(1);
        }
        self.of_owner.retain(|_, count| *count > 0);
    }
}

impl Leader {
    /// Starts the deliveries that are due.
    pub(super) fn deliver(&mut self) {
        let (now, turn, sending) = (Utc::now(), self.sending.turn, &mut self.sending);
        let after = self.entries.range((Bound::Excluded(turn), Bound::Unbounded));
        for (id, entry) in after.chain(self.entries.range(..=turn)) {
            let Some(receiver) = entry.receiver.as_ref().filter(|_| entry.is_waiting(now)) else { continue };
            if sending.running.len() >= MOST {
                return;
            }
            let way = (entry.watch.record.lane().to_owned(), receiver.clone());
            let of_owner = sending.of_owner.get(&way.0).copied().unwrap_or_default();
            if of_owner >= MOST_OF_OWNER || !sending.busy.insert(way.clone()) {
                continue;
            }
            sending.of_owner.insert(way.0.clone(), of_owner + 1);
            sending.turn = *id;
            let (watches, lease, watch) = (self.watches.clone(), self.lease.clone(), entry.watch.clone());
            let (id, epoch) = (*id, entry.epoch);
            sending.running.start(async move {
                let delivered = watches.0.deliver(&lease, &watch).await?;
                Ok(Sent { id, way, epoch, delivered })
            });
        }
    }

    pub(super) async fn sent(&mut self, sent: Sent) -> Result<(), StoreError> {
        let Sent { id, way, epoch, delivered } = sent;
        self.sending.end(way);
        let Some(entry) = self.entries.get_mut(&id) else { return Ok(()) };
        if entry.epoch != epoch {
            return self.reload([id]).await;
        }
        match delivered {
            Delivered::Idle => entry.idle = true,
            Delivered::Suspended(lapse) => entry.suspend(lapse),
            Delivered::Tried(delivery) => entry.watch.delivery = delivery,
        }
        Ok(())
    }
}
