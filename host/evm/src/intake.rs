//! The memory of answers being received: one limit for the process. A small answer is read without a permit. A larger
//! one needs one of the few permits for large answers, and beyond that size one for the largest. A caller waits for a
//! permit within the timeout of its request. A holder of one of the largest waits for no other, which rules out
//! deadlock.

use std::{
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::{Semaphore, SemaphorePermit};

/// Maximum size of an answer that needs no permit: all but long histories.
const SMALL: usize = 128 << 10;

/// Permits for answers of one size.
struct Class {
    size: usize,
    free: Semaphore,
    /// The buffers of earlier answers, at most `kept`. The kernel clears each page of new memory, which takes longer
    /// than parsing for a long history.
    spare: Mutex<Vec<Vec<u8>>>,
    kept: usize,
}

impl Class {
    const fn new(size: usize, permits: usize, kept: usize) -> Self {
        Self { size, free: Semaphore::const_new(permits), spare: Mutex::new(Vec::new()), kept }
    }

    fn spare(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns an empty buffer to a permit holder.
    fn buffer(&self) -> Vec<u8> {
        self.spare().pop().unwrap_or_else(|| Vec::with_capacity(self.size))
    }
}

/// In ascending order: at most 16 MiB of large answers and 48 MiB of the largest, in addition to the small ones of all
/// running requests; and the same again while they are parsed, or until the allocator returns freed memory. The buffers
/// of the largest are kept. A larger answer must be requested in parts; one of 20,000 logs is within the limit.
static CLASSES: [Class; 2] = [Class::new(4 << 20, 4, 0), Class::new(24 << 20, 2, 2)];

/// An answer that is being received.
#[derive(Default)]
pub(crate) struct Intake {
    bytes: Vec<u8>,
    permits: Vec<SemaphorePermit<'static>>,
    /// The maximum of an answer that gets no permit.
    bound: Option<usize>,
}

impl Intake {
    /// For an answer of at most `bound` bytes, which needs no permit: it never waits for others, nor they for it.
    pub(crate) fn within(bound: usize) -> Self {
        Self { bytes: Vec::new(), permits: Vec::new(), bound: Some(bound) }
    }

    /// Appends the next part of the answer, once it has the permit for its size. Returns `false` if the answer exceeds
    /// the largest size.
    pub(crate) async fn take(&mut self, part: &[u8]) -> bool {
        let size = self.bytes.len().saturating_add(part.len());
        if self.bound.is_some_and(|bound| size > bound) {
            return false;
        }
        while self.bound.is_none() && size > self.room() {
            let Some(class) = CLASSES.get(self.permits.len()) else { return false };
            let Ok(permit) = class.free.acquire().await else { return false };
            // Allocated at once: a buffer that grows in steps exists twice at each step. Unwritten pages use no memory.
            let mut larger = class.buffer();
            larger.extend_from_slice(&self.bytes);
            self.give_back(larger);
            self.permits.push(permit);
        }
        self.bytes.extend_from_slice(part);
        true
    }

    /// The bytes received so far. The permits are released when this value is dropped.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn room(&self) -> usize {
        self.class().map_or(SMALL, |class| class.size)
    }

    /// The class of the buffer; `None` while it is small.
    fn class(&self) -> Option<&'static Class> {
        CLASSES.get(self.permits.len().checked_sub(1)?)
    }

    /// Replaces the buffer by `next`. The class keeps the old one for a later answer, if it has room.
    fn give_back(&mut self, next: Vec<u8>) {
        let mut done = mem::replace(&mut self.bytes, next);
        if let Some(class) = self.class() {
            let mut spare = class.spare();
            if spare.len() < class.kept {
                done.clear();
                spare.push(done);
            }
        }
    }
}

impl Drop for Intake {
    fn drop(&mut self) {
        self.give_back(Vec::new());
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn an_answer_with_a_bound_needs_no_permit_and_ends_there() {
        let mut intake = Intake::within(SMALL * 2);
        assert!(intake.take(&vec![b' '; SMALL * 2]).await && intake.permits.is_empty());
        assert!(!intake.take(b" ").await);
    }

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
            assert_eq!(intake.bytes(), part.repeat(24));
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
