//! The payments that scenarios refuse.

use std::sync::Arc;

use super::Sandbox;
use assay_domain::PaymentRefusal;
use assay_payment::{Payment, PaymentScript, Refused, X402};
use assay_registry::{Behaviour, MockSubject, Registry};

/// Refuses the payments for the agents whose scenario says so.
pub struct RefusedPayments {
    registry: Arc<Registry>,
    x402: X402,
}

impl RefusedPayments {
    /// With these terms, as production would demand them.
    pub fn new(registry: Arc<Registry>, x402: X402) -> Self {
        Self { registry, x402 }
    }

    fn why(&self, agent_id: u64) -> Option<PaymentRefusal> {
        match Sandbox::now(&self.registry).behaviour(MockSubject::Agent(agent_id)) {
            Ok(Some(Behaviour::PaymentRefused(why))) => Some(why),
            _ => None,
        }
    }
}

impl PaymentScript for RefusedPayments {
    fn terms(&self, agent_id: u64) -> Option<&X402> {
        self.why(agent_id).map(|_| &self.x402)
    }

    fn refusal(&self, agent_id: u64, payment: &Payment) -> Option<Refused> {
        Some(self.x402.scripted(self.why(agent_id)?, payment))
    }
}
