//! Wallets that something happens to: what a watch of them reads at each time of the clock.

use std::time::Duration;

use alloy::primitives::{B256, keccak256};

use crate::{Mocks, scripted::SHIPPED, watch_step::WatchStep};
use assay_domain::{Address, Coverage, ReadBlock};
use assay_registry::MockSubject;
use assay_score::ScoringError;
use assay_watch::{
    market::MarketName,
    reading::{Liquidated, LiquidationLog, Reading, Readings, Sample},
    script::{ScriptMoment, WatchScript},
    series::ChainFacts,
    trigger::{Measure, Trigger, coverage_rank, range_rank},
};

/// The market of all scripts.
pub const MARKET: &str = "1/lenderA_v3/0x87870Bca3F3fD6335C3F4ce8392D69350B4fA4E2";
/// Blocks after which one is final, and the seconds between two.
const FINAL: u64 = 64;
const A_BLOCK: u64 = 12;
/// The block at which the clock shows 0.
const FIRST: u64 = 20_000_000;
const CHAIN: u64 = 1;
const UNREAD: &str = "chain 1: the endpoint did not answer, as the script has it";

/// The steps of one wallet, the earliest first, up to a time of the clock.
struct Past<'a> {
    wallet: Address,
    steps: &'a [WatchStep],
}

impl<'a> Past<'a> {
    fn new(wallet: Address, steps: &'a [WatchStep], clock: Duration) -> Self {
        let passed = steps.iter().take_while(|step| step.at <= clock).count();
        Self { wallet, steps: steps.get(..passed).unwrap_or_default() }
    }

    fn block(&self, step: usize, of: &WatchStep) -> ReadBlock {
        let number = FIRST + of.at.as_secs() / A_BLOCK;
        ReadBlock { chain_id: CHAIN, number, hash: self.hash("block", step) }
    }

    fn hash(&self, what: &str, step: usize) -> B256 {
        keccak256(format!("{}/{what}/{step}", self.wallet))
    }

    /// The steps whose blocks are in the chain, the earliest first.
    fn standing(&self) -> impl DoubleEndedIterator<Item = (usize, &'a WatchStep)> {
        let is_removed = |at: usize| self.steps.get(at + 1).is_some_and(|next| next.reorganises);
        let steps: Vec<_> = self.steps.iter().enumerate().filter(|(at, _)| !is_removed(*at)).collect();
        steps.into_iter()
    }

    /// The liquidations in the chain, the newest first.
    fn liquidations(&self, at: &ScriptMoment) -> Vec<Liquidated> {
        let all = self.standing().filter_map(|(number, step)| Some((number, step, step.liquidated_usd?)));
        let found = all.map(|(number, step, usd)| {
            let block = self.block(number, step);
            let transaction = self.hash("transaction", number);
            let log = LiquidationLog { block: block.number, block_hash: block.hash, transaction };
            Liquidated { at: at.after(step.at), usd: Some(usd), log: Some(log) }
        });
        let mut found: Vec<_> = found.collect();
        found.reverse();
        found
    }

    fn facts(&self, clock: Duration) -> ChainFacts {
        let removed = self.steps.iter().enumerate().skip(1).filter(|(_, step)| step.reorganises);
        let orphaned = removed.map(|(at, _)| self.hash("block", at - 1)).collect();
        let last = FIRST + clock.as_secs() / A_BLOCK;
        let settled = [(CHAIN, last.saturating_sub(FINAL))].into();
        ChainFacts { orphaned, settled, ..ChainFacts::default() }
    }
}

impl Mocks {
    /// The script of a wallet: of the tester, or of the host.
    fn script(&self, wallet: Address) -> Option<Vec<WatchStep>> {
        let of = |all: &[crate::Scripted]| {
            let is = |one: &&crate::Scripted| one.scenario.subject == MockSubject::Address(wallet);
            all.iter().find(is).map(|one| one.watch.clone()).filter(|steps| !steps.is_empty())
        };
        of(&self.scripted()).or_else(|| of(&SHIPPED))
    }
}

impl WatchScript for Mocks {
    fn require(&self, wallet: Address) -> Result<(), ScoringError> {
        let lack = "watches only wallets with a script: 0x0000000000000000000000000000000000000301, and those of \
                    --scenarios with `watch`";
        self.script(wallet).map(drop).ok_or(ScoringError::Sandbox(lack))
    }

