//! The records with a known outcome, as rows. Intervals over clusters, segments and factors are computed from them. Of
//! a large file only a sample of the rows is kept, the same on every machine.

use std::{
    hash::{DefaultHasher, Hasher as _},
    time::Duration,
};

use serde_json::Value;

use crate::{record::Record, words::day};
use assay_domain::{
    Assessment, Coverage, Score, Standing,
    features::{FIGURES, Features},
    stats::Outcomes,
};
use assay_registry::ScoreError;

/// The most rows that are kept; some 40 MB.
pub(crate) const MOST: usize = 200_000;
/// The most factors of a model that are kept.
const FACTORS: usize = 32;

/// The answer of one model for one record, and the time of the call.
pub(crate) type Called = (Result<Assessment, ScoreError>, Duration);

/// A dimension of `--by`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum By {
    Chain,
    Protocol,
    /// Another column of the file, which is no field of a record.
    Column(String),
}

/// What a run takes from each record beside its features.
#[derive(Debug, Clone, Default)]
pub struct Grading {
    pub by: Vec<By>,
    pub external: Option<ExternalScore>,
}

/// A column with another score.
#[derive(Debug, Clone)]
pub struct ExternalScore {
    pub column: String,
    pub lower_is_better: bool,
}

/// A record with a known outcome.
#[derive(Debug, Clone)]
pub struct GradedRow {
    pub line: u64,
    pub as_of: u64,
    pub bad: bool,
    /// Rows with the same number belong together: a wallet on several dates.
    pub cluster: u64,
    pub clustered: Clustered,
    /// The score of each model; `None` if it gave none.
    pub scores: Vec<Option<Score>>,
    /// For each model: the points of each factor.
    pub points: Vec<Vec<i32>>,
    /// Higher is better.
    pub external: Option<f64>,
    pub figures: [Option<f64>; FIGURES.len()],
    pub standing: Standing,
    /// The column `lost_usd`.
    pub lost_usd: Option<f64>,
    /// The index of a dimension in [`Grading::by`], and the value of the record in it.
    pub segments: Vec<(usize, String)>,
}

/// What says to which cluster a row belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Clustered {
    Column,
    /// The id, because the column is missing.
    Id,
    /// The id without the date of the record at its end.
    DatedId,
    /// Nothing: the row is a cluster of its own.
    Alone,
}

impl GradedRow {
    /// The score of model number `index`; `None` if it gave none.
    pub fn score(&self, index: usize) -> Option<Score> {
        self.scores.get(index).copied().flatten()
    }
}

/// Counts `scores`, one for each row, by the outcome of the row, as often as the weight of the row says.
pub(crate) fn outcomes(rows: &[&GradedRow], weights: &[u64], scores: impl Iterator<Item = Option<Score>>) -> Outcomes {
    let mut found = Outcomes::default();
    for ((row, weight), score) in rows.iter().zip(weights).zip(scores) {
        let Some(score) = score else { continue };
        if row.bad { &mut found.bad } else { &mut found.good }.add_many(score, *weight);
    }
    found
}

/// The rows of a file.
#[derive(Debug, Clone, Default)]
pub struct Graded {
    rows: Vec<GradedRow>,
    /// All records with an outcome, also those that are not kept.
    pub seen: u64,
    /// For each model: the labels of its factors, in its order.
    pub labels: Vec<Vec<String>>,
}

impl Graded {
    pub fn new(models: usize) -> Self {
        Self { labels: vec![Vec::new(); models], ..Self::default() }
    }

    pub fn see(
        &mut self,
        line: u64,
        record: &Record,
        called: &[Called],
        figures: &[Option<f64>; FIGURES.len()],
        grading: &Grading,
    ) {
        let answers = || called.iter().map(|(answer, _)| answer.as_ref().ok());
        for (labels, answer) in self.labels.iter_mut().zip(answers()) {
            if let (true, Some(answer)) = (labels.is_empty(), answer) {
                *labels = answer.factors.iter().take(FACTORS).map(|factor| factor.label.clone()).collect();
            }
        }
        let Some(bad) = record.outcome else { return };
        self.seen += 1;
        let (cluster, clustered) = cluster(line, record);
        self.rows.push(GradedRow {
            line,
            as_of: record.features.as_of,
            bad,
            cluster,
            clustered,
            scores: answers().map(|answer| answer.map(|answer| answer.score)).collect(),
            points: answers()
                .map(|answer| {
                    answer.map_or_else(Vec::new, |a| a.factors.iter().take(FACTORS).map(|f| f.points).collect())
                })
                .collect(),
            external: external(record, grading),
            figures: *figures,
            standing: Standing::of(&record.features),
            lost_usd: record.other.get("lost_usd").and_then(Value::as_f64),
            segments: segments(record, grading),
        });
        if self.rows.len() >= 2 * MOST {
            self.thin();
        }
    }

