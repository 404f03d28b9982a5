//! The memory of answers that are being received: one limit for the process. A small answer is read without a permit. A
//! larger one needs a permit for large answers, of which there are few, and beyond that size one for the largest. A
//! caller waits for a permit within the timeout of its request; a holder of one of the largest waits for no other, so
//! that there is no deadlock.

use tokio::sync::{Semaphore, SemaphorePermit};

/// Size up to which an answer needs no permit: all but long histories.
const SMALL: usize = 128 << 10;

/// Permits for answers of one size.
struct Class {
    size: usize,
    free: Semaphore,
}

/// In ascending order: at most 16 MiB of large answers and 48 MiB of the largest, beside the small ones of all running
/// requests; and as much again while they are parsed, or until the allocator returns freed memory. A larger answer has
/// to be requested in parts; one of 20,000 logs is within the limit.
static CLASSES: [Class; 2] =
    [Class { size: 4 << 20, free: Semaphore::const_new(4) }, Class { size: 24 << 20, free: Semaphore::const_new(2) }];

/// An answer that is being received.
#[derive(Default)]
pub struct Intake {
    bytes: Vec<u8>,
    permits: Vec<SemaphorePermit<'static>>,
}

impl Intake {
    /// Appends the next part of the answer, after it has the permit for its size. `false` where the answer is over the
    /// largest size.
    pub async fn take(&mut self, part: &[u8]) -> bool {
        let size = self.bytes.len().saturating_add(part.len());
        while size > self.room() {
            let Some(class) = CLASSES.get(self.permits.len()) else { return false };
            let Ok(permit) = class.free.acquire().await else { return false };
            self.permits.push(permit);
            // All of it at once: a buffer that grows in steps exists twice at each step. Unwritten pages take no
            // memory.
            self.bytes.reserve_exact(class.size.saturating_sub(self.bytes.len()));
        }
        self.bytes.extend_from_slice(part);
        true
    }

    /// The bytes received so far. The permits are released when this value is dropped.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn room(&self) -> usize {
        let last = self.permits.len().checked_sub(1);
        last.and_then(|last| CLASSES.get(last)).map_or(SMALL, |class| class.size)
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
