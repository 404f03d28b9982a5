//! `assay features score`: what a model says of each wallet of a file, of the wallet after changes, and what would move
//! the score.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use assay_backtest::{Record, RecordSource};
use assay_domain::{
    Range, ReasonCodes, Score, Standing,
    features::{Change, Features},
};
use assay_registry::{CreditModel, Limits, OfKind as _, ScoreError, standalone};
use assay_rollout::cards;
use assay_score::bodies::{ChangesBody, FeaturesScoreBody};
use clap::Args;
use serde_json::{Value, json};

use crate::Failure;

#[derive(Args)]
pub struct ScoreArguments {
    /// File of features: JSON lines or Parquet
    features: PathBuf,
    /// The model's component. The codes of its reasons are those of the card in it, or in `cards` of its folder
    #[arg(long, value_name = "FILE")]
    component: PathBuf,
    /// Also score each wallet after these changes: a list as the path `what-if` takes it
    #[arg(long, value_name = "JSON", value_parser = changes)]
    what_if: Option<Changes>,
    /// Also find what would raise the score to the next range, and what would lower it
    #[arg(long)]
    include_changes: bool,
    /// A range or a score to reach instead of the next range
    #[arg(long, value_name = "RANGE", value_parser = target, requires = "include_changes")]
    target: Option<Score>,
}

/// The changes of one argument.
#[derive(Debug, Clone)]
struct Changes(Vec<Change>);

fn changes(text: &str) -> Result<Changes, String> {
    serde_json::from_str(text).map(Changes).map_err(|error| error.to_string())
}

fn target(text: &str) -> Result<Score, String> {
    let range = text.parse::<Range>().ok().map(Range::lowest);
    let score = || text.parse().ok().and_then(Score::new);
    range.or_else(score).ok_or_else(|| "give a range, such as good, or a score of 300 to 1000".to_owned())
}

/// A model with its reason codes.
struct Scorer {
    model: CreditModel,
    codes: ReasonCodes,
}

pub fn print(arguments: &ScoreArguments) -> Result<(), Failure> {
    let scorer = Scorer::load(&arguments.component)?;
    let cannot =
        |error: io::Error| Failure::cannot(format!("{} cannot be read: {error}", arguments.features.display()));
    let mut source = RecordSource::open(&arguments.features).map_err(cannot)?;
    let mut out = io::stdout().lock();
    while let Some(chunk) = source.chunk().map_err(cannot)? {
        for (line, record) in chunk.records() {
            let record = record.map_err(|bad| Failure::no(format!("line {}: {}", bad.line, bad.reason)))?;
            let Some(record) = record else { continue };
            let found = scorer.answer(arguments, &record).map_err(|why| Failure::no(format!("line {line}: {why}")))?;
            writeln!(out, "{found}").map_err(super::ended)?;
        }
    }
    Ok(())
}

impl Scorer {
    fn load(component: &Path) -> Result<Self, Failure> {
        let cannot = |why: String| Failure::cannot(format!("{}: {why}", component.display()));
        let bytes = fs::read(component).map_err(|error| cannot(error.to_string()))?;
        let limits = Limits { instances: 1, large_lanes: 1, ..Limits::default() };
        let model = standalone(&bytes, &limits).map_err(|error| cannot(error.to_string()))?;
        let model = CreditModel::of(&model).ok_or_else(|| cannot("it is not a credit model".to_owned()))?;
        let folder = component.parent().unwrap_or(Path::new(""));
        let codes = cards::codes(folder, model.info(), model.digest(), model.notes().card.as_deref());
        Ok(Self { codes: codes.map_err(Failure::cannot)?, model })
    }

    /// The line of one wallet.
    fn answer(&self, arguments: &ScoreArguments, record: &Record) -> Result<Value, String> {
        let features = &record.features;
        let now = match self.scored(features) {
            Ok(now) => now,
            Err(ScoreError::Refused(why)) => return Ok(json!({ "id": record.id, "refused": why.to_string() })),
            Err(error) => return Err(error.to_string()),
        };
        let mut line = json!({ "id": record.id, "now": now.1 });
        if let Some(Changes(changes)) = &arguments.what_if {
            let changed = features.after(changes).map_err(|why| why.to_string())?;
            let then = self.scored(&changed).map_err(|error| error.to_string())?;
            add(&mut line, "then", json!(then.1));
        }
        if arguments.include_changes {
            let ask = |changed: &Features| match self.model.score(changed) {
                Ok(found) => Ok(Some(found.score)),
                Err(ScoreError::Refused(_)) => Ok(None),
                Err(error) => Err(error.to_string()),
            };
            let outlook = assay_domain::outlook(features, now.0, arguments.target, ask)?;
            add(&mut line, "changes", json!(ChangesBody::new(outlook)));
        }
        Ok(line)
    }

    fn scored(&self, features: &Features) -> Result<(Score, FeaturesScoreBody), ScoreError> {
        let assessment = self.model.explained(features)?;
        let reasons = self.codes.reasons(&assessment.factors, Some(&Standing::of(features)));
        Ok((assessment.score, FeaturesScoreBody::new(self.model.reference(), features, &assessment, reasons)))
    }
}

fn add(line: &mut Value, field: &str, value: Value) {
    if let Value::Object(fields) = line {
        fields.insert(field.to_owned(), value);
    }
}
