//! Payments and feedback against an adversary that acts between any two steps of the worker, and ends the process
//! there. It changes the code, the balance, the nonces and the approvals of any account, copies transfers out of the
//! pool, moves the price of gas, and chooses what is in each block and in which order.
//!
//! The chain is a model. What decides is the code that runs in production: the ledger, the states of payments and
//! submissions, and the moves of nonces. `ASSAY_SOAK=1` runs 100,000 schedules.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use alloy::{
    consensus::{SignableTransaction, TxEip1559},
    eips::eip2718::Encodable2718,
    primitives::{Signature, U256, keccak256},
};

use crate::{
    records::{FeedbackRecord, Stage, Start, SubmissionRecord},
    sample,
    set_aside::Ends,
    step::{Event, SpentBy, step},
};
use assay_access::records::Payer;
use assay_domain::{Address, Authorization, B256, PaymentId, Tag, Time, time_from_unix};
use assay_evm::client::Block;
use assay_outbox::{
    gas::{Admission, Class, Ledger, Limits, LossRecord, NativePrice, Party, Spent, Standings, Usd},
    nonce::{Ended, Move, NonceRecord, NonceState, Rules, Seen, SignedRecord, next_move, state_of},
    sender::{AccountView, FeeMarket, Offer, TransactionStatus},
};
use assay_payment::{
    queue::in_turns,
    records::{PaymentRecord, PaymentState},
    spent,
    token::{AuthorizationUse, Standing},
};

const LIMITS: Limits = Limits {
    accounts: Usd(5_000),
    contracts: Usd(8_000),
    feedback: Usd(12_000),
    party: Usd(60_000),
    period: Duration::from_secs(1_200),
};
const PRICE: NativePrice = NativePrice(1_000.0);
const SOLD_FOR: u64 = 3_000;
const CONFIRMATIONS: u64 = 2;
const RULES: Rules =
    Rules { ceiling: 1_000_000_000, replace_after: Duration::from_secs(6), resend_after: Duration::ZERO, most: 12 };
const CANCELLATION_GAS: u64 = 21_000;
const GIVE_UP_AFTER: Duration = Duration::from_secs(400);
const PAYERS: u64 = 8;

/// Random numbers that depend only on the number of the schedule.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }

    fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}

/// A guard that a schedule leaves out, to show that a property fails without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Guard {
    /// A payment that is open or settled is not claimed again.
    ClaimedOnce,
    /// A refused payment that arrived later is settled when it is presented again.
    ArrivedLate,
    /// A nonce ends only with its confirmations.
    Confirmed,
    /// The ledger admits each transaction.
    Admitted,
    /// The ledger admits each replacement.
    Replaced,
}

/// The process ended between two steps.
struct Killed;

type Steps = Result<(), Killed>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Code {
    Accepts,
    /// Confirms signatures in simulations and uses up the gas of a transaction.
    Burns,
}

#[derive(Default)]
struct Account {
    balance: u64,
    code: Option<Code>,
    /// How each nonce was used, and in which block.
    used: HashMap<B256, (u64, AuthorizationUse)>,
}

#[derive(Debug, Clone, Copy)]
enum Call {
    Transfer(usize),
    Feedback(usize, Tag),
    Nothing,
}

struct Pooled {
    nonce: u64,
    hash: B256,
    call: Call,
    whose: Whose,
    gas: u64,
    max_fee: u64,
}

/// Whose loss a transaction is if it brings nothing.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Whose {
    class: Class,
    payer: Party,
}

impl From<&assay_outbox::gas::Risk> for Whose {
    fn from(risk: &assay_outbox::gas::Risk) -> Self {
        Self { class: risk.class, payer: risk.payer.clone() }
    }
}

struct Mined {
    call: Call,
    whose: Whose,
    block: u64,
    gas_used: u64,
    cost: u64,
    at: u64,
    succeeded: bool,
}

/// The chain, the store and the worker of one schedule.
struct World {
    random: Random,
    time: u64,
    block: u64,
    base: u64,
    accounts: HashMap<Address, Account>,
    /// Whether the owner of the agent of each submission has approved the account.
    approved: Vec<bool>,
    pool: Vec<Pooled>,
    mined: HashMap<B256, Mined>,
    used_nonce: u64,
    /// The nonces used after each block.
    nonces_at: Vec<u64>,
    given: HashMap<(usize, Tag), u32>,
    payments: Vec<Option<PaymentRecord>>,
    offers: Vec<Authorization>,
    bought: Vec<u32>,
    submissions: Vec<SubmissionRecord>,
    losses: BTreeMap<String, LossRecord>,
    credit: HashMap<Party, Usd>,
    lost: HashMap<Class, Usd>,
    last_loss: u64,
    /// How often what a class lost and had at risk was above its budget.
    over: u32,
    /// How often a transfer that arrived in time did not settle its payment when it was seen.
    unsettled: u32,
    contracts_may_pay: bool,
    is_calm: bool,
    without: Option<Guard>,
}