    fn readings(&self, wallet: Address, trigger: &Trigger, at: &ScriptMoment) -> Readings {
        let steps = self.script(wallet).unwrap_or_default();
        let past = Past::new(wallet, &steps, at.clock);
        let series = match (trigger.measure, trigger.market) {
            (Measure::HealthFactor | Measure::Liquidation, None) => MARKET.to_owned(),
            (_, market) => market.map(|market: MarketName| market.to_string()).unwrap_or_default(),
        };
        let Some((number, step)) = past.steps.iter().enumerate().next_back() else {
            return Readings::from([(series, Reading::Unread("the wallet has no script any more".to_owned()))]);
        };
        let sample = |value: Option<f64>| Sample {
            value,
            at: at.after(step.at),
            blocks: vec![past.block(number, step)],
            version: None,
            score: None,
            liquidations: Vec::new(),
        };
        if trigger.measure == Measure::Coverage {
            let coverage = if step.unread { Coverage::Failed } else { Coverage::Complete };
            return Readings::from([(series, Reading::Read(sample(Some(coverage_rank(coverage)))))]);
        }
        let reading = match trigger.measure {
            _ if step.unread => Reading::Unread(UNREAD.to_owned()),
            Measure::HealthFactor => Reading::Read(sample(step.health_factor)),
            Measure::DebtUsd => Reading::Read(sample(Some(step.debt_usd))),
            Measure::Liquidation => {
                let liquidations = past.liquidations(at);
                let count = Some(liquidations.len() as f64);
                Reading::Read(Sample { liquidations, ..sample(count) })
            }
            Measure::Probability => Reading::Nothing("a sandbox claims no rates".to_owned()),
            Measure::Score | Measure::Range | Measure::Coverage => self.score(trigger, step, sample),
        };
        Readings::from([(series, reading)])
    }

    fn facts(&self, wallet: Address, at: &ScriptMoment) -> ChainFacts {
        let steps = self.script(wallet).unwrap_or_default();
        Past::new(wallet, &steps, at.clock).facts(at.clock)
    }
}

impl Mocks {
    /// The score of a step, by the version that answers the trigger.
    fn score(&self, trigger: &Trigger, step: &WatchStep, sample: impl Fn(Option<f64>) -> Sample) -> Reading {
        let version = match &trigger.model_version {
            Some(version) => version.clone(),
            None => match self.now().credit() {
                Ok(credit) => credit.reference().version.clone(),
                Err(error) => return Reading::Unread(error.to_string()),
            },
        };
        let value = match trigger.measure {
            Measure::Range => range_rank(step.score.range()),
            _ => f64::from(step.score.get()),
        };
        Reading::Read(Sample { version: Some(version), score: Some(step.score.get()), ..sample(Some(value)) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_domain::Score;

    fn step(at: u64) -> WatchStep {
        WatchStep {
            at: Duration::from_secs(at),
            health_factor: Some(2.0),
            debt_usd: 1.0,
            score: Score::MIN,
            unread: false,
            reorganises: false,
            liquidated_usd: None,
        }
    }

    #[test]
    fn a_reorganisation_removes_the_block_and_the_liquidation_of_the_step_before() {
        let liquidated = WatchStep { liquidated_usd: Some(9.0), ..step(60) };
        let steps = [step(0), liquidated, WatchStep { reorganises: true, ..step(120) }];
        let wallet = Address::with_last_byte(1);
        let at = |seconds| {
            let clock = Duration::from_secs(seconds);
            let past = Past::new(wallet, &steps, clock);
            let moment = ScriptMoment { begun: assay_domain::time_from_unix(0), clock };
            (past.liquidations(&moment).len(), past.facts(clock).orphaned)
        };
        assert_eq!((at(59).0, at(60).0, at(119).0, at(120).0), (0, 1, 1, 0));
        let removed = Past::new(wallet, &steps, Duration::from_secs(60)).hash("block", 1);
        assert_eq!(at(120).1, [removed].into());
        assert!(at(119).1.is_empty());
    }

    #[test]
    fn a_block_is_final_after_some_minutes() {
        let steps = [step(0), step(60)];
        let past = |seconds| Past::new(Address::ZERO, &steps, Duration::from_secs(seconds));
        let block = past(60).block(1, &steps[1]);
        let is_final = |seconds: u64| past(seconds).facts(Duration::from_secs(seconds)).settled[&CHAIN] >= block.number;
        assert!(!is_final(60) && !is_final(820) && is_final(828));
    }
}
