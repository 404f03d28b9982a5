//! The deliveries of the leader: one at a time for each receiver, and each owner in turn.

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
    /// Receivers to which a delivery is in progress.
    busy: HashSet<String>,
    /// Deliveries in progress by owner.
    of_owner: HashMap<String, usize>,
    /// The watch whose delivery was started last; those after it have their turn first.
    turn: Uuid,
}

/// A delivery at its end.
pub(super) struct Sent {
    id: Uuid,
    owner: String,
    epoch: u64,
    receiver: String,
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

    fn end(&mut self, owner: &str, receiver: &str) {
        self.busy.remove(receiver);
        if let Some(count) = self.of_owner.get_mut(owner) {
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
            let lane = entry.watch.record.lane();
            let of_owner = sending.of_owner.get(lane).copied().unwrap_or_default();
            if of_owner >= MOST_OF_OWNER || sending.busy.contains(receiver) {
                continue;
            }
            sending.busy.insert(receiver.clone());
            sending.of_owner.insert(lane.to_owned(), of_owner + 1);
            sending.turn = *id;
            let (watches, lease, watch) = (self.watches.clone(), self.lease.clone(), entry.watch.clone());
            let (id, owner, epoch, receiver) = (*id, lane.to_owned(), entry.epoch, receiver.clone());
            sending.running.start(async move {
                let delivered = watches.0.deliver(&lease, &watch).await?;
                Ok(Sent { id, owner, epoch, receiver, delivered })
            });
        }
    }

    pub(super) async fn sent(&mut self, sent: Sent) -> Result<(), StoreError> {
        let Sent { id, owner, epoch, receiver, delivered } = sent;
        self.sending.end(&owner, &receiver);
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
