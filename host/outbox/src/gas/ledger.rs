//! The ledger of one moment, without a store: what is at risk, what was lost, and whether one more transaction may be
//! signed.
//!
//! A transaction counts at its gas limit times its highest fee, from before it is signed until its outcome is final.
//! Earlier payments of the payer cover it first; the rest counts against the budget of its class.
//!
//! Payments cover losses in the order in which they occur. What they leave uncovered of a payer's transactions in
//! flight can thus fall on any of them, so each class counts as much of it as its own transactions can cost. Together,
//! losses never exceed what payments brought plus the budgets.

use std::{collections::HashMap, time::Duration};

use assay_access::records::Payer;
use assay_domain::{Address, Time};
use serde::{Deserialize, Serialize};

use super::{Usd, config};

/// Transactions that share a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// The transfer of a payer without code.
    Account,
    /// The transfer of a payer with code, which decides whether the transfer succeeds.
    Contract,
    Feedback,
}

impl Class {
    pub const ALL: [Self; 3] = [Self::Account, Self::Contract, Self::Feedback];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Account => "accounts",
            Self::Contract => "contracts",
            Self::Feedback => "feedback",
        }
    }
}

/// A party that can cause a loss: a payer, a key, the owner of an agent, or the network of a client.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Party(String);

impl Party {
    pub fn payer(address: Address) -> Self {
        Self(format!("payer/{address:#x}"))
    }

    fn is_payer(&self) -> bool {
        self.0.starts_with("payer/")
    }

    pub fn owner(address: Address) -> Self {
        Self(format!("owner/{address:#x}"))
    }

    pub fn network(address: std::net::IpAddr) -> Self {
        Self(format!("network/{address}"))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&Payer> for Party {
    fn from(payer: &Payer) -> Self {
        match payer {
            Payer::Key { meter, .. } => Self(format!("key/{meter}")),
            Payer::Payment(payment) => Self::payer(payment.from),
        }
    }
}

/// The budgets.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub accounts: Usd,
    pub contracts: Usd,
    pub feedback: Usd,
    pub party: Usd,
    /// Time in which a spent budget returns.
    pub period: Duration,
}

impl From<&config::Gas> for Limits {
    fn from(gas: &config::Gas) -> Self {
        Self {
            accounts: Usd::of(gas.accounts_usd),
            contracts: Usd::of(gas.contracts_usd),
            feedback: Usd::of(gas.feedback_usd),
            party: Usd::of(gas.party_usd),
            period: gas.period,
        }
    }
}

impl Limits {
    pub fn of(&self, class: Class) -> Usd {
        match class {
            Class::Account => self.accounts,
            Class::Contract => self.contracts,
            Class::Feedback => self.feedback,
        }
    }

    /// Time until `excess` of a budget of `limit` has returned.
    pub fn returns(&self, excess: Usd, limit: Usd) -> Duration {
        self.period.mul_f64(excess.0 as f64 / limit.0.max(1) as f64)
    }
}

/// The loss at one moment; it returns evenly from then on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LossRecord {
    pub lost: Usd,
    pub at: Time,
    /// The class of the latest loss. Absent in records of earlier versions.
    #[serde(default)]
    pub last: Option<Class>,
}

impl LossRecord {
    pub fn none(now: Time) -> Self {
        Self { lost: Usd::ZERO, at: now, last: None }
    }

    /// The part of a budget of `limit` that has not returned yet.
    pub fn left(&self, limit: Usd, period: Duration, now: Time) -> Usd {
        let age = (now - self.at).to_std().unwrap_or_default().as_secs_f64();
        let returned = limit.0 as f64 * age / period.as_secs_f64().max(1.0);
        self.lost.minus(Usd(returned as u64))
    }

    /// With a loss of `more` in `class`.
    #[must_use]
    pub fn plus(&self, (more, class): (Usd, Class), limit: Usd, period: Duration, now: Time) -> Self {
        Self { lost: self.left(limit, period, now) + more, at: now.max(self.at), last: Some(class) }
    }
}

/// One transaction: its maximum cost, and the parties that can cause it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Risk {
    pub class: Class,
    pub payer: Party,
    /// The owner of the agent, for feedback.
    pub owner: Option<Party>,
    /// Where the payment came from. A network has no limit: it decides about the order.
    pub network: Option<Party>,
    pub most: Usd,
}

impl Risk {
    pub fn parties(&self) -> impl Iterator<Item = &Party> {
        std::iter::once(&self.payer).chain(&self.owner).chain(&self.network)
    }

    fn limited(&self) -> impl Iterator<Item = &Party> {
        std::iter::once(&self.payer).chain(&self.owner)
    }
}

