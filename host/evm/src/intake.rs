//! What answers may take of memory while they come in: one bound for the process, whatever its upstreams send and
//! however many of them. A small answer is read as it comes. A larger one needs a place among the large, of which there
//! are few, and one that outgrows that a place among the largest. Who waits for a place does so within the time of its
//! call, and whoever holds one of the largest waits for nothing, so that nobody waits for ever.

use tokio::sync::{Semaphore, SemaphorePermit};

/// What is read of an answer without asking: all but long histories.
const SMALL: usize = 128 << 10;

/// Places for answers of one size.
struct Places {
    size: usize,
    free: Semaphore,
}

/// In ascending order: 16 MiB of large answers and 48 MiB of the largest at the most, beside the small ones of every
/// call in flight; and as much again while they are parsed, or until what was freed has gone back. What is larger has
/// to be asked for in parts; 20,000 logs are not.
static PLACES: [Places; 2] =
    [Places { size: 4 << 20, free: Semaphore::const_new(4) }, Places { size: 24 << 20, free: Semaphore::const_new(2) }];

/// An answer that is coming in.
#[derive(Default)]
pub struct Intake {
    bytes: Vec<u8>,
    held: Vec<SemaphorePermit<'static>>,
}

impl Intake {
    /// Takes the next part of the answer, as soon as there is room for it. `false` where the answer is larger than any
    /// that is read.
    pub async fn take(&mut self, part: &[u8]) -> bool {
        let size = self.bytes.len().saturating_add(part.len());
        while size > self.room() {
            let Some(places) = PLACES.get(self.held.len()) else { return false };
            let Ok(place) = places.free.acquire().await else { return false };
            self.held.push(place);
            // All of it at once: a buffer that grows by steps is there twice at each. What is not written to takes no
            // memory.
            self.bytes.reserve_exact(places.size.saturating_sub(self.bytes.len()));
        }
        self.bytes.extend_from_slice(part);
        true
    }

    /// What came in. It takes its places until it is dropped.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn room(&self) -> usize {
        let last = self.held.len().checked_sub(1);
        last.and_then(|last| PLACES.get(last)).map_or(SMALL, |places| places.size)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn few_are_large_at_once_and_none_is_larger_than_that() {
        let part = vec![b' '; 1 << 20];
        let mut largest = Vec::new();
        for _ in 0..2 {
            let mut intake = Intake::default();
            for _ in 0..24 {
                assert!(intake.take(&part).await);
            }
            assert!(!intake.take(&part).await, "25 MiB");
            assert_eq!(intake.bytes().len(), 24 << 20);
            largest.push(intake);
        }
        let mut third = Intake::default();
        for _ in 0..4 {
            assert!(third.take(&part).await);
        }
        assert!(timeout(Duration::from_millis(20), third.take(&part)).await.is_err(), "a third of the largest");
        let mut small = Intake::default();
        assert!(small.take(&part[..1 << 10]).await, "small ones need no place");
        drop(largest.pop());
        assert!(third.take(&part).await);
    }
}