impl World {
    fn new(schedule: u64) -> Self {
        let mut random = Random(schedule.wrapping_mul(0x5851_f42d_4c95_7f2d));
        let contracts_may_pay = random.once_in(2);
        let address = |n: u64| Address::with_last_byte(0x10 + n as u8);
        let accounts = (0..PAYERS).map(|n| (address(n), Account { balance: 4 * SOLD_FOR, ..Account::default() }));
        let start = 1_768_473_000;
        let offers = (0..48).map(|n| Authorization {
            from: address(random.below(PAYERS)),
            to: Address::with_last_byte(1),
            value: U256::from(SOLD_FOR),
            valid_after: U256::ZERO,
            valid_before: U256::from(start + 30 + random.below(300)),
            nonce: B256::from(U256::from(n + 1)),
        });
        let offers: Vec<_> = offers.collect();
        let submissions: Vec<_> = (0..5).map(|n| submission(n, time_from_unix(start))).collect();
        Self {
            time: start,
            block: 10,
            base: 50_000_000,
            accounts: accounts.collect(),
            approved: vec![false; submissions.len()],
            pool: Vec::new(),
            mined: HashMap::new(),
            used_nonce: 0,
            nonces_at: vec![0; 11],
            given: HashMap::new(),
            payments: vec![None; offers.len()],
            bought: vec![0; offers.len()],
            offers,
            submissions,
            losses: BTreeMap::new(),
            credit: HashMap::new(),
            lost: HashMap::new(),
            last_loss: start,
            over: 0,
            unsettled: 0,
            contracts_may_pay,
            is_calm: false,
            without: None,
            random,
        }
    }

    fn without(self, guard: Guard) -> Self {
        Self { without: Some(guard), ..self }
    }

    fn has(&self, guard: Guard) -> bool {
        self.without != Some(guard)
    }

    fn now(&self) -> Time {
        time_from_unix(self.time)
    }

    fn market(&self) -> FeeMarket {
        FeeMarket { base: self.base, tip: 1_000_000 }
    }

    // The adversary.

    /// Between two steps of the worker: a few acts and blocks, or the end of the process.
    fn between(&mut self) -> Steps {
        if self.is_calm {
            return Ok(());
        }
        while self.random.once_in(6) {
            self.act();
        }
        if self.random.once_in(12) {
            self.mine();
        }
        if self.random.once_in(200) { Err(Killed) } else { Ok(()) }
    }

    fn act(&mut self) {
        let payer = Address::with_last_byte(0x10 + self.random.below(PAYERS) as u8);
        let (kind, choice) = (self.random.below(7), self.random.below(1 << 20));
        let (block, offer) = (self.block, self.offers[choice as usize % self.offers.len()]);
        let account = self.accounts.get_mut(&payer).unwrap();
        match kind {
            0 => account.code = [None, Some(Code::Accepts), Some(Code::Burns)][choice as usize % 3],
            1 => account.balance = [0, SOLD_FOR, 4 * SOLD_FOR][choice as usize % 3],
            2 if offer.from == payer => {
                account.used.entry(offer.nonce).or_insert((block + 1, AuthorizationUse::Elsewhere));
            }
            3 => {
                let at = choice as usize % self.approved.len();
                self.approved[at] = !self.approved[at];
            }
            // A copy of a transfer, with a transaction of somebody else.
            4 => {
                let hash = keccak256(format!("copy {choice} {block}"));
                self.transfer(offer, hash);
            }
            // Every fourth price is a spike.
            5 => self.base = (10_000_000 + choice % 60_000_000) * if choice % 4 == 0 { 6 } else { 1 },
            _ => self.time += choice % 20,
        }
    }

    /// Makes a transfer in the next block, if it succeeds.
    fn transfer(&mut self, offer: Authorization, transaction: B256) -> bool {
        let (time, block) = (self.time, self.block + 1);
        let account = self.accounts.get_mut(&offer.from).unwrap();
        let fits = U256::from(time) < offer.valid_before && !account.used.contains_key(&offer.nonce);
        if !fits || account.balance < SOLD_FOR || account.code == Some(Code::Burns) {
            return false;
        }
        account.balance -= SOLD_FOR;
        account.used.insert(offer.nonce, (block, AuthorizationUse::Paid { transaction, block }));
        true
    }

