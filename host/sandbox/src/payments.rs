//! The payments that scenarios accept and refuse.

use super::{Mocks, condition::PaymentOutcome};
use assay_payment::{Payment, PaymentScript, Refused, X402};
use assay_registry::MockSubject;

/// Decides about the payments for the agents whose scenario says so.
pub struct MockPayments {
    mocks: Mocks,
    x402: X402,
}

impl MockPayments {
    /// With these terms, as production would demand them.
    pub fn new(mocks: Mocks, x402: X402) -> Self {
        Self { mocks, x402 }
    }

    fn outcome(&self, agent_id: u64) -> Option<PaymentOutcome> {
        self.mocks.now().condition(MockSubject::Agent(agent_id)).ok()?.payment
    }
}

impl PaymentScript for MockPayments {
    fn x402(&self, agent_id: u64) -> Option<&X402> {
        self.outcome(agent_id).map(|_| &self.x402)
    }

    fn refusal(&self, agent_id: u64, payment: &Payment) -> Option<Refused> {
        match self.outcome(agent_id)? {
            PaymentOutcome::Accepted => None,
            PaymentOutcome::Refused(why) => Some(self.x402.scripted(why, payment)),
        }
    }
}
