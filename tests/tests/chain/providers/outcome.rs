//! What came of reading a wallet through a provider that refuses, and what is wrong with it.

use std::time::Duration;

use assay_domain::{Coverage, Snapshot};
use assay_tests::proxy::{Call, Proxy};

use super::super::hidden::{falsehood, is_final};
use super::super::index::log_queries;
use super::Setting;
use super::bench::TOGETHER;
use super::table::{Reaction, Row};

/// A disturbed read may cost so many times an undisturbed one.
const DEARER: usize = 8;

/// Parts of the devnet's blocks within the limit of the bench.
const PARTS: usize = 5;

/// Calls of a read at both endpoints.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Cost {
    pub(super) calls: [usize; 2],
    pub(super) logs: [usize; 2],
}

impl Cost {
    /// The calls since the last count.
    pub(super) fn take(proxies: &[&Proxy]) -> Self {
        let taken: Vec<Vec<Call>> = proxies.iter().map(|proxy| proxy.take()).collect();
        let of = |at: usize| taken.get(at).map(Vec::as_slice).unwrap_or_default();
        Self { calls: [of(0).len(), of(1).len()], logs: [log_queries(of(0)), log_queries(of(1))] }
    }

    /// The larger one of each number.
    pub(super) fn max(self, other: Self) -> Self {
        let larger = |one: [usize; 2], other: [usize; 2]| [one[0].max(other[0]), one[1].max(other[1])];
        Self { calls: larger(self.calls, other.calls), logs: larger(self.logs, other.logs) }
    }

    pub(super) fn all(self) -> usize {
        self.calls.iter().sum()
    }

    pub(super) fn all_logs(self) -> usize {
        self.logs.iter().sum()
    }

    /// Whether it is about an undisturbed cost, or less. A width that grows again may take one query more at its last
    /// step.
    pub(super) fn is_about(self, undisturbed: Self) -> bool {
        self.all_logs() <= undisturbed.all_logs() + 1 && self.all() <= undisturbed.all() + undisturbed.all() / 4 + 5
    }
}

impl std::ops::Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let sum = |one: [usize; 2], other: [usize; 2]| [one[0] + other[0], one[1] + other[1]];
        Self { calls: sum(self.calls, other.calls), logs: sum(self.logs, other.logs) }
    }
}

/// What is wrong with a reaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wrong {
    /// The answer is not the full one, though another reaction would have led to it.
    Incomplete,
    /// The answer is final, though the provider refused a part of it.
    Invented,
    /// The reason does not have the provider's words.
    Unquoted,
    /// Too many calls.
    Dear,
    /// Later reads cost more than before the disturbance.
    Lasting,
}

/// A row in a setting.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) row: Row,
    pub(super) setting: Setting,
    /// How this server classifies the row.
    pub(super) fault: String,
    pub(super) is_final: bool,
    pub(super) reads: usize,
    pub(super) cost: Cost,
    /// Undisturbed reads until one costs what it costs without a disturbance before; 0 if none was tried.
    pub(super) recovered: usize,
    pub(super) time: Duration,
    pub(super) wrong_finals: Vec<String>,
    pub(super) problems: Vec<(Wrong, String)>,
}

impl Outcome {
    pub(super) fn passes(&self) -> bool {
        self.wrong_finals.is_empty() && self.problems.is_empty()
    }

    /// Whether the provider named the limit. Such a limit is kept for 1,024 answers, which takes more wallets than the
    /// bench has; that it is tried again is a test of the limit itself.
    pub(super) fn is_named_limit(&self) -> bool {
        self.fault.contains("limit: Some")
    }

    /// Whether nobody answers what the provider refuses.
    pub(super) fn ends_unread(&self) -> bool {
        self.row.reaction == Reaction::Elsewhere && self.setting != Setting::Two
    }

    /// Whether only the provider's words say why.
    fn is_unknown(&self) -> bool {
        self.fault.starts_with("Refused")
    }

    /// Whether something is wrong in this way.
    pub(super) fn is(&self, wrong: Wrong) -> bool {
        self.problems.iter().any(|(kind, _)| *kind == wrong)
    }

    /// Adds a disturbed read of a wallet whose undisturbed snapshot is `truth`. Returns whether it is the truth.
    pub(super) fn add(&mut self, truth: &Snapshot, read: &Snapshot) -> bool {
        self.reads += 1;
        self.is_final |= is_final(read);
        self.check(truth, read)
    }

    /// Whether a read is final and the truth. Keeps what is final and false.
    pub(super) fn check(&mut self, truth: &Snapshot, read: &Snapshot) -> bool {
        let falsehood = falsehood(truth, read);
        let is_true = is_final(read) && falsehood.is_none();
        self.wrong_finals.extend(falsehood);
        is_true
    }

    /// Judges the last disturbed read, whose undisturbed cost is known.
    pub(super) fn judge(&mut self, is_true: bool, read: &Snapshot, undisturbed: Cost) {
        let unread = self.ends_unread();
        match (unread, is_true) {
            (false, false) => self.problems.push((Wrong::Incomplete, unread_parts(read))),
            (true, true) => self.problems.push((Wrong::Invented, String::new())),
            (true, false) if self.is_unknown() && !self.quotes(read) => {
                self.problems.push((Wrong::Unquoted, unread_parts(read)));
            }
            _ => {}
        }
        let (calls, most) = (self.cost.all(), DEARER * undisturbed.all());
        // A limit of the range also takes a query for each part.
        let dearer = match self.row.reaction {
            Reaction::Shorter => DEARER + PARTS,
            // Nothing is answered; each query is retried, with pauses.
            Reaction::Elsewhere if unread => 4 * DEARER,
            _ => DEARER,
        };
        // Once a query that wallets share is refused, each asks for itself.
        let wallets = if self.setting == Setting::Batch { TOGETHER } else { 1 };
        let (logs, most_logs) = (self.cost.all_logs(), wallets * dearer * undisturbed.all_logs().max(2));
        if calls > most || logs > most_logs {
            let what = format!("{calls} calls and {logs} log queries instead of {most} and {most_logs} at most");
            self.problems.push((Wrong::Dear, what));
        }
    }

    /// Whether a reason contains the provider's words, or says that an archive node or a credential is missing.
    fn quotes(&self, read: &Snapshot) -> bool {
        let letters = |text: &str| text.to_lowercase().chars().filter(char::is_ascii_alphanumeric).collect::<String>();
        let start: String = letters(self.row.wording).chars().take(12).collect();
        let reasons: Vec<String> = read.unread().map(|(_, unread)| unread.reason).collect();
        reasons.iter().any(|reason| {
            letters(reason).contains(&start)
                || reason.contains("archive")
                || (self.row.status != 200 && reason.contains(&self.row.status.to_string()))
        })
    }
}

/// The parts that are missing, in short.
fn unread_parts(read: &Snapshot) -> String {
    if read.all_failed() {
        let reason = read.unread().next().map(|(_, unread)| unread.reason).unwrap_or_default();
        return format!("no chain could be read, {reason}");
    }
    let pools = read.chains.iter().flat_map(|chain| &chain.pools);
    let pools = pools.filter(|pool| pool.coverage != Coverage::Complete).count();
    let parts: Vec<String> = read.unread().map(|(_, unread)| format!("{:?}: {}", unread.part, unread.reason)).collect();
    format!("{pools} markets; {}", parts.join("; "))
}