    /// A block with any of the pooled transactions that may be in it, and acts before each.
    fn mine(&mut self) {
        let strikes = !self.is_calm && self.random.once_in(2);
        if strikes {
            self.strike();
        }
        loop {
            if !self.is_calm && self.random.once_in(2) {
                self.act();
            }
            let (next, base) = (self.used_nonce, self.base);
            let fits = |one: &Pooled| one.nonce == next && one.max_fee >= base;
            let fitting: Vec<usize> = (0..self.pool.len()).filter(|at| fits(&self.pool[*at])).collect();
            if fitting.is_empty() || (!self.is_calm && self.random.once_in(4)) {
                break;
            }
            let at = fitting[self.random.below(fitting.len() as u64) as usize];
            let one = self.pool.swap_remove(at);
            self.execute(one);
            let used = self.used_nonce;
            self.pool.retain(|one| one.nonce >= used);
        }
        self.block += 1;
        self.time += 2;
        self.nonces_at.push(self.used_nonce);
        if strikes {
            self.make_peace();
        }
    }

    /// Makes every transaction of the next block fail.
    fn strike(&mut self) {
        let burns = self.random.once_in(2);
        for account in self.accounts.values_mut() {
            (account.balance, account.code) = if burns { (4 * SOLD_FOR, Some(Code::Burns)) } else { (0, None) };
        }
        self.approved.fill(true);
    }

    /// Lets every transaction succeed.
    fn make_peace(&mut self) {
        for account in self.accounts.values_mut() {
            (account.balance, account.code) = (4 * SOLD_FOR, None);
        }
        self.approved.fill(false);
    }

    fn execute(&mut self, Pooled { hash, call, whose, gas, max_fee, .. }: Pooled) {
        let (gas_used, succeeded) = match call {
            Call::Nothing => (CANCELLATION_GAS, true),
            Call::Transfer(at) => {
                let offer = self.offers[at];
                let burns = self.accounts[&offer.from].code == Some(Code::Burns);
                let succeeded = self.transfer(offer, hash);
                (if burns { gas } else { gas.min(if succeeded { 90_000 } else { 60_000 }) }, succeeded)
            }
            Call::Feedback(at, tag) if !self.approved[at] => {
                *self.given.entry((at, tag)).or_default() += 1;
                (gas.min(200_000), true)
            }
            Call::Feedback(..) => (gas.min(60_000), false),
        };
        let cost = gas_used * max_fee.min(self.base + 1_000_000);
        self.used_nonce += 1;
        self.mined.insert(hash, Mined { call, whose, block: self.block + 1, gas_used, cost, at: self.time, succeeded });
    }

    // What the worker reads.

    fn standing(&self, offer: &Authorization) -> Standing {
        let account = &self.accounts[&offer.from];
        let used = account.used.get(&offer.nonce).is_some_and(|(block, _)| *block <= self.block);
        let (balance, has_code) = (U256::from(account.balance), account.code.is_some());
        Standing { time: self.time, balance, used, has_code }
    }

    fn usage(&self, offer: &Authorization, settled: u64) -> AuthorizationUse {
        let used = self.accounts[&offer.from].used.get(&offer.nonce);
        used.filter(|(block, _)| *block <= settled).map_or(AuthorizationUse::Unused, |(_, usage)| *usage)
    }

    fn settled(&self) -> u64 {
        self.block - CONFIRMATIONS
    }

    fn look(&self) -> Look {
        let reference = |number| Block { number, hash: B256::ZERO, time: 0 };
        let mut next_nonce = self.used_nonce;
        while self.pool.iter().any(|one| one.nonce == next_nonce) {
            next_nonce += 1;
        }
        let (settled, pooled) = (self.settled(), TransactionStatus::Pooled);
        let mut statuses: HashMap<_, _> = self.pool.iter().map(|one| (one.hash, pooled)).collect();
        statuses.extend(self.mined.iter().filter(|(_, one)| one.block <= self.block).map(|(hash, one)| {
            let Mined { block, gas_used, cost, succeeded, .. } = *one;
            (*hash, TransactionStatus::Mined { block, gas_used, cost, succeeded, settled: block <= settled })
        }));
        let slots = self.slots().map(|slot| slot.nonce);
        Look {
            held: slots.collect(),
            view: AccountView {
                head: reference(self.block),
                settled: reference(settled),
                used_nonce: self.used_nonce,
                settled_nonce: self.nonces_at[settled as usize],
                next_nonce,
                market: self.market(),
            },
            statuses,
        }
    }

    fn slots(&self) -> impl Iterator<Item = &NonceRecord> {
        let payments = self.payments.iter().flatten().filter_map(|record| record.slot.as_ref());
        let feedback = self.submissions.iter().flat_map(|record| &record.feedback);
        payments.chain(feedback.filter(|one| one.landed.is_none()).filter_map(|one| one.slot.as_ref()))
    }

