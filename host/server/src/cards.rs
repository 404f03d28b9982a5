//! Model cards: what a model is for, what it was made from and how far it can be trusted. A card is a section of the
//! component, or a file beside it, `cards/<kind>-<version>.toml` on the shelf, that names the bytes it speaks of; with what
//! the model says of itself it becomes a page of Markdown.

use std::{
    fmt::Write as _,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use assay_domain::{Claims, Digest, ModelInfo, ModelKind, ModelVersion};
use assay_registry::LARGEST_CARD;
use config::{Config, File, FileFormat};
use serde::Deserialize;

/// Why a card cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum CardError {
    #[error("the card {} cannot be read: {reason}", path.display())]
    Unreadable { path: PathBuf, reason: String },
    #[error("the card {} speaks of the bytes {named}, and the model has {found}: replace the card", path.display())]
    OtherBytes { path: PathBuf, named: String, found: Digest },
    #[error("the card in the model {kind} {version} cannot be read: {reason}")]
    Packed { kind: ModelKind, version: ModelVersion, reason: String },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Card {
    /// Of the component. The card in a component has none.
    sha256: Option<String>,
    section: Vec<Section>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Section {
    title: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    head: Vec<String>,
    #[serde(default)]
    rows: Vec<Vec<String>>,
}

/// Where the card of a model is.
pub fn path(shelf: &Path, kind: ModelKind, version: &ModelVersion) -> PathBuf {
    shelf.join("cards").join(format!("{kind}-{version}.toml"))
}

/// Refuses a text that is no card for a component.
///
/// # Errors
/// What is wrong with it, and where.
pub fn check(text: &str) -> Result<(), String> {
    if text.len() > LARGEST_CARD {
        return Err(format!("it has {} bytes and may have {LARGEST_CARD}", text.len()));
    }
    match parse(text)?.sha256 {
        Some(_) => Err("it names `sha256`: remove it, because the card becomes part of the bytes".into()),
        None => Ok(()),
    }
}

fn parse(text: &str) -> Result<Card, String> {
    let parsed = Config::builder().add_source(File::from_str(text, FileFormat::Toml)).build();
    parsed.and_then(Config::try_deserialize).map_err(|error| error.to_string())
}

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
    let path = path(shelf, info.kind, &info.version);
    let unreadable = |reason: String| CardError::Unreadable { path: path.clone(), reason };
    let text = match read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let card = packed.map(parse).transpose().map_err(|reason| {
                let (kind, version) = (info.kind, info.version.clone());
                CardError::Packed { kind, version, reason }
            })?;
            return Ok(card.map(|card| render(&card, info, digest)));
        }
        text => text.map_err(|error| unreadable(error.to_string()))?,
    };
    let card = parse(&text).map_err(unreadable)?;
    let named = card.sha256.clone().unwrap_or_default();
    if named != digest.to_string() {
        return Err(CardError::OtherBytes { path, named, found: digest });
    }
    Ok(Some(render(&card, info, digest)))
}

fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let read = std::fs::File::open(path)?.take(LARGEST_CARD as u64 + 1).read_to_string(&mut text)?;
    if read > LARGEST_CARD {
        return Err(io::Error::other(format!("it is larger than {LARGEST_CARD} bytes")));
    }
    Ok(text)
}

fn render(card: &Card, info: &ModelInfo, digest: Digest) -> String {
    let mut page = format!("# {} {}\n\n{}\n\n", info.kind, info.version, info.title);
    // Writing to a string does not fail.
    let _ = writeln!(page, "- Component: SHA-256 `{digest}`\n- Authors: {}", info.authors.join(", "));
    let _ = writeln!(page, "- Reads: {}\n", info.reads.join(", "));
    if let Some(claims) = &info.claims {
        claimed(&mut page, claims);
    }
    for Section { title, text, head, rows } in &card.section {
        let _ = writeln!(page, "## {title}\n");
        if !text.is_empty() {
            let _ = writeln!(page, "{}\n", text.trim());
        }
        table(&mut page, head, rows);
    }
    page
}

/// What the component itself says, so that a card cannot promise more.
fn claimed(page: &mut String, claims: &Claims) {
    let _ = writeln!(
        page,
        "## What it claims\n\nThe share that is {} within {} days, by range. Population: {}. A range without a row has no claim.\n",
        claims.outcome, claims.horizon_days, claims.population
    );
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let row = |rate: &assay_domain::Rate| {
        let interval = format!("{} to {}", percent(rate.low), percent(rate.high));
        vec![rate.range.as_str().to_owned(), percent(rate.estimate), interval]
    };
    let head = ["Range", "Share", "95 % interval"].map(str::to_owned);
    table(page, &head, &claims.rates.iter().map(row).collect::<Vec<_>>());
}

fn table(page: &mut String, head: &[String], rows: &[Vec<String>]) {
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
    use super::*;

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
        std::fs::create_dir(file.parent().unwrap()).unwrap();
        let text = format!(
            "sha256 = \"{}\"\n[[section]]\ntitle = \"Purpose\"\ntext = \"For A|B.\"\nhead = [\"Set\"]\nrows = [[\"a|b\"]]\n",
            Digest([1; 32])
        );
        std::fs::write(&file, &text).unwrap();
        let page = card(Digest([1; 32])).unwrap().unwrap();
        assert!(
            page.starts_with("# credit 1.2\n")
                && page.contains("## Purpose\n\nFor A|B.\n\n| Set |\n|---|\n| a\\|b |\n"),
            "{page}"
        );
        assert!(matches!(card(Digest([2; 32])), Err(CardError::OtherBytes { .. })));
        std::fs::write(&file, text + "purpos = 1\n").unwrap();
        assert!(card(Digest([1; 32])).unwrap_err().to_string().contains("purpos"));
        std::fs::write(&file, " ".repeat(LARGEST_CARD + 1)).unwrap();
        assert!(card(Digest([1; 32])).unwrap_err().to_string().contains("larger than"));
    }

    #[test]
    fn a_card_for_a_component_names_no_bytes() {
        assert_eq!(check("[[section]]\ntitle = \"Purpose\"\n"), Ok(()));
        let section = "[[section]]\ntitle = \"Purpose\"\n";
        for (text, words) in [
            (format!("sha256 = \"00\"\n{section}"), "it names `sha256`: remove it"),
            (section.replace("title", "titel"), "titel"),
            (section.repeat(10_000), "bytes and may have 262144"),
        ] {
            let said = check(&text).unwrap_err();
            assert!(said.contains(words), "{words}: {said}");
        }
    }
}
