//! From `model.toml` to a component.

use std::path::Path;

use assay_domain::{ModelKind, ModelVersion, features::Features};
use tables::{
    Answer,
    data::{Data, FACTORS, FEATURES, Section, double},
    link::Link,
};

use crate::{
    FileFault, Wallet, calibration, claims,
    declaration::{Declaration, DeclarationFile, DeclaredKind, Feature, Margin},
    fault::begins,
    fitted::{self, Fit},
    inputs::{self, Input},
    language::Expression,
    module,
    packed::Packed,
    predictions::Unit,
    ratings,
    rules::{self, Card, ModelRules},
    scale::{self, Scale},
    texts::{self, LABEL},
    training::Training,
};

/// The most bytes of data. The data is in memory during each call.
const DATA: usize = 1 << 20;

/// A margin or score beyond this is that of the largest figures, of which a sum in single precision may be infinite.
/// The score is 300 or 1000 long before.
const ENDLESS: f64 = 1e7;

/// Columns of the table of the training that are no features.
const TAKEN: [&str; 4] = ["id", "as_of", "cluster", "outcome"];

/// A model without code.
#[derive(Debug, Clone, PartialEq)]
pub struct Pack {
    /// The core module, which the registry makes a component.
    pub core: Vec<u8>,
    /// The data in the core module, for native code.
    pub data: Vec<u8>,
    pub kind: ModelKind,
    /// What is packed, in one line.
    pub summary: String,
    /// Whether a library trained it.
    pub is_trained: bool,
    /// Whether a calibration follows its margin.
    pub is_calibrated: bool,
    /// The features, for the card.
    pub inputs: Vec<Input>,
    /// What the margin is multiplied by for the log-odds of its outcome; none if it is in points.
    factor: Option<f64>,
    /// Figures and sums have single precision.
    single: bool,
}

impl Pack {
    /// The lines of a card that state the features.
    pub fn card(&self) -> String {
        inputs::lines(&self.inputs)
    }

    /// The score of a wallet, or its risk, computed natively by the same code; `None` if the model refuses it.
    pub fn score(&self, features: &Features) -> Option<u32> {
        let answer = self.answer(Data::new(&self.data)?, features)?;
        Some(if self.kind == ModelKind::Sybil { answer.risk() } else { answer.score() })
    }

    /// What it predicts of figures in the order of the features; `None` if it refuses any wallet with them, or its
    /// margin has no probability.
    pub fn predicts_of(&self, unit: Unit, figures: &[f64]) -> Option<Predicted> {
        let data = Data::new(&self.data)?;
        let mut values = [f64::NAN; FEATURES];
        values.iter_mut().zip(figures).for_each(|(value, figure)| *value = *figure);
        let (margin, _) = tables::points(data, &values);
        if margin.is_nan() {
            return None;
        }
        let (scale, link) = (data.section(Section::Scale), Link::of(data));
        let exact = double(scale, 1) + double(scale, 0) * link.map_or(margin, |link| link.value(margin));
        self.predicted(unit, data, margin, exact)
    }

    /// A sybil model refuses no wallet.
    fn answer(&self, data: Data<'_>, features: &Features) -> Option<Answer> {
        let wallet = Wallet::new(features);
        if self.kind == ModelKind::Sybil { Some(tables::judged(data, &wallet)) } else { tables::answer(data, &wallet) }
    }

    /// What it predicts of a wallet in the unit of `predictions`; `None` if the model refuses the wallet, or its
    /// margin has no probability.
    pub fn predicts(&self, unit: Unit, features: &Features) -> Option<Predicted> {
        let data = Data::new(&self.data)?;
        let answer = self.answer(data, features)?;
        self.predicted(unit, data, answer.margin, answer.exact())
    }

    fn predicted(&self, unit: Unit, data: Data<'_>, margin: f64, exact: f64) -> Option<Predicted> {
        let precise = if self.single { 1e-5 } else { 1e-9 };
        let near = |value: f64| precise * value.abs().max(1.0);
        let (value, within) = match (unit, Link::of(data)) {
            (Unit::Margin, _) => (margin, near(margin)),
            (Unit::Score, _) => (exact, near(exact)),
            (Unit::Probability, None) => (1.0 / (1.0 + (-self.factor? * margin).exp()), precise),
            (Unit::Probability, Some(link)) => {
                let of = |margin| link.probability(margin);
                // A steep calibration magnifies what precision leaves open.
                let near = near(margin);
                (of(margin), precise.max((of(margin + near) - of(margin - near)).abs()))
            }
        };
        Some(Predicted { value, within })
    }
}

/// What a model predicts of a wallet.
#[derive(Debug, Clone, Copy)]
pub struct Predicted {
    pub value: f64,
    /// How far a library can be from it by the precision of both.
    within: f64,
}

impl Predicted {
    /// Whether a prediction of the origin is the same. Beyond `ENDLESS` only the sign counts.
    pub fn agrees(self, origin: f64) -> bool {
        self.difference(origin) <= self.within
    }

    /// How far a prediction of the origin is; 0 if both are beyond `ENDLESS` and of one sign.
    pub fn difference(self, origin: f64) -> f64 {
        let both_endless = self.value.abs() > ENDLESS && origin.abs() > ENDLESS;
        if both_endless && self.value.signum() == origin.signum() { 0.0 } else { (self.value - origin).abs() }
    }
}