    /// The ledger, from the stored records only.
    fn ledger(&self) -> Ledger {
        let now = self.now();
        let lost = |name: &str, limit| {
            self.losses.get(name).map_or(Usd::ZERO, |record| record.left(limit, LIMITS.period, now))
        };
        let open = self.payments.iter().flatten();
        let parties: Vec<Party> = open
            .map(|record| Party::payer(record.id.from))
            .chain(self.submissions.iter().flat_map(|record| {
                let risk = record.risk(Usd::ZERO);
                risk.parties().cloned().collect::<Vec<_>>()
            }))
            .collect();
        let mut ledger = Ledger::new(
            LIMITS,
            Standings {
                classes: Class::ALL.map(|class| (class, lost(class.as_str(), LIMITS.of(class)))).into(),
                lost: parties.iter().map(|party| (party.clone(), lost(party.as_str(), LIMITS.party))).collect(),
                credit: self.credit.clone(),
                last: HashMap::new(),
            },
        );
        for record in self.payments.iter().flatten() {
            record.slot.iter().for_each(|slot| ledger.add(&record.risk(PRICE.usd(slot.most_cost()))));
        }
        for record in &self.submissions {
            let open = record.feedback.iter().filter(|one| one.landed.is_none());
            open.filter_map(|one| one.slot.as_ref())
                .for_each(|slot| ledger.add(&record.risk(PRICE.usd(slot.most_cost()))));
        }
        ledger
    }

    // What the worker writes.

    fn sign(&self, nonce: u64, gas: u64, offer: Offer, call: Call, whose: Whose) -> (SignedRecord, Pooled) {
        let cancels = matches!(call, Call::Nothing);
        let transaction = TxEip1559 {
            chain_id: 1,
            nonce,
            gas_limit: gas,
            max_fee_per_gas: offer.max_fee.into(),
            max_priority_fee_per_gas: offer.priority_fee.into(),
            ..TxEip1559::default()
        };
        let raw = transaction.into_signed(Signature::test_signature()).encoded_2718();
        let hash = keccak256([raw.as_slice(), format!("{call:?}").as_bytes()].concat());
        let Offer { max_fee, priority_fee } = offer;
        let signed = SignedRecord { hash, raw: raw.into(), max_fee, priority_fee, at: self.now(), cancels };
        (signed, Pooled { nonce, hash, call, whose, gas, max_fee })
    }

    fn send(&mut self, one: Pooled) {
        let is_known = self.pool.iter().any(|known| known.hash == one.hash) || self.mined.contains_key(&one.hash);
        if !is_known && one.nonce >= self.used_nonce {
            self.pool.push(one);
        }
    }

    /// Counts the gas of transactions that ended.
    fn count(&mut self, risk: &assay_outbox::gas::Risk, spent: Spent) {
        let credit = self.credit.entry(risk.payer.clone()).or_default();
        let lost = spent.uncovered(*credit);
        *credit = credit.minus(spent.cost);
        if lost == Usd::ZERO {
            return;
        }
        let (now, period) = (self.now(), LIMITS.period);
        let mut add = |name: &str, limit: Usd, lost: Usd| {
            let record = self.losses.entry(name.to_owned()).or_insert(LossRecord::none(now));
            *record = record.plus((lost, risk.class), limit, period, now);
        };
        let limit = LIMITS.of(risk.class);
        add(risk.class.as_str(), limit, lost);
        let blamed = spent.blamed.min(lost);
        risk.parties().for_each(|party| add(party.as_str(), LIMITS.party, blamed));
        let left = self.losses[risk.class.as_str()].left(limit, period, now);
        self.over += u32::from(left > limit);
        self.last_loss = self.time;
        let sum = self.lost.entry(risk.class).or_default();
        *sum = *sum + lost;
    }

    /// Stores a payment with what follows from it, in one write.
    fn save(&mut self, at: usize, mut record: PaymentRecord, spent: Spent) {
        let risk = record.risk(spent.cost);
        match &mut record.state {
            PaymentState::Settled { bought: bought @ None, .. } => {
                *bought = Some(uuid::Uuid::nil());
                self.bought[at] += 1;
                let credit = self.credit.entry(risk.payer).or_default();
                *credit = (*credit + Usd(SOLD_FOR)).minus(spent.cost);
            }
            _ => self.count(&risk, spent),
        }
        self.payments[at] = Some(record);
    }

    /// The worker saw the outcome of the authorization of `record`, and concluded it.
    fn see(&mut self, record: &PaymentRecord, usage: AuthorizationUse) {
        let start = record.start.unwrap_or_default();
        let arrived = matches!(usage, AuthorizationUse::Paid { block, .. } if block > start);
        self.unsettled += u32::from(arrived && !matches!(record.state, PaymentState::Settled { .. }));
    }

