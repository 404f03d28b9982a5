//! The text of a card, and where it is.

use std::{
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use assay_domain::{Digest, ModelInfo, ModelKind, ModelVersion, ReasonCode};
use assay_registry::LARGEST_CARD;
use config::{Config, File, FileFormat};
use serde::Deserialize;

use super::{
    CardError,
    claims::CardClaims,
    inputs::{self, CardInput},
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CardFile {
    /// Of the component. The card in a component has none.
    pub sha256: Option<String>,
    #[serde(default)]
    pub section: Vec<Section>,
    #[serde(default)]
    pub claim: Vec<CardClaims>,
    /// What the points of the factors are added to.
    pub base: Option<i32>,
    #[serde(default)]
    pub reason: Vec<ReasonCode>,
    #[serde(default)]
    pub input: Vec<CardInput>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Section {
    pub title: String,
    #[serde(default)]
    pub text: String,
    #[serde(default)]
    pub head: Vec<String>,
    #[serde(default)]
    pub rows: Vec<Vec<String>>,
}

/// Where the card of a model is.
pub fn path(shelf: &Path, kind: ModelKind, version: &ModelVersion) -> PathBuf {
    shelf.join("cards").join(format!("{kind}-{version}.toml"))
}

/// Refuses a text that is not a card for a component.
///
/// # Errors
/// The problem and its place.
pub fn check(text: &str) -> Result<(), String> {
    if text.len() > LARGEST_CARD {
        return Err(format!("it has {} bytes, more than the limit of {LARGEST_CARD}", text.len()));
    }
    let card = parse(text)?;
    card.codes()?;
    inputs::checked(&card.input)?;
    match card.sha256 {
        Some(_) => Err("it names `sha256`: remove it, because the card becomes part of the bytes".into()),
        None => Ok(()),
    }
}

pub(super) fn parse(text: &str) -> Result<CardFile, String> {
    let parsed = Config::builder().add_source(File::from_str(text, FileFormat::Toml)).build();
    parsed.and_then(Config::try_deserialize).map_err(|error| error.to_string())
}

/// The card of the shelf or, without one, the `packed` one; `None` if the model has neither.
pub(super) fn card(
    shelf: &Path,
    info: &ModelInfo,
    digest: Digest,
    packed: Option<&str>,
) -> Result<Option<CardFile>, CardError> {
    let path = path(shelf, info.kind, &info.version);
    let unreadable = |reason: String| CardError::Unreadable { path: path.clone(), reason };
    let text = match read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return packed.map(parse).transpose().map_err(|reason| {
                let (kind, version) = (info.kind, info.version.clone());
                CardError::Packed { kind, version, reason }
            });
        }
        text => text.map_err(|error| unreadable(error.to_string()))?,
    };
    let card = parse(&text).map_err(unreadable)?;
    let named = card.sha256.clone().unwrap_or_default();
    if named != digest.to_string() {
        return Err(CardError::OtherBytes { path, named, found: digest });
    }
    Ok(Some(card))
}

fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let read = fs::File::open(path)?.take(LARGEST_CARD as u64 + 1).read_to_string(&mut text)?;
    if read > LARGEST_CARD {
        return Err(io::Error::other(format!("it is larger than {LARGEST_CARD} bytes")));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_for_a_component_names_no_bytes() {
        assert_eq!(check("[[section]]\ntitle = \"Purpose\"\n"), Ok(()));
        let section = "[[section]]\ntitle = \"Purpose\"\n";
        for (text, words) in [
            (format!("sha256 = \"00\"\n{section}"), "it names `sha256`: remove it"),
            (section.replace("title", "titel"), "titel"),
            (section.repeat(10_000), "more than the limit of 262144"),
        ] {
            let said = check(&text).unwrap_err();
            assert!(said.contains(words), "{words}: {said}");
        }
    }
}
