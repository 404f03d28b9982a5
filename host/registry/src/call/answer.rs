//! The checks of every answer before it leaves the registry: ranges, lengths, finite numbers.

mod sandbox;

use super::abi::raw;
use crate::{Refusal, ScoreError};
use assay_domain::{
    Assessment, Claims, Decile, Factor, ModelInfo, ModelKind, Range, Rate, RiskAssessment, Score, Words, is_plain,
};

pub(crate) use sandbox::{behaviour, portfolio, report, scenarios};

/// Maximum length of a `label`, `title` or name, in characters.
const NAME: usize = 80;
/// Maximum length of a `description`, in characters.
const DESCRIPTION: usize = 500;
/// Maximum number of factors, authors and chains.
const FEW: usize = 32;
/// Maximum number of entries in any other list.
const MANY: usize = 256;

type CheckedAnswer<T> = Result<T, ScoreError>;

pub(crate) fn info(raw: raw::ModelInfo) -> Result<ModelInfo, String> {
    let version = raw.version.parse()?;
    let text = |field: &str, text: &str| check_text(field, text, NAME).map_err(|error| error.to_string());
    text("title", &raw.title)?;
    count("authors", raw.authors.len(), FEW)
        .and_then(|()| count("reads", raw.reads.len(), MANY))
        .map_err(|error| error.to_string())?;
    raw.authors.iter().try_for_each(|author| text("author", author))?;
    raw.reads.iter().try_for_each(|read| text("input in `reads`", read))?;
    let claims = raw.claims.map(claims).transpose().map_err(|error| error.to_string())?;
    Ok(ModelInfo { kind: kind(raw.kind), version, title: raw.title, authors: raw.authors, reads: raw.reads, claims })
}

/// Checks a model's claims about the future.
fn claims(raw: raw::Claims) -> CheckedAnswer<Claims> {
    let raw::Claims { outcome, horizon_days, population, rates } = raw;
    check_text("claimed outcome", &outcome, NAME)?;
    check_text("claimed population", &population, DESCRIPTION)?;
    let rate = |raw::Rate { range: of, low, estimate, high }| Rate { range: range(of), low, estimate, high };
    let claims = Claims { outcome, horizon_days, population, rates: rates.into_iter().map(rate).collect() };
    match claims.check() {
        Ok(()) => Ok(claims),
        Err(why) => nonsense(why),
    }
}

/// `labels` name the factors of an answer that has only points.
pub(crate) fn assessment(
    raw: Result<raw::Verdict, raw::Refusal>,
    labels: &[String],
    decile: impl Fn(Score) -> Decile,
) -> CheckedAnswer<Assessment> {
    let raw = raw.map_err(refused)?;
    let score = score(raw.score)?;
    let decile = decile(score);
    if raw.decile != decile.get() {
        return nonsense(format!(
            "a decile of {} beside the score {score}, whose decile it calls {}",
            raw.decile,
            decile.get()
        ));
    }
    Ok(Assessment { score, decile, factors: of_answer(raw.factors, labels)? })
}

pub(crate) fn risk(raw: raw::RiskVerdict, labels: &[String]) -> CheckedAnswer<RiskAssessment> {
    match u8::try_from(raw.risk) {
        Ok(risk) if risk <= 100 => Ok(RiskAssessment { risk, factors: of_answer(raw.factors, labels)? }),
        _ => nonsense(format!("a risk of {}, which is not 0 to 100", raw.risk)),
    }
}

/// The words of the factors.
pub(crate) fn explanation(raw: Result<Vec<raw::Factor>, raw::Refusal>) -> CheckedAnswer<Vec<Factor>> {
    factors(raw.map_err(refused)?)
}

/// The words of the factors `scored`, whose labels and points must not change.
pub(crate) fn explained(raw: Result<Vec<raw::Factor>, raw::Refusal>, scored: &[Factor]) -> CheckedAnswer<Vec<Factor>> {
    let factors = match explanation(raw) {
        Err(ScoreError::Refused(why)) => {
            return nonsense(format!("`explain` refuses a subject that it scores: {why}"));
        }
        factors => factors?,
    };
    let numbers = |of: &[Factor]| of.iter().map(|factor| (factor.label.clone(), factor.points)).collect::<Vec<_>>();
    let (scored, explained) = (numbers(scored), numbers(&factors));
    if scored != explained {
        return nonsense(format!("`explain` has {explained:?}, and the answer that it explains has {scored:?}"));
    }
    Ok(factors)
}

