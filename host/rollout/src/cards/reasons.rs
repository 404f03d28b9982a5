//! The reason codes in the card of a model.

use std::path::Path;

use super::{
    CardError,
    file::{CardFile, card, path},
    page::table,
};
use assay_domain::{Digest, ModelInfo, ReasonCodes};

/// The reason codes of a model; none if its card declares none.
///
/// # Errors
/// [`CardError`].
pub fn codes(shelf: &Path, info: &ModelInfo, digest: Digest, packed: Option<&str>) -> Result<ReasonCodes, CardError> {
    match card(shelf, info, digest, packed)? {
        Some(card) => card.codes().map_err(|reason| {
            let path = path(shelf, info.kind, &info.version);
            CardError::BadReason { path, reason }
        }),
        None => Ok(ReasonCodes::default()),
    }
}

impl CardFile {
    pub(super) fn codes(&self) -> Result<ReasonCodes, String> {
        ReasonCodes::new(self.base, self.reason.clone())
    }

    pub(super) fn render_reasons(&self, page: &mut String) {
        if self.reason.is_empty() {
            return;
        }
        page.push_str("## Reason codes\n\n");
        let head = ["Code", "Factor", "When", "For a lender", "For the borrower"].map(str::to_owned);
        let rows: Vec<_> = self
            .reason
            .iter()
            .map(|one| {
                let when = one.when.map_or("any", |when| when.as_str()).to_owned();
                vec![one.code.clone(), one.factor.clone(), when, one.text.clone(), one.applicant_text.clone()]
            })
            .collect();
        table(page, &head, &rows);
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::PathBuf};

    use assay_domain::{CodeSource, Factor, ModelKind, Standing};
    use assay_registry::{CreditModel, OfKind as _};

    use super::*;
    use crate::cards::{check, markdown};

    fn shelf() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins")
    }

    /// The released credit models.
    fn released() -> Vec<CreditModel> {
        let files = fs::read_dir(shelf()).unwrap().map(|file| file.unwrap().path());
        let credit = files.filter(|file| {
            let name = file.file_name().unwrap().to_str().unwrap();
            name.starts_with("credit-") && name.ends_with(".wasm")
        });
        let load = |file: PathBuf| assay_registry::standalone(&fs::read(file).unwrap(), &Default::default()).unwrap();
        let found: Vec<_> = credit.map(load).filter_map(|model| CreditModel::of(&model)).collect();
        assert!(found.len() >= 5, "{found:?}");
        found
    }

    #[test]
    fn a_released_card_declares_a_reason_for_each_factor_and_the_base_of_its_scores() {
        for model in released() {
            let codes = codes(&shelf(), model.info(), model.digest(), None).unwrap();
            let base = codes.base().unwrap_or_else(|| panic!("{model:?} has no base"));
            let mut labels = BTreeSet::new();
            let mut scored = 0;
            for (name, features) in assay_registry::wallets() {
                let Ok(assessment) = model.explained(&features) else { continue };
                scored += 1;
                labels.extend(assessment.factors.iter().map(|factor| factor.label.clone()));
                let sum = assessment.factors.iter().fold(base, |sum, factor| sum + factor.points);
                assert_eq!(sum.clamp(300, 1000).unsigned_abs(), assessment.score.get(), "{model:?} {name}");
                let standing = Standing::of(&features);
                let reasons = codes.reasons(&assessment.factors, Some(&standing)).unwrap();
                assert_eq!(reasons.codes, CodeSource::Card, "{model:?} {name}: {reasons:?}");
                let lost: i64 = assessment.factors.iter().filter_map(Factor::lost).map(i64::from).sum();
                let possible = |factor: &Factor| i64::from(factor.words.as_ref().unwrap().possible);
                let possible: i64 = assessment.factors.iter().map(possible).sum();
                assert_eq!(lost, i64::from(base) + possible - i64::from(sum), "{model:?} {name}");
                assert_eq!(reasons.clamp.map_or(sum, |clamp| clamp.sum), sum, "{model:?} {name}");
            }
            assert!(scored >= 4, "{model:?} scored {scored} samples");
            let declared: BTreeSet<_> = codes.codes().iter().map(|one| one.factor.clone()).collect();
            assert_eq!(declared, labels, "{model:?}");
        }
    }

    #[test]
    fn the_card_of_a_source_is_the_card_of_the_shelf() {
        for version in ["1.0", "1.1", "1.3", "1.4"] {
            let source = fs::read_to_string(shelf().join(format!("../models/credit-{version}/card.toml"))).unwrap();
            let shelf = fs::read_to_string(shelf().join(format!("cards/credit-{version}.toml"))).unwrap();
            assert!(shelf.ends_with(&source), "run .ci/models: the card of credit {version} is another one");
        }
    }

    #[test]
    fn a_wrong_reason_is_named() {
        let reason = |code: &str| {
            format!(
                "[[reason]]\ncode = \"{code}\"\nfactor = \"Age\"\ntext = \"New.\"\napplicant_text = \"You are new.\"\n"
            )
        };
        let section = "[[section]]\ntitle = \"Purpose\"\n";
        assert_eq!(check(&format!("base = 300\n{section}{}", reason("NEW"))), Ok(()));
        let wrong = check(&format!("{section}{}", reason("new"))).unwrap_err();
        assert!(wrong.contains("A-Z, 0-9"), "{wrong}");
        let info = ModelInfo {
            kind: ModelKind::Credit,
            version: "9.9".parse().unwrap(),
            title: "A model".into(),
            authors: Vec::new(),
            reads: Vec::new(),
            claims: None,
        };
        let empty = tempfile::tempdir().unwrap();
        let found = |text: &str| codes(empty.path(), &info, Digest([1; 32]), Some(text));
        assert_eq!(found(&format!("{section}{}", reason("NEW"))).unwrap().codes().len(), 1);
        let twice = found(&format!("{section}{0}{0}", reason("NEW"))).unwrap_err().to_string();
        assert!(twice.contains("the code NEW is there twice"), "{twice}");
        let page = markdown(empty.path(), &info, Digest([1; 32]), Some(&format!("{section}{}", reason("NEW"))));
        let page = page.unwrap().unwrap();
        assert!(page.contains("## Reason codes\n\n| Code |") && page.contains("| NEW | Age | any | New. |"), "{page}");
    }
}
