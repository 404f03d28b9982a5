//! A backtest of both credit models on every core, compared with the same models as native code on the same file.

use std::{
    fs,
    io::{BufWriter, Write as _},
    path::Path,
    sync::atomic::AtomicBool,
    time::Instant,
};

use assay_backtest::{Grading, Record, Run, Scorer, run};
use assay_domain::{Assessment, Decile, Factor, Range, Score, Words, features::Features};
use assay_model::types::{self, Rating};
use assay_registry::{CreditModel, Limits, OfKind as _, Refusal, ScoreError, standalone};
use assay_tests::{native, service::plugins};

use super::{
    Effort, Failure,
    clock::Rounds,
    cores, subjects,
    table::{Row, Target, Unit},
};

/// Records of one round.
const RECORDS: u64 = 60_000;

/// A native model with the interface of a component.
struct Native(fn(&types::Features) -> Result<assay_model::Assessment, types::Refusal>);

impl Scorer for Native {
    fn score(&self, features: &Features) -> Result<Assessment, ScoreError> {
        let found = self.0(&native::features(features))
            .map_err(|refusal| ScoreError::Refused(Refusal::Missing(format!("{refusal:?}"))))?;
        let nonsense = || ScoreError::OutOfRange(format!("{}", found.score));
        Ok(Assessment {
            score: Score::new(found.score).ok_or_else(nonsense)?,
            decile: Decile::new(found.decile).ok_or_else(nonsense)?,
            factors: found.factors.into_iter().map(factor).collect(),
        })
    }
}

fn factor(from: types::Factor) -> Factor {
    let rating = match from.rating {
        Rating::Low => Range::Low,
        Rating::Fair => Range::Fair,
        Rating::Good => Range::Good,
        Rating::VeryGood => Range::VeryGood,
        Rating::Excellent => Range::Excellent,
    };
    let words = Words { rating, description: from.description, possible: from.possible };
    Factor { label: from.label, points: from.points, words: Some(words) }
}

/// Records per second.
pub fn measure(effort: Effort) -> Result<Vec<Row>, Failure> {
    let limits = Limits::default();
    let load = |file: &str| -> Result<CreditModel, Failure> {
        let model = standalone(&fs::read(plugins().join(file))?, &limits)?;
        CreditModel::of(&model).ok_or_else(|| format!("{file} is not a credit model").into())
    };
    let components = [load("credit-1.0.wasm")?, load("credit-1.1.wasm")?];
    let natives = [Native(credit_1_0::score), Native(credit_1_1::score)];
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("features.jsonl");
    write(&file)?;
    let threads = cores::available().len();
    let (one, other) = (through(&file, &components, threads)?, through(&file, &natives, threads)?);
    if one.1 != other.1 {
        return Err("the components and the native models do not score alike".into());
    }
    let rounds = Rounds::measured(effort.of(9), 2, |case| {
        let done = if case == 0 { through(&file, &components, threads) } else { through(&file, &natives, threads) };
        done.map_or(f64::NAN, |(rate, _)| rate)
    });
    Ok(vec![Row {
        what: format!("a backtest of two models on {threads} threads"),
        measured: rounds.median(0),
        reference: "the same models, native".into(),
        reference_value: rounds.median(1),
        unit: Unit::PerSecond,
        ratio: rounds.ratio(0, 1),
        target: Target::AtLeast(0.3),
        note: format!(
            "{RECORDS} wallets of 2 chains and 3 markets a round; both read the same file and count the same"
        ),
    }])
}

/// Wallets of different age and use, so that their scores differ.
fn write(file: &Path) -> Result<(), Failure> {
    let mut output = BufWriter::new(fs::File::create(file)?);
    for number in 0..RECORDS {
        let mut features = subjects::ordinary().features;
        for chain in &mut features.chains {
            chain.transactions = number % 2_000;
            chain.first_transaction = chain.first_transaction.map(|at| at - number % 40_000_000);
        }
        let (id, outcome) = (Some(number.to_string()), Some(number % 37 == 0));
        let line = Record::new(id, outcome, features).write()?;
        output.write_all(line.as_bytes())?;
    }
    Ok(output.flush()?)
}

/// Records per second, and the pairs of scores.
fn through<S: Scorer>(file: &Path, models: &[S], threads: usize) -> Result<(f64, assay_domain::stats::Joint), Failure> {
    let stop = AtomicBool::new(false);
    let started = Instant::now();
    let (counting, grading) = (Vec::new(), Grading::default());
    let (tally, _) = run(Run { file, models, counting, threads, stop: &stop, scores: None, grading }, |_| ())?;
    let rate = tally.records as f64 / started.elapsed().as_secs_f64();
    let joint = tally.pairs.into_iter().next().map(|pair| pair.joint).unwrap_or_default();
    Ok((rate, joint))
}
