//! The source of everything that a sandbox makes up: the generator of the shelf, the scenarios of the host, and how
//! often each key has asked about each of them.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use assay_domain::{Address, ModelVersion};
use assay_registry::Registry;
use assay_score::ScoringError;
use moka::future::Cache;

use crate::{MockRequest, Sandbox, scripted::Scripted};

/// A condition for some requests begins again if it was not requested for this long.
const FORGOTTEN: Duration = Duration::from_secs(60);
/// The largest number of keys and addresses that are counted.
const COUNTED: u64 = 10_000;

/// Cheap to clone.
#[derive(Clone)]
pub struct Mocks {
    registry: Arc<Registry>,
    scripted: Arc<[Scripted]>,
    /// The number of requests of each key about each address.
    asked: Cache<(String, Address), Arc<AtomicU32>>,
}

impl Mocks {
    /// With the scenarios of a tester, which precede those of the generator.
    pub fn new(registry: Arc<Registry>, scripted: Vec<Scripted>) -> Self {
        let asked = Cache::builder().max_capacity(COUNTED).time_to_idle(FORGOTTEN).build();
        Self { registry, scripted: scripted.into(), asked }
    }

    /// The champions of this moment.
    pub fn now(&self) -> Sandbox {
        Sandbox { active: self.registry.active(), credit: None, scripted: Arc::clone(&self.scripted) }
    }

    /// On the scale of this version of the credit model instead of the champion's.
    ///
    /// # Errors
    /// `ScoringError::Version` for a version that is not in service.
    pub fn on(&self, version: Option<&ModelVersion>) -> Result<Sandbox, ScoringError> {
        let credit = version.map(|version| self.registry.in_service(version)).transpose()?;
        Ok(Sandbox { credit, ..self.now() })
    }

    /// The scenarios of a tester.
    pub(crate) fn scripted(&self) -> Arc<[Scripted]> {
        Arc::clone(&self.scripted)
    }

    /// Counts a request by the key of this name: a condition for some requests is over after them.
    pub(crate) async fn counted(&self, asked: MockRequest, by: &str) -> MockRequest {
        let Some(most) = asked.condition.requests else { return asked };
        let count = self.asked.get_with((by.to_owned(), asked.address), async { Arc::default() }).await;
        let earlier = count.fetch_add(1, Ordering::Relaxed);
        if earlier < most { asked } else { MockRequest { condition: asked.condition.over(), ..asked } }
    }

    /// Forgets the requests of the key of this name.
    pub(crate) async fn forget(&self, by: &str) {
        for (counted, _) in self.asked.iter().filter(|(counted, _)| counted.0 == by) {
            self.asked.invalidate(counted.as_ref()).await;
        }
    }
}
