//! The direction of a trained model: wallets with good outcomes score higher than those with bad ones.

use std::path::Path;

use assay_author::Pack;
use assay_backtest::RecordSource;
use assay_domain::{ModelKind, Score, stats::Outcomes};

use crate::{Failure, print};

/// Standard errors by which an AUC is below 0.5 if chance does not explain it.
const ERRORS: f64 = 2.0;

/// Judges by the outcomes of `features` whether the scores of `packed`, or its risks, have the right direction. Returns
/// a sentence for the card if no outcome can.
///
/// # Errors
/// All outcomes are of one class; or bad ones rank better than chance explains, and `reversed` does not accept that.
pub fn ranks(packed: &Pack, features: &Path, reversed: bool) -> Result<Option<String>, Failure> {
    if !packed.is_trained {
        return Ok(None);
    }
    let outcomes = outcomes(packed, features)?;
    let Some(auc) = outcomes.auc() else {
        let name = features.file_name().unwrap_or_default().display();
        let said = format!("No outcomes in {name}: nothing shows that good wallets rank above bad ones.");
        print(format!("the direction was not judged, and the card says so: {said}"))?;
        return Ok(Some(said));
    };
    let of = format!("AUC {auc:.3} on the outcomes of {}", features.display());
    print(format!("{of}, with which it was trained"))?;
    let (good, bad) = (outcomes.good.count() as f64, outcomes.bad.count() as f64);
    // That of scores that say nothing (Mann and Whitney, 1947).
    let error = ((good + bad + 1.0) / (12.0 * good * bad)).sqrt();
    if auc >= 0.5 || reversed {
        return Ok(None);
    }
    if auc + ERRORS * error >= 0.5 {
        eprintln!(
            "assay: {of} is below 0.5, by less than {ERRORS} standard errors ({error:.3}): it may rank by chance"
        );
        return Ok(None);
    }
    let why = match packed.kind {
        ModelKind::Sybil => "bots have the lower risks. Train with the classes 0 and 1, where 1 is a bot",
        _ => {
            "wallets with a bad outcome have the higher scores. Was the order of the classes exchanged? LightGBM and \
             scikit-learn sort text labels, so \"good\" is the second class and `margin` is \"log-odds-of-good\""
        }
    };
    let accepts = "--reversed, in Python pack(…, reversed=True), accepts the model as it is";
    Err(Failure::no(format!("{of}: {why}. {accepts}")))
}

/// The scores of the wallets of `features` by their outcomes; none if there is no such file.
///
/// # Errors
/// All outcomes are of one class.
fn outcomes(packed: &Pack, features: &Path) -> Result<Outcomes, Failure> {
    let (mut outcomes, mut good, mut bad) = (Outcomes::default(), 0, 0);
    if !features.is_file() {
        return Ok(outcomes);
    }
    // A high risk ranks like a low score.
    let ranked = |score: u32| Score::new(if packed.kind == ModelKind::Sybil { 1000 - score.min(100) } else { score });
    let cannot = |error| Failure::cannot(format!("{} cannot be read: {error}", features.display()));
    let mut source = RecordSource::open(features).map_err(cannot)?;
    while let Some(chunk) = source.chunk().map_err(cannot)? {
        for (_, record) in chunk.records() {
            // Bad lines are reported by the comparison.
            let Ok(Some(record)) = record else { continue };
            match record.outcome {
                Some(true) => bad += 1,
                Some(false) => good += 1,
                None => continue,
            }
            let Some(score) = packed.score(&record.features).and_then(ranked) else { continue };
            match record.outcome {
                Some(true) => outcomes.bad.add_many(score, 1),
                Some(false) => outcomes.good.add_many(score, 1),
                None => {}
            }
        }
    }
    if let Some(why) = assay_author::one_class(good, bad) {
        return Err(Failure::no(format!("{}: {why}", features.display())));
    }
    Ok(outcomes)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::model::{
        expect::Proof,
        samples::{TREE, folder},
        workshop::packed_component,
    };

    /// Writes wallets as (number, liquidations, outcome) to history.jsonl.
    fn history(folder: &Path, wallets: &[(usize, u64, Option<bool>)]) {
        let text = std::fs::read_to_string(folder.join("history.jsonl")).unwrap();
        let mut wallet: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        let mut lines = String::new();
        for (count, liquidations, outcome) in wallets {
            wallet["markets"][0]["liquidation"] = (*liquidations).into();
            wallet["outcome"] = (*outcome).into();
            lines += &format!("{wallet}\n").repeat(*count);
        }
        std::fs::write(folder.join("history.jsonl"), lines).unwrap();
    }

    #[test]
    fn a_reversed_model_is_refused_whatever_its_kind() {
        let tree = TREE.replace("split_feature=1\nthreshold=1000000", "split_feature=2\nthreshold=0.5");
        let (good, bad) = (Some(false), Some(true));
        for (kind, reversed) in [
            (ModelKind::Credit, "wallets with a bad outcome have the higher scores"),
            (ModelKind::Sybil, "bots have the lower risks"),
        ] {
            let folder = folder(kind, &tree, "");
            let path = |name: &str| folder.path().join(name);
            let packed = assay_author::pack(&path("model.toml")).unwrap();
            let said = |accepts: bool| match ranks(&packed, &path("history.jsonl"), accepts) {
                Ok(unjudged) => format!("accepted: {unjudged:?}"),
                Err(failure) => failure.message,
            };
            for (wallets, words) in [
                (&[(30, 0, good), (5, 1, bad)][..], "accepted: None"),
                (&[(30, 1, good), (5, 0, bad)], reversed),
                (&[(400, 1, good), (3, 0, bad)], reversed),
                // Chance explains these.
                (&[(1, 1, good), (1, 0, bad)], "accepted: None"),
                (&[(15, 0, good), (16, 1, good), (16, 0, bad), (15, 1, bad)], "accepted: None"),
                (&[(5, 0, None), (5, 1, None)], "accepted: Some(\"No outcomes in history.jsonl: "),
                (&[(5, 0, bad), (5, 1, None)], "all 5 outcomes are 1 (bad)"),
            ] {
                history(folder.path(), wallets);
                assert!(said(false).contains(words), "{kind} {wallets:?}: {}", said(false));
                let is_refused = words == reversed;
                assert!(!is_refused || said(true) == "accepted: None", "{kind} {wallets:?}: {}", said(true));
                let proof = Proof { unproven: true, ..Proof::default() };
                let made = packed_component(&path("model.toml"), &proof, false);
                assert_eq!(made.is_ok(), words.starts_with("accepted"), "{kind} {wallets:?}: {made:?}");
                assert!(!is_refused || packed_component(&path("model.toml"), &proof, true).is_ok(), "{kind}");
            }
            let card = "[[section]]\ntitle = \"Purpose\"\ntext = \"To be kept.\"\n";
            std::fs::write(path("card.toml"), card).unwrap();
            history(folder.path(), &[(2, 0, None)]);
            let proof = Proof { unproven: true, ..Proof::default() };
            let made = packed_component(&path("model.toml"), &proof, false).unwrap();
            for words in ["To be kept.", "never compared with the training", "No outcomes in history.jsonl"] {
                assert!(made.windows(words.len()).any(|part| part == words.as_bytes()), "{kind}: {words}");
            }
        }
    }
}