/// Whether a transaction may be signed now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Admission {
    Granted,
    /// Another transaction of the same party must end first.
    Busy,
    /// The budget of the class is at risk or spent. It is admitted when its turn comes.
    Turn,
    Spent(Exhausted),
    /// It can cost more than the whole budget of its class.
    Dear(Usd),
}

/// A party whose losses have reached its limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exhausted {
    pub party: Party,
    /// The class of its latest loss, if known.
    pub last: Option<Class>,
    /// Time until enough of its losses has returned.
    pub wait: Duration,
}

impl Exhausted {
    /// Whether transfers of its payments caused its latest loss.
    pub fn is_by_transfers(&self) -> bool {
        matches!(self.last, Some(Class::Account | Class::Contract))
    }

    /// The cause, and what the caller can do.
    pub fn why(&self, until: Time) -> String {
        let what = match self.last {
            Some(Class::Account | Class::Contract) => "Transfers of this caller's payments were reverted",
            Some(Class::Feedback) => "Feedback for this caller was reverted",
            None => "Transactions for this caller were reverted",
        };
        let others = if self.party.is_payer() { ", from another account, or with an API key" } else { "" };
        format!(
            "{what} on the chain and cost more gas than this server pays for. Try again after {}{others}",
            until.format("%F %R UTC")
        )
    }
}

/// Losses and credits that were read for the parties of this moment.
#[derive(Debug, Clone, Default)]
pub struct Standings {
    pub classes: HashMap<Class, Usd>,
    pub lost: HashMap<Party, Usd>,
    /// The class of each party's latest loss.
    pub last: HashMap<Party, Class>,
    /// Revenue of payments that no gas has used.
    pub credit: HashMap<Party, Usd>,
}

/// The most that transactions in flight of one payer can cost.
#[derive(Debug, Clone, Default)]
struct InFlight {
    total: Usd,
    by_class: HashMap<Class, Usd>,
    by_party: HashMap<Party, Usd>,
}

impl InFlight {
    fn in_class(&self, class: Class) -> Usd {
        self.by_class.get(&class).copied().unwrap_or_default()
    }

    fn of_party(&self, party: &Party) -> Usd {
        self.by_party.get(party).copied().unwrap_or_default()
    }
}

/// The ledger.
#[derive(Debug, Clone)]
pub struct Ledger {
    limits: Limits,
    standings: Standings,
    in_flight: HashMap<Party, InFlight>,
}

impl Ledger {
    pub fn new(limits: Limits, standings: Standings) -> Self {
        Self { limits, standings, in_flight: HashMap::new() }
    }

    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    fn credit(&self, payer: &Party) -> Usd {
        self.standings.credit.get(payer).copied().unwrap_or_default()
    }

    fn total(&self, payer: &Party) -> Usd {
        self.in_flight.get(payer).map_or(Usd::ZERO, |flight| flight.total)
    }

    /// The credit of a payer that covers no transaction in flight.
    fn free_credit(&self, payer: &Party) -> Usd {
        self.credit(payer).minus(self.total(payer))
    }

    /// The sum over payers of the uncovered cost of those transactions in flight whose highest cost is `of`.
    fn at_risk(&self, of: impl Fn(&InFlight) -> Usd) -> Usd {
        let uncovered = |(payer, flight): (&Party, &InFlight)| of(flight).min(flight.total.minus(self.credit(payer)));
        self.in_flight.iter().map(uncovered).fold(Usd::ZERO, |sum, cost| sum + cost)
    }

    /// The loss and the risk of `party`.
    pub fn debt(&self, party: &Party) -> Usd {
        self.lost(party) + self.at_risk(|flight| flight.of_party(party))
    }

    fn lost(&self, party: &Party) -> Usd {
        self.standings.lost.get(party).copied().unwrap_or_default()
    }

    /// The loss in `class` that has not returned.
    pub fn lost_in(&self, class: Class) -> Usd {
        self.standings.classes.get(&class).copied().unwrap_or_default()
    }

    pub fn at_risk_in(&self, class: Class) -> Usd {
        self.at_risk(|flight| flight.in_class(class))
    }

    /// The rest of the budget of `class`.
    pub fn room(&self, class: Class) -> Usd {
        self.limits.of(class).minus(self.lost_in(class) + self.at_risk_in(class))
    }

    /// Whether earlier payments of the payer brought more than gas has used or can use.
    pub fn has_credit(&self, payer: &Party) -> bool {
        self.free_credit(payer) > Usd::ZERO
    }

    /// The most that one more transaction, or a replacement, of the party may cost.
    pub fn most(&self, risk: &Risk) -> Usd {
        let free = self.free_credit(&risk.payer);
        let most = free + self.room(risk.class);
        let Some(flight) = self.in_flight.get(&risk.payer) else { return most };
        // The credit that it takes leaves transactions of other classes uncovered.
        let uncovered = flight.total.minus(self.credit(&risk.payer));
        let others = Class::ALL.into_iter().filter(|class| *class != risk.class).filter_map(|class| {
            let (in_class, room) = (flight.in_class(class), self.room(class));
            (in_class > in_class.min(uncovered) + room).then(|| free + room)
        });
        others.fold(most, Usd::min)
    }