fn refused(refusal: raw::Refusal) -> ScoreError {
    ScoreError::Refused(match refusal {
        raw::Refusal::NoActivity => Refusal::NoActivity,
        raw::Refusal::Missing(what) => Refusal::Missing(what.chars().take(DESCRIPTION).collect()),
    })
}

fn of_answer(raw: raw::Factors, labels: &[String]) -> CheckedAnswer<Vec<Factor>> {
    let points = match raw {
        raw::Factors::Words(words) => return factors(words),
        raw::Factors::Points(points) => points,
    };
    if points.len() != labels.len() {
        return nonsense(format!("the points of {} factors, and `explain` names {}", points.len(), labels.len()));
    }
    let of = |(label, points): (&String, i32)| Factor { label: label.clone(), points, words: None };
    Ok(labels.iter().zip(points).map(of).collect())
}

pub(crate) fn score(value: u32) -> CheckedAnswer<Score> {
    Score::new(value).map_or_else(|| nonsense(format!("a score of {value}, which is not 300 to 1000")), Ok)
}

pub(crate) fn decile(value: u8) -> CheckedAnswer<Decile> {
    Decile::new(value).map_or_else(|| nonsense(format!("a decile of {value}, which is not 1 to 10")), Ok)
}

pub(crate) fn boosted(value: u32, from: Score) -> CheckedAnswer<Score> {
    let boosted = score(value)?;
    if boosted < from {
        nonsense(format!("a boosted score of {boosted}, below the {from} it started from"))
    } else {
        Ok(boosted)
    }
}

pub(crate) fn factors(raw: Vec<raw::Factor>) -> CheckedAnswer<Vec<Factor>> {
    count("factors", raw.len(), FEW)?;
    raw.into_iter().map(factor).collect()
}

fn factor(raw: raw::Factor) -> CheckedAnswer<Factor> {
    check_text("factor label", &raw.label, NAME)?;
    check_text("factor description", &raw.description, DESCRIPTION)?;
    if i64::from(raw.points) > i64::from(raw.possible) {
        return nonsense(format!("{} points of {} possible for {:?}", raw.points, raw.possible, raw.label));
    }
    let words = Words { rating: range(raw.rating), description: raw.description, possible: raw.possible };
    Ok(Factor { label: raw.label, points: raw.points, words: Some(words) })
}

fn range(raw: raw::Rating) -> Range {
    match raw {
        raw::Rating::Low => Range::Low,
        raw::Rating::Fair => Range::Fair,
        raw::Rating::Good => Range::Good,
        raw::Rating::VeryGood => Range::VeryGood,
        raw::Rating::Excellent => Range::Excellent,
    }
}

fn kind(raw: raw::Kind) -> ModelKind {
    match raw {
        raw::Kind::Credit => ModelKind::Credit,
        raw::Kind::Boost => ModelKind::Boost,
        raw::Kind::Sybil => ModelKind::Sybil,
        raw::Kind::Sandbox => ModelKind::Sandbox,
    }
}

fn check_text(field: &str, text: &str, most: usize) -> CheckedAnswer<()> {
    // A text of n bytes has at most n characters, so only long texts are counted.
    let length = if text.len() <= most { text.len() } else { text.chars().count() };
    match length {
        0 => nonsense(format!("an empty {field}")),
        _ if length > most => Err(ScoreError::TextTooLong { field: field.to_owned(), length, most }),
        _ if text.bytes().any(|b| b.is_ascii_control()) => nonsense(format!("control characters in a {field}")),
        _ if !is_plain(text) => nonsense(format!("characters in a {field} that are not seen, or hide others")),
        _ => Ok(()),
    }
}

fn count(field: &str, length: usize, most: usize) -> CheckedAnswer<()> {
    if length > most { nonsense(format!("{length} {field}, of which there may be {most}")) } else { Ok(()) }
}

fn nonsense<T>(what: String) -> CheckedAnswer<T> {
    Err(ScoreError::OutOfRange(what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_looks_like_another_is_refused() {
        for text in ["Credit 1.4", "Crédit", "信用", "👩\u{200d}💻"] {
            assert_eq!(check_text("title", text, NAME), Ok(()), "{text:?}");
        }
        for text in ["", "Credit\n", "\u{202e}tiderC", "Cre\u{200b}dit", "Credit\u{feff}", "Credit\u{2066}"] {
            assert!(matches!(check_text("title", text, NAME), Err(ScoreError::OutOfRange(_))), "{text:?}");
        }
    }
}
