//! Transaction History: how much, how widely and how recently the wallet was used.

use super::factor;
use crate::{
    curve::{Curve, faded, whole},
    seen::Seen,
    types::Factor,
    words::{ago, count},
};

/// As much as age: use can be bought with fees where age cannot, but it is what age is made of.
const POSSIBLE: u32 = 120;

/// Transactions sent. Ten are a trial, a hundred a habit; past a thousand a program is as likely as a person.
const SENT: Curve = Curve(&[(3.0, 14.0), (10.0, 32.0), (100.0, 62.0), (1000.0, 80.0)]);

/// Chains used. The second and third show a person who moves about; more are cheap to add.
const CHAINS: Curve = Curve(&[(1.0, 6.0), (2.0, 14.0), (3.0, 20.0)]);

/// For a transaction today. A wallet that is still used is one whose owner still has something to lose.
const RECENT: f64 = 20.0;
/// Half of that is left after three months without one: a season's pause is common.
const RECENT_HALF_DAYS: f64 = 90.0;

pub fn judge(seen: &Seen) -> Factor {
    if seen.transactions == 0 {
        let description =
            "You have sent no transaction that could be read; using this wallet regularly would help.".into();
        return factor("Transaction History", 0, POSSIBLE, description);
    }
    let recent = seen.idle_days.map_or(0.0, |days| RECENT * faded(days, RECENT_HALF_DAYS));
    let points = whole(SENT.at(seen.transactions as f64) + CHAINS.at(f64::from(seen.chains_used)) + recent);
    let last = seen.idle_days.map_or(String::new(), |days| format!(", the last one {}", ago(days)));
    let help = match () {
        () if seen.idle_days.is_some_and(|days| days > RECENT_HALF_DAYS) => "using it again would help",
        () if seen.transactions < 1000 => "more of them over time would help",
        () if seen.chains_used < 3 => "using another chain would help",
        () => "staying active keeps it so",
    };
    let sent = count(seen.transactions, "transaction", "transactions");
    let chains = count(seen.chains_used.into(), "chain", "chains");
    factor("Transaction History", points, POSSIBLE, format!("You have sent {sent} on {chains}{last}; {help}."))
}
