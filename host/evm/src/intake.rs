//! The memory of answers being received: one limit for the process. A small answer is read without a permit. A larger
//! one needs one of the few permits for large answers, and beyond that size one for the largest. A caller waits for a
//! permit within the timeout of its request. A holder of one of the largest waits for no other, which rules out
//! deadlock.
//!
//! No endpoint keeps the permits from the others: it has at most half of each size, and none longer than an answer
//! takes at [`limits::SLOWEST_ANSWER`].

use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit},
    time::Instant,
};

use crate::limits;

/// How long an answer with a permit may be below [`limits::SLOWEST_ANSWER`] at first.
const GRACE: Duration = Duration::from_secs(2);

/// Permits for answers of one size.
struct AnswerClass {
    size: usize,
    permits: usize,
    free: Semaphore,
    /// The buffers of earlier answers, at most `kept`. The kernel clears each page of new memory, which takes longer
    /// than parsing for a long history.
    spare: Mutex<Vec<Vec<u8>>>,
    kept: usize,
}

impl AnswerClass {
    const fn new(size: usize, permits: usize, kept: usize) -> Self {
        Self { size, permits, free: Semaphore::const_new(permits), spare: Mutex::new(Vec::new()), kept }
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
static CLASSES: [AnswerClass; 2] = [AnswerClass::new(4 << 20, 4, 0), AnswerClass::new(24 << 20, 2, 2)];

/// The share of one endpoint in the permits of each class: half of them.
#[derive(Debug, Clone)]
pub(crate) struct Share([Arc<Semaphore>; CLASSES.len()]);

impl Default for Share {
    fn default() -> Self {
        Self(CLASSES.each_ref().map(|class| Arc::new(Semaphore::new((class.permits / 2).max(1)))))
    }
}

/// The right to keep an answer of a class in memory.
struct Permit {
    _of_share: OwnedSemaphorePermit,
    _of_class: SemaphorePermit<'static>,
}

/// An answer that is being received.
pub(crate) struct Intake {
    bytes: Vec<u8>,
    /// `None` for an answer that gets no permit, and so no more than [`bound`](Self::bound).
    share: Option<Share>,
    bound: usize,
    permits: Vec<Permit>,
    /// When it had its first permit, and how many bytes were received then.
    began: Option<(Instant, usize)>,
}

impl Intake {
    /// For an answer of any endpoint with this share.
    pub(crate) fn of(share: &Share) -> Self {
        let mut intake = Self::within(usize::MAX);
        intake.share = Some(share.clone());
        intake
    }

    /// For an answer of at most `bound` bytes, which needs no permit: it never waits for others, nor they for it.
    pub(crate) fn within(bound: usize) -> Self {
        Self { bytes: Vec::new(), share: None, bound, permits: Vec::new(), began: None }
    }

    /// When the next part must be there; `None` while no permit is held.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let (since, before) = self.began?;
        let received = self.bytes.len().saturating_sub(before);
        Some(since + GRACE + Duration::from_millis((received.saturating_mul(1_000) / limits::SLOWEST_ANSWER) as u64))
    }

    /// Appends the next part of the answer, once it has the permit for its size. Returns `false` if the answer exceeds
    /// the largest size.
    pub(crate) async fn take(&mut self, part: &[u8]) -> bool {
        let size = self.bytes.len().saturating_add(part.len());
        if size > self.bound {
            return false;
        }
        while let Some(Share(shares)) = self.share.as_ref().filter(|_| size > self.room()) {
            let next = self.permits.len();
            let (Some(class), Some(share)) = (CLASSES.get(next), shares.get(next)) else { return false };
            let Ok(of_share) = share.clone().acquire_owned().await else { return false };
            let Ok(of_class) = class.free.acquire().await else { return false };
            let permit = Permit { _of_share: of_share, _of_class: of_class };
            self.began.get_or_insert((Instant::now(), self.bytes.len()));
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
        self.class().map_or(limits::SMALL_ANSWER, |class| class.size)
    }

    /// The class of the buffer; `None` while it is small.
    fn class(&self) -> Option<&'static AnswerClass> {
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
    use futures::FutureExt;
    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn an_answer_with_a_bound_needs_no_permit_and_ends_there() {
        let mut intake = Intake::within(limits::SMALL_ANSWER * 2);
        assert!(intake.take(&vec![b' '; limits::SMALL_ANSWER * 2]).await && intake.permits.is_empty());
        assert!(!intake.take(b" ").await);
    }

    // One test, for the permits belong to the process.
    #[tokio::test]
    async fn few_are_large_at_once_and_none_is_larger_than_that() {
        let part = vec![b' '; 1 << 20];
        let slow = Share::default();
        let mut held = Vec::new();
        for _ in 0..2 {
            let mut intake = Intake::of(&slow);
            assert!(intake.deadline().is_none(), "nothing hurries a small answer");
            assert!(intake.take(&part).await);
            assert!(intake.deadline().is_some_and(|deadline| deadline > Instant::now() + Duration::from_secs(4)));
            held.push(intake);
        }
        assert!(Intake::of(&slow).take(&part).now_or_never().is_none(), "a third of one endpoint");
        assert!(Intake::of(&Share::default()).take(&part).now_or_never().is_some(), "the first of another");
        drop(held);
        let mut largest = Vec::new();
        for _ in 0..2 {
            let mut intake = Intake::of(&Share::default());
            for _ in 0..24 {
                assert!(intake.take(&part).await);
            }
            assert!(!intake.take(&part).await, "25 MiB");
            assert_eq!(intake.bytes(), part.repeat(24));
            largest.push(intake);
        }
        let mut third = Intake::of(&Share::default());
        for _ in 0..4 {
            assert!(third.take(&part).await);
        }
        assert!(timeout(Duration::from_millis(20), third.take(&part)).await.is_err(), "a third of the largest");
        let mut small = Intake::of(&Share::default());
        assert!(small.take(&part[..1 << 10]).await, "small ones need no place");
        drop(largest.pop());
        assert!(third.take(&part).await);
    }
}
