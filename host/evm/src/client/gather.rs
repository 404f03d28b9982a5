//! Questions of several readers that go out together: those that come within a moment are answered as one list.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures::{
    FutureExt,
    future::{BoxFuture, Shared, WeakShared},
};

/// After so long without another question, those that came are sent.
const PAUSE: Duration = Duration::from_millis(4);
/// So many pauses are the longest wait, also where questions keep coming.
const MOST_PAUSES: usize = 8;

/// One list of questions at a time. It starts no task: whoever waits for an answer drives the list, so that one who
/// leaves does not end it for the others.
pub(super) struct Gather<Q, A> {
    open: Mutex<Option<Open<Q, A>>>,
}

/// The list that still takes questions.
struct Open<Q, A> {
    questions: Vec<Q>,
    answers: WeakShared<BoxFuture<'static, Arc<[A]>>>,
}

type Answers<A> = Shared<BoxFuture<'static, Arc<[A]>>>;

impl<Q, A> Default for Gather<Q, A> {
    fn default() -> Self {
        Self { open: Mutex::default() }
    }
}

impl<Q: Send + 'static, A: Clone + Send + Sync + 'static> Gather<Q, A> {
    /// The answer to `question`. `send` gets the list that it opened, and answers in its order; `None` where an answer
    /// is missing.
    pub async fn ask<F>(self: Arc<Self>, question: Q, send: impl FnOnce(Vec<Q>) -> F + Send + 'static) -> Option<A>
    where
        F: Future<Output = Vec<A>> + Send,
    {
        let (answers, place) = Self::join(&self, question, send);
        answers.await.get(place).cloned()
    }

    fn join<F>(this: &Arc<Self>, question: Q, send: impl FnOnce(Vec<Q>) -> F + Send + 'static) -> (Answers<A>, usize)
    where
        F: Future<Output = Vec<A>> + Send,
    {
        let mut open = this.lock();
        if let Some(list) = open.as_mut()
            && let Some(answers) = list.answers.upgrade()
        {
            list.questions.push(question);
            return (answers, list.questions.len() - 1);
        }
        let gather = this.clone();
        let answers = async move { send(gather.questions().await).await.into() }.boxed().shared();
        *open = answers.downgrade().map(|answers| Open { questions: vec![question], answers });
        (answers, 0)
    }

    /// The questions of the list, once no more come.
    async fn questions(&self) -> Vec<Q> {
        let mut before = 0;
        for _ in 0..MOST_PAUSES {
            tokio::time::sleep(PAUSE).await;
            let now = self.lock().as_ref().map_or(0, |list| list.questions.len());
            if now == before {
                break;
            }
            before = now;
        }
        self.lock().take().map(|list| list.questions).unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Open<Q, A>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use futures::future::join_all;

    use super::*;

    async fn with_count(asked: Vec<u64>) -> Vec<(u64, usize)> {
        let all = asked.len();
        asked.into_iter().map(|question| (question * 10, all)).collect()
    }

    #[tokio::test]
    async fn questions_of_one_moment_are_one_list() {
        let gather = Arc::new(Gather::default());
        let answers = join_all((0..3).map(|n| gather.clone().ask(n, with_count))).await;
        assert_eq!(answers, [Some((0, 3)), Some((10, 3)), Some((20, 3))]);
        assert_eq!(gather.ask(7, with_count).await, Some((70, 1)), "a later one is a list of its own");
    }

    #[tokio::test]
    async fn whoever_leaves_does_not_end_it_for_the_others() {
        let gather = Arc::new(Gather::default());
        let first = tokio::spawn(gather.clone().ask(1, with_count));
        tokio::task::yield_now().await;
        let second = tokio::spawn(gather.clone().ask(2, with_count));
        tokio::task::yield_now().await;
        first.abort();
        assert_eq!(second.await.unwrap(), Some((20, 2)));
        let gone = gather.clone().ask(3, with_count);
        drop(gone);
        assert_eq!(gather.ask(4, with_count).await, Some((40, 1)));
    }

    #[tokio::test]
    async fn a_missing_answer_is_none() {
        let gather = Arc::new(Gather::<u64, u64>::default());
        assert_eq!(gather.ask(1, async |_| Vec::new()).await, None);
    }
}
