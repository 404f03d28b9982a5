//! A card as a page of Markdown.

use std::{fmt::Write as _, path::Path};

use assay_domain::{Claim, Digest, ModelInfo, Rate, stats::Bins};

use super::{
    CardError,
    file::{CardFile, Section, card},
    inputs::CardInput,
    stated::claims,
};

/// The card as Markdown: that of the shelf or, without one, the `packed` one; `None` if the model has neither.
///
/// # Errors
/// [`CardError`].
pub fn markdown(
    shelf: &Path,
    info: &ModelInfo,
    digest: Digest,
    packed: Option<&str>,
) -> Result<Option<String>, CardError> {
    let Some(card) = card(shelf, info, digest, packed)? else { return Ok(None) };
    Ok(Some(render(&card, &claims(shelf, info, digest, packed)?, info, digest)))
}

fn render(card: &CardFile, claims: &[Claim], info: &ModelInfo, digest: Digest) -> String {
    let mut page = format!("# {} {}\n\n{}\n\n", info.kind, info.version, info.title);
    // Writing to a string does not fail.
    let _ = writeln!(page, "- Component: SHA-256 `{digest}`\n- Authors: {}", info.authors.join(", "));
    let _ = writeln!(page, "- Reads: {}\n", info.reads.join(", "));
    if !claims.is_empty() {
        claimed(&mut page, claims);
    }
    for Section { title, text, head, rows } in &card.section {
        let _ = writeln!(page, "## {title}\n");
        if !text.is_empty() {
            let _ = writeln!(page, "{}\n", text.trim());
        }
        table(&mut page, head, rows);
    }
    card.render_reasons(&mut page);
    inputs(&mut page, &card.input);
    page
}

/// The claims, by population and horizon.
fn claimed(page: &mut String, claims: &[Claim]) {
    let _ = writeln!(page, "## What it claims\n");
    for claim in claims {
        let claims = &claim.claims;
        let _ = writeln!(
            page,
            "The share that is {} within {} days, by range. Population: {}. A range without a row has no claim.\n",
            claims.outcome,
            claims.horizon_days,
            claim.holds_for()
        );
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        let row = |rate: &Rate| {
            let interval = format!("{} to {}", percent(rate.low), percent(rate.high));
            vec![rate.range.as_str().to_owned(), percent(rate.estimate), interval]
        };
        let head = ["Range", "Share", "95 % interval"].map(str::to_owned);
        table(page, &head, &claims.rates.iter().map(row).collect::<Vec<_>>());
    }
}

fn inputs(page: &mut String, inputs: &[CardInput]) {
    if inputs.is_empty() {
        return;
    }
    page.push_str("## Inputs\n\n");
    let head = ["Input", "Expression", "Training wallets", "Of these absent"].map(str::to_owned);
    let row = |CardInput { name, is, training }: &CardInput| {
        let wallets = training.as_ref().map_or("not stated".to_owned(), |bins| bins.count().to_string());
        let absent = training.as_ref().and_then(Bins::missing);
        let absent = absent.map_or_else(String::new, |share| format!("{:.1} %", share * 100.0));
        vec![name.clone(), format!("`{is}`"), wallets, absent]
    };
    table(page, &head, &inputs.iter().map(row).collect::<Vec<_>>());
}