    // The worker.

    /// A client presents a payment.
    fn present(&mut self, at: usize) -> Steps {
        let offer = self.offers[at];
        let earlier = match &self.payments[at] {
            Some(record) if matches!(record.state, PaymentState::Refused { .. }) => Some(record.clone()),
            Some(_) if self.has(Guard::ClaimedOnce) => return Ok(()),
            Some(record) => Some(record.clone()),
            None => None,
        };
        let mut record = payment(&offer, self.now());
        if let Some(earlier) = earlier {
            let start = earlier.start.unwrap();
            match self.usage(&offer, self.settled()) {
                AuthorizationUse::Paid { transaction, block } if block > start && self.has(Guard::ArrivedLate) => {
                    record.start = earlier.start;
                    record.state = PaymentState::Settled { transaction, bought: None };
                    self.save(at, record, Spent::default());
                    return Ok(());
                }
                _ if earlier.reverted || self.standing(&offer).used => return Ok(()),
                _ => {}
            }
        }
        let standing = self.standing(&offer);
        let may_pay = !standing.has_code || self.contracts_may_pay;
        if standing.used || !may_pay || standing.balance < offer.value || !record.holds(self.time, 20) {
            return Ok(());
        }
        record.start = Some(self.block);
        self.between()?;
        self.payments[at] = Some(record);
        Ok(())
    }

    fn round(&mut self) -> Steps {
        let mut look = self.look();
        self.between()?;
        let mut ledger = self.ledger();
        let at_most = |class| ledger.lost_in(class) + ledger.at_risk_in(class);
        self.over += Class::ALL.into_iter().filter(|class| at_most(*class) > LIMITS.of(*class)).count() as u32;
        let open = self.payments.iter().flatten().filter(|record| record.state == PaymentState::Open);
        for record in in_turns(open.cloned().collect(), &ledger) {
            let at = self.offers.iter().position(|offer| offer.nonce == record.id.nonce).unwrap();
            self.between()?;
            match record.slot.clone() {
                Some(slot) => self.follow_payment(&look, &mut ledger, at, record, &slot)?,
                None => self.begin_payment(&mut look, &mut ledger, at, record)?,
            }
        }
        for at in 0..self.submissions.len() {
            for tag in Tag::ALL {
                self.between()?;
                self.feedback(&mut look, &mut ledger, at, tag)?;
            }
        }
        Ok(())
    }

    fn begin_payment(&mut self, look: &mut Look, ledger: &mut Ledger, at: usize, mut record: PaymentRecord) -> Steps {
        let offer = self.offers[at];
        let standing = self.standing(&offer);
        self.between()?;
        let in_flight = |one: &&PaymentRecord| one.id.from == offer.from && one.slot.is_some();
        let promised = self.payments.iter().flatten().filter(in_flight).count() as u64 * SOLD_FOR;
        if !record.may_begin(&standing, U256::from(promised), self.time, self.contracts_may_pay) {
            self.save(at, record, Spent::default());
            return Ok(());
        }
        let now = self.standing(&offer);
        if now.used {
            let usage = self.usage(&offer, look.view.settled.number);
            if usage != AuthorizationUse::Unused {
                record.concluded(usage, None, self.time);
                self.see(&record, usage);
                self.save(at, record, Spent::default());
            }
            return Ok(());
        }
        if now.balance < offer.value || look.held.len() >= RULES.most {
            return Ok(());
        }
        let gas = if now.has_code { 160_000 } else { 117_000 };
        self.between()?;
        let Some(fee) = look.view.market.offer(RULES.ceiling) else { return Ok(()) };
        let risk = record.risk(PRICE.usd(u128::from(gas) * u128::from(fee.max_fee)));
        if self.has(Guard::Admitted) && ledger.admit(&risk) != Admission::Granted {
            return Ok(());
        }
        ledger.add(&risk);
        let nonce = look.next();
        let (signed, pooled) = self.sign(nonce, gas, fee, Call::Transfer(at), (&risk).into());
        record.slot = Some(NonceRecord { nonce, signed: vec![signed] });
        self.save(at, record, Spent::default());
        self.between()?;
        self.send(pooled);
        Ok(())
    }

