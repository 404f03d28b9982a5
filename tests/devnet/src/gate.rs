//! Holds requests of a mock until a test releases them.

use tokio::sync::Semaphore;

pub struct Gate {
    released: Semaphore,
    held: Semaphore,
}

impl Default for Gate {
    fn default() -> Self {
        Self { released: Semaphore::new(0), held: Semaphore::new(0) }
    }
}

impl Gate {
    /// Waits to be released.
    pub async fn hold(&self) {
        self.held.add_permits(1);
        pass(&self.released).await;
    }

    /// Completes when a request is held that no earlier call has reported.
    pub async fn held(&self) {
        pass(&self.held).await;
    }

    /// Releases that many present or future requests.
    pub fn release(&self, many: usize) {
        self.released.add_permits(many);
    }
}

async fn pass(permits: &Semaphore) {
    if let Ok(permit) = permits.acquire().await {
        permit.forget();
    }
}
