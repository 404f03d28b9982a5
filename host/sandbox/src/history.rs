//! The mock score at moments in the past: what the credit model says of the mock report as it was then, moved by as
//! much as it moves the score of now.

use std::sync::Arc;

use assay_domain::{EventKind, Standing, time_from_unix};
use assay_registry::{MockPool, MockReport};
use assay_report::ReportedEvent;
use assay_score::{MockPoint, NotScored, ScoringError};

use crate::{MockRequest, Sandbox, SandboxScore, condition::Reading, features::features, report::events};

/// Seconds over which a wallet without later events sent its transactions.
const YEAR: u64 = 365 * 86_400;

impl Sandbox {
    /// One point for each of `moments`, in Unix seconds.
    ///
    /// # Errors
    /// As [`Sandbox::score`].
    pub(crate) fn past(&self, asked: &MockRequest, moments: &[u64]) -> Result<Vec<MockPoint>, ScoringError> {
        let baseline = match self.baseline(asked, false) {
            Ok(baseline) => baseline,
            Err(ScoringError::NotFound) => return Ok(moments.iter().map(|_| MockPoint::Inactive).collect()),
            Err(error) => {
                let why = NotScored::of(&error).ok_or(error)?;
                return Ok(moments.iter().map(|_| MockPoint::NotScored(why.clone())).collect());
            }
        };
        if asked.condition.reading == Reading::Pending {
            return Ok(moments.iter().map(|_| MockPoint::Pending).collect());
        }
        let mock = self.generator()?.report(&asked.address)?;
        let point = |moment: &u64| {
            if *moment < mock.first_transaction || mock.total_transactions == 0 {
                return Ok(MockPoint::Inactive);
            }
            let features = features(&at(&mock, *moment), *moment);
            let Some(says) = baseline.assess(&features)? else { return Ok(MockPoint::Inactive) };
            let model = baseline.scored.model.clone();
            let score = SandboxScore { score: says.score, decile: says.decile, model };
            let scored = self.scored_as(asked, score, says.factors)?;
            Ok(MockPoint::Scored(Arc::new(scored), Standing::of(&features).health_factor))
        };
        moments.iter().map(point).collect()
    }
}

/// The report as it was at `moment`: the events until then and a share of the transactions. The holdings are today's.
fn at(mock: &MockReport, moment: u64) -> MockReport {
    let mut then = mock.clone();
    let newest = mock.pools.iter().filter_map(|pool| pool.last_event).max().unwrap_or_default();
    let end = newest.max(mock.first_transaction.saturating_add(YEAR));
    let share = |of: u64| of.min(end).saturating_sub(mock.first_transaction);
    let sent = u128::from(mock.total_transactions) * u128::from(share(moment)) / u128::from(share(end).max(1));
    then.total_transactions = u64::try_from(sent).unwrap_or(mock.total_transactions).max(1);
    then.pools.iter_mut().for_each(|pool| *pool = pool_at(pool, moment));
    let is_used = |chain, protocol: &str| {
        let of = |pool: &&MockPool| (pool.chain_id, pool.protocol.as_str()) == (chain, protocol);
        then.pools.iter().find(of).is_some_and(|pool| pool.first_event.is_some())
    };
    then.positions.retain(|position| is_used(position.chain_id, &position.name));
    then
}

fn pool_at(pool: &MockPool, moment: u64) -> MockPool {
    let mut then = pool.clone();
    let until: Vec<ReportedEvent> =
        events(pool).into_iter().filter(|event| event.at <= time_from_unix(moment)).collect();
    let counts = &mut then.counts;
    for (count, kind) in [
        (&mut counts.supply, EventKind::Supply),
        (&mut counts.withdraw, EventKind::Withdraw),
        (&mut counts.borrow, EventKind::Borrow),
        (&mut counts.repay, EventKind::Repay),
        (&mut counts.liquidation, EventKind::Liquidation),
    ] {
        *count = count.map(|_| until.iter().filter(|event| event.kind == kind).count() as u64);
    }
    let times = || until.iter().map(|event| event.at.timestamp().unsigned_abs());
    (then.first_event, then.last_event) = (times().min(), times().max());
    then
}