    /// Counts a transaction in flight.
    pub fn add(&mut self, risk: &Risk) {
        let flight = self.in_flight.entry(risk.payer.clone()).or_default();
        flight.total = flight.total + risk.most;
        let in_class = flight.by_class.entry(risk.class).or_default();
        *in_class = *in_class + risk.most;
        for party in risk.parties() {
            let of_party = flight.by_party.entry(party.clone()).or_default();
            *of_party = *of_party + risk.most;
        }
    }

    /// `party`, until `excess` of its losses has returned.
    pub(super) fn exhausted(&self, party: &Party, excess: Usd) -> Exhausted {
        let last = self.standings.last.get(party).copied();
        Exhausted { party: party.clone(), last, wait: self.limits.returns(excess, self.limits.party) }
    }

    /// Whether `risk` may be signed now.
    pub fn admit(&self, risk: &Risk) -> Admission {
        let open = risk.most.minus(self.free_credit(&risk.payer));
        if open == Usd::ZERO {
            return Admission::Granted;
        }
        let limit = self.limits.of(risk.class);
        if open > limit {
            return Admission::Dear(limit);
        }
        for party in risk.limited() {
            let (lost, debt) = (self.lost(party), self.debt(party));
            let excess = (lost + open).minus(self.limits.party).min(lost);
            if excess > Usd::ZERO {
                return Admission::Spent(self.exhausted(party, excess));
            }
            let is_at_risk = debt > lost;
            if is_at_risk && (risk.class != Class::Feedback || debt + open > self.limits.party) {
                return Admission::Busy;
            }
        }
        if risk.most > self.most(risk) { Admission::Turn } else { Admission::Granted }
    }