/// Reads a declaration and the files it names.
///
/// # Errors
/// The first problem, with its file and line.
pub fn pack(declaration: &Path) -> Result<Pack, FileFault> {
    let file = DeclarationFile::read(declaration)?;
    let expressions = expressions(&file)?;
    let factor_of = factors(&file)?;
    let training = Training::read(&file)?;
    let rules = rules::rules(&file, &expressions, training.as_ref())?;
    let factor = match (rules.predicts(), file.declared.score.margin.get_ref()) {
        (Some((name, predicts)), _) => scale::factor(&file, name, predicts)?,
        (None, Margin::Points) => None,
        (None, _) => Some(1.0),
    };
    let link = calibration::numbers(&file, factor)?;
    let fit = training.as_ref().map(|training| Fit::of(&file, &rules, factor, &link, training));
    let (of_odds, fitted) = fitted::scale(&file, fit.as_ref())?;
    let of_odds = match &rules {
        ModelRules::Card(Card { base: Some(base), .. }) if link.is_empty() => Scale { base: *base, ..of_odds },
        _ => of_odds,
    };
    let (deciles, of_deciles) = fitted::deciles(&file, fit.as_ref(), of_odds)?;
    let scale = match &rules {
        // The link has the factor.
        _ if !link.is_empty() => of_odds,
        _ => Scale { per_margin: of_odds.per_margin * factor.unwrap_or(1.0), ..of_odds },
    };
    rules::prove(&file, &rules, scale)?;
    let mut packed = Packed::new();
    packed.put(Section::Code, expressions.iter().flat_map(|expression| expression.code.iter().copied()));
    packed.put(Section::FactorOf, factor_of.iter().map(|factor| *factor as u8));
    packed.numbers(Section::Possible, rules::possible(&file, &rules, scale, &factor_of, !link.is_empty()));
    packed.numbers(Section::Deciles, deciles);
    packed.texts(&texts::texts(&file, &expressions)?);
    packed.doubles(Section::Claims, claims::numbers(&file)?);
    packed.doubles(Section::Link, link);
    let (is_trained, single) = (rules.is_trained(), rules.is_single());
    let summary = rules::put(&mut packed, &file, &rules, scale);
    let summary = match &training {
        Some(training) => {
            let data = packed.clone().bytes();
            let edges = Data::new(&data).map(|data| ratings::edges(data, &training.rows)).unwrap_or_default();
            packed.numbers(Section::Ratings, edges.into_iter().map(i32::cast_unsigned));
            format!("{summary}; factors rated by fifths of {} wallets", training.rows.len())
        }
        None if is_trained => format!(
            "{summary}; factors rated by their share of the points that are possible at all, which is `low` for most \
             wallets: add `table = \"matrix.csv\"`, the table of the training"
        ),
        None => summary,
    };
    let summary = [Some(summary), fitted, of_deciles].into_iter().flatten().collect::<Vec<_>>().join("; ");
    let data = packed.bytes();
    if data.len() > DATA {
        let message =
            format!("its data has {} bytes and may have {DATA}. Train with fewer trees or leaves", data.len());
        return Err(FileFault::of(declaration, message));
    }
    let kind = match file.declared.kind {
        DeclaredKind::Credit => ModelKind::Credit,
        DeclaredKind::Sybil => ModelKind::Sybil,
    };
    let is_calibrated = file.declared.score.calibration.is_some();
    let core = module::with(kind, &data).map_err(|why| FileFault::of(declaration, why))?;
    let inputs = inputs::inputs(&file, training.as_ref());
    Ok(Pack { core, data, kind, summary, is_trained, is_calibrated, inputs, factor, single })
}

/// The expressions of the features.
///
/// # Errors
/// The first problem, at its column.
pub(crate) fn expressions(file: &DeclarationFile) -> Result<Vec<Expression>, FileFault> {
    let features = &file.declared.features;
    if features.is_empty() || features.len() > FEATURES {
        return Err(FileFault::of(
            &file.path,
            format!("it has {} features; 1 to {FEATURES} are possible", features.len()),
        ));
    }
    for (at, feature) in features.iter().enumerate() {
        let name = feature.name.get_ref();
        let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if name.is_empty() || name.len() > LABEL || !plain {
            return Err(file.fault(&feature.name, "a name has letters, digits and `_`"));
        }
        if TAKEN.contains(&name.as_str()) {
            let message = format!("`{name}` is a column of `assay features table` itself: choose another name");
            return Err(file.fault(&feature.name, message));
        }
        if features.iter().take(at).any(|other| other.name.get_ref() == name) {
            return Err(file.fault(&feature.name, format!("there are two features `{name}`")));
        }
    }
    let parse = |feature: &Feature| {
        let is = &feature.is;
        Expression::parse(is.get_ref()).map_err(|wrong| {
            let at = begins(&file.text, &is.span(), is.get_ref()) + wrong.at;
            FileFault::at(&file.path, &file.text, at, format!("feature {}: {}", feature.name.get_ref(), wrong.message))
        })
    };
    features.iter().map(parse).collect()
}

/// The factor of each feature.
fn factors(file: &DeclarationFile) -> Result<Vec<usize>, FileFault> {
    let Declaration { version, factors, features, .. } = &file.declared;
    version.get_ref().parse::<ModelVersion>().map_err(|why| file.fault(version, why))?;
    if factors.is_empty() || factors.len() > FACTORS {
        return Err(FileFault::of(
            &file.path,
            format!("it has {} factors; 1 to {FACTORS} are possible", factors.len()),
        ));
    }
    let place = |feature: &Feature| {
        let wanted = feature.factor.get_ref();
        let found = factors.iter().position(|factor| factor.label.get_ref() == wanted);
        found.ok_or_else(|| {
            let labels: Vec<_> = factors.iter().map(|factor| format!("{:?}", factor.label.get_ref())).collect();
            file.fault(&feature.factor, format!("there is no factor {wanted:?}: there are {}", labels.join(", ")))
        })
    };
    features.iter().map(place).collect()
}
