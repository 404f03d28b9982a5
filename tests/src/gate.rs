//! Where a stand-in holds what it was asked until a test lets it go on.

use tokio::sync::Semaphore;

pub(crate) struct Gate {
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

    /// Completes when something is held that no earlier wait has told of.
    pub async fn held(&self) {
        pass(&self.held).await;
    }

    /// Lets so many that are or will be held go on.
    pub fn release(&self, many: usize) {
        self.released.add_permits(many);
    }
}

async fn pass(permits: &Semaphore) {
    if let Ok(permit) = permits.acquire().await {
        permit.forget();
    }
}