    fn follow_payment(
        &mut self,
        look: &Look,
        ledger: &mut Ledger,
        at: usize,
        mut record: PaymentRecord,
        slot: &NonceRecord,
    ) -> Steps {
        let state = state_of(slot, &look.view, &look.statuses);
        let payable = record.is_payable(&self.standing(&self.offers[at]), self.time);
        self.between()?;
        match state {
            NonceState::Unsettled => Ok(()),
            NonceState::Ended(ended) => {
                let usage = self.usage(&self.offers[at], look.view.settled.number);
                assert!(record.concluded(usage, Some(ended), self.time));
                self.see(&record, usage);
                record.slot = None;
                self.save(at, record, spent(ended, PRICE));
                Ok(())
            }
            NonceState::Waiting { held } => {
                let risk = record.risk(PRICE.usd(slot.most_cost()));
                let call = payable.then_some((Call::Transfer(at), if record.by_contract { 160_000 } else { 117_000 }));
                if let Some((slot, pooled)) = self.replaced(look, ledger, slot, held, call, &risk) {
                    record.slot = Some(slot);
                    self.save(at, record, Spent::default());
                    self.between()?;
                    self.send(pooled);
                } else {
                    self.resend(slot, Call::Transfer(at), (&risk).into());
                }
                Ok(())
            }
        }
    }

    /// The next transaction of a waiting nonce, if one is signed.
    fn replaced(
        &mut self,
        look: &Look,
        ledger: &mut Ledger,
        slot: &NonceRecord,
        held: bool,
        call: Option<(Call, u64)>,
        risk: &assay_outbox::gas::Risk,
    ) -> Option<(NonceRecord, Pooled)> {
        let seen = Seen { held, first: slot.nonce == look.view.used_nonce, answer: None };
        let next = next_move(slot, seen, call.is_none(), look.view.market, &RULES, self.now());
        let Some(Move::Sign(offer)) = next else { return None };
        let (call, gas) = call.unwrap_or((Call::Nothing, CANCELLATION_GAS));
        let most = slot.most_cost() + PRICE.wei(ledger.most(risk));
        if self.has(Guard::Replaced) && u128::from(gas) * u128::from(offer.max_fee) > most {
            return None;
        }
        let (signed, pooled) = self.sign(slot.nonce, gas, offer, call, risk.into());
        let mut slot = slot.clone();
        slot.signed.push(signed);
        ledger.add(&assay_outbox::gas::Risk { most: PRICE.usd(slot.most_cost()).minus(risk.most), ..risk.clone() });
        Some((slot, pooled))
    }

    fn resend(&mut self, slot: &NonceRecord, call: Call, whose: Whose) {
        let Some(last) = slot.signed.last() else { return };
        let call = if last.cancels { Call::Nothing } else { call };
        let gas = (slot.most_cost() / u128::from(slot.signed.iter().map(|one| one.max_fee).max().unwrap())) as u64;
        let gas = if last.cancels { CANCELLATION_GAS } else { gas };
        self.send(Pooled { nonce: slot.nonce, hash: last.hash, call, whose, gas, max_fee: last.max_fee });
    }

    fn feedback(&mut self, look: &mut Look, ledger: &mut Ledger, at: usize, tag: Tag) -> Steps {
        let record = self.submissions[at].clone();
        let open = record.feedback.iter().find(|one| one.tag == tag && one.landed.is_none());
        let Some(feedback) = open.filter(|_| record.stage == Stage::Submitting) else { return Ok(()) };
        let Some(slot) = &feedback.slot else {
            if record.giving_up.is_none() && look.held.len() < RULES.most {
                self.begin_feedback(look, ledger, at, tag)?;
            }
            return Ok(());
        };
        let is_own = self.approved[at];
        self.between()?;
        match state_of(slot, &look.view, &look.statuses) {
            NonceState::Unsettled if self.has(Guard::Confirmed) => {}
            NonceState::Unsettled => {
                self.advance(at, Event::NonceSpent { tag, nonce: slot.nonce, by: SpentBy::Foreign });
            }
            NonceState::Ended(ended) => {
                let (nonce, spent) = (slot.nonce, |by| Event::NonceSpent { tag, nonce: slot.nonce, by });
                self.advance(
                    at,
                    match ended {
                        Ended::Succeeded(landed) => Event::Landed { tag, landed },
                        Ended::Reverted(landed) => spent(SpentBy::Revert(landed)),
                        Ended::Cancelled(landed) => spent(SpentBy::Cancellation(landed)),
                        Ended::NoReceipt => panic!("nonce {nonce} was used by nobody else"),
                    },
                );
            }
            NonceState::Waiting { held } => {
                let risk = record.risk(PRICE.usd(slot.most_cost()));
                let call = (record.giving_up.is_none() && !is_own).then_some((Call::Feedback(at, tag), 260_000));
                match self.replaced(look, ledger, slot, held, call, &risk) {
                    Some((next, pooled)) => {
                        let signed = next.signed.last().unwrap().clone();
                        self.advance(at, Event::Replaced { tag, signed });
                        self.between()?;
                        self.send(pooled);
                    }
                    None => self.resend(slot, Call::Feedback(at, tag), (&risk).into()),
                }
            }
        }
        Ok(())
    }