    /// The longest time until `place` transactions of `most` have been admitted one after the other, if each before
    /// the last is lost.
    pub fn wait(&self, class: Class, place: usize, most: Usd) -> Duration {
        let all = Usd(most.0.saturating_mul(place as u64));
        let limit = self.limits.of(class);
        self.limits.returns((self.lost_in(class) + self.at_risk_in(class) + all).minus(limit), limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_domain::time_from_unix;

    const LIMITS: Limits = Limits {
        accounts: Usd(100),
        contracts: Usd(50),
        feedback: Usd(100),
        party: Usd(40),
        period: Duration::from_secs(1_000),
    };

    fn payer(n: u8) -> Party {
        Party::payer(Address::with_last_byte(n))
    }

    fn transfer(n: u8, most: u64) -> Risk {
        Risk { class: Class::Account, payer: payer(n), owner: None, network: None, most: Usd(most) }
    }

    fn feedback(n: u8, most: u64) -> Risk {
        Risk { class: Class::Feedback, owner: Some(Party::owner(Address::ZERO)), ..transfer(n, most) }
    }

    fn ledger(standings: Standings) -> Ledger {
        Ledger::new(LIMITS, standings)
    }

    #[test]
    fn what_is_in_flight_counts_before_anything_is_lost() {
        let mut ledger = ledger(Standings::default());
        for n in 0..4 {
            assert_eq!(ledger.admit(&transfer(n, 25)), Admission::Granted, "{n}");
            ledger.add(&transfer(n, 25));
        }
        assert_eq!(ledger.admit(&transfer(4, 25)), Admission::Turn);
        // The other classes have separate budgets.
        assert_eq!(ledger.admit(&feedback(4, 25)), Admission::Granted);
        assert_eq!(ledger.admit(&transfer(4, 101)), Admission::Dear(Usd(100)));
    }

    #[test]
    fn payments_cover_the_gas_of_their_payer_and_of_nobody_else() {
        let credit = HashMap::from([(payer(1), Usd(60))]);
        let classes = HashMap::from([(Class::Account, Usd(100))]);
        let mut ledger = ledger(Standings { classes, credit, ..Standings::default() });
        for _ in 0..2 {
            assert_eq!(ledger.admit(&transfer(1, 30)), Admission::Granted);
            ledger.add(&transfer(1, 30));
        }
        assert_eq!(ledger.admit(&transfer(1, 30)), Admission::Turn);
        assert_eq!(ledger.admit(&transfer(2, 30)), Admission::Turn);
        assert_eq!(ledger.at_risk_in(Class::Account), Usd::ZERO);
    }

    #[test]
    fn a_credit_that_one_class_uses_leaves_no_other_beyond_its_budget() {
        let contract = |most| Risk { class: Class::Contract, ..transfer(1, most) };
        let credit = HashMap::from([(payer(1), Usd(60))]);
        let classes = HashMap::from([(Class::Account, Usd(90))]);
        let with = |credit: &HashMap<Party, Usd>, classes: &HashMap<Class, Usd>, in_flight: &[Risk]| {
            let standings = Standings { classes: classes.clone(), credit: credit.clone(), ..Standings::default() };
            let mut ledger = ledger(standings);
            in_flight.iter().for_each(|risk| ledger.add(risk));
            ledger
        };
        let before = with(&credit, &classes, &[transfer(1, 60)]);
        // The credit covers one of the two, and the budget of accounts has no room for the other.
        assert_eq!((before.most(&contract(40)), before.most(&transfer(1, 40))), (Usd(10), Usd(10)));
        let both = with(&credit, &classes, &[transfer(1, 60), contract(10)]);
        assert_eq!((both.at_risk_in(Class::Account), both.at_risk_in(Class::Contract)), (Usd(10), Usd(10)));
        // The contract's transfer is lost first and uses credit.
        let credit = HashMap::from([(payer(1), Usd(50))]);
        assert_eq!(with(&credit, &classes, &[transfer(1, 60)]).room(Class::Account), Usd::ZERO);
    }

    #[test]
    fn one_party_uses_a_part_and_a_payer_one_transfer_at_a_time() {
        let mut ledger = ledger(Standings::default());
        ledger.add(&transfer(1, 10));
        assert_eq!(ledger.admit(&transfer(1, 10)), Admission::Busy);
        ledger.add(&feedback(2, 15));
        assert_eq!(ledger.admit(&feedback(2, 15)), Admission::Granted);
        ledger.add(&feedback(2, 15));
        assert_eq!(ledger.admit(&feedback(2, 15)), Admission::Busy);
        // The owner of the agent is the same.
        assert_eq!(ledger.admit(&feedback(3, 15)), Admission::Busy);
        let lost = HashMap::from([(payer(1), Usd(35))]);
        let last = HashMap::from([(payer(1), Class::Account)]);
        let ledger = Ledger::new(LIMITS, Standings { lost, last, ..Standings::default() });
        // 10 above the limit of 40, which returns in 1,000 seconds.
        let spent = Exhausted { party: payer(1), last: Some(Class::Account), wait: Duration::from_secs(250) };
        assert_eq!(ledger.admit(&transfer(1, 15)), Admission::Spent(spent));
        assert_eq!(ledger.admit(&transfer(1, 5)), Admission::Granted);
    }

    #[test]
    fn each_cause_of_losses_has_its_own_sentence() {
        let key = Party::from(&Payer::Key { meter: "key".to_owned(), units: 10, read: 1, limit: None });
        let mut sentences = std::collections::BTreeSet::new();
        for last in [None, Some(Class::Account), Some(Class::Contract), Some(Class::Feedback)] {
            for party in [payer(1), key.clone()] {
                let is_payer = party == payer(1);
                let spent = Exhausted { party, last, wait: Duration::ZERO };
                let why = spent.why(time_from_unix(1_768_473_000));
                assert_eq!(why.starts_with("Transfers of "), spent.is_by_transfers(), "{why}");
                assert_eq!(why.contains("from another account"), is_payer, "{why}");
                sentences.insert(why);
            }
        }
        assert_eq!(sentences.len(), 6);
    }

    #[test]
    fn a_loss_returns_evenly() {
        let start = time_from_unix(1_768_473_000);
        let at = |seconds| start + Duration::from_secs(seconds);
        let loss = LossRecord::none(start).plus((Usd(80), Class::Account), Usd(100), LIMITS.period, start);
        assert_eq!(loss.left(Usd(100), LIMITS.period, at(0)), Usd(80));
        assert_eq!(loss.left(Usd(100), LIMITS.period, at(500)), Usd(30));
        let more = loss.plus((Usd(20), Class::Feedback), Usd(100), LIMITS.period, at(500));
        assert_eq!(more, LossRecord { lost: Usd(50), at: at(500), last: Some(Class::Feedback) });
        assert_eq!(more.left(Usd(100), LIMITS.period, at(10_000)), Usd::ZERO);
        // A clock that goes back returns nothing twice.
        assert_eq!(more.left(Usd(100), LIMITS.period, at(0)), Usd(50));
    }

    #[test]
    fn the_longest_wait_is_that_of_losses_before() {
        let classes = HashMap::from([(Class::Account, Usd(100))]);
        let ledger = ledger(Standings { classes, ..Standings::default() });
        assert_eq!(ledger.wait(Class::Account, 1, Usd(10)), Duration::from_secs(100));
        assert_eq!(ledger.wait(Class::Account, 3, Usd(10)), Duration::from_secs(300));
        assert_eq!(Ledger::new(LIMITS, Standings::default()).wait(Class::Account, 3, Usd(10)), Duration::ZERO);
    }
}