    pub fn merge(&mut self, other: Self) {
        self.seen += other.seen;
        self.rows.extend(other.rows);
        for (own, more) in self.labels.iter_mut().zip(other.labels) {
            if own.is_empty() {
                *own = more;
            }
        }
        if self.rows.len() >= 2 * MOST {
            self.thin();
        }
    }

    /// The rows in the order of the file.
    pub fn rows(&self) -> Vec<&GradedRow> {
        let mut rows: Vec<_> = self.rows.iter().collect();
        rows.sort_by_key(|row| (hash(&row.line), row.line));
        rows.truncate(MOST);
        rows.sort_by_key(|row| row.line);
        rows
    }

    /// Keeps the rows whose line numbers have the lowest hashes, so that the number of threads changes nothing.
    fn thin(&mut self) {
        self.rows.sort_by_key(|row| (hash(&row.line), row.line));
        self.rows.truncate(MOST);
    }
}

fn hash(value: &impl std::hash::Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The column `cluster`, or the id if it has none; of an id that ends with the date of the record, what is before it. A
/// record without both is a cluster of its own.
fn cluster(line: u64, record: &Record) -> (u64, Clustered) {
    match (record.cluster.as_deref(), record.id.as_deref()) {
        (Some(name), _) => (hash(&name), Clustered::Column),
        (None, Some(id)) => match undated(id, record.features.as_of) {
            Some(name) => (hash(&name), Clustered::DatedId),
            None => (hash(&id), Clustered::Id),
        },
        (None, None) => (hash(&line), Clustered::Alone),
    }
}

/// What stands before the date of the record at the end of its id, as in `0xab@1617235200` or `vault 7, 2021-04-01`.
fn undated(id: &str, as_of: u64) -> Option<&str> {
    let date = day(as_of);
    let month = date.get(..7).unwrap_or(&date);
    let dates = [as_of.to_string(), date.clone(), date.replace('-', ""), month.to_owned()];
    let rest = dates.iter().find_map(|date| id.strip_suffix(date.as_str()))?;
    let name = rest.trim_end_matches(|c: char| !c.is_alphanumeric());
    (name.len() < rest.len() && !name.is_empty()).then_some(name)
}

fn external(record: &Record, grading: &Grading) -> Option<f64> {
    let ExternalScore { column, lower_is_better } = grading.external.as_ref()?;
    let value = record.other.get(column)?.as_f64()?;
    Some(if *lower_is_better { -value } else { value })
}

fn segments(record: &Record, grading: &Grading) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (index, by) in grading.by.iter().enumerate() {
        let mut names = match by {
            By::Chain => chains(&record.features),
            By::Protocol => protocols(&record.features),
            By::Column(name) => record.other.get(name).map(crate::record::plain).into_iter().collect(),
        };
        names.sort();
        names.dedup();
        found.extend(names.into_iter().map(|name| (index, name)));
    }
    found
}

/// The chains on which the wallet was active or used a market.
fn chains(features: &Features) -> Vec<String> {
    let chains = features.chains.iter().filter(|chain| chain.coverage != Coverage::Failed && chain.transactions > 0);
    let markets = features.markets.iter().filter(|market| market.coverage != Coverage::Failed);
    chains.map(|chain| chain.chain_id).chain(markets.map(|market| market.chain_id)).map(|id| id.to_string()).collect()
}

fn protocols(features: &Features) -> Vec<String> {
    let markets = features.markets.iter().filter(|market| market.coverage != Coverage::Failed);
    markets.map(|market| market.protocol.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::undated;

    #[test]
    fn an_id_that_ends_with_the_date_of_its_record_names_its_wallet() {
        // 2021-04-01.
        let as_of = 1_617_235_200;
        for (id, name) in [
            ("0xab@1617235200", Some("0xab")),
            ("vault 7, 2021-04-01", Some("vault 7")),
            ("7/20210401", Some("7")),
            ("wallet_2021-04", Some("wallet")),
            ("wallet 7", None),
            ("vault 7, 2021-05-01", None),
            ("71617235200", None),
            ("2021-04-01", None),
        ] {
            assert_eq!(undated(id, as_of), name, "{id}");
        }
    }
}
