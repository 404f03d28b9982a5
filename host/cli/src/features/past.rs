//! Moments in the past: how they are written, and with which configuration chains are read as they were then.

use super::Arguments;
use crate::Failure;
use assay_chain::{Chains, MomentError, PastBlock};
use assay_domain::{Address, ChainId};
pub(crate) use assay_score::reading::moment;

const DAY: u64 = 86_400;

/// The export of one moment.
pub(super) struct Past {
    /// Unix seconds.
    pub moment: u64,
    /// The market whose borrowers are exported too, and its chain if given.
    pub market: Option<(Address, Option<ChainId>)>,
    pub label: Option<Label>,
}

/// Which outcome is written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Label {
    /// Seconds after the moment.
    pub within: u64,
    /// Dollars.
    pub min_debt: f64,
}

impl Past {
    pub fn of(arguments: &Arguments, moment: u64) -> Self {
        let market = arguments.market.filter(|_| arguments.population.is_some());
        let market = market.map(|market| (market, arguments.chain));
        let min_debt = arguments.min_debt;
        let within = arguments.within.filter(|_| arguments.outcome.is_some());
        Self { moment, market, label: within.map(|within| Label { within, min_debt }) }
    }
}

/// Each moment from `first` to `until`, at an interval of `every` seconds.
pub(crate) fn moments(first: u64, every: Option<u64>, until: Option<u64>) -> Result<Vec<u64>, Failure> {
    let Some((every, until)) = every.zip(until) else { return Ok(vec![first]) };
    if until < first {
        return Err(Failure::cannot("--until is before --as-of"));
    }
    let step = usize::try_from(every).map_err(Failure::cannot)?;
    Ok((first..=until).step_by(step).collect())
}

/// The block at which each of `chains` is read, or the id of a chain that did not exist at the moment.
///
/// # Errors
/// [`Failure`] if a chain cannot be read, or is not at the moment yet.
pub(super) async fn blocks(chains: &Chains) -> Result<Result<Vec<PastBlock>, ChainId>, Failure> {
    match chains.go_back().await {
        Ok(blocks) => Ok(Ok(blocks)),
        Err(MomentError::Before { chain, .. }) => {
            eprintln!("chain {chain} did not exist at that moment, and is left out");
            Ok(Err(chain))
        }
        Err(error) => Err(Failure::cannot(error)),
    }
}

/// A number of days, as seconds.
pub(super) fn days(text: &str) -> Result<u64, String> {
    let number = text.strip_suffix('d').and_then(|days| days.parse().ok());
    let days = number.filter(|days| (1..=3_650).contains(days));
    days.map(|days: u64| days * DAY).ok_or_else(|| "write 1d to 3650d".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_dates_times_and_seconds() {
        assert_eq!(moment("2025-03-01"), Ok(1_740_787_200));
        assert_eq!(moment("2025-03-01T12:00:00Z"), Ok(1_740_830_400));
        assert_eq!(moment("2025-03-01T13:00:00+01:00"), Ok(1_740_830_400));
        assert_eq!(moment("1740787200"), Ok(1_740_787_200));
        for wrong in ["", "yesterday", "2025-02-30", "-5", "2025-03-01 12:00"] {
            assert!(moment(wrong).is_err(), "{wrong}");
        }
        assert_eq!(days("90d"), Ok(90 * DAY));
        for wrong in ["90", "0d", "d", "-1d", "1.5d", "4000d"] {
            assert!(days(wrong).is_err(), "{wrong}");
        }
        assert_eq!(moments(0, Some(30 * DAY), Some(61 * DAY)).ok(), Some(vec![0, 30 * DAY, 60 * DAY]));
        assert_eq!(moments(5, None, None).ok(), Some(vec![5]));
        assert!(moments(5, Some(DAY), Some(4)).is_err());
    }
}