    fn begin_feedback(&mut self, look: &mut Look, ledger: &mut Ledger, at: usize, tag: Tag) -> Steps {
        if self.approved[at] {
            self.advance(at, Event::Declined("it would be reverted".to_owned()));
            return Ok(());
        }
        self.between()?;
        let Some(offer) = look.view.market.offer(RULES.ceiling) else { return Ok(()) };
        let risk = self.submissions[at].risk(PRICE.usd(260_000 * u128::from(offer.max_fee)));
        if self.has(Guard::Admitted) && ledger.admit(&risk) != Admission::Granted {
            return Ok(());
        }
        ledger.add(&risk);
        let nonce = look.next();
        let (signed, pooled) = self.sign(nonce, 260_000, offer, Call::Feedback(at, tag), (&risk).into());
        self.advance(at, Event::Signed { tag, nonce, signed });
        self.between()?;
        self.send(pooled);
        Ok(())
    }

    /// Stores a submission after `event`, with the gas of what ended.
    fn advance(&mut self, at: usize, event: Event) {
        let Some(next) = step(&self.submissions[at], event.clone(), self.now(), GIVE_UP_AFTER) else { return };
        let mut ends = Ends::default();
        ends.add(&event);
        let spent = ends.gas(PRICE);
        self.count(&next.risk(spent.cost), spent);
        self.submissions[at] = next;
    }

    // The schedule.

    fn run(&mut self) -> Outcome {
        let start = self.time;
        for _ in 0..40 {
            // If the process ends, the next one begins with what is stored.
            for _ in 0..8 {
                let at = self.random.below(self.offers.len() as u64) as usize;
                let _ = self.present(at);
            }
            let _ = self.round();
            self.mine();
        }
        self.is_calm = true;
        self.make_peace();
        self.base = 50_000_000;
        for _ in 0..400 {
            let _ = self.round();
            self.mine();
            self.time += 8;
            for at in 0..self.submissions.len() {
                self.advance(at, Event::Tick);
            }
            let is_open = |record: &PaymentRecord| record.state == PaymentState::Open;
            if !self.payments.iter().flatten().any(is_open)
                && self.submissions.iter().all(|record| record.stage.is_terminal())
            {
                break;
            }
        }
        (0..CONFIRMATIONS + 1).for_each(|_| self.mine());
        // Clients present once more what was refused.
        for at in 0..self.offers.len() {
            if self.payments[at].is_some() {
                let _ = self.present(at);
            }
        }
        self.check(start)
    }

    fn check(&self, start: u64) -> Outcome {
        let mut outcome = Outcome { beyond: self.over, without_item: self.unsettled, ..Outcome::default() };
        for (at, record) in self.payments.iter().enumerate() {
            let Some(record) = record else { continue };
            let usage = self.usage(&self.offers[at], self.block);
            let arrived =
                matches!(usage, AuthorizationUse::Paid { block, .. } if block > record.start.unwrap_or_default());
            outcome.twice += u32::from(self.bought[at] > 1);
            outcome.without_item += u32::from(arrived && self.bought[at] == 0);
            outcome.unpaid += u32::from(!matches!(usage, AuthorizationUse::Paid { .. }) && self.bought[at] > 0);
            outcome.settled += self.bought[at];
            outcome.stuck += u32::from(record.state == PaymentState::Open);
        }
        outcome.stuck += self.submissions.iter().filter(|record| !record.stage.is_terminal()).count() as u32;
        outcome.twice += self.given.values().filter(|given| **given > 1).count() as u32;
        // By the chain, not by the ledger.
        let vain: Vec<&Mined> =
            self.mined.values().filter(|one| !one.succeeded || matches!(one.call, Call::Nothing)).collect();
        outcome.reverted = vain.len() as u32;
        let (mut lost, mut reverts) = (HashMap::<&Whose, Usd>::new(), HashMap::<usize, u32>::new());
        for one in &vain {
            let sum = lost.entry(&one.whose).or_default();
            *sum = *sum + PRICE.usd(one.cost.into());
            if let Call::Transfer(at) = one.call {
                *reverts.entry(at).or_default() += 1;
            }
        }
        outcome.again = reverts.values().filter(|times| **times > 1).count() as u32;
        outcome.lost = lost.values().fold(Usd::ZERO, |sum, cost| sum + *cost);
        let mut earned = HashMap::<Party, Usd>::new();
        for (offer, bought) in self.offers.iter().zip(&self.bought) {
            let sum = earned.entry(Party::payer(offer.from)).or_default();
            *sum = *sum + Usd(SOLD_FOR * u64::from(*bought));
        }
        // What the payments of a payer brought covers its own losses only.
        let mut uncovered = HashMap::<Class, Usd>::new();
        for (Whose { class, payer }, cost) in lost {
            let brought = earned.entry(payer.clone()).or_default();
            let sum = uncovered.entry(class.to_owned()).or_default();
            *sum = *sum + cost.minus(*brought);
            *brought = brought.minus(cost);
        }
        let budget_at = |class, time: u64| {
            let share = 1.0 + (time - start) as f64 / LIMITS.period.as_secs_f64();
            Usd((LIMITS.of(class).0 as f64 * share) as u64)
        };
        let last = vain.iter().map(|one| one.at).max().unwrap_or(start);
        outcome.beyond += uncovered.into_iter().filter(|(class, lost)| *lost > budget_at(*class, last)).count() as u32;
        let budget = |class| budget_at(class, self.last_loss);
        outcome.beyond += Class::ALL
            .into_iter()
            .filter(|class| self.lost.get(class).copied().unwrap_or_default() > budget(*class))
            .count() as u32;
        outcome
    }
}