pub(super) fn table(page: &mut String, head: &[String], rows: &[Vec<String>]) {
    if head.is_empty() {
        return;
    }
    let line = |cells: &[String]| {
        let cells: Vec<_> = cells.iter().map(|cell| cell.replace('|', "\\|").replace('\n', " ")).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    page.push_str(&line(head));
    page.push_str(&format!("|{}\n", "---|".repeat(head.len())));
    rows.iter().for_each(|row| page.push_str(&line(row)));
    page.push('\n');
}

#[cfg(test)]
mod tests {
    use std::fs;

    use assay_domain::{Claims, ModelKind, Population};
    use assay_registry::LARGEST_CARD;

    use super::*;
    use crate::cards::path;

    #[test]
    fn a_card_speaks_of_its_own_bytes_alone() {
        let shelf = tempfile::tempdir().unwrap();
        let info = ModelInfo {
            kind: ModelKind::Credit,
            version: "1.2".parse().unwrap(),
            title: "A model".into(),
            authors: vec!["me".into()],
            reads: vec!["as-of".into()],
            claims: None,
        };
        let packed = "[[section]]\ntitle = \"Limits\"\ntext = \"None known.\"\n";
        let own = markdown(shelf.path(), &info, Digest([1; 32]), Some(packed)).unwrap().unwrap();
        assert!(own.starts_with("# credit 1.2\n") && own.contains("## Limits\n\nNone known.\n"), "{own}");
        let wrong = markdown(shelf.path(), &info, Digest([1; 32]), Some("section = 1")).unwrap_err().to_string();
        assert!(wrong.contains("the card in the model credit 1.2 cannot be read"), "{wrong}");
        // The card of the shelf comes first.
        let card = |digest: Digest| markdown(shelf.path(), &info, digest, Some(packed).filter(|_| digest.0[0] != 1));
        assert!(card(Digest([1; 32])).unwrap().is_none(), "there is none");
        let file = path(shelf.path(), info.kind, &info.version);
        fs::create_dir(file.parent().unwrap()).unwrap();
        let text = format!(
            "sha256 = \"{}\"\n[[section]]\ntitle = \"Purpose\"\ntext = \"For A|B.\"\nhead = [\"Set\"]\nrows = \
             [[\"a|b\"]]\n",
            Digest([1; 32])
        );
        fs::write(&file, &text).unwrap();
        let page = card(Digest([1; 32])).unwrap().unwrap();
        assert!(
            page.starts_with("# credit 1.2\n")
                && page.contains("## Purpose\n\nFor A|B.\n\n| Set |\n|---|\n| a\\|b |\n"),
            "{page}"
        );
        assert!(matches!(card(Digest([2; 32])), Err(CardError::OtherBytes { .. })));
        let claim = "[[claim]]\npopulation = \"borrowers\"\noutcome = \"liquidated\"\nhorizon_days = 30\nowes_usd = \
                     10\n\
                     rates = [{ range = \"low\", low = 0.1, estimate = 0.2, high = 0.3 }]\n";
        let claims = |text: String| {
            fs::write(&file, text).unwrap();
            claims(shelf.path(), &info, Digest([1; 32]), None)
        };
        let found = claims(format!("{text}{claim}")).unwrap();
        assert_eq!((found.len(), found[0].population), (1, Population::Owing { usd: 10.0 }));
        let page = card(Digest([1; 32])).unwrap().unwrap();
        assert!(page.contains("within 30 days") && page.contains("| low | 20.0 % | 10.0 % to 30.0 % |"), "{page}");
        for (good, bad, words) in [
            ("owes_usd = 10", "debt_unread = false", "either owes_usd"),
            ("owes_usd = 10", "owes_usd = 10\ndebt_unread = true", "either owes_usd"),
            ("\"low\"", "\"lowest\"", "no range \"lowest\""),
            ("high = 0.3", "high = 0.1", "no shares in order"),
            ("horizon_days = 30", "horizon_days = 0", "a horizon of 0 days"),
        ] {
            let why = claims(format!("{text}{}", claim.replacen(good, bad, 1))).unwrap_err().to_string();
            assert!(why.contains(words), "{why}");
        }
        // The component claims other rates than the card.
        let own = Claims { horizon_days: 90, ..found[0].claims.clone() };
        let other = ModelInfo { claims: Some(own), ..info.clone() };
        fs::write(&file, format!("{text}{claim}")).unwrap();
        let why = super::claims(shelf.path(), &other, Digest([1; 32]), None).unwrap_err().to_string();
        assert!(why.contains("that the component claims (liquidated within 90 days)"), "{why}");
        fs::write(&file, text + "purpos = 1\n").unwrap();
        assert!(card(Digest([1; 32])).unwrap_err().to_string().contains("purpos"));
        fs::write(&file, " ".repeat(LARGEST_CARD + 1)).unwrap();
        assert!(card(Digest([1; 32])).unwrap_err().to_string().contains("larger than"));
    }
}
