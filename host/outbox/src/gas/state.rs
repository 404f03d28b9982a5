//! The ledger as operators see it.

use std::time::Duration;

use super::{Class, Ledger, Usd};

/// One budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetState {
    pub class: Class,
    pub budget: Usd,
    /// Maximum cost of the transactions in flight beyond what their payers have paid.
    pub in_flight: Usd,
    /// What was lost and has not returned yet.
    pub lost: Usd,
    /// Payments or submissions that wait for their turn.
    pub in_turn: usize,
}

/// The budgets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GasState {
    pub budgets: Vec<BudgetState>,
    /// Time in which a spent budget returns.
    pub period: Duration,
}

impl GasState {
    pub fn of(ledger: &Ledger, in_turn: impl Fn(Class) -> usize) -> Self {
        let budget = |class| BudgetState {
            class,
            budget: ledger.limits().of(class),
            in_flight: ledger.at_risk_in(class),
            lost: ledger.lost_in(class),
            in_turn: in_turn(class),
        };
        Self { budgets: Class::ALL.map(budget).into(), period: ledger.limits().period }
    }
}