/// One read of the chain.
struct Look {
    view: AccountView,
    statuses: HashMap<B256, TransactionStatus>,
    held: Vec<u64>,
}

impl Look {
    fn next(&mut self) -> u64 {
        let nonce = (self.view.next_nonce..).find(|nonce| !self.held.contains(nonce)).unwrap();
        self.held.push(nonce);
        nonce
    }
}

fn payment(offer: &Authorization, now: Time) -> PaymentRecord {
    PaymentRecord {
        id: PaymentId { chain: 1, asset: Address::ZERO, from: offer.from, nonce: offer.nonce },
        authorization: *offer,
        claimed_at: now,
        state: PaymentState::Open,
        ..sample::paid()
    }
}

fn submission(n: u8, now: Time) -> SubmissionRecord {
    let feedback = |tag| FeedbackRecord {
        tag,
        value: 1,
        version: "1.0".to_owned(),
        document: None,
        slot: None,
        landed: None,
        lost: Vec::new(),
    };
    SubmissionRecord {
        created_at: now,
        payer: Payer::Key { meter: format!("key {}", n % 3), units: 10, read: 1, limit: None },
        stage: Stage::Submitting,
        start: Some(Start { block: 1, given: 0, owner: Some(Address::with_last_byte(n % 2)) }),
        feedback: Tag::ALL.map(feedback).to_vec(),
        ..sample::pending()
    }
}

/// What went wrong in one schedule, and how much happened.
#[derive(Debug, Default)]
struct Outcome {
    beyond: u32,
    twice: u32,
    without_item: u32,
    unpaid: u32,
    /// Payments with more than one reverted transfer.
    again: u32,
    stuck: u32,
    settled: u32,
    reverted: u32,
    lost: Usd,
}

#[test]
fn no_schedule_costs_more_than_the_budget_or_takes_a_payment_for_nothing() {
    let soak = std::env::var_os("ASSAY_SOAK").is_some_and(|on| on == "1");
    let schedules = if soak { 100_000 } else { 1_000 };
    let mut all = Outcome::default();
    for schedule in 0..schedules {
        let outcome = World::new(schedule).run();
        let failed =
            [outcome.beyond, outcome.twice, outcome.without_item, outcome.unpaid, outcome.again, outcome.stuck];
        let failed: u32 = failed.into_iter().sum();
        assert_eq!(failed, 0, "schedule {schedule}: {outcome:?}");
        all.settled += outcome.settled;
        all.reverted += outcome.reverted;
        all.lost = all.lost + outcome.lost;
    }
    let Outcome { settled, reverted, lost, .. } = all;
    println!(
        "{schedules} schedules: {settled} payments settled, {reverted} transactions in vain for {lost}; 0 beyond the \
         budget, 0 paid twice, 0 taken without an item"
    );
    assert!(settled > 0 && reverted > 0);
}

#[test]
fn each_property_fails_without_its_guard() {
    type Wrong = fn(&Outcome) -> u32;
    let twice: Wrong = |outcome| outcome.twice;
    let without_item: Wrong = |outcome| outcome.without_item;
    let beyond: Wrong = |outcome| outcome.beyond;
    for (guard, wrong) in [
        (Guard::ClaimedOnce, twice),
        (Guard::Confirmed, twice),
        (Guard::ArrivedLate, without_item),
        (Guard::Admitted, beyond),
        (Guard::Replaced, beyond),
    ] {
        let found = (0..1_000).find(|schedule| wrong(&World::new(*schedule).without(guard).run()) > 0);
        println!("without {guard:?}: schedule {found:?}");
        assert!(found.is_some(), "no schedule needs {guard:?}");
    }
}
